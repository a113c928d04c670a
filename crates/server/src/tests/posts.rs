//! Every POST of the route table, with an `Idempotency-Key`: it acts once, or it changes nothing. One that is added to the
//! table and not here fails the walk.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::ids::{JobId, Slot};
use sprag_core::operation::approval::Policy;
use sprag_core::time::Timestamp;
use sprag_store::records::{Job, JobStatus};
use sprag_store::{CommitStore, Mutation, ShardId, sqlite};

use super::client::Reply;
use super::operate::bytes;
use super::runners::DRAWING;
use super::world::{DOOMED, LATER, ORDER, Plan, World, engine};
use crate::openapi::ONCE;
use crate::openapi::Route;
use crate::routes::table;

/// A machine that hears of payments by a hook that anybody on this machine may call.
const HOOKED: &str = "
id: hooked
initial: open
states: { open: { on: { PAID: { actions: [{ assign: { paid: yes } }] } } } }
hooks: { paid: { verify: none, key: '{{request.body.order}}', type: PAID } }
";

/// What is said about the key in the document, by the path of the POST.
fn documented() -> Vec<(&'static str, Vec<&'static str>)> {
    let of = |Route { path, operations, .. }: Route| {
        let operations = operations.into_iter();
        let post = operations
            .filter(|(method, _)| *method == "post")
            .map(|(_, operation)| operation);
        let keys = post.map(move |operation| {
            let parameters = operation.parameters.into_iter();
            let about = parameters.filter(|one| one.name == ONCE).map(|one| one.about);
            (path, about.collect())
        });
        keys.collect::<Vec<_>>()
    };
    // Those of supervision need one: `workers::tests` walks them.
    let own = table()
        .into_iter()
        .filter(|route| !route.path.starts_with("/v1/workers"));
    own.flat_map(of).collect()
}

#[test]
fn every_post_says_what_the_key_does_to_it() {
    for (path, about) in documented() {
        assert_eq!(about.len(), 1, "{path}: {about:?}");
    }
}

/// The jobs that are there from the beginning. One that is made takes its steps at once, so only these stay open.
const PAUSED: [u64; 3] = [1, 2, 3];

fn paused(number: u64) -> Job {
    let at = Timestamp::from_millis(1);
    Job {
        id: JobId::compose(at, Slot::default(), number),
        kind: "retryDeadLetters".to_owned(),
        status: JobStatus::Paused,
        created_at: at,
        updated_at: at,
        body: br#"{"filter": "machine = \"nobody\""}"#.to_vec(),
    }
}

async fn with_paused_jobs() -> World {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let mut store = sqlite::open(&sqlite::Options { path }).unwrap();
    let fence = store.writer.acquire(ShardId(0)).unwrap();
    let jobs = PAUSED.map(|number| Mutation::PutJob(paused(number)));
    store.writer.commit(&[fence], &jobs).unwrap();
    let engine = engine(Box::new(store.writer), Arc::new(store.readers));
    // Everybody is the same principal: the walk approves what it proposed.
    let approval = Policy {
        self_approval: true,
        ..Policy::default()
    };
    let plan = Plan {
        approval,
        ..Plan::default()
    };
    World::before(engine, plan, folder).await
}

/// A walk over the table: which POSTs were tried, and how.
struct Walk {
    world: World,
    tried: BTreeSet<(&'static str, bool)>,
    key: u32,
}

impl Walk {
    /// Sends it twice under a new key.
    async fn pair(&mut self, path: &str, id: &str, body: &Value) -> (Reply, Reply) {
        self.key += 1;
        let (path, key) = (path.replace("{id}", id), format!("walk-{}", self.key));
        let first = self.world.once(&key, &path, body).await;
        assert!((200..300).contains(&first.status), "{path}: {first:?}");
        assert_eq!(first.header("idempotent-replayed"), None, "{path}");
        let second = self.world.once(&key, &path, body).await;
        (first, second)
    }

    /// Acts once: the second answer is the first one, and says so; with another body it is refused.
    async fn once(&mut self, path: &'static str, id: &str, body: Value) -> Value {
        let (first, second) = self.pair(path, id, &body).await;
        assert_eq!(second.header("idempotent-replayed"), Some("true"), "{path}: {second:?}");
        assert_eq!((second.status, &second.body), (first.status, &first.body), "{path}");
        for name in ["location", "etag"] {
            assert_eq!(second.header(name), first.header(name), "{path} {name}");
        }
        self.tried.insert((path, true));
        first.json()
    }

