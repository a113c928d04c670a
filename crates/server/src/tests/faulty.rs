//! A store that fails, as clients see it.

use std::sync::{Arc, Condvar, Mutex};

use futures_util::FutureExt;
use serde_json::json;
use sprag_engine::requests::Start;
use sprag_store::hooked::ReadCall;
use sprag_store::records::Fact;
use sprag_store::traits::{Reader, Readers};
use sprag_store::{Commit, Error, Hooked, Memory, Mutation, StoreHook};

use super::world::{ORDER, Plan, World, engine};

/// What the store does next.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mood {
    #[default]
    Well,
    Full,
    ReadOnly,
    Refusing,
    Stalled,
    Unreadable,
    Away,
}

/// A store in memory that fails when it is told to.
#[derive(Clone, Default)]
struct Faulty {
    inner: Memory,
    mood: Arc<(Mutex<Mood>, Condvar)>,
}

impl Faulty {
    fn is_now(&self, mood: Mood) {
        *self.mood.0.lock().unwrap() = mood;
        self.mood.1.notify_all();
    }

    fn reaches(&self) -> Result<(), Error> {
        if self.mood() == Mood::Away { Err(away()) } else { Ok(()) }
    }

    fn mood(&self) -> Mood {
        *self.mood.0.lock().unwrap()
    }

    /// Only starts are refused: the engine's own notes must get through.
    fn refuses(&self, mutations: &[Mutation]) -> Result<(), Error> {
        let is_start = mutations
            .iter()
            .any(|mutation| matches!(mutation, Mutation::InsertExecution(_)));
        match self.mood() {
            Mood::Full => Err(Error::Full),
            Mood::ReadOnly => Err(Error::ReadOnly),
            Mood::Away => Err(away()),
            Mood::Refusing if is_start => Err(Error::Refused {
                detail: "no".to_owned(),
            }),
            Mood::Stalled => {
                let stalled = self.mood.0.lock().unwrap();
                drop(self.mood.1.wait_while(stalled, |mood| *mood == Mood::Stalled).unwrap());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn away() -> Error {
    Error::Away {
        detail: "nobody answers".to_owned(),
    }
}

impl StoreHook for Faulty {
    fn read(&mut self, call: ReadCall) -> Result<(), Error> {
        match call {
            ReadCall::Load | ReadCall::Facts => self.reaches(),
            _ => Ok(()),
        }
    }

    fn before(&mut self, commit: &mut Commit) -> Result<(), Error> {
        self.refuses(&commit.mutations)
    }
}

impl Readers for Faulty {
    fn reader(&self, _: sprag_store::ReadKind) -> Result<Box<dyn Reader + '_>, Error> {
        match self.mood() {
            Mood::Unreadable => Err(Error::Failed {
                detail: "no".to_owned(),
            }),
            Mood::Away => Err(away()),
            _ => Ok(Box::new(self.inner.clone())),
        }
    }

    fn snapshot(&self, mark: &Fact) -> Result<std::fs::File, Error> {
        self.inner.snapshot(mark)
    }
}

async fn world(store: &Faulty) -> World {
    let lane = Hooked::new(store.inner.clone(), store.clone());
    let engine = engine(Box::new(lane), Arc::new(store.clone()));
    let world = World::before(engine, Plan::default(), tempfile::tempdir().unwrap()).await;
    world.apply(ORDER).await.expect(201);
    world
}

#[tokio::test]
async fn a_store_that_cannot_write_refuses_and_recovers() {
    let store = Faulty::default();
    let world = world(&store).await;
    let start = json!({"machine": "order", "key": "A", "variables": {"amount": 1}});
    for (mood, code) in [
        (Mood::Full, "store-full"),
        (Mood::ReadOnly, "store-read-only"),
        (Mood::Refusing, "store-refused"),
    ] {
        store.is_now(mood);
        world.post("/v1/executions", &start).await.problem(code);
        store.is_now(Mood::Well);
        assert_eq!(
            world.get("/v1/executions").await.expect(200)["data"],
            json!([]),
            "{code}"
        );
    }
    world.post("/v1/executions", &start).await.expect(201);
}

#[tokio::test]
async fn a_store_out_of_reach_is_told_at_once_and_all_goes_on_when_it_is_back() {
    let store = Faulty::default();
    let world = world(&store).await;
    let start = json!({"machine": "order", "key": "A", "variables": {"amount": 1}});
    world.post("/v1/executions", &start).await.expect(201);
    store.is_now(Mood::Away);
    for _ in 0..2 {
        let refused = world.post("/v1/executions", &start).await;
        refused.problem("store-away");
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    world.get("/v1/executions").await.problem("store-away");
    world.get("/readyz").await.problem("not-ready");
    world.get("/healthz").await.expect(200);
    store.is_now(Mood::Well);
    world.get("/readyz").await.expect(200);
    world.post("/v1/executions", &start).await.problem("key-in-use");
    let other = json!({"machine": "order", "key": "B", "variables": {"amount": 1}});
    world.post("/v1/executions", &other).await.expect(201);
}

#[tokio::test]
async fn a_store_that_cannot_be_read_fails_and_is_not_ready() {
    let store = Faulty::default();
    let world = world(&store).await;
    store.is_now(Mood::Unreadable);
    world.get("/v1/executions").await.problem("store-failed");
    world.get("/readyz").await.problem("not-ready");
    store.is_now(Mood::Well);
    world.get("/readyz").await.expect(200);
}

#[tokio::test]
async fn a_start_that_is_durable_is_answered_even_if_waiting_for_it_fails() {
    let store = Faulty::default();
    let world = world(&store).await;
    store.is_now(Mood::Unreadable);
    let start = json!({"machine": "order", "variables": {"amount": 1}});
    let started = world.post("/v1/executions?wait=20s", &start).await.expect(201);
    store.is_now(Mood::Well);
    let id = started["id"].as_str().unwrap();
    world.get(&format!("/v1/executions/{id}")).await.expect(200);
}

#[tokio::test]
async fn too_much_at_once_is_refused_at_the_door() {
    let store = Faulty::default();
    let world = world(&store).await;
    store.is_now(Mood::Stalled);
    let mut waiting = Vec::new();
    let refused = loop {
        let handle = world.handle.clone();
        let mut ask = Box::pin(async move {
            handle
                .start(Start {
                    machine: "order".to_owned(),
                    variables: serde_json::Map::from_iter([("amount".to_owned(), json!(1))]),
                    ..Start::default()
                })
                .await
        });
        match ask.as_mut().now_or_never() {
            Some(answer) => break answer.unwrap_err(),
            None => waiting.push(ask),
        }
    };
    assert_eq!(refused.code.text(), "overloaded");
    let start = json!({"machine": "order", "variables": {"amount": 1}});
    let reply = world.post("/v1/executions", &start).await;
    store.is_now(Mood::Well);
    reply.problem("overloaded");
    assert_eq!(reply.header("retry-after"), Some("1"));
}
