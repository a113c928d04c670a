//! The way of hints from node to node: one stream per node, with the nodes' secret.

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::Method;
use axum::http::uri::PathAndQuery;
use axum::response::{IntoResponse as _, Response};
use sprag_engine::lane::member::Whereabouts;

use crate::app::App;
use crate::nodes::peers::HINTS;
use crate::streams::Hinting;

/// Where the other nodes are that are alive.
pub(crate) fn others(app: &App) -> Vec<String> {
    let Some(whereabouts) = app.engine.whereabouts() else {
        return Vec::new();
    };
    let view = whereabouts.view();
    let live = view.iter().flat_map(|view| view.live());
    live.filter(|node| node.id != whereabouts.me())
        .map(|node| node.advertise.clone())
        .collect()
}

/// The stream of another node.
pub(crate) async fn open(app: &App, advertise: &str) -> Result<BodyDataStream, String> {
    let token = app.engine.whereabouts().and_then(Whereabouts::view);
    let token = token.map(|view| view.token.clone()).unwrap_or_default();
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = PathAndQuery::from_static(HINTS).into();
    let (parts, _) = request.into_parts();
    let answer = app
        .forwarder
        .send(advertise, &token, (&parts, axum::body::Bytes::new()))
        .await?;
    if !answer.status().is_success() {
        return Err(format!("it answered {}", answer.status()));
    }
    Ok(answer.into_body().into_data_stream())
}

/// Another node listens.
pub(crate) fn hear(app: &App) -> Response {
    match Hinting::here(app.clone()) {
        Ok(hinting) => hinting.response(),
        Err(problem) => problem.into_response(),
    }
}
