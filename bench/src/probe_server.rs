//! The bare writer behind the HTTP server that Sprag uses: the ceiling of W1 over HTTP.
//!
//! `POST /` is answered when the job's start is durable; its end is then written too. `GET /` counts what has ended.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use anyhow::Context;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::bare::{self, Write};
use crate::bare_database;
use crate::samples::{self, Sample};

type Reply = Option<oneshot::Sender<()>>;

#[derive(Clone)]
struct Probe {
    writer: Sender<Write<Reply>>,
    started: Arc<AtomicU64>,
    ended: Arc<AtomicU64>,
    /// What Sprag answers to a start.
    answer: Arc<Value>,
}

/// Serves until it is stopped, in a database or from a file in the current folder; either is its starter's to remove.
pub(crate) fn serve(database: Option<&str>) -> anyhow::Result<()> {
    let Sample { rows, view, .. } = samples::closed()?;
    let ended = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ended);
    let (sender, writes) = channel();
    let again = sender.clone();
    let durable = move |write: Write<Reply>| {
        if write.ends {
            counted.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // Whoever is gone, the client or the writer itself, needs no answer.
        let _ = write.done.map(|reply| reply.send(()));
        let _ = again.send(Write {
            job: write.job,
            ends: true,
            done: None,
        });
    };
    match database {
        Some(url) => drop(bare_database::start(url, rows, writes, durable)?),
        None => drop(bare::start(Path::new("probe.db"), rows, writes, durable)?),
    }
    let probe = Probe {
        writer: sender,
        started: Arc::default(),
        ended,
        answer: Arc::new(view),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{}", listener.local_addr()?);
        let router = Router::new().route("/", post(start).get(count)).with_state(probe);
        axum::serve(listener, router).await.context("serving")
    })
}

async fn start(State(probe): State<Probe>, Json(_): Json<Value>) -> (StatusCode, Json<Arc<Value>>) {
    let (reply, durable) = oneshot::channel();
    let job = probe.started.fetch_add(1, Ordering::Relaxed);
    let write = Write {
        job,
        ends: false,
        done: Some(reply),
    };
    if probe.writer.send(write).is_err() || durable.await.is_err() {
        return (StatusCode::INTERNAL_SERVER_ERROR, Json(Arc::default()));
    }
    (StatusCode::CREATED, Json(probe.answer))
}

async fn count(State(probe): State<Probe>) -> Json<Value> {
    Json(json!({ "ended": probe.ended.load(Ordering::Relaxed) }))
}
