//! Addresses of collectors, and what spans say.

use sprag_core::action::Verdict;
use sprag_core::ids::trace::{execution_span, trace_of};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, Slot};
use sprag_core::time::Timestamp;
use sprag_engine::traces::{AttemptEnded, Traced};

use super::export::Endpoint;
use super::proto::{AttributeValue, SpanKind};
use super::spans::span;

#[test]
fn the_path_of_traces_is_added_unless_it_is_there() {
    let parsed = |text: &str| Endpoint::parse(text).unwrap();
    let whole = parsed("http://collector:4318/v1/traces");
    assert_eq!(parsed("http://collector:4318"), whole);
    assert_eq!(parsed("http://collector:4318/"), whole);
    assert_ne!(parsed("http://collector:4318/otlp"), whole);
    for text in [
        "collector:4318",
        "grpc://collector:4317",
        "http://",
        "http://c/?x=1",
        "",
    ] {
        assert!(Endpoint::parse(text).is_err(), "{text}");
    }
}

#[test]
fn an_attempt_stands_under_its_execution_and_says_why_it_failed() {
    let at = Timestamp::from_millis(1_767_225_600_000);
    let execution = ExecutionId::compose(at, Slot(1), 1);
    let ended = |outcome| {
        span(Traced::Attempt(AttemptEnded {
            execution,
            attempt: AttemptId::compose(at, Slot(1), 2),
            action: ActionId::compose(at, Slot(1), 3),
            action_id: "charge".to_owned(),
            kind: "webhook".to_owned(),
            number: 2,
            start: at,
            end: at.plus(30),
            outcome,
            error: Some(("timeout".to_owned(), "no answer".to_owned())),
        }))
    };
    let failed = ended(Verdict::Unknown);
    assert_eq!(
        (failed.trace, failed.parent),
        (trace_of(execution), Some(execution_span(execution)))
    );
    assert_eq!(
        (failed.name.as_str(), failed.kind),
        ("charge attempt 2", SpanKind::Client)
    );
    assert_eq!(failed.error.as_deref(), Some("timeout: no answer"));
    assert!(
        failed
            .attributes
            .contains(&("error.type", AttributeValue::Text("timeout".to_owned())))
    );
    assert_eq!(ended(Verdict::Done).error, None);
}
