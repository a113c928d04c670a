//! `GET /metrics`: what is counted, for whatever scrapes it.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::metrics::{MEDIA_TYPE, page};
use crate::query::{Nothing, Query};

/// `GET /metrics`: the Prometheus text format. It answers even if the store does not.
pub(crate) async fn show(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Response {
    let census = app.census.take(&app.engine).await;
    let mut text = page(&app, census.as_deref());
    if let Some(workers) = app.workers.get() {
        text.push_str(&workers.handle.metrics().render());
        // A supervisor that has stopped has no gauges any more.
        if let Ok(gauges) = workers.handle.gauges().await {
            text.push_str(&gauges.render());
        }
    }
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response()
}
