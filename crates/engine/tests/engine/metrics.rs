//! What is counted: what became durable, once.

use sprag_core::action::Outcome;
use sprag_engine::command::Request;
use sprag_engine::metrics::Counter;

use crate::rig::Rig;

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
    let metrics = std::sync::Arc::clone(&rig.metrics);
    let first = rig.start("m").id;
    rig.finish("call", Outcome::not_done("timeout", "late"));
    rig.advance(60_000);
    rig.done("call");
    rig.done("old");
    let second = rig.start("m").id;
    rig.finish("call", Outcome::not_done("timeout", "late"));
    rig.advance(60_000);
    rig.finish("call", Outcome::unknown("timeout", "late"));
    rig.control(Request::Cancel(second)).unwrap();
    assert_ne!(first, second);
    assert_eq!(
        [metrics.started.get(), metrics.completed.get(), metrics.cancelled.get()],
        [2, 1, 1]
    );
    let mut kinds = metrics.kinds.iter();
    let webhook = kinds.next().unwrap();
    let attempts = [&webhook.begun, &webhook.done, &webhook.not_done, &webhook.unknown];
    assert_eq!(attempts.map(Counter::get), [4, 1, 2, 1]);
    assert_eq!(webhook.retried.get(), 2);
    assert_eq!([webhook.succeeded.get(), webhook.dead.get()], [1, 1]);
    assert_eq!(webhook.took_micros.read().counts.iter().sum::<u64>(), 4);
    let other = kinds.next().unwrap();
    assert_eq!(other.name, "other", "a type without a runner has no name of its own");
    assert_eq!([other.begun.get(), other.succeeded.get()], [2, 1]);
    assert!(metrics.commit_micros.read().counts.iter().sum::<u64>() > 6);
}

#[test]
fn the_lateness_of_a_timer_is_from_when_it_was_due() {
    let mut rig = Rig::new(CALLING);
    let due = rig.start("m").created_at.plus(3_600_000);
    rig.clock.advance_to(due.plus(20_000));
    rig.crash();
    let late = rig.metrics.timer_late_micros.read();
    assert_eq!((late.counts.iter().sum::<u64>(), late.sum), (1, 20_000_000));
}