    /// The same, and then with another body: which is refused and does nothing.
    async fn once_with(&mut self, path: &'static str, id: &str, (body, other): (Value, Value)) -> Value {
        let shown = self.once(path, id, body).await;
        let key = format!("walk-{}", self.key);
        let refused = self.world.once(&key, &path.replace("{id}", id), &other).await;
        refused.problem("idempotency-key-reused");
        assert_eq!(refused.status, 422, "{path}");
        shown
    }

    /// Changes nothing: it is answered anew each time.
    async fn freely(&mut self, path: &'static str, id: &str, body: Value) {
        let (first, second) = self.pair(path, id, &body).await;
        assert_eq!(second.header("idempotent-replayed"), None, "{path}: {second:?}");
        assert_eq!(second.status, first.status, "{path}");
        self.tried.insert((path, false));
    }

    async fn machines(&mut self) {
        let plain = |text: &str| json!({"id": "plain", "description": text, "initial": "a", "states": {"a": {}}});
        self.once_with("/v1/machines", "", (plain("one"), plain("two"))).await;
        let shown = self.world.get("/v1/machines/plain").await.expect(200);
        assert_eq!((&shown["version"], &shown["description"]), (&json!(1), &json!("one")));
        self.freely("/v1/machines/lint", "", plain("x")).await;
        let order = json!({"machine": "order", "variables": {"amount": 1}});
        self.freely("/v1/machines/simulate", "", order).await;
        let two = json!({"before": {"machine": "order"}, "after": {"machine": "order"}});
        self.freely("/v1/machines/diff", "", two).await;
    }

    async fn executions(&mut self) {
        let start = |amount| json!({"machine": "order", "key": "red", "variables": {"amount": amount}});
        let started = self.once_with("/v1/executions", "", (start(1), start(2))).await;
        let id = started["id"].as_str().unwrap();
        let message = |kind| json!({"type": kind});
        let two = (message("HOLD"), message("PAY"));
        self.once_with("/v1/executions/{id}/messages", id, two).await;
        let to_key = |kind| json!({"machine": "order", "key": "red", "type": kind});
        self.once_with("/v1/messages", "", (to_key("X"), to_key("Y"))).await;
        self.once("/v1/executions/{id}/pause", id, json!({})).await;
        self.once("/v1/executions/{id}/resume", id, json!({})).await;
        let two = (json!({"version": 1}), json!({"version": 2}));
        self.once_with("/v1/executions/{id}/migrate", id, two).await;
        self.freely("/v1/executions/{id}/replay", id, json!({})).await;
        self.once("/v1/executions/{id}/cancel", id, json!({})).await;
        let history = self
            .world
            .get(&format!("/v1/executions/{id}/history"))
            .await
            .expect(200);
        let kinds: Vec<&str> = history["data"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|entry| entry["kind"].as_str())
            .collect();
        assert_eq!(
            kinds,
            ["step", "step", "step", "paused", "resumed", "migrated", "cancelled"]
        );
    }

    async fn hooks(&mut self) {
        self.world.apply(HOOKED).await.expect(201);
        let keyed = json!({"machine": "hooked", "key": "7"});
        let started = self.world.post("/v1/executions", &keyed).await.expect(201);
        let path = "/v1/hooks/{machine}/{name}";
        let (key, order) = ("hooked", json!({"order": "7"}));
        let first = self.world.once(key, "/v1/hooks/hooked/paid", &order).await;
        let second = self.world.once(key, "/v1/hooks/hooked/paid", &order).await;
        assert_eq!(second.header("idempotent-replayed"), Some("true"), "{second:?}");
        assert_eq!((first.status, &first.body), (200, &second.body));
        // A hook's callers are not the people who send messages: the same key is another one.
        let message = json!({"machine": "hooked", "key": "7", "type": "PAID", "payload": {"order": "7"}});
        let sent = self.world.once(key, "/v1/messages", &message).await;
        assert_eq!((sent.status, sent.header("idempotent-replayed")), (200, None));
        let id = started["id"].as_str().unwrap();
        let shown = self.world.get(&format!("/v1/executions/{id}")).await.expect(200);
        assert_eq!(shown["sequence"], 3);
        self.tried.insert((path, true));
    }

