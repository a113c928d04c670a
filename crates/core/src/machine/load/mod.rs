//! From a machine file to a compiled machine: everything that is wrong is found in one run, with its place.

mod actions;
mod alone;
mod checks;
mod config;
mod entry;
mod expressions;
mod hooks;
mod keys;
mod limits;
mod loader;
mod notes;
mod operations;
mod states;
mod targets;
mod transitions;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use alone::check_action;
pub(crate) use checks::check_reserved_tags;
pub use config::{ConfigCheck, UnknownType};
pub use entry::{LoadOptions, Loaded, StoredError, load_document, load_stored, load_text, schema};
pub(crate) use keys::{LIMIT, RETRY, TAGS};
pub use limits::DefinitionLimits;
pub(super) use notes::{Notes, Site, Use};
