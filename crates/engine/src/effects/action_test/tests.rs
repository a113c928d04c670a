//! Action tests with runners of one's own, on a clock that stands.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::{ActionError, Attempt, BoxFuture, ConfigProblem, Failure, Outcome, Probe, Runner, Status};
use sprag_core::clock::Manual;
use sprag_core::document::source::{Format, Limits, parse};
use sprag_core::machine::testing::{Course, Ending, Mock, Occasion, Reach, Script, Stop, TestSubject};
use sprag_core::time::Timestamp;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn subject(definition: &str) -> TestSubject {
    let node = parse(definition, Format::Yaml, &Limits::default()).unwrap();
    TestSubject::alone(&node, "", None).unwrap_or_else(|found| panic!("{found:?}"))
}

/// Knows one secret.
struct OneSecret;

impl SecretSource for OneSecret {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        let value = (name == "token").then(|| "hunter2hunter2".to_owned());
        Box::pin(std::future::ready(Ok(value)))
    }
}

async fn run_test(definition: &str, runner: Option<&dyn Runner>) -> Course {
    let numbers = Mutex::new(Vec::new());
    let test = ActionTest {
        subject: &subject(definition),
        occasion: &Occasion {
            variables: Map::new(),
            key: None,
            now: NOW,
            event: None,
            results: Map::new(),
        },
        runner,
        secrets: &OneSecret,
        clock: &Manual::new(NOW),
        rest: Rest::Skipped,
        entropy: 1,
        begins: &|number| numbers.lock().unwrap().push(number),
    };
    let course = test.run().await;
    let told = numbers.into_inner().unwrap();
    let tried: Vec<u32> = course.tried.iter().map(|tried| tried.number).collect();
    assert_eq!(told, tried);
    course
}

fn scripted(mocks: Vec<Mock>) -> Scripted<'static> {
    Scripted::new(None, Reach::Other, Arc::new(Mutex::new(Script::new(mocks))))
}

fn error(kind: &str) -> Mock {
    Mock::ending(Ending::NotDone(Failure::new(ActionError::new(kind, "no"))))
}

fn delays(course: &Course) -> Vec<u64> {
    course.tried.iter().filter_map(|tried| tried.delay).collect()
}

#[tokio::test]
async fn attempts_and_delays_are_those_of_the_policy() {
    let runner = scripted(vec![
        Mock {
            repeat: 3,
            ..error(kind::TIMEOUT)
        },
        Mock::ending(Ending::Result(json!({"id": 1}))),
    ]);
    let policy = "{maxAttempts: 5, baseDelay: 1s, multiplier: 3, jitter: false}";
    let course = run_test(
        &format!("{{actionId: a, type: t, retryPolicy: {policy}}}"),
        Some(&runner),
    )
    .await;
    assert_eq!(course.action.status, Status::Succeeded);
    assert_eq!((course.tried.len(), delays(&course)), (4, vec![1_000, 3_000, 9_000]));
    assert_eq!(course.ended_at, NOW.plus(13_000));
    assert_eq!(course.done.unwrap().result, json!({"id": 1}));
}

#[tokio::test]
async fn a_test_says_why_nothing_follows() {
    let died = |definition: &'static str, mock: Mock| async move {
        let course = run_test(definition, Some(&scripted(vec![mock]))).await;
        assert_eq!(course.action.status, Status::Dead);
        let last = course.tried.last().unwrap();
        (course.tried.len(), last.stopped.unwrap())
    };
    let unknown = Mock::ending(Ending::Unknown(Failure::new(ActionError::new(kind::TIMEOUT, "no"))));
    assert_eq!(
        died("{actionId: a, type: t}", error(kind::TIMEOUT)).await,
        (4, Stop::AttemptsUsed)
    );
    assert_eq!(
        died("{actionId: a, type: t}", error(kind::NOT_FOUND)).await,
        (1, Stop::NotRetryable)
    );
    assert_eq!(
        died("{actionId: a, type: t, onUnknown: review}", unknown).await,
        (1, Stop::Review)
    );
    let hurried = "{actionId: a, type: t, deadline: 2s, retryPolicy: {jitter: false}}";
    assert_eq!(died(hurried, error(kind::TIMEOUT)).await, (2, Stop::DeadlinePassed));
}

#[tokio::test]
async fn delay_and_wait_pass_before_the_first_attempt() {
    let runner = scripted(vec![Mock::ending(Ending::Result(json!({})))]);
    let wait = "{actionId: a, type: wait, delay: 10s, config: {seconds: 5}}";
    let course = run_test(wait, Some(&runner)).await;
    assert_eq!(course.tried[0].start_time, NOW.plus(15_000));
    let course = run_test("{actionId: a, type: wait, config: {seconds: -1}}", Some(&runner)).await;
    assert_eq!((course.action.status, course.tried.len()), (Status::Dead, 0));
}

#[tokio::test]
async fn what_is_disabled_or_has_no_runner_makes_no_effect() {
    let course = run_test("{actionId: a, type: t, enabled: false}", None).await;
    assert_eq!((course.action.status, course.tried.len()), (Status::Skipped, 0));
    let course = run_test("{actionId: a, type: t}", None).await;
    assert_eq!(course.action.body.last_error.unwrap().kind, kind::INVALID_CONFIGURATION);
    let unscripted = scripted(Vec::new());
    let course = run_test("{actionId: a, type: t}", Some(&unscripted)).await;
    assert_eq!(course.action.status, Status::Dead, "nothing is run for real");
}

#[tokio::test]
async fn endless_attempts_are_cut_off() {
    let runner = scripted(vec![error(kind::TIMEOUT)]);
    let course = run_test(
        "{actionId: a, type: t, retryPolicy: {maxAttempts: 4000000000}}",
        Some(&runner),
    )
    .await;
    assert!(course.is_cut_off && course.tried.len() == ATTEMPTS_MAX);
}

/// Checkpoints, is unsure, and finds out what happened by its checkpoint.
struct Unsure;

impl Runner for Unsure {
    fn types(&self) -> &[&str] {
        &["t"]
    }

    fn validate(&self, _kind: &str, _config: &Value) -> Vec<ConfigProblem> {
        Vec::new()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            attempt.control.checkpoint(attempt.config.clone()).await.unwrap();
            Outcome::unknown(kind::TIMEOUT, "no answer")
        })
    }

    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        let done = Done {
            result: json!({"was": attempt.checkpoint}),
            ..Done::default()
        };
        Some(Box::pin(std::future::ready(Probe::Happened(done))))
    }
}

#[tokio::test]
async fn secrets_are_bound_late_an_unknown_outcome_is_asked_about_and_everything_is_masked() {
    let course = run_test(
        "{actionId: a, type: t, config: {token: '{{secrets.token}}'}}",
        Some(&Unsure),
    )
    .await;
    assert_eq!(course.action.status, Status::Succeeded);
    assert_eq!(
        course.action.body.result,
        Some(json!({"was": {"token": "[secret token]"}}))
    );
}