    async fn actions(&mut self) {
        for verb in ["/v1/actions/{id}/retry-now", "/v1/actions/{id}/cancel"] {
            let later = self.world.begin("later").await;
            let scheduled = self.world.action(&later, |_| true).await;
            self.once(verb, scheduled["id"].as_str().unwrap(), json!({})).await;
        }
        let doomed = self.world.begin("doomed").await;
        let died = |attempts: usize| {
            move |action: &Value| {
                action["status"] == "dead" && action["attempts"].as_array().is_some_and(|all| all.len() == attempts)
            }
        };
        let dead = self.world.action(&doomed, died(1)).await;
        let id = dead["id"].as_str().unwrap();
        let two = (json!({}), json!({"version": 1}));
        self.once_with("/v1/dead-letters/{id}/retry", id, two).await;
        self.world.action(&doomed, died(2)).await;
        self.once("/v1/dead-letters/{id}/archive", id, json!({})).await;
    }

    async fn runners(&mut self) {
        let asks = json!({"runner": "gpu", "types": ["render"]});
        self.freely("/v1/runners/lease", "", asks).await;
        self.world.apply(DRAWING).await.expect(201);
        for end in ["/v1/attempts/{id}/complete", "/v1/attempts/{id}/fail"] {
            self.world.begin("drawing").await;
            let attempt = self.world.leased().await;
            let id = attempt["id"].as_str().unwrap();
            self.freely("/v1/attempts/{id}/heartbeat", id, json!({})).await;
            let body = if end.ends_with("fail") {
                json!({"error": {"type": "not_found"}, "outcome": "notDone"})
            } else {
                json!({"result": 1})
            };
            self.once(end, id, body).await;
        }
    }

    async fn jobs(&mut self) {
        let filter = |machine| json!({"filter": format!("machine = \"{machine}\"")});
        let two = (filter("nobody"), filter("somebody"));
        self.once_with("/v1/dead-letters/retry", "", two).await;
        let because = |reason| json!({"filter": "machine = \"nobody\"", "reason": reason});
        let two = (because("void"), because("old"));
        self.once_with("/v1/dead-letters/archive", "", two).await;
        let jobs = self.world.get("/v1/jobs").await.expect(200);
        assert_eq!(jobs["data"].as_array().unwrap().len(), 2 + PAUSED.len(), "{jobs}");
        let [first, second, third] = PAUSED.map(|number| paused(number).id.to_string());
        self.once("/v1/jobs/{id}/pause", &first, json!({})).await;
        self.once("/v1/jobs/{id}/resume", &second, json!({})).await;
        let ended = self.once("/v1/jobs/{id}/cancel", &third, json!({})).await;
        assert_eq!(ended["status"], "cancelled");
        // Without the key it is what it is: over.
        let again = self.world.command(&format!("/v1/jobs/{third}/cancel")).await;
        again.problem("status-conflict");
    }

    async fn switches(&mut self) {
        let on = |scope| json!({"scope": scope, "reason": "a walk", "expiresIn": "1h"});
        let two = (on("type:fail"), on("type:hold"));
        let switch = self.once_with("/v1/kill-switches", "", two).await;
        let list = self.world.get("/v1/kill-switches").await.expect(200);
        assert_eq!(list["data"].as_array().unwrap().len(), 1, "{list}");
        let id = switch["id"].as_str().unwrap();
        let released = self.once("/v1/kill-switches/{id}/release", id, json!({})).await;
        assert_eq!(released["status"], "released");
    }

    /// A switch holds the load, so that its state does not change between two answers.
    async fn loads(&mut self) {
        let agent = json!({"name": "walk", "address": "127.0.0.1:9"});
        self.freely("/v1/agents", "", agent).await;
        let scope = json!({"scope": "type:load", "reason": "a walk"});
        let switch = self.world.post("/v1/kill-switches", &scope).await.expect(201);
        let load = |users| {
            let http = json!({"url": "http://127.0.0.1:9/"});
            let plan = json!({"name": "walk", "workload": "http", "http": http, "concurrency": users});
            json!({"plan": plan, "agents": ["walk"]})
        };
        let started = self.once_with("/v1/loads", "", (load(1), load(2))).await;
        let id = started["id"].as_str().unwrap();
        self.once("/v1/loads/{id}/abort", id, json!({})).await;
        let release = format!("/v1/kill-switches/{}/release", switch["id"].as_str().unwrap());
        self.world.command(&release).await.expect(200);
    }

