//! What nodes say to each other over HTTP: what one has and wants under a limit that another node owns, and which dead
//! letters a job of one wants another to try again.
//!
//! Nodes only: a caller without their token learns that there is nothing here, as about any other unknown path. What
//! is lost on the way is sent again by its sender, so nothing is tried twice here.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sprag_core::action::BoxFuture;
use sprag_engine::limits::Peers;
use sprag_wire::{LettersToRetry, LimitDemand, LimitGrant, SettledLetter};

use crate::app::App;
use crate::nodes::client::{NodeClient, at, shown};
use crate::nodes::forward::TOKEN;
use crate::nodes::hints;
use crate::problem::Problem;
use crate::request::body::whole;

/// Under this nodes hear each other.
const INTERNAL: &str = "/internal/";
/// Where statements about limits are heard.
const LIMITS: &str = "/internal/limits";
/// Where hints are heard.
pub(super) const HINTS: &str = "/internal/hints";
/// Where letters are dealt with.
const LETTERS: &str = "/internal/letters";
/// The largest question or answer, in bytes: a configuration for letters, or a key and the ids of some fifty thousand
/// attempts.
pub(crate) const BODY_MAX: usize = 1 << 21;
/// How long the owner of a limit may take to answer: the lane says it again after two seconds.
const LIMITS_MAX: Duration = Duration::from_millis(1_800);
/// How long a node may take to deal with letters: the job asks again a little later.
const LETTERS_MAX: Duration = Duration::from_secs(10);

/// What the engine says to other nodes, over HTTP.
pub struct HttpPeers {
    client: NodeClient,
}

/// Who is asked, and where.
#[derive(Clone, Copy)]
struct Whom<'a> {
    advertise: &'a str,
    token: &'a str,
    path: &'static str,
}

impl HttpPeers {
    /// By way of this client.
    pub fn new(client: NodeClient) -> Self {
        Self { client }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        whom: Whom<'_>,
        said: &impl Serialize,
        most: Duration,
    ) -> Result<T, String> {
        let body = serde_json::to_vec(said).map_err(|error| error.to_string())?;
        let request = addressed(whom, body)?;
        let answer = tokio::time::timeout(most, self.exchange(request)).await;
        answer.map_err(|_| "it did not answer in time".to_owned())?
    }

    async fn exchange<T: DeserializeOwned>(&self, request: Request) -> Result<T, String> {
        let answer = self.client.send(request).await?;
        let status = answer.status();
        let body = to_bytes(Body::new(answer.into_body()), BODY_MAX).await;
        let body = body.map_err(|error| error.to_string())?;
        if status != StatusCode::OK {
            return Err(format!("it answered {status}"));
        }
        serde_json::from_slice(&body).map_err(|error| error.to_string())
    }
}

impl Peers for HttpPeers {
    fn demand<'a>(
        &'a self,
        advertise: &'a str,
        token: &'a str,
        demand: &'a LimitDemand,
    ) -> BoxFuture<'a, Result<LimitGrant, String>> {
        let whom = Whom {
            advertise,
            token,
            path: LIMITS,
        };
        Box::pin(self.ask(whom, demand, LIMITS_MAX))
    }

    fn settle<'a>(
        &'a self,
        advertise: &'a str,
        token: &'a str,
        letters: &'a LettersToRetry,
    ) -> BoxFuture<'a, Result<Vec<SettledLetter>, String>> {
        let whom = Whom {
            advertise,
            token,
            path: LETTERS,
        };
        Box::pin(self.ask(whom, letters, LETTERS_MAX))
    }
}

fn addressed(whom: Whom<'_>, body: Vec<u8>) -> Result<Request, String> {
    let Whom { advertise, token, path } = whom;
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = at(advertise, PathAndQuery::from_static(path))?;
    let headers = request.headers_mut();
    headers.insert(TOKEN, shown(token)?);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(request)
}

/// Whether a request is something that only nodes say.
pub(crate) fn is_internal(uri: &Uri) -> bool {
    uri.path().starts_with(INTERNAL)
}

/// Another node says something. It has shown the token.
pub(crate) async fn hear(app: &App, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let body = whole(request.into_body()).await;
    match path.as_str() {
        LIMITS => hear_statement(app, &body).await,
        LETTERS => hear_letters(app, &body).await,
        HINTS => hints::hear(app),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn hear_statement(app: &App, body: &[u8]) -> Response {
    let Ok(demand) = serde_json::from_slice::<LimitDemand>(body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    match app.engine.ask(demand).await {
        Ok(allowed) => axum::Json(allowed).into_response(),
        Err(refusal) => Problem::from(refusal).into_response(),
    }
}

async fn hear_letters(app: &App, body: &[u8]) -> Response {
    match serde_json::from_slice::<LettersToRetry>(body) {
        Ok(letters) => axum::Json(app.engine.settle(&letters).await).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}
