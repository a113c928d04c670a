//! The generator on simulated time (agents.md G5, I1) and workloads against their rules.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::{Clock, System};
use sprag_core::document::source::Format;
use sprag_core::time::Timestamp;
use sprag_runners::Options;
use sprag_runners::secrets::{Provider, SecretError, Secrets};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Generator, Load, Standard, Stateless, User, Workload, Workloads};
use crate::plan::{Model, Plan, Share, load};
use crate::stats::{Counts, Recorder};
use crate::time::Micros;

/// tokio's clock, which a paused test moves.
struct Simulated(Instant);

impl Clock for Simulated {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.0.elapsed().as_millis()).unwrap())
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap()
    }
}

/// Takes 10 ms, but one operation takes a second. Remembers when each started.
struct Stalling {
    clock: Micros,
    count: AtomicU32,
    stalls_at: u32,
    starts: Mutex<Vec<u64>>,
}

impl Workload for Stalling {
    fn user(self: Arc<Self>) -> Box<dyn User> {
        Box::new(self)
    }
}

impl Stateless for Stalling {
    fn perform_one(&self) -> BoxFuture<'_, Result<(), String>> {
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        self.starts.lock().unwrap().push(self.clock.unix());
        let millis = if number == self.stalls_at { 1_000 } else { 5 };
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok(())
        })
    }
}

fn plan(lines: &str) -> Plan {
    let text = format!("name: a\nworkload: http\nhttp: {{ url: 'http://127.0.0.1/' }}\n{lines}\n");
    let loaded = load(&text, Format::Yaml);
    loaded.plan.unwrap_or_else(|| panic!("{:?}", loaded.findings))
}

async fn performed(lines: &str, share: Share, stalls_at: u32) -> (Counts, Vec<u64>) {
    let clock = Micros::start(Arc::new(Simulated(Instant::now())));
    let workload = Arc::new(Stalling {
        clock: clock.clone(),
        count: AtomicU32::new(0),
        stalls_at,
        starts: Mutex::default(),
    });
    let recorder = Arc::new(Recorder::default());
    let (_keep, cancelled) = watch::channel(false);
    let begin = clock.unix();
    let phase = plan(lines).main;
    let load = Load {
        in_flight: match phase.model {
            Model::Open { in_flight, .. } => in_flight,
            Model::Closed { .. } => 0,
        },
        phase,
        share,
        is_prepare: false,
        workload: Arc::<Stalling>::clone(&workload),
        recorder: Arc::clone(&recorder),
        clock,
        cancelled,
    };
    Generator::perform(load).await.unwrap();
    let starts = workload
        .starts
        .lock()
        .unwrap()
        .iter()
        .map(|start| start - begin)
        .collect();
    (recorder.snapshot(), starts)
}

#[tokio::test(start_paused = true)]
async fn g5_a_stall_shows_in_the_latency_and_not_in_the_service_time() {
    let (counts, _) = performed("rate: 100\nmaxInFlight: 1\nduration: 5s", Share::WHOLE, 100).await;
    let (latency, service) = (&counts.steady.latency, &counts.steady.service);
    assert!(latency.quantile(0.99) > 900_000, "p99 {} µs", latency.quantile(0.99));
    assert!(service.quantile(0.99) < 50_000, "p99 {} µs", service.quantile(0.99));
    assert_eq!(counts.ops() + counts.missed, 500);
}

#[tokio::test(start_paused = true)]
async fn the_open_model_starts_operations_at_their_rate() {
    let (counts, starts) = performed("rate: 200\nduration: 2s", Share::WHOLE, u32::MAX).await;
    assert_eq!((counts.ops(), counts.missed), (400, 0));
    assert!(starts.iter().enumerate().all(|(number, start)| {
        let intended = number as u64 * 5_000;
        (intended..=intended + 1_000).contains(start)
    }));
}