    async fn operations(&mut self) {
        let operation = |name: &str, risk: &str, kind: &str| {
            let policy = json!({"maxAttempts": 1});
            let config = if kind == "fail" {
                json!({"type": "not_found", "message": "no"})
            } else {
                json!({})
            };
            json!({
                "operation": name, "riskLevel": risk,
                "action": {"type": kind, "config": config, "retryPolicy": policy},
            })
        };
        let two = (operation("linger", "high", "hold"), operation("linger", "high", "noop"));
        self.once_with("/v1/operations", "", two).await;
        let stumble = operation("stumble", "low", "fail");
        self.world.post("/v1/operations", &stumble).await.expect(201);
        let propose = |name: &str, reason: &str| json!({"operation": name, "params": {}, "reason": reason});
        let two = (propose("linger", "one"), propose("linger", "other"));
        let held = self.once_with("/v1/workflows", "", two).await;
        let id = held["id"].as_str().unwrap();
        let digest = json!({"digest": held["digest"]});
        self.once("/v1/workflows/{id}/approve", id, digest).await;
        self.once("/v1/workflows/{id}/revoke", id, json!({"comment": "wrong"}))
            .await;
        for (verb, body) in [
            ("/v1/workflows/{id}/reject", json!({"comment": "no"})),
            ("/v1/workflows/{id}/cancel", json!({"reason": "no"})),
        ] {
            let made = self
                .world
                .post("/v1/workflows", &propose("linger", verb))
                .await
                .expect(201);
            self.once(verb, made["id"].as_str().unwrap(), body).await;
        }
        let failed = self
            .world
            .post("/v1/workflows", &propose("stumble", "walk"))
            .await
            .expect(201);
        let id = failed["id"].as_str().unwrap();
        let execution = failed["executionId"].as_str().unwrap();
        self.world.action(execution, |action| action["status"] == "dead").await;
        // What is retried stays where it is.
        let scope = json!({"scope": "type:fail", "reason": "a walk"});
        let switch = self.world.post("/v1/kill-switches", &scope).await.expect(201);
        self.once("/v1/workflows/{id}/resume", id, json!({"reason": "again"}))
            .await;
        let release = format!("/v1/kill-switches/{}/release", switch["id"].as_str().unwrap());
        self.world.command(&release).await.expect(200);
        self.compensate().await;
    }

    async fn compensate(&mut self) {
        let machine = json!({
            "id": "undone", "initial": "a", "states": {"a": {}},
            "actions": [
                {"actionId": "do", "type": "noop", "triggerState": "a", "compensate": "undo"},
                {"actionId": "undo", "type": "noop", "riskLevel": "high"},
            ],
        });
        self.world.post("/v1/machines", &machine).await.expect(201);
        let execution = self.world.begin("undone").await;
        self.world
            .action(&execution, |action| action["status"] == "succeeded")
            .await;
        let cancel = format!("/v1/executions/{execution}/cancel");
        self.world.command(&cancel).await.expect(200);
        self.once("/v1/executions/{id}/compensate", &execution, json!({})).await;
    }

    /// The token itself is shown once, so the repeated answer lacks it.
    async fn tokens(&mut self) {
        let body = json!({"name": "walk", "roles": ["viewer"]});
        let (first, second) = self.pair("/v1/tokens", "", &body).await;
        assert_eq!(second.header("idempotent-replayed"), Some("true"));
        let (mut first, second) = (first.expect(201), second.expect(201));
        first.as_object_mut().unwrap().remove("token").unwrap();
        assert_eq!(first, second);
        self.tried.insert(("/v1/tokens", true));
        let id = first["id"].as_str().unwrap();
        self.once("/v1/tokens/{id}/revoke", id, json!({})).await;
    }

    async fn backup(&mut self) {
        let path = "/v1/system/backup";
        for _ in 0..2 {
            let (head, _) = bytes(&self.world, path, &[("Idempotency-Key", "b")]).await;
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            assert!(!head.to_lowercase().contains("idempotent-replayed"), "{head}");
        }
        self.tried.insert((path, false));
    }
}

#[tokio::test]
async fn every_post_of_the_table_acts_once_under_its_key_or_changes_nothing() {
    let world = with_paused_jobs().await;
    for machine in [ORDER, DOOMED, LATER] {
        world.apply(machine).await.expect(201);
    }
    let mut walk = Walk {
        world,
        tried: BTreeSet::new(),
        key: 0,
    };
    walk.machines().await;
    walk.executions().await;
    walk.hooks().await;
    walk.actions().await;
    walk.runners().await;
    walk.jobs().await;
    walk.operations().await;
    walk.loads().await;
    walk.switches().await;
    walk.tokens().await;
    walk.backup().await;
    let acts = |about: &[&str]| about.iter().any(|about| about.contains("you get the first answer"));
    let all: BTreeSet<(&str, bool)> = documented().iter().map(|(path, about)| (*path, acts(about))).collect();
    assert_eq!(walk.tried, all);
}
