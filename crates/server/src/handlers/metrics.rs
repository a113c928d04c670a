//! `GET /metrics`: every metric, for a scrape.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::metrics::{MEDIA_TYPE, page};
use crate::request::query::{Nothing, Query};

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