#[tokio::test(start_paused = true)]
async fn the_closed_model_ramps_its_users_up_and_tags_what_happens_meanwhile() {
    let (counts, starts) = performed("concurrency: 4\nduration: 2s\nrampUp: 1s", Share::WHOLE, u32::MAX).await;
    let before = |millis: u64| starts.iter().filter(|start| **start < millis * 1_000).count();
    assert!(before(240) < before(990) / 4, "{} then {}", before(240), before(990));
    assert!(counts.ramp.ops > 0 && counts.steady.ops > counts.ramp.ops);
    let (half, _) = performed("concurrency: 4\nduration: 2s", Share { index: 0, of: 2 }, u32::MAX).await;
    let (all, _) = performed("concurrency: 4\nduration: 2s", Share::WHOLE, u32::MAX).await;
    assert_eq!(half.ops() * 2, all.ops());
}

#[tokio::test(start_paused = true)]
async fn an_operation_past_its_timeout_fails_and_is_labelled_after_the_end() {
    let (counts, _) = performed("concurrency: 1\nduration: 100ms\nopTimeout: 200ms", Share::WHOLE, 10).await;
    assert_eq!((counts.steady.errors, counts.steady.cut), (1, 1));
}

#[tokio::test]
async fn an_address_that_the_host_does_not_allow_is_refused_before_the_start() {
    let workloads = Standard::new(&Options::default(), Arc::default(), Arc::new(Simulated(Instant::now()))).unwrap();
    let plan = plan("concurrency: 1");
    let refused = workloads.build(&plan, &plan.main, Share::WHOLE).await.err().unwrap();
    assert!(
        refused.contains("http.url") && refused.contains("[outbound] allow"),
        "{refused}"
    );
    let exec = json!({"name": "a", "workload": "exec", "exec": {"command": ["true"]}, "concurrency": 1});
    let plan = load(&exec.to_string(), Format::Json).plan.unwrap();
    let refused = workloads.build(&plan, &plan.main, Share::WHOLE).await.err().unwrap();
    assert!(refused.contains("exec.command.0"), "{refused}");
}

/// Performs so many actions of this definition one after the other: how each ended.
async fn acted(action: &serde_json::Value, count: u32, secrets: Secrets) -> Vec<Result<(), String>> {
    let mut options = Options::default();
    options.outbound.allow.push("127.0.0.0/8".to_owned());
    let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::default()));
    let workloads = Standard::new(&options, Arc::new(secrets), clock).unwrap();
    let text = json!({"name": "a", "workload": "action", "action": action, "concurrency": 1, "seed": 7}).to_string();
    let loaded = load(&text, Format::Json);
    let plan = loaded.plan.unwrap_or_else(|| panic!("{:?}", loaded.findings));
    let workload = workloads.build(&plan, &plan.main, Share::WHOLE).await.unwrap();
    let mut user = workload.user();
    let mut ends = Vec::new();
    for _ in 0..count {
        ends.push(user.perform().await);
    }
    ends
}

/// A webhook that nothing but a stub answers.
fn webhook() -> serde_json::Value {
    json!({
        "actionId": "push", "type": "webhook", "timeout": 300,
        "config": {"url": "http://127.0.0.1:1/orders", "method": "POST", "body": "an order"},
        "retryPolicy": {"maxAttempts": 2, "baseDelay": 1, "jitter": false}
    })
}

fn with(mock: &serde_json::Value) -> serde_json::Value {
    json!({"definition": webhook(), "scenarios": [{"name": "only", "mock": mock}]})
}

