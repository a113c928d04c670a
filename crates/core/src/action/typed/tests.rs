//! What a typed runner reads, refuses and gives back.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::action::runner::{Control, Superseded};
use crate::ids::{ActionId, AttemptId, Slot};
use crate::time::Timestamp;

#[derive(Deserialize)]
struct Sum {
    left: i64,
    right: i64,
}

/// Adds what it is given, and refuses to go below zero.
struct Adder;

impl TypedRunner for Adder {
    const KIND: &'static str = "add";
    type Input = Sum;
    type Output = i64;

    async fn perform(&self, Sum { left, right }: Sum, _attempt: Attempt<'_>) -> Result<i64, Error> {
        match left + right {
            sum if sum < 0 => Err(Error::unknown(kind::TIMEOUT, "lost below zero")),
            0 => Err(Error::not_done(kind::CONFLICT, "nothing to add")),
            sum => Ok(sum),
        }
    }
}

struct Nobody;

impl Control for Nobody {
    fn checkpoint(&self, _value: Value) -> BoxFuture<'_, Result<(), Superseded>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

fn run(config: &Value) -> Outcome {
    let attempt = Attempt {
        id: AttemptId::compose(Timestamp::default(), Slot(0), 1),
        action: ActionId::compose(Timestamp::default(), Slot(0), 2),
        action_id: "sum",
        kind: Adder::KIND,
        number: 1,
        config,
        idempotency_key: "key",
        timeout: Duration::from_secs(1),
        checkpoint: None,
        templates: &serde_json::Map::new(),
        control: &Nobody,
    };
    let mut running = pin!(Adder.run(attempt));
    match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the adder never waits"),
    }
}

#[test]
fn a_struct_comes_in_and_a_struct_goes_out() {
    assert_eq!(run(&json!({"left": 1, "right": 2})), Outcome::done(json!(3)));
}

#[test]
fn errors_keep_whether_the_effect_may_have_happened() {
    let not_done = Outcome::not_done(kind::CONFLICT, "nothing to add");
    assert_eq!(run(&json!({"left": 1, "right": -1})), not_done);
    let unknown = Outcome::unknown(kind::TIMEOUT, "lost below zero");
    assert_eq!(run(&json!({"left": 1, "right": -2})), unknown);
}

#[test]
fn a_config_that_does_not_fit_is_refused_for_good() {
    let Outcome::NotDone(failure) = run(&json!({"left": "one", "right": 2})) else {
        panic!("it ran");
    };
    assert!(failure.hopeless);
    assert_eq!(failure.error.kind, kind::INVALID_CONFIGURATION);
    assert!(failure.error.message.contains("one"), "{}", failure.error.message);
}

#[test]
fn a_config_is_judged_before_it_is_rendered_unless_a_template_stands_in_it() {
    assert!(Adder.validate("add", &json!({"left": 1, "right": 2})).is_empty());
    assert!(
        Adder
            .validate("add", &json!({"left": "{{variables.x}}", "right": 2}))
            .is_empty()
    );
    let problems = Adder.validate("add", &json!({"left": 1}));
    assert!(problems[0].detail.contains("right"), "{problems:?}");
}
