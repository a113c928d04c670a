//! Who may speak to the server.

pub(crate) mod caller;
pub(crate) mod guard;
