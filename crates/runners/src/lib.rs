//! What performs attempts: one module per action type, the guarded HTTP client they share, and the providers of
//! secrets.
//!
//! Two things always hold. An address that comes from a definition is reached only through the
//! [outbound guard](http::outbound::Guard), and every runner says truthfully what it knows about its effect: done, not
//! done, or unknown.

pub mod api_call;
pub mod docusign;
pub mod email;
pub mod exec;
pub mod http;
pub mod mint;
pub mod registry;
pub mod secrets;
pub mod sms;
#[cfg(test)]
mod testing;
pub mod tools;
pub mod webhook;

pub use registry::{Error, Options, Registry, reach};
