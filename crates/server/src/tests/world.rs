//! An engine on a database of its own, and a server before it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_agent::durable::{self, LoadRunner};
use sprag_core::action::{Attempt, BoxFuture, ConfigProblem, Outcome, Runner};
use sprag_core::clock::System;
use sprag_core::integrity::audit::VerbSet;
use sprag_core::operation::approval::Policy;
use sprag_core::time::Timestamp;
use sprag_engine::{Builder, Engine, Handle, Limits, Requirements, SecretSource};
use sprag_runners::http::outbound;
use sprag_runners::tools::{Fail, LogMessage, Noop};
use sprag_store::LaneStore;
use sprag_store::sqlite;
use sprag_store::traits::Readers;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::client::{Reply, exchange, request};
use crate::{Counted, Error, Options, Server};

/// A machine that takes an order, ships it, and is done.
pub(super) const ORDER: &str = "
id: order
description: An order is paid and shipped.
variables: { currency: EUR }
input: { type: object, required: [amount] }
initial: open
states:
  open:
    on:
      PAY: { target: paid, assign: { by: '{{message.payload.by}}' } }
      HOLD: held
  held: { on: { PAY: paid } }
  paid: { on: { done.ship: shipped, failed.ship: stuck } }
  stuck: { on: { RESOLVED: shipped } }
  shipped: { type: final, output: { by: '{{variables.by}}' } }
actions:
  - { actionId: ship, type: noop, triggerState: paid }
";

/// A machine whose action fails at once, for good.
pub(super) const DOOMED: &str = "
id: doomed
initial: trying
states:
  trying: { on: { done.act: over, failed.act: waiting } }
  waiting: { on: { END: over } }
  over: { type: final }
actions:
  - actionId: act
    type: fail
    triggerState: trying
    config: { type: not_found, message: nobody there }
    retryPolicy: { maxAttempts: 1 }
";

/// A machine whose action is due in an hour.
pub(super) const LATER: &str = "
id: later
initial: a
states:
  a: { on: { done.act: b, failed.act: b } }
  b: { type: final }
actions:
  - { actionId: act, type: noop, triggerState: a, delay: 1h }
";

/// A machine whose action runs until it is cancelled, one at a time.
pub(super) const SLOW: &str = "
id: slow
initial: a
states:
  a: { on: { done.act: b, failed.act: b } }
  b: { type: final }
actions:
  - { actionId: act, type: hold, triggerState: a, limits: [ { key: one, concurrency: 1 } ] }
";

/// Runs until somebody cancels it.
struct Hold;

impl Runner for Hold {
    fn types(&self) -> &[&str] {
        &["hold"]
    }

    fn validate(&self, _kind: &str, _config: &Value) -> Vec<ConfigProblem> {
        Vec::new()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            attempt.control.cancelled().await;
            Outcome::not_done("cancelled", "asked to stop")
        })
    }
}

/// Fails as `fail` does, and takes secrets as a runner that calls somebody does.
struct Relay;

static FAIL: Fail = Fail;

impl Runner for Relay {
    fn types(&self) -> &[&str] {
        &["relay"]
    }

    fn validate(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        FAIL.validate(kind, config)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        FAIL.run(attempt)
    }
}

/// What the hooks of the tests are signed with.
pub(super) const SECRETS: [(&str, &str); 3] = [
    ("hook", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ("hook_next", "whsec_plJ3nmyCDGBKInavdOK15jsl"),
    ("docusign", "a-connect-key"),
];

struct KnownSecrets;

impl SecretSource for KnownSecrets {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        let found = SECRETS.iter().find(|(known, _)| *known == name);
        let value = found.map(|(_, value)| (*value).to_owned());
        Box::pin(async { Ok(value) })
    }
}

/// An engine without options, on any store.
pub(super) fn engine(store: Box<dyn LaneStore>, readers: Arc<dyn Readers>) -> Builder {
    let entropy = AtomicU64::new(1);
    Engine::builder(Requirements {
        store,
        readers,
        clock: Arc::new(System::start(Timestamp::default())),
        entropy: Box::new(move || sprag_core::ids::scatter(entropy.fetch_add(1, Ordering::SeqCst))),
        secrets: Arc::new(KnownSecrets),
    })
    .runner(Arc::new(Noop))
    .runner(Arc::new(Fail))
    .runner(Arc::new(LogMessage))
    .runner(Arc::new(Hold))
    .runner(Arc::new(Relay))
}

