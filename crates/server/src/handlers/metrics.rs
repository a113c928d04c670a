//! `GET /metrics`: every metric, for a scrape.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::system;
use crate::access::rule::Rule;
use crate::app::App;
use crate::metrics::{MEDIA_TYPE, page};
use crate::openapi::{Operation, Route, Success, at, text};
use crate::request::query::{Nothing, Query};

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/metrics").get(Rule::Metrics, show).is(Operation::new(
            system::RESOURCE,
            "showMetrics",
            "Return the metrics in the OpenMetrics text format",
        )
        .gives(Success::of(200, "The metrics.", MEDIA_TYPE, text()))),
    ]
}

/// `GET /metrics`: the OpenMetrics text format. It answers even if the store does not.
pub(crate) async fn show(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Response {
    let census = app.census.take(&app.engine).await;
    let gauges = match app.workers.get() {
        Some(workers) => workers.handle.gauges().await.ok(),
        None => None,
    };
    let text = page(&app, census.as_deref(), gauges.as_ref());
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response()
}
