//! What is said while it happens: one line each, no more.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use sprag_supervisor::testing::World;

use crate::shared::{puppet, theatre};

/// Keeps the words of all events of the thread it is set for.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(String, String)>>>);

struct Words<'a>(&'a mut String);

/// The message, and who asked for it where that is said.
impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            "by" => write!(self.0, " by {value:?}"),
            _ => Ok(()),
        };
    }
}

/// Every field with its value.
struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Heard {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut words = String::new();
        event.record(&mut Words(&mut words));
        let mut fields = String::new();
        event.record(&mut Fields(&mut fields));
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push((words, fields));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

impl Heard {
    fn count(&self, words: &str) -> usize {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().filter(|(line, _)| line.as_str() == words).count()
    }

    /// The fields of the events with these words.
    fn fields(&self, words: &str) -> Vec<String> {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = heard.iter().filter(|(line, _)| line.as_str() == words);
        alike.map(|(_, fields)| fields.clone()).collect()
    }
}

fn listening(act: impl FnOnce()) -> Heard {
    let heard = Heard::default();
    tracing::subscriber::with_default(heard.clone(), act);
    heard
}

// 44.
#[test]
fn a_tree_without_workers_says_so_once() {
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.world.run_for(10_000);
        assert!(theatre.world.is_empty());
    });
    assert_eq!(heard.count("no workers declared"), 1);
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.declare(vec![puppet("a")]);
        theatre.up();
        theatre.declare(vec![]);
        theatre.world.run_for(30_000);
        assert!(theatre.world.is_empty());
    });
    assert_eq!(heard.count("no workers declared"), 1, "again when the last one left");
}

// 50, 51, D1, D2.
#[test]
fn rests_double_the_fourth_detection_warns_and_the_fifth_escalates() {
    let mut rests = Vec::new();
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.service();
        theatre.breaks("service/pipeline");
        for _ in 1..=4 {
            theatre.until_circuit("service/pipeline", "resting");
            let rested = |world: &World| world.status("service/pipeline").unwrap().circuit != "resting";
            rests.push(theatre.world.run_until(60_000, rested).unwrap());
        }
        theatre.until_circuit("service/pipeline", "escalated");
        theatre.world.run_for(60_000);
    });
    for (rest, wanted) in rests.iter().zip([1_000, 2_000, 4_000, 8_000]) {
        // It is looked at again with the next look that is new.
        assert!((wanted..=wanted + 1_200).contains(rest), "{rests:?}");
    }
    for (words, times) in [
        ("problem detected, circuit opened", 1),
        ("restarting", 4),
        ("restarted", 4),
        ("waiting before the next check", 4),
        ("next detection escalates", 1),
        ("escalated", 1),
        ("circuit closed", 0),
    ] {
        assert_eq!(heard.count(words), times, "{words}");
    }
}

// 85.
#[test]
fn the_end_of_an_escalation_names_who_ended_it() {
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.service();
        theatre.breaks("service/pipeline");
        theatre.until_circuit("service/pipeline", "escalated");
        theatre.mends("service/pipeline");
        theatre.world.restart("service/pipeline").unwrap();
        theatre.world.run_for(10_000);
    });
    assert_eq!(heard.count("restarted by hand by \"test\""), 1);
    assert_eq!(heard.count("escalation cleared by \"test\""), 1);
}

#[test]
fn a_circuit_that_closes_says_so_once() {
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.service();
        theatre.breaks("service/pipeline");
        theatre.until_circuit("service/pipeline", "restarting");
        theatre.mends("service/pipeline");
        theatre.until_circuit("service/pipeline", "closed");
        theatre.world.run_for(60_000);
    });
    for words in [
        "problem detected, circuit opened",
        "restarting",
        "restarted",
        "waiting before the next check",
        "circuit closed",
    ] {
        assert_eq!(heard.count(words), 1, "{words}");
    }
}

#[test]
fn the_start_of_an_action_a_failed_attempt_a_retry_and_a_timeout_are_said_once_each() {
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.stage.script("a", |script| {
            script.fails = 1;
            // The second attempt takes longer than the 60 s it has.
            script.starts = [70_000, 0].into();
        });
        theatre.declare(vec![puppet("a")]);
        theatre.world.run_for(200_000);
        assert_eq!(theatre.world.state("a"), "running");
    });
    let worker = "worker=a action=start";
    for (words, wanted) in [
        ("action started", vec![1]),
        ("attempt failed", vec![1]),
        ("retrying", vec![2, 3]),
        ("attempt timed out", vec![2]),
    ] {
        let said = heard.fields(words);
        assert_eq!(said.len(), wanted.len(), "{words}: {said:?}");
        for (line, attempt) in said.iter().zip(wanted) {
            assert!(
                line.contains(worker) && line.contains(&format!("attempt={attempt}")),
                "{line}"
            );
        }
    }
}

#[test]
fn a_collection_that_is_restarted_says_so_once() {
    let heard = listening(|| {
        let mut theatre = theatre();
        theatre.declare(vec![puppet("a")]);
        theatre.up();
        theatre.stage.script("a", |script| script.hangs = true);
        theatre.world.run_for(21_500);
    });
    let said = heard.0.lock().unwrap_or_else(PoisonError::into_inner);
    let about: Vec<&String> = said
        .iter()
        .map(|(line, _)| line)
        .filter(|line| line.contains("collect"))
        .collect();
    assert_eq!(about, ["collection restarted"], "{about:?}");
}
