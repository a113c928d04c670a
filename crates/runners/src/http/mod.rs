//! The HTTP client that every runner shares.
//!
//! It goes through the outbound guard, follows no redirect, takes no proxy from the environment and repeats nothing
//! by itself: one attempt is one request. What it says about an attempt that did not succeed is exact where it can
//! be: until a connection is open nothing has left, from then on the effect is unknown.

mod body;
mod client;
mod judge;
pub(crate) mod oauth;
pub mod outbound;
mod reply;
mod request;
mod retry_after;
mod tls;
mod wire;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tls_tests;

pub use client::{BuildError, Client};
pub use reply::Reply;
pub(crate) use request::header;
pub use request::{METHODS, Request, RequestError, headers, method, url};
pub use tls::config as tls_config;
pub use wire::{Answer, Came, Detour, Exchange, Observer, Script, Wire, scripted_headers};
