//! How a server is configured: `sprag.toml`, under the environment, under flags.
//!
//! [`keys`] is the one list of everything that can be set; the file, the environment and the printed default all
//! follow it. Everything wrong is found in one run and says where it was written.

mod access;
mod advertise;
mod agents;
mod alerts;
mod approval;
mod environment;
mod exposure;
mod file;
mod heads;
mod keys;
mod layers;
mod named;
mod option;
mod print;
mod providers;
mod settings;

#[cfg(test)]
mod tests;

pub(crate) use alerts::{Compiled as CompiledAlert, compile as compile_alerts};
pub(crate) use environment::Environment;
pub(crate) use exposure::{warn_about_config, warn_about_store};
pub(crate) use heads::Entry as HeadsEntry;
pub(crate) use layers::{Invalid, Problem};
pub(crate) use option::ConfigFile;
pub(crate) use print::{annotated, described};
pub(crate) use settings::{Given, Settings, StoreAddress};
