//! What the server counts: requests by route, method and status, and connections it closed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sprag_core::time::Timestamp;
use sprag_engine::metrics::Labels;

/// Bounds of how long answers take, in seconds. A `?wait` counts too, so they go to a minute.
const TOOK_SECONDS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0, 60.0,
];

/// What the server counts.
#[derive(Debug)]
pub(crate) struct HttpMetrics {
    /// When the server started.
    pub(crate) began_at: Timestamp,
    /// Connections that the server broke off because the peer did not read.
    pub(crate) cut: Counter,
    /// Idle connections that the server closed to make room for others.
    pub(crate) closed_idle: Counter,
    requests: Family<Labels<3>, Counter>,
    took: Family<Labels<2>, Histogram, fn() -> Histogram>,
    /// The metrics of each answer, by route, method and status: to look them up in the families would allocate labels.
    answers: RwLock<BTreeMap<String, ByStatus>>,
}

/// By method and status.
type ByStatus = BTreeMap<(&'static str, u16), Answered>;

/// The metrics of answers with the same labels.
#[derive(Debug)]
struct Answered {
    requests: Counter,
    took: Histogram,
}

impl Answered {
    fn count(&self, seconds: f64) {
        self.requests.inc();
        self.took.observe(seconds);
    }
}

impl HttpMetrics {
    /// Nothing counted yet.
    pub(crate) fn new(began_at: Timestamp) -> Self {
        Self {
            began_at,
            cut: Counter::default(),
            closed_idle: Counter::default(),
            requests: Family::default(),
            took: Family::new_with_constructor(|| Histogram::new(TOOK_SECONDS)),
            answers: RwLock::default(),
        }
    }

    /// Counts an answer. `route` is a template of the route table, so the number of label sets is bounded.
    pub(crate) fn answered(&self, method: &Method, route: &str, status: StatusCode, micros: u64) {
        let key = (method_word(method), status.as_u16());
        let seconds = Duration::from_micros(micros).as_secs_f64();
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = answers.get(route).and_then(|known| known.get(&key)) {
            return known.count(seconds);
        }
        drop(answers);
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        let known = answers.entry(route.to_owned()).or_default();
        let first = known.entry(key).or_insert_with(|| self.labelled(route, key.0, status));
        first.count(seconds);
    }

    fn labelled(&self, route: &str, method: &'static str, status: StatusCode) -> Answered {
        let route = ("route", Cow::Owned(route.to_owned()));
        let method = ("method", Cow::Borrowed(method));
        let status = ("status", Cow::Owned(status.as_str().to_owned()));
        Answered {
            took: self.took.get_or_create_owned(&[route.clone(), method.clone()]),
            requests: self.requests.get_or_create_owned(&[route, method, status]),
        }
    }

    /// Adds every family of the server to a registry.
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Requests that were answered, by route, method and status";
        registry.register("http_requests", help, self.requests.clone());
        let help = "How long requests took until their answer began, by route and method";
        registry.register("http_request_duration_seconds", help, self.took.clone());
        let help = "Connections that the server broke off because the peer did not read";
        registry.register("connections_cut", help, self.cut.clone());
        let help = "Idle connections that the server closed to make room for others";
        registry.register("connections_closed_idle", help, self.closed_idle.clone());
    }
}

/// The method, if a route takes it; clients can make up others.
fn method_word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
