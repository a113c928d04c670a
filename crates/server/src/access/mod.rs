//! Who may speak to the server.

pub(crate) mod guard;