#[tokio::test]
async fn each_reply_of_a_scenario_comes_over_a_real_connection() {
    let one = |mock: serde_json::Value| async move { acted(&with(&mock), 1, Secrets::default()).await.remove(0) };
    assert_eq!(one(json!({"status": 200, "body": {"id": 7}})).await, Ok(()));
    assert_eq!(
        one(json!([{"status": 503}, {"status": 200}])).await,
        Ok(()),
        "the policy retries"
    );
    let failing = [
        (json!({"status": 503}), "service_unavailable"),
        (json!({"status": 404}), "not_found"),
        (json!({"status": 200, "delay": 5_000}), "timeout"),
        (json!({"cut": "connect"}), "network_error"),
        (json!({"cut": "request"}), "network_error"),
        (json!({"status": 200, "body": "half", "cut": "reply"}), "network_error"),
        (
            json!({"error": {"type": "conflict", "message": "as planned"}}),
            "conflict: as planned",
        ),
    ];
    for (mock, kind) in failing {
        let end = one(mock.clone()).await.unwrap_err();
        assert!(end.starts_with(kind), "{mock}: {end}");
    }
    assert_eq!(
        one(json!([{"error": {"type": "timeout"}}, {"result": {}}])).await,
        Ok(())
    );
}

#[tokio::test]
async fn the_seed_and_the_number_of_an_action_draw_its_scenario_by_weight() {
    let scenarios = json!([
        {"name": "good", "weight": 70, "mock": {"status": 200}},
        {"name": "bad", "weight": 30, "mock": {"status": 404}},
    ]);
    let action = json!({"definition": webhook(), "scenarios": scenarios});
    let first = acted(&action, 200, Secrets::default()).await;
    assert_eq!(
        first,
        acted(&action, 200, Secrets::default()).await,
        "a seed always draws the same"
    );
    let good = first.iter().filter(|end| end.is_ok()).count();
    assert!((120..=160).contains(&good), "{good} of 200 by a weight of 70 in 100");
}

/// One secret.
struct OneSecret;

impl Provider for OneSecret {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        let value = (name == "token").then(|| "hunter2hunter2".to_owned());
        Box::pin(std::future::ready(Ok(value)))
    }

    fn place(&self, name: &str) -> String {
        format!("the test, as `{name}`")
    }
}

#[tokio::test]
async fn h3_a_secret_is_bound_for_an_attempt_and_no_reason_shows_it() {
    let secrets = || Secrets::new(vec![Box::new(OneSecret)]);
    let definition = |url: &str| {
        let config = json!({"url": url, "method": "POST", "headers": {"authorization": "Bearer {{secrets.token}}"}});
        json!({"actionId": "push", "type": "webhook", "config": config, "retryPolicy": {"maxAttempts": 1}})
    };
    let good =
        json!({"definition": definition("http://127.0.0.1:1/"), "scenarios": [{"name": "a", "mock": {"status": 200}}]});
    assert_eq!(acted(&good, 1, secrets()).await, [Ok(())]);
    let unset = acted(&good, 1, Secrets::default()).await.remove(0).unwrap_err();
    assert!(unset.contains("secret `token`"), "{unset}");
    // The host is made of the secret, and the error of the runner would name it.
    let real = json!({"definition": definition("http://{{secrets.token}}.invalid/")});
    let end = acted(&real, 1, secrets()).await.remove(0).unwrap_err();
    assert_eq!(end, "network_error");
}

#[tokio::test]
async fn an_action_that_this_host_does_not_allow_is_refused_before_the_start() {
    let workloads = Standard::new(&Options::default(), Arc::default(), Arc::new(Simulated(Instant::now()))).unwrap();
    let refused = async |definition: serde_json::Value| {
        let text = json!({"name": "a", "workload": "action", "action": {"definition": definition}, "concurrency": 1});
        let plan = load(&text.to_string(), Format::Json).plan.unwrap();
        workloads.build(&plan, &plan.main, Share::WHOLE).await.err().unwrap()
    };
    let exec = refused(json!({"actionId": "a", "type": "exec", "config": {"command": ["true"]}})).await;
    assert!(exec.contains("action.definition.config.command"), "{exec}");
    let unknown = refused(json!({"actionId": "a", "type": "webhok", "config": {}})).await;
    assert!(unknown.contains("webhook"), "{unknown}");
}
