//! The outbound guard: where addresses that come from definitions may lead.
//!
//! A name is resolved once, every address of the answer is checked, and only those checked addresses are connected
//! to, so an answer that changes between the check and the connection cannot slip through. Whatever is not on the
//! public internet is refused unless the operator allows it.

mod allow;
mod guard;
mod network;
mod ranges;

#[cfg(test)]
mod tests;

pub use allow::{Options, OptionsError};
pub use guard::{Guard, GuardError, Lookup, System};
