//! The HTTP API of Sprag: what people, scripts and the web interface use.
//!
//! Handlers are thin: extract, call the engine, map. Two things always hold: nothing is answered before the engine
//! says it is durable, and whatever goes wrong is answered as a problem with a stable code (RFC 9457), never as bare
//! text. No web page of another origin can drive a local server: see the guard.

mod access;
mod app;
mod handlers;
mod listen;
mod metrics;
mod nodes;
mod openapi;
mod problem;
mod request;
mod routes;
mod streams;

#[cfg(test)]
mod tests;

pub use access::auth::{Auth, MetricsFor, Mode, PlainText, TOKEN_RATE};
pub use access::oidc::Options as OidcOptions;
pub use handlers::tokens::first_token;
pub use handlers::workers::{NotReloaded, NotStartable, Reload, Reloaded, Workers};
pub use listen::{
    Access, BODY_BYTES_MAX, Clients, Counted, Error, Options, Pair, Reserved, Server, Tls, TlsError, Trust,
    client_config, is_readable,
};
pub use nodes::{HttpPeers, NodeClient};
pub use problem::Code;
pub use streams::STREAMS_MAX;
