//! The process supervisor: services as workers.
//!
//! A service is a tree of processes that carry its mark. This module starts, stops and watches them, and keeps a record
//! of them beside the state file. A supervisor that is killed and restarted finds the same processes and starts no
//! second copy.

mod budget;
mod decide;
mod file;
mod folder;
mod launch;
mod log;
mod logfile;
mod observed;
mod probe;
mod reaper;
mod record;
mod runtime;
mod tree;
mod user;
mod watch;
mod worker;

#[cfg(test)]
mod tests;

pub use file::{KIND_PARENT, KIND_SERVICE, Services, children, rules};
pub use folder::{StateFolder, StateFolderError};
pub use launch::{LaunchError, missing};
pub use log::{TAIL_LINES_MAX, Tail, follow, tail};
pub use observed::{ServiceObservation, counted_down};
pub use reaper::reap;
pub use runtime::Blame;
pub use sprag_process::{Identity as ProcessIdentity, Stopped};
pub use user::UserError;
pub use watch::Exit;
pub use worker::{Desired, ServiceAction, ServiceState, ServiceWorker, Spec};

/// The variable that marks every process of a service.
pub const MARK: &str = "SPRAG_SERVICE";
