//! What another node gives too late goes back to it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use serde_json::{Value, json};
use sprag_agent::durable::Loads;
use sprag_engine::leases::{Poll, Wants};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};

use super::world::World;
use crate::access::guard::Hosts;
use crate::app::{App, Settings};
use crate::nodes::{NodeClient, polls};
use crate::{PlainText, Trust};

/// A node that answers a poll when it is told to, and tells which attempts it is given back.
#[derive(Clone)]
struct Slow {
    asked: Arc<Notify>,
    answers: Arc<Notify>,
    back: mpsc::UnboundedSender<(String, Value)>,
}

async fn lease(State(slow): State<Slow>) -> axum::Json<Value> {
    slow.asked.notify_one();
    slow.answers.notified().await;
    axum::Json(json!({"attempts": [{"id": "att_1"}, {"id": "att_2"}]}))
}

async fn fail(State(slow): State<Slow>, Path(id): Path<String>, axum::Json(body): axum::Json<Value>) {
    slow.back.send((id, body)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_that_another_node_gives_to_a_program_that_has_gone_are_given_back_as_not_done() {
    let (back, mut given_back) = mpsc::unbounded_channel();
    let slow = Slow {
        asked: Arc::default(),
        answers: Arc::default(),
        back,
    };
    let router = Router::new()
        .route("/v1/runners/lease", post(lease))
        .route("/v1/attempts/{id}/fail", post(fail))
        .with_state(slow.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let advertise = format!("http://{}", listener.local_addr().unwrap());
    let node = tokio::spawn(async move { axum::serve(listener, router).await });
    let world = World::start().await;
    let (_open, closing) = tokio::sync::watch::channel(false);
    let app = App::new(world.handle.clone(), settings(), closing);
    let poll = Poll {
        wants: Wants::default(),
        max: 2,
        wait_millis: 0,
        lease_millis: 60_000,
    };
    let program = tokio::spawn(async move { polls::theirs(&app, advertise, &poll).await });
    slow.asked.notified().await;
    program.abort();
    assert!(program.await.is_err(), "it has gone");
    slow.answers.notify_one();
    for expected in ["att_1", "att_2"] {
        let (id, said) = given_back.recv().await.unwrap();
        assert_eq!((id.as_str(), &said["outcome"]), (expected, &json!("notDone")));
    }
    node.abort();
}

fn settings() -> Settings {
    Settings {
        hosts: Hosts::default(),
        body_bytes: 1 << 20,
        store: "memory".to_owned(),
        is_loopback: true,
        streams: 1,
        auth: crate::Auth::default(),
        is_demo: false,
        oidc: None,
        asks_certificates: false,
        nodes: Some(NodeClient::new(&Trust::default(), PlainText::Refused).unwrap()),
        loads: Loads::default(),
    }
}
