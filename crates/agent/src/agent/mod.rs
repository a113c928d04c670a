//! An agent: one actor that owns the state, the run and its task, and a gRPC service that talks to it.
//!
//! A response stream is only a view. Dropping it is an event for the actor; a slow reader gets the newest numbers, and always
//! the terminal message.

mod actor;
mod mailbox;
mod options;
mod prepare;
mod report;
mod run;
mod security;
mod server;
mod service;
mod threads;
mod view;

pub use options::Options;
pub(crate) use prepare::plan_digest;
pub use security::{Security, SecurityError, Tls};
pub use server::{Agent, Error};
