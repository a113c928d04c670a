//! Programs that ask one node for work and get that of all nodes.
//!
//! The node that has work gives it. A poll is put to every node in turn without waiting, beginning with another one each time,
//! so no node's work goes short. After that it waits here, and looks at the others again now and then. One hop: a poll
//! that another node passes on is about this node's work alone. What was given to a program that has gone meanwhile is
//! given back: nothing happened.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_engine::lane::member::Whereabouts;
use sprag_engine::leases::{Poll, Wants};
use sprag_engine::requests::Refusal;
use tokio::sync::oneshot;

use crate::app::App;
use crate::nodes::hints::others;

/// How long a poll waits here before it looks at the other nodes again, at first, in milliseconds.
const PAUSE_MIN_MILLIS: u64 = 100;
/// The same for one that has waited for a while.
const PAUSE_MAX_MILLIS: u64 = 1_000;
/// How long another node may take before the poll continues without it.
const THEIRS_MAX: Duration = Duration::from_secs(2);
/// The largest answer of another node, in bytes: a hundred attempts with their configurations.
const BODY_MAX: usize = 64 << 20;
/// Where programs ask for work.
const LEASE: &str = "/v1/runners/lease";

/// Another node passed the request on: it is about this node alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedOn;

/// Work for a program, of whichever node has some.
pub(crate) async fn lease(app: &App, poll: Poll) -> Result<Vec<Value>, Refusal> {
    if others(app).is_empty() {
        return ours(app, poll).await;
    }
    let turn = app.forwarder.turn();
    let found = in_turn(app, &poll, turn).await?;
    let mut left = poll.wait_millis;
    if !found.is_empty() || left == 0 {
        return Ok(found);
    }
    let mut pause = PAUSE_MIN_MILLIS;
    loop {
        let began = app.engine.micros();
        let wait_millis = left.min(pause);
        let found = ours(
            app,
            Poll {
                wait_millis,
                ..poll.clone()
            },
        )
        .await?;
        if !found.is_empty() || left <= pause {
            return Ok(found);
        }
        for advertise in others(app) {
            let found = theirs(app, advertise, &poll).await;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let took = app.engine.micros().saturating_sub(began) / 1_000;
        left = left.saturating_sub(took.max(1));
        pause = (pause * 2).min(PAUSE_MAX_MILLIS);
    }
}

/// Asks every node once, those with work first. `turn` says with which it begins.
async fn in_turn(app: &App, poll: &Poll, turn: u64) -> Result<Vec<Value>, Refusal> {
    let mut nodes: Vec<Option<String>> = others(app).into_iter().map(Some).collect();
    nodes.push(None);
    let first = usize::try_from(turn % u64::try_from(nodes.len()).unwrap_or(1)).unwrap_or(0);
    nodes.rotate_left(first);
    for node in nodes {
        let found = match node {
            Some(advertise) => theirs(app, advertise, poll).await,
            None => {
                ours(
                    app,
                    Poll {
                        wait_millis: 0,
                        ..poll.clone()
                    },
                )
                .await?
            }
        };
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Work of this node.
pub(crate) async fn ours(app: &App, poll: Poll) -> Result<Vec<Value>, Refusal> {
    let leased = app.engine.leases().poll(poll).await?;
    Ok(leased.iter().map(|attempt| json!(attempt)).collect())
}

/// Work of another node, if it has some now. A program that goes away meanwhile, or a node that takes too long, does not
/// leave attempts without a holder: what arrives then goes back.
pub(crate) async fn theirs(app: &App, advertise: String, poll: &Poll) -> Vec<Value> {
    let (given, taken) = oneshot::channel();
    let (app, asked) = (app.clone(), asked(poll));
    tokio::spawn(async move {
        let attempts = ask(&app, &advertise, &asked).await;
        if let Err(attempts) = given.send(attempts) {
            give_back(&app, &advertise, &attempts).await;
        }
    });
    let taken = tokio::time::timeout(THEIRS_MAX, taken).await;
    taken.ok().and_then(Result::ok).unwrap_or_default()
}

/// A poll as it is put to another node: it does not wait there.
fn asked(poll: &Poll) -> Value {
    let Poll {
        wants: Wants { runner, kinds, tags },
        max,
        wait_millis: _,
        lease_millis,
    } = poll;
    let mut asked = json!({"types": kinds, "tags": tags, "max": max, "leaseSeconds": lease_millis / 1_000});
    if let (Some(members), Some(runner)) = (asked.as_object_mut(), runner) {
        members.insert("runner".to_owned(), json!(runner));
    }
    asked
}

/// The answer of another node. Its attempts are passed on as they came: a node of another version may say more.
#[derive(Deserialize)]
struct Given {
    attempts: Vec<Value>,
}

async fn ask(app: &App, advertise: &str, asked: &Value) -> Vec<Value> {
    let answer = match send(app, advertise, LEASE, asked).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::debug!(%error, advertise, "poll of another node failed");
            return Vec::new();
        }
    };
    let given = serde_json::from_slice::<Given>(&answer);
    given.map(|given| given.attempts).unwrap_or_default()
}

/// Says that attempts did not begin: the poller is gone.
async fn give_back(app: &App, advertise: &str, attempts: &[Value]) {
    let message = "the program that asked for work was gone before it was given the attempt";
    let failed = json!({"error": {"type": kind::TEMPORARY_FAILURE, "message": message}, "outcome": "notDone"});
    for id in attempts.iter().filter_map(|attempt| attempt["id"].as_str()) {
        let path = format!("/v1/attempts/{id}/fail");
        if let Err(error) = send(app, advertise, &path, &failed).await {
            tracing::warn!(%error, attempt = id, "leased attempt not returned; its lease runs out");
        }
    }
}

/// Tells every other node, and waits for none of them. One that is not reached hears it the next time.
pub(crate) fn tell_others(app: &App, path: &'static str, body: &Bytes) {
    for advertise in others(app) {
        let (app, body) = (app.clone(), body.clone());
        tokio::spawn(async move {
            if let Err(error) = send_bytes(&app, &advertise, path, body).await {
                tracing::debug!(%error, advertise, path, "another node not told");
            }
        });
    }
}

/// A request to another node, as a node.
async fn send(app: &App, advertise: &str, path: &str, body: &Value) -> Result<Bytes, String> {
    send_bytes(app, advertise, path, Bytes::from(body.to_string())).await
}

async fn send_bytes(app: &App, advertise: &str, path: &str, body: Bytes) -> Result<Bytes, String> {
    let token = app.engine.whereabouts().and_then(Whereabouts::view);
    let token = token.map(|view| view.token.clone()).unwrap_or_default();
    let answer = app.forwarder.send(advertise, &token, (&parts(path)?, body)).await?;
    if answer.status() != StatusCode::OK {
        return Err(format!("it answered {}", answer.status()));
    }
    to_bytes(answer.into_body(), BODY_MAX)
        .await
        .map_err(|error| error.to_string())
}

fn parts(path: &str) -> Result<Parts, String> {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::POST;
    let path: PathAndQuery = path.parse().map_err(|_| format!("`{path}` is not a path"))?;
    *request.uri_mut() = Uri::from(path);
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(request.into_parts().0)
}
