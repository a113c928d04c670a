//! What is counted: what became durable, once.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use sprag_core::action::Outcome;
use sprag_engine::requests::Cancel;

use crate::rig::Rig;

impl Rig {
    /// The value of one series, as a scrape reads it.
    pub(crate) fn sample(&self, series: &str) -> f64 {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no {series} in\n{page}"))
    }
}

const CALLING: &str = r"
id: m
initial: a
states:
  a: { on: { done.call: b, failed.call: stuck }, after: { 1h: stuck } }
  stuck: { on: { END: b } }
  b: { type: final }
actions:
  - { actionId: call, type: webhook, triggerState: a, config: { url: 'http://x' }, retryPolicy: { maxAttempts: 2 } }
  - { actionId: old, type: forgotten, triggerState: a, keepOnExit: true }
";

#[test]
fn executions_actions_attempts_and_retries_are_counted_by_type_and_outcome() {
    let mut rig = Rig::new(CALLING);
    let first = rig.start("m").id;
    rig.finish("call", Outcome::not_done("timeout", "late"));
    rig.advance(60_000);
    rig.done("call");
    rig.done("old");
    let second = rig.start("m").id;
    rig.finish("call", Outcome::not_done("timeout", "late"));
    rig.advance(60_000);
    rig.finish("call", Outcome::unknown("timeout", "late"));
    rig.control(Cancel(second)).unwrap();
    assert_ne!(first, second);
    let counted = [
        ("executions_started_total", 2.0),
        ("executions_closed_total{status=\"completed\"}", 1.0),
        ("executions_closed_total{status=\"cancelled\"}", 1.0),
        ("attempts_started_total{type=\"webhook\"}", 4.0),
        ("attempts_ended_total{type=\"webhook\",outcome=\"done\"}", 1.0),
        ("attempts_ended_total{type=\"webhook\",outcome=\"notDone\"}", 2.0),
        ("attempts_ended_total{type=\"webhook\",outcome=\"unknown\"}", 1.0),
        ("attempt_errors_total{type=\"webhook\",error=\"timeout\"}", 3.0),
        ("action_retries_total{type=\"webhook\"}", 2.0),
        ("actions_ended_total{type=\"webhook\",outcome=\"succeeded\"}", 1.0),
        ("actions_ended_total{type=\"webhook\",outcome=\"dead\"}", 1.0),
        ("attempt_duration_seconds_count{type=\"webhook\"}", 4.0),
        // A type without a runner has no name of its own.
        ("attempts_started_total{type=\"other\"}", 2.0),
        ("actions_ended_total{type=\"other\",outcome=\"succeeded\"}", 1.0),
    ];
    for (series, expected) in counted {
        let value = rig.sample(series);
        assert!(value.total_cmp(&expected).is_eq(), "{series}: {value}, not {expected}");
    }
    assert!(rig.sample("commit_duration_seconds_count") > 6.0);
}

#[test]
fn the_lateness_of_a_timer_is_from_when_it_was_due() {
    let mut rig = Rig::new(CALLING);
    let due = rig.start("m").created_at.plus(3_600_000);
    rig.clock.advance_to(due.plus(20_000));
    rig.crash();
    let late = [
        rig.sample("timer_lateness_seconds_count"),
        rig.sample("timer_lateness_seconds_sum"),
    ];
    assert_eq!(late.map(f64::to_bits), [1.0, 20.0].map(f64::to_bits));
}
