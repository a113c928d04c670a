//! The HTTP API of Sprag: what people, scripts and the web interface use.
//!
//! Handlers are thin: extract, call the engine, map. Two things always hold: nothing is answered before the engine
//! says it is durable, and whatever goes wrong is answered as a problem with a stable code (RFC 9457), never as bare
//! text. No web page of another origin can drive a local server: see the guard.

mod admission;
mod admit;
mod app;
mod arrivals;
mod body;
mod caller;
mod cursor;
mod deadline;
mod etag;
mod flight;
mod forward;
mod guard;
mod handlers;
mod metrics;
mod observe;
mod once;
mod openapi;
mod options;
mod owner;
mod page;
mod path;
mod peers;
mod polls;
mod problem;
mod query;
mod reply;
mod routes;
mod seats;
mod server;
mod shown;
mod streams;
mod workers;

#[cfg(test)]
mod tests;

pub use options::{BODY_BYTES_MAX, Error, Options};
pub use peers::HttpPeers;
pub use problem::Code;
pub use server::{Reserved, Server};
pub use streams::STREAMS_MAX;
pub use workers::{NotReloaded, NotStartable, Reload, Reloaded, Workers};
