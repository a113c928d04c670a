//! What the engine logs about actions: each event once, after its commit.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use sprag_core::action::{Outcome, Status};
use sprag_engine::requests::{Archive, RetryDead};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::rig::Rig;

const CALLING: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b } }, b: {} }
actions:
  - actionId: work
    type: webhook
    triggerState: a
    config: { url: 'http://x/' }
    retryPolicy: { maxAttempts: 2, baseDelay: 4s, jitter: false }
";

/// Keeps the lines of the engine up to a level.
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    level: Level,
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sprag_engine") && *metadata.level() <= self.level
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = format!("{} ", event.metadata().level());
        event.record(&mut Line(&mut line));
        self.lines.lock().unwrap().push(line);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// The lines that `act` leaves up to a level.
fn logged(level: Level, act: impl FnOnce()) -> Vec<String> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Log {
        lines: Arc::clone(&lines),
        level,
    };
    // With one subscriber alone, other threads' tests decide whether a place in the code is on. With two, each is asked.
    let _other = tracing::Dispatch::new(Log {
        lines: Arc::default(),
        level,
    });
    tracing::subscriber::with_default(log, act);
    let lines = lines.lock().unwrap().clone();
    lines.into_iter().filter(|line| line.contains("action_id=")).collect()
}

#[test]
fn a_failure_a_death_and_what_a_person_does_about_it_are_logged_once_each() {
    let mut rig = Rig::new(CALLING);
    let id = rig.start("m").id;
    let action = rig.action(id, "work").id;
    let lines = logged(Level::INFO, || {
        rig.finish("work", Outcome::not_done("timeout", "no answer"));
        rig.advance(4_000);
        rig.finish("work", Outcome::not_done("timeout", "no answer"));
        assert_eq!(rig.action_status(id, "work"), Status::Dead);
        rig.act(RetryDead::as_is(action)).unwrap();
        rig.finish("work", Outcome::not_done("not_found", "gone"));
        rig.act(Archive(action)).unwrap();
    });
    let attempts: Vec<_> = rig
        .stored_action(action)
        .body
        .attempts
        .iter()
        .map(|one| one.id)
        .collect();
    let of = format!("action=\"work\" action_id={action} execution={id}");
    let expected = [
        format!(
            "WARN attempt failed, retrying {of} attempt=1 attempt_id={} error=\"timeout\" detail=\"no answer\" retry_in_ms=4000",
            attempts[0]
        ),
        format!(
            "ERROR action failed, now a dead letter {of} attempt=2 attempt_id={} error=\"timeout\" detail=\"no answer\"",
            attempts[1]
        ),
        format!("INFO dead letter retried {of}"),
        format!(
            "ERROR action failed, now a dead letter {of} attempt=3 attempt_id={} error=\"not_found\" detail=\"gone\"",
            attempts[2]
        ),
        format!("INFO dead letter archived {of}"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_success_is_logged_at_debug_only() {
    for (level, count) in [(Level::INFO, 0), (Level::DEBUG, 1)] {
        let mut rig = Rig::new(CALLING);
        rig.start("m");
        let lines = logged(level, || rig.done("work"));
        assert_eq!(lines.len(), count, "{lines:?}");
        assert!(
            lines.iter().all(|line| line.starts_with("DEBUG attempt succeeded ")),
            "{lines:?}"
        );
    }
}
