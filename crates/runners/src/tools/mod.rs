//! Small action types to wait, to log, to look and to try things out.

mod check;
mod fail;
mod log;
mod plain;

#[cfg(test)]
mod tests;

pub use check::{HttpCheck, TcpCheck};
pub use fail::Fail;
pub use log::LogMessage;
pub use plain::{Noop, Wait};
