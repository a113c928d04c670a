//! Several nodes before one store: any of them answers any request.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock, System};
use sprag_core::ids::{NodeId, Slot};
use sprag_core::time::Timestamp;
use sprag_engine::lane::member;
use sprag_store::Memory;

use super::streams::Stream;
use super::world::{ORDER, Plan, World, engine};
use crate::{Auth, HttpPeers, NodeClient, Options, PlainText, Trust, first_token};

/// Before nodes that do not find each other count as lost.
pub(super) const GUARD: Duration = Duration::from_mins(1);

/// A store that several nodes share.
pub(super) struct Shared {
    memory: Memory,
    clock: Arc<dyn Clock>,
}

impl Shared {
    fn new() -> Self {
        Self {
            memory: Memory::with_shards(8),
            clock: Arc::new(System::start(Timestamp::default())),
        }
    }

    /// One more node.
    async fn node(&self, number: u64) -> World {
        self.node_with(number, Auth::default()).await
    }

    /// One more node, which asks its callers like this.
    async fn node_with(&self, number: u64, auth: Auth) -> World {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let listen: SocketAddr = free.local_addr().unwrap();
        drop(free);
        let id = NodeId::compose(self.clock.now(), Slot(0), number);
        let options = member::Options {
            beat_millis: 50,
            lease_millis: 2_000,
            patience_millis: 1_500,
            ..member::Options::new(id, format!("http://{listen}"), "test", format!("token-{number}"))
        };
        let client = NodeClient::new(&Trust::default(), PlainText::Refused).unwrap();
        let nodes = Box::new(self.memory.nodes(Arc::clone(&self.clock)));
        let builder = engine(Box::new(self.memory.clone()), Arc::new(self.memory.clone()));
        let plan = Plan::default();
        let plan = Plan {
            options: Options {
                listen,
                auth,
                nodes: Some(client.clone()),
                ..plan.options
            },
            ..plan
        };
        let builder = builder.member(options, nodes).peers(Arc::new(HttpPeers::new(client)));
        World::before(builder, plan, tempfile::tempdir().unwrap()).await
    }
}

