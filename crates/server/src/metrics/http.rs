//! Requests, by what they asked for and how they were answered.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::Method;
use sprag_core::time::Timestamp;
use sprag_engine::metrics::{Counter, Histogram};

/// Bounds of how long answers take, in microseconds. A `?wait` counts too, so they go to a minute.
const TOOK_MICROS: &[u64] = &[
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 2_500_000, 10_000_000, 60_000_000,
];

/// What the server counts.
pub(crate) struct HttpMetrics {
    /// When the server began.
    pub(crate) began_at: Timestamp,
    /// Connections that were broken off because the peer did not read.
    pub(crate) cut: Counter,
    /// Idle connections that were closed because their seats were needed.
    pub(crate) closed_idle: Counter,
    routes: Mutex<Routes>,
}

/// By route and method.
pub(crate) type Routes = BTreeMap<String, BTreeMap<&'static str, Route>>;

/// What is counted about one route and method.
pub(crate) struct Route {
    /// Answers by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// How long they took, in microseconds.
    pub(crate) took_micros: Histogram,
}

impl Default for Route {
    fn default() -> Self {
        Self {
            statuses: BTreeMap::new(),
            took_micros: Histogram::new(TOOK_MICROS),
        }
    }
}

impl HttpMetrics {
    /// Nothing counted yet.
    pub(crate) fn new(began_at: Timestamp) -> Self {
        Self {
            began_at,
            cut: Counter::default(),
            closed_idle: Counter::default(),
            routes: Mutex::default(),
        }
    }

    /// By route and method, for as long as the guard lives.
    pub(crate) fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answer. `route` is a template of the route table, so there are only so many.
    pub(crate) fn answered(&self, method: &Method, route: &str, status: u16, micros: u64) {
        let mut routes = self.routes();
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), BTreeMap::new());
        }
        if let Some(methods) = routes.get_mut(route) {
            let known = methods.entry(method_word(method)).or_default();
            *known.statuses.entry(status).or_default() += 1;
            known.took_micros.record(micros);
        }
    }
}

/// The method, if it is one of those that routes take; anybody can make up others.
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
