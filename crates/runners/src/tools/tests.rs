//! The tools, one by one.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Outcome, Verdict};
use sprag_core::action::runner::Runner;
use tokio::net::TcpListener;

use super::*;
use crate::http::outbound::{Guard, Options};
use crate::testing::{Case, Server, client, error, loopback, reply, result};

fn pointers(runner: &dyn Runner, config: &Value) -> Vec<String> {
    runner
        .validate("", config)
        .into_iter()
        .map(|problem| problem.pointer)
        .collect()
}

#[tokio::test]
async fn noop_and_wait_are_done_at_once() {
    assert_eq!(result(&Case::new("noop", Value::Null).run(&Noop).await), &json!({}));
    assert_eq!(
        result(&Case::new("wait", json!({"seconds": 1_000_000})).run(&Wait).await),
        &json!({})
    );
}

#[test]
fn noop_and_wait_check_their_configuration() {
    assert!(pointers(&Noop, &json!({})).is_empty());
    assert_eq!(pointers(&Noop, &json!({"x": 1})), ["/x"]);
    for seconds in [json!(0), json!(1.5), json!(30), json!("{{execution.variables.delay}}")] {
        assert!(pointers(&Wait, &json!({"seconds": seconds})).is_empty(), "{seconds}");
    }
    for seconds in [json!(-1), json!("30"), json!(1e12), json!(null)] {
        assert_eq!(pointers(&Wait, &json!({"seconds": seconds})), ["/seconds"], "{seconds}");
    }
}

/// Keeps the lines that are logged on this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(tracing::Level, String)>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Message(String);
        impl tracing::field::Visit for Message {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push((*event.metadata().level(), message.0));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn log_message_writes_its_line_at_its_level() {
    let lines = Lines::default();
    let _scope = tracing::subscriber::set_default(lines.clone());
    for level in ["trace", "debug", "info", "warn", "error"] {
        let outcome = Case::new("log_message", json!({"message": "signed {{}}", "level": level}))
            .run(&LogMessage)
            .await;
        assert_eq!(outcome.verdict(), Verdict::Done);
    }
    Case::new("log_message", json!({"message": "plain"}))
        .run(&LogMessage)
        .await;
    let lines: Vec<_> = lines
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|(level, text)| format!("{level} {text}"))
        .collect();
    assert_eq!(
        lines,
        [
            "TRACE signed {{}}",
            "DEBUG signed {{}}",
            "INFO signed {{}}",
            "WARN signed {{}}",
            "ERROR signed {{}}",
            "INFO plain"
        ]
    );
}

#[test]
fn tools_that_repeat_what_they_are_given_take_no_secret() {
    for runner in [
        &Noop as &dyn Runner,
        &Wait,
        &LogMessage,
        &Fail,
        &TcpCheck::new(loopback()),
    ] {
        let kind = runner.types()[0];
        for pointer in ["", "/message", "/type", "/host", "/headers/authorization"] {
            assert!(!runner.takes_secret(kind, pointer), "{kind} {pointer}");
        }
    }
    let check = HttpCheck::new(client());
    assert!(check.takes_secret("http_check", "/headers/authorization"));
    for pointer in ["/url", "/method", "/expectedStatusCodes/0", "/headersome"] {
        assert!(!check.takes_secret("http_check", pointer), "{pointer}");
    }
}

#[test]
fn log_message_refuses_an_unknown_level() {
    assert_eq!(
        pointers(&LogMessage, &json!({"message": "about secrets"})),
        Vec::<String>::new()
    );
    assert_eq!(
        pointers(&LogMessage, &json!({"message": "x", "level": "fatal"})),
        ["/level"]
    );
    assert_eq!(pointers(&LogMessage, &json!({"level": "info"})), ["/message"]);
}

#[tokio::test]
async fn fail_fails_as_it_is_told() {
    let outcome = Case::new("fail", json!({})).run(&Fail).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::TEMPORARY_FAILURE)
    );
    let config = json!({"type": "rate_limit", "message": "slow down", "outcome": "unknown", "retryAfter": 1500});
    let Outcome::Unknown(failure) = Case::new("fail", config).run(&Fail).await else {
        panic!("not unknown")
    };
    assert_eq!(
        (failure.error.kind.as_str(), failure.error.message.as_str()),
        ("rate_limit", "slow down")
    );
    assert_eq!(failure.retry_after, Some(1_500));
}

#[tokio::test]
async fn fail_with_times_fails_that_often_and_then_succeeds() {
    let mut case = Case::new("fail", json!({"times": 2}));
    let mut verdicts = Vec::new();
    for number in 1..=3 {
        case.number = number;
        verdicts.push(case.run(&Fail).await.verdict());
    }
    assert_eq!(verdicts, [Verdict::NotDone, Verdict::NotDone, Verdict::Done]);
    assert_eq!(
        pointers(&Fail, &json!({"times": -1, "outcome": "maybe", "retryAfter": "x"})).len(),
        3
    );
}

#[tokio::test]
async fn http_check_gets_the_url_and_judges_the_status() {
    let server = Server::start([reply(200, "", "up"), reply(503, "", ""), reply(204, "", "")]).await;
    let check = HttpCheck::new(client());
    let case = Case::new(
        "http_check",
        json!({"url": server.url("/healthz"), "expectedStatusCodes": [200]}),
    );
    assert_eq!(result(&case.run(&check).await)["data"], "up");
    assert_eq!(case.run(&check).await.verdict(), Verdict::NotDone);
    assert_eq!(case.run(&check).await.verdict(), Verdict::Unknown);
    assert_eq!(server.requests()[0].line, "GET /healthz HTTP/1.1");
    assert_eq!(pointers(&check, &json!({"urll": "x"})), ["/urll", "/url"]);
    assert_eq!(
        check.destination("", &json!({"url": "https://a.example/"})).as_deref(),
        Some("a.example:443")
    );
}

#[tokio::test]
async fn tcp_check_connects_or_says_why_not() {
    let check = TcpCheck::new(loopback());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let case = Case::new("tcp_check", json!({"host": "127.0.0.1", "port": port}));
    assert_eq!(
        result(&case.run(&check).await),
        &json!({"host": "127.0.0.1", "port": port, "address": "127.0.0.1"})
    );
    drop(listener);
    let outcome = case.run(&check).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::NETWORK_ERROR)
    );
}

#[tokio::test]
async fn tcp_check_stands_behind_the_guard() {
    let check = TcpCheck::new(Guard::new(&Options::default()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost", "0x7f.1", "::1"] {
        let outcome = Case::new("tcp_check", json!({"host": host, "port": port}))
            .run(&check)
            .await;
        assert_eq!(error(&outcome).kind, kind::INVALID_CONFIGURATION, "{host}: {outcome:?}");
        assert!(error(&outcome).message.contains("[outbound] allow = ["), "{outcome:?}");
    }
}

#[test]
fn tcp_check_checks_its_configuration() {
    let check = TcpCheck::new(loopback());
    assert!(pointers(&check, &json!({"host": "db.example", "port": 5432})).is_empty());
    assert!(pointers(&check, &json!({"host": "{{a}}", "port": "{{b}}"})).is_empty());
    assert_eq!(pointers(&check, &json!({"host": 7, "port": 0})), ["/host", "/port"]);
    assert_eq!(pointers(&check, &json!({"port": 65_536})), ["/host", "/port"]);
}
