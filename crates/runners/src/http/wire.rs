//! What lies between a client and the other side: the network, a script in its place, or a server that stands in for all
//! others; and who watches.
//!
//! A script says only what comes back and when. Whether that is in time, what it means, what was sent before it and
//! what is kept of it is decided by the same code as for the network. It waits on the runtime's clock: where that is
//! paused, no time passes.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sprag_core::action::outcome::Outcome;
use url::Url;

use super::reply::Reply;
use super::request::Request;

/// How a client reaches the other side, and who sees what it does.
#[derive(Clone, Default)]
pub struct Wire {
    /// Stands in for the network, if it is there.
    pub script: Option<Arc<dyn Script>>,
    /// Leads requests to a server that stands in for every other, if it is there.
    pub detour: Option<Arc<dyn Detour>>,
    /// Sees every exchange, if it is there.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Leads requests to a server that stands in for the one that they name. Nothing else changes: they cross the network.
pub trait Detour: Send + Sync {
    /// Where this request goes.
    fn lead(&self, request: &Request) -> Url;
}

/// Stands in for the network.
pub trait Script: Send + Sync {
    /// What comes back to this request.
    fn answer(&self, request: &Request) -> Answer;
}

/// What comes back.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How long it takes until it is there.
    pub delay: Duration,
    /// What it is.
    pub came: Came,
}

/// What there is after that time.
#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// A reply, whose body is whole or breaks off at its end.
    Reply {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: HeaderMap,
        /// Its body.
        body: Vec<u8>,
        /// Whether the body breaks off.
        is_cut: bool,
    },
    /// No connection, for this reason: nothing has left.
    NoConnection(String),
    /// The connection broke after the request was sent.
    Broken(String),
}

/// Headers of a scripted reply; what no header can be is left out, as a server could not have sent it.
pub fn scripted_headers<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> HeaderMap {
    let pairs = pairs.into_iter();
    pairs
        .filter_map(|(name, value)| Some((name.parse::<HeaderName>().ok()?, HeaderValue::from_str(value).ok()?)))
        .collect()
}

/// Sees what is sent and what comes back. What it is shown holds secrets.
pub trait Observer: Send + Sync {
    /// A request was sent and something came of it.
    fn exchanged(&self, exchange: Exchange<'_>);
}

/// One request and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// What was sent.
    pub request: &'a Request,
    /// The reply, or the outcome of a request without one.
    pub came: Result<&'a Reply, &'a Outcome>,
    /// How long it took.
    pub took: Duration,
}
