//! The listening side: connections, and what bounds them, the requests on them, and the bytes of both.

pub(crate) mod admission;
pub(crate) mod admit;
pub(crate) mod arrivals;
mod deadline;
pub(crate) mod flight;
pub(crate) mod observe;
mod options;
mod seats;
mod server;
mod tls;

pub use options::{BODY_BYTES_MAX, Error, Options};
pub use server::{Access, Counted, Reserved, Server};
pub use tls::{Clients, Pair, Tls, TlsError, Trust, client_config, is_readable};
pub(crate) use tls::{Loaded, Look};
