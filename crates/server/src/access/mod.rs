//! Who may speak to the server, and what each caller may do.

pub(crate) mod auth;
pub(crate) mod caller;
pub(crate) mod gate;
pub(crate) mod guard;
pub(crate) mod oidc;
mod rate;
mod reason;
pub(crate) mod refusals;
pub(crate) mod rule;
pub(crate) mod scope;

pub(crate) use reason::note as note_reason;