/// The runner of load tests, whose agents may be on this machine.
fn load_runner(options: &Options) -> Arc<dyn Runner> {
    let outbound = outbound::Options {
        allow: vec!["127.0.0.0/8".to_owned()],
    };
    let clock = Arc::new(System::start(Timestamp::default()));
    let agents = durable::Options::default();
    let runner = LoadRunner::new(options.loads.clone(), agents, &outbound, Arc::default(), clock);
    Arc::new(runner.unwrap())
}

/// What differs from one world to another.
pub(super) struct Plan {
    pub(super) limits: Limits,
    pub(super) approval: Policy,
    pub(super) options: Options,
    /// The verbs of the audit that must have a reason.
    pub(super) reasons: VerbSet,
}

impl Default for Plan {
    fn default() -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            limits: Limits::default(),
            approval: Policy::default(),
            reasons: VerbSet::default(),
            options: Options {
                listen,
                store: "sqlite".to_owned(),
                ..Options::default()
            },
        }
    }
}

/// A running engine with a server before it.
pub(super) struct World {
    pub(super) address: SocketAddr,
    pub(super) handle: Handle,
    pub(super) counted: Counted,
    engine: Engine,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), Error>>,
    _folder: tempfile::TempDir,
}

impl World {
    /// A world as users get it.
    pub(super) async fn start() -> Self {
        Self::with(Plan::default()).await
    }

    /// A world on a new database.
    pub(super) async fn with(plan: Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = sqlite::open(&sqlite::Options {
            path: folder.path().join("sprag.db"),
        })
        .unwrap();
        let engine = engine(Box::new(store.writer), Arc::new(store.readers));
        Self::before(engine, plan, folder).await
    }

    /// A world around any engine.
    pub(super) async fn before(engine: Builder, plan: Plan, folder: tempfile::TempDir) -> Self {
        let Plan {
            limits,
            approval,
            options,
            reasons,
        } = plan;
        let engine = engine.runner(load_runner(&options)).options(sprag_engine::Options {
            limits,
            approval,
            reasons,
            ..sprag_engine::Options::default()
        });
        let engine = engine.start().unwrap_or_else(|error| panic!("{}", error.0));
        let handle = engine.handle();
        let server = Server::bind(options, handle.clone()).await.unwrap();
        let address = server.address();
        let counted = server.counted();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            handle,
            counted,
            engine,
            stop,
            running,
            _folder: folder,
        }
    }

    /// Stops the server and waits for its end.
    pub(super) async fn stop_server(self) {
        self.stop.send(()).unwrap();
        self.running.await.unwrap().unwrap();
    }

    /// Stops the engine behind the server.
    pub(super) async fn stop_engine(self) -> SocketAddr {
        self.engine.shutdown(Duration::ZERO).await;
        // The server continues: whoever asks it now is told.
        std::mem::forget(self.stop);
        self.address
    }

    pub(super) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        exchange(self.address, &request(method, path, headers, body)).await
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"").await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(
            "POST",
            path,
            &[("Content-Type", "application/json")],
            body.to_string().as_bytes(),
        )
        .await
    }

    /// A POST without a body.
    pub(super) async fn command(&self, path: &str) -> Reply {
        self.send("POST", path, &[], b"").await
    }

    pub(super) async fn apply(&self, yaml: &str) -> Reply {
        self.send(
            "POST",
            "/v1/machines",
            &[("Content-Type", "application/yaml")],
            yaml.as_bytes(),
        )
        .await
    }

    /// Starts an execution and gives its id.
    pub(super) async fn begin(&self, machine: &str) -> String {
        let started = self
            .post(
                "/v1/executions",
                &json!({"machine": machine, "variables": {"amount": 1}}),
            )
            .await;
        started.expect(201)["id"].as_str().unwrap().to_owned()
    }

    /// The action of an execution once `is_so` holds of it. Changes wake it up; nothing is waited for blindly.
    pub(super) async fn action(&self, execution: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut changes = self.handle.changes();
        let found = async {
            loop {
                let list = self
                    .get(&format!("/v1/actions?executionId={execution}"))
                    .await
                    .expect(200);
                if let Some(action) = list["data"].as_array().unwrap().iter().find(|action| is_so(action)) {
                    return action.clone();
                }
                let _ = changes.recv().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), found)
            .await
            .expect("the action comes to it")
    }
}
