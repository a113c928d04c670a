//! TLS by rustls and ring: what the server shows its callers, and what it checks of those that it calls itself.
//!
//! Certificates, keys and authorities are PEM files. Files that change are read again without a restart; connections keep
//! what they began with.

mod client;
mod files;
mod loaded;
mod server;

pub use client::{Trust, client_config, is_readable};
pub use files::{Error as TlsError, Pair};
pub(crate) use loaded::{Loaded, Look, watch};
pub use server::{Clients, Tls};
pub(crate) use server::{HANDSHAKES_MAX, accept};
