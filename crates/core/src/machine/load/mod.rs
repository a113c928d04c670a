//! From a machine file to a compiled machine: everything that is wrong is found in one run, with its place.

mod actions;
mod checks;
mod config;
mod cycles;
mod durations;
mod entry;
mod expressions;
mod hooks;
mod keys;
mod limits;
mod loader;
mod mails;
mod notes;
mod operations;
mod reader;
mod secrets;
mod shape;
mod states;
mod targets;
mod transitions;
mod validate;

#[cfg(test)]
mod tests;

pub use config::{ConfigCheck, UnknownType};
pub(super) use entry::not_parsed;
pub use entry::{LoadOptions, Loaded, StoredError, load_node, load_stored, load_text};
pub(super) use keys::MACHINE;
pub use limits::DefinitionLimits;
pub(super) use notes::{Notes, Site, Use};
pub(super) use reader::{Spot, shown};
pub(super) use shape::{Key, Names, Shape, Table};
pub(super) use validate::validate;