/// What a node says of all of them, once it is so.
async fn cluster(world: &World, is_so: impl Fn(&Value) -> bool) -> Value {
    let look = async {
        loop {
            let cluster = world.get("/v1/system").await.expect(200)["cluster"].clone();
            if is_so(&cluster) {
                return cluster;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, look)
        .await
        .expect("the nodes find each other")
}

/// Whether the living nodes have these many shards, in any order.
fn is_spread(cluster: &Value, expected: &[u64]) -> bool {
    let nodes = cluster["nodes"].as_array().into_iter().flatten();
    let alive = nodes.filter(|node| node["alive"] == true);
    let mut counts: Vec<u64> = alive.filter_map(|node| node["shards"].as_u64()).collect();
    counts.sort_unstable();
    counts == expected
}

pub(super) async fn pair() -> (Shared, World, World) {
    let shared = Shared::new();
    let (one, two) = (shared.node(1).await, shared.node(2).await);
    for world in [&one, &two] {
        cluster(world, |cluster| is_spread(cluster, &[4, 4])).await;
    }
    (shared, one, two)
}

/// Two nodes that ask their callers, and the token that creates the others.
pub(super) async fn guarded_pair(auth: Auth) -> (Shared, World, World, String) {
    let shared = Shared::new();
    let one = shared.node_with(1, auth.clone()).await;
    let two = shared.node_with(2, auth).await;
    let look = async {
        let mut admin = None;
        loop {
            for world in [&one, &two] {
                // Only the node that decides creates it.
                if let Ok(Some(token)) = first_token(&world.handle).await {
                    admin = Some(token);
                }
            }
            let Some(token) = &admin else { continue };
            let bearer = format!("Bearer {token}");
            let mut spread = 0;
            for world in [&one, &two] {
                let reply = world
                    .send("GET", "/v1/system", &[("Authorization", &bearer)], b"")
                    .await;
                spread += usize::from(reply.status == 200 && is_spread(&reply.json()["cluster"], &[4, 4]));
            }
            if spread == 2 {
                return token.clone();
            }
        }
    };
    let admin = tokio::time::timeout(GUARD, look)
        .await
        .expect("the nodes find each other");
    (shared, one, two, admin)
}

fn keyed(number: u32) -> Value {
    json!({"machine": "order", "key": format!("A-{number}"), "variables": {"amount": number}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_node_answers_any_request() {
    let (_shared, one, two) = pair().await;
    two.apply(ORDER).await.expect(201);
    one.apply(&ORDER.replace("shipped.", "sent.")).await.expect(201);
    for number in 0..20 {
        let (first, second) = if number % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let id = first.post("/v1/executions", &keyed(number)).await.expect(201)["id"].clone();
        let id = id.as_str().unwrap();
        second
            .post("/v1/executions", &keyed(number))
            .await
            .problem("key-in-use");
        let path = format!("/v1/executions/{id}");
        assert_eq!(second.get(&path).await.expect(200)["key"], format!("A-{number}"));
        let pay = json!({"machine": "order", "key": format!("A-{number}"), "type": "PAY", "payload": {"by": "card"}});
        second.post("/v1/messages", &pay).await.expect(200);
        for world in [first, second] {
            let closed = world.get(&format!("{path}?wait=20s")).await.expect(200);
            assert_eq!(closed["status"], "completed", "{closed}");
        }
    }
    for world in [&one, &two] {
        let on = json!({"scope": "machine:order", "reason": "a test"});
        world.post("/v1/kill-switches", &on).await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_under_a_key_acts_once_whichever_nodes_it_is_sent_to() {
    let (_shared, one, two) = pair().await;
    one.apply(ORDER).await.expect(201);
    let body = json!({"machine": "order", "variables": {"amount": 1}}).to_string();
    for number in 0..10 {
        let key = format!("key-{number}");
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key.as_str())];
        let first = one.send("POST", "/v1/executions", &headers, body.as_bytes()).await;
        let again = two.send("POST", "/v1/executions", &headers, body.as_bytes()).await;
        assert_eq!(first.expect(201)["id"], again.expect(201)["id"]);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_heard_from_any_node() {
    let (_shared, one, two) = pair().await;
    one.apply(ORDER).await.expect(201);
    let id = one.begin("order").await;
    let mut stream = Stream::open(&two, &format!("/v1/executions/{id}/stream"), &[]).await;
    let pay = json!({"type": "PAY", "payload": {"by": "card"}});
    two.post(&format!("/v1/executions/{id}/messages"), &pay)
        .await
        .expect(200);
    let mut sequences = Vec::new();
    while let Some(event) = stream.next().await {
        sequences.extend(event.id);
    }
    sequences.dedup();
    let expected: Vec<u64> = (1..=sequences.len() as u64).collect();
    assert!(sequences.len() >= 3, "{sequences:?}");
    assert_eq!(sequences, expected, "nothing is missed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_goes_down_hands_everything_over() {
    let (_shared, one, two) = pair().await;
    one.apply(ORDER).await.expect(201);
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(two.begin("order").await);
    }
    two.stop_engine().await;
    cluster(&one, |cluster| is_spread(cluster, &[8])).await;
    for id in ids {
        let pay = json!({"type": "PAY", "payload": {"by": "card"}});
        one.post(&format!("/v1/executions/{id}/messages"), &pay)
            .await
            .expect(200);
        let closed = one.get(&format!("/v1/executions/{id}?wait=20s")).await.expect(200);
        assert_eq!(closed["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_node_that_does_not_answer_is_to_be_tried_again() {
    let shared = Shared::new();
    let one = shared.node(1).await;
    one.apply(ORDER).await.expect(201);
    cluster(&one, |cluster| is_spread(cluster, &[8])).await;
    // A node that is alive by its lease, and cannot be reached.
    let mut silent = shared.memory.nodes(Arc::clone(&shared.clock));
    let beat = sprag_store::nodes::Beat {
        node: NodeId::compose(shared.clock.now(), Slot(0), 9),
        advertise: "http://127.0.0.1:9".to_owned(),
        version: "test".to_owned(),
        place: None,
        lease_millis: 60_000,
        token: String::new(),
        is_leaving: false,
    };
    sprag_store::Nodes::heartbeat(&mut silent, &beat).unwrap();
    let view = cluster(&one, |cluster| {
        let shards = cluster["shards"].as_array().into_iter().flatten();
        shards.filter(|shard| shard["owner"].is_null()).count() == 4
    })
    .await;
    let shards = view["shards"].as_array().unwrap();
    let free: Vec<_> = shards
        .iter()
        .filter(|shard| shard["owner"].is_null())
        .map(|shard| sprag_store::ShardId(u32::try_from(shard["id"].as_u64().unwrap()).unwrap()))
        .collect();
    assert_eq!(
        sprag_store::Nodes::claim(&mut silent, beat.node, &free).unwrap().len(),
        4
    );
    cluster(&one, |cluster| is_spread(cluster, &[4, 4])).await;
    let mut answers = Vec::new();
    for number in 0..12 {
        answers.push(one.post("/v1/executions", &keyed(number)).await);
    }
    let moved: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert!(!moved.is_empty() && moved.len() < answers.len());
    for answer in moved {
        answer.problem("shard-moved");
        assert!(answer.header("retry-after").is_some());
    }
}

/// Runs until it is cancelled, five of them at once.
const LIMITED: &str = r"
id: limited
initial: a
states: { a: { on: { done.act: b, failed.act: b } }, b: { type: final } }
actions:
  - { actionId: act, type: hold, triggerState: a, limits: [ { key: crm, concurrency: 5 } ] }
";

/// The executions whose attempt is under way.
async fn running(world: &World) -> Vec<String> {
    let page = world.get("/v1/actions?status=running").await.expect(200);
    let rows = page["data"].as_array().unwrap();
    rows.iter()
        .map(|row| row["executionId"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_per_key_is_kept_over_all_nodes_and_everything_has_its_turn() {
    let (_shared, one, two) = pair().await;
    one.apply(LIMITED).await.expect(201);
    for _ in 0..8 {
        one.begin("limited").await;
        two.begin("limited").await;
    }
    let mut ended = BTreeSet::new();
    let look = async {
        while ended.len() < 16 {
            let mut under_way = running(&one).await;
            assert!(under_way.len() <= 5, "{under_way:?}");
            under_way.retain(|id| !ended.contains(id));
            if under_way.len() < (16 - ended.len()).min(5) {
                tokio::task::yield_now().await;
                continue;
            }
            for id in under_way {
                let cancel = format!("/v1/executions/{id}/cancel");
                two.post(&cancel, &json!({})).await.expect(200);
                ended.insert(id);
            }
        }
    };
    tokio::time::timeout(GUARD, look)
        .await
        .expect("everything has its turn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_nodes_are_heard_about_limits() {
    let (_shared, one, _two) = pair().await;
    let said = json!({});
    one.post("/internal/limits", &said).await.problem("route-unknown");
    let headers = [("Content-Type", "application/json"), ("sprag-node-token", "token-3")];
    let answer = one.send("POST", "/internal/limits", &headers, b"{}").await;
    answer.problem("route-unknown");
}

/// Whatever a program outside does.
const OUTSIDE: &str = r"
id: outside
initial: a
states: { a: { on: { done.act: b, failed.act: b } }, b: { type: final } }
actions:
  - { actionId: act, type: render, runner: gpu, triggerState: a, config: {} }
";

fn poll(max: u32, wait: &str) -> Value {
    json!({"runner": "gpu", "types": ["render"], "max": max, "wait": wait})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_asks_one_node_gets_the_work_of_all_and_none_twice() {
    let (_shared, one, two) = pair().await;
    one.apply(OUTSIDE).await.expect(201);
    let none = one.post("/v1/runners/lease", &poll(5, "0s")).await.expect(200);
    assert_eq!(none["attempts"], json!([]));
    let waits = poll(1, "30s");
    let (waited, _) = tokio::join!(one.post("/v1/runners/lease", &waits), two.begin("outside"));
    let mut given = vec![waited.expect(200)["attempts"][0]["id"].clone()];
    let mut started = Vec::new();
    for _ in 0..6 {
        started.push(one.begin("outside").await);
        started.push(two.begin("outside").await);
    }
    while given.len() < 13 {
        let leased = one.post("/v1/runners/lease", &poll(4, "30s")).await.expect(200);
        let attempts = leased["attempts"].as_array().unwrap();
        assert!((1..=4).contains(&attempts.len()), "{leased}");
        given.extend(attempts.iter().map(|attempt| attempt["id"].clone()));
    }
    let distinct: BTreeSet<String> = given.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), 13);
    for (number, attempt) in given.iter().enumerate() {
        let world = if number % 2 == 0 { &one } else { &two };
        let path = format!("/v1/attempts/{}", attempt.as_str().unwrap());
        world.post(&format!("{path}/heartbeat"), &json!({})).await.expect(200);
        world.post(&format!("{path}/complete"), &json!({})).await.expect(200);
    }
    for id in started {
        let closed = one.get(&format!("/v1/executions/{id}?wait=20s")).await.expect(200);
        assert_eq!(closed["status"], "completed", "{closed}");
    }
}

#[tokio::test]
async fn a_stream_of_hints_has_those_of_every_node() {
    let (_shared, here, there) = pair().await;
    here.apply(ORDER).await.expect(201);
    let mut stream = Stream::open(&here, "/v1/stream?kind=execution", &[]).await;
    let heard = async {
        // The nodes find each other a moment after the stream began.
        loop {
            let begun = there.begin("order").await;
            let again = tokio::time::timeout(Duration::from_millis(500), async {
                while stream.next().await.unwrap().data["id"] != json!(begun) {}
            });
            if again.await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(GUARD, heard)
        .await
        .expect("the other node's hint comes");
}
