//! The generator on simulated time (agents.md G5, I1) and workloads against their rules.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Clock;
use sprag_core::document::source::Format;
use sprag_core::time::Timestamp;
use sprag_runners::Options;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Generator, Load, Standard, Workload, Workloads};
use crate::plan::{Plan, Share, load};
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
    fn perform(&self) -> BoxFuture<'_, Result<(), String>> {
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
    let load = Load {
        phase: plan(lines).main,
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
    let workloads = Standard::new(&Options::default(), Arc::new(Simulated(Instant::now()))).unwrap();
    let plan = plan("concurrency: 1");
    let refused = workloads.build(&plan, &plan.main).await.err().unwrap();
    assert!(
        refused.contains("http.url") && refused.contains("[outbound] allow"),
        "{refused}"
    );
    let exec = json!({"name": "a", "workload": "exec", "exec": {"command": ["true"]}, "concurrency": 1});
    let plan = load(&exec.to_string(), Format::Json).plan.unwrap();
    let refused = workloads.build(&plan, &plan.main).await.err().unwrap();
    assert!(refused.contains("exec.command.0"), "{refused}");
}
