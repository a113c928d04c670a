//! The systems that the examples call, as one small HTTP server on loopback.
//!
//! Each system has its stories: how it answers the first request about a thing, the second, and so on. Stories come in
//! turn, by the number of the thing, so the demo tells the same ones every time: most go well, some need patience, and
//! now and then a system refuses.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How many things the world remembers having been asked about.
const REMEMBERED_MAX: usize = 1_000;

/// How a system answers one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// How long it thinks.
    pub(super) after: Duration,
    /// What it says.
    says: &'static str,
    /// Seconds until it wants to hear of us again.
    retry_after: Option<u64>,
}

const fn reply(status: u16, millis: u64, says: &'static str) -> Reply {
    Reply {
        status,
        after: Duration::from_millis(millis),
        says,
        retry_after: None,
    }
}

const fn ok(millis: u64) -> Reply {
    reply(201, millis, "accepted")
}

const BUSY: Reply = reply(503, 300, "too busy just now");
const DOWN: Reply = reply(503, 1_500, "down for maintenance");
const DECLINED: Reply = reply(402, 900, "the card was declined");
const SLOWER: Reply = Reply {
    retry_after: Some(8),
    ..reply(429, 50, "not so fast")
};

/// What comes after the end of every story.
const AFTERWARDS: Reply = ok(400);

/// The stories of a system; what they say about a thing's first request, its second, …
type Stories = &'static [&'static [Reply]];

const CHARGES: Stories = &[
    &[ok(1_800)],
    &[BUSY, BUSY, ok(700)],
    &[DECLINED],
    &[ok(600)],
    &[SLOWER, ok(500)],
    &[DOWN, DOWN, DOWN, DOWN],
    &[ok(2_500)],
    &[BUSY, ok(400)],
];
const MAIL: Stories = &[&[ok(500)], &[SLOWER, ok(300)], &[ok(900)], &[DOWN], &[ok(300)]];
const ACCOUNTS: Stories = &[&[ok(4_500)], &[BUSY, BUSY, BUSY, ok(800)], &[ok(2_500)]];
/// One colleague in a hundred waits for a maintenance of the directory: with the pauses of its retries it lasts until the next
/// such colleague is there, so that some action is always being retried.
const MAINTENANCE: Stories = &[&[BUSY; 45]];
const LAPTOPS: Stories = &[&[ok(3_000)], &[SLOWER, ok(2_000)], &[ok(3_500)], &[BUSY, ok(2_500)]];
/// One story for all nights. The two in a row that go wrong are one night's two attempts.
const NIGHTS: &[Reply] = &[ok(2_000), BUSY, ok(1_200), ok(900), DOWN, DOWN, ok(2_500), ok(700)];

/// How the system at `path` answers the request about `reference` that comes after `seen` others.
pub(super) fn answer(path: &str, reference: &str, seen: usize) -> Reply {
    let turn = super::number(reference).map_or(0, |number| usize::try_from(number % 1_000).unwrap_or(0));
    let stories = match path {
        "/payments/charges" => CHARGES,
        "/mail/messages" => MAIL,
        "/directory/accounts" if turn % 100 == 1 => MAINTENANCE,
        "/directory/accounts" => ACCOUNTS,
        "/shop/orders" => LAPTOPS,
        "/housekeeping/runs" => return in_turn(NIGHTS, seen).unwrap_or(AFTERWARDS),
        "/payments/refunds" => return AFTERWARDS,
        _ => return reply(404, 0, "no such system"),
    };
    let story = in_turn(stories, turn).unwrap_or_default();
    story.get(seen).copied().unwrap_or(AFTERWARDS)
}

fn in_turn<T: Copy>(items: &[T], turn: usize) -> Option<T> {
    items.iter().copied().cycle().nth(turn % items.len().max(1))
}

/// How often each thing was asked about, by path and reference.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<String, usize>>>);

impl Memory {
    /// How many requests about this came before, counting this one for the next.
    fn seen(&self, about: String) -> usize {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= REMEMBERED_MAX && !counts.contains_key(&about) {
            counts.pop_first();
        }
        let count = counts.entry(about).or_default();
        *count += 1;
        *count - 1
    }
}

/// How far the world's port is from the server's: with the usual ones 7490, where nothing of Sprag listens.
const APART: u16 = 90;

/// Lets the world answer, beside the server: at a port that follows from the server's where that is free, so that
/// executions find it again after a restart.
pub(super) async fn serve(server: SocketAddr) -> anyhow::Result<SocketAddr> {
    let beside = server.port().checked_add(APART).unwrap_or(0);
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, beside)).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
    };
    let address = listener.local_addr()?;
    let systems = Router::new().fallback(respond).with_state(Memory::default());
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, systems).await {
            tracing::warn!(%error, "demo stopped");
        }
    });
    Ok(address)
}

async fn respond(State(memory): State<Memory>, uri: Uri, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reference = body["reference"].as_str().unwrap_or_default();
    let seen = memory.seen(format!("{} {reference}", uri.path()));
    let Reply {
        status,
        after,
        says,
        retry_after,
    } = answer(uri.path(), reference, seen);
    tokio::time::sleep(after).await;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = json!({"reference": reference, "says": says}).to_string();
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], text).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
