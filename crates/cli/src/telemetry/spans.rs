//! From what the engine tells to spans.

use sprag_core::action::Verdict;
use sprag_core::ids::trace::{attempt_span, execution_span, step_span, trace_of};
use sprag_engine::traces::{AttemptEnded, ExecutionClosed, StepTaken, Traced};

use super::proto::{AttributeValue, Span, SpanKind};

/// The span of something that happened.
pub(super) fn span(traced: Traced) -> Span {
    match traced {
        Traced::Step(step) => stepped(step),
        Traced::Attempt(attempt) => attempted(attempt),
        Traced::Closed(closed) => whole(closed),
    }
}

/// A transition takes no time of its own: it is an instant under the execution's span.
fn stepped(step: StepTaken) -> Span {
    let StepTaken {
        execution,
        sequence,
        machine,
        event,
        handled,
        configuration,
        at,
    } = step;
    Span {
        trace: trace_of(execution),
        id: step_span(execution, sequence),
        parent: Some(execution_span(execution)),
        name: format!("{machine} {event}"),
        kind: SpanKind::Internal,
        start: at.as_millis(),
        end: at.as_millis(),
        attributes: vec![
            ("sprag.execution.id", AttributeValue::Text(execution.to_string())),
            ("sprag.machine", AttributeValue::Text(machine.to_string())),
            ("sprag.event", AttributeValue::Text(event)),
            ("sprag.handled", AttributeValue::Flag(handled)),
            ("sprag.sequence", AttributeValue::Whole(sequence)),
            ("sprag.configuration", AttributeValue::Texts(configuration)),
        ],
        error: None,
    }
}

fn attempted(ended: AttemptEnded) -> Span {
    let AttemptEnded {
        execution,
        attempt,
        action,
        action_id,
        kind,
        number,
        start,
        end,
        outcome,
        error,
    } = ended;
    let name = format!("{action_id} attempt {number}");
    let mut attributes = vec![
        ("sprag.execution.id", AttributeValue::Text(execution.to_string())),
        ("sprag.action.id", AttributeValue::Text(action.to_string())),
        ("sprag.attempt.id", AttributeValue::Text(attempt.to_string())),
        ("sprag.actionId", AttributeValue::Text(action_id)),
        ("sprag.type", AttributeValue::Text(kind)),
        ("sprag.attempt", AttributeValue::Whole(u64::from(number))),
        ("sprag.outcome", AttributeValue::Text(outcome_word(outcome).to_owned())),
    ];
    let error = error.filter(|_| outcome != Verdict::Done);
    if let Some((kind, _)) = &error {
        attributes.push(("error.type", AttributeValue::Text(kind.clone())));
    }
    Span {
        trace: trace_of(execution),
        id: attempt_span(attempt),
        parent: Some(execution_span(execution)),
        name,
        kind: SpanKind::Client,
        start: start.as_millis(),
        end: end.as_millis(),
        attributes,
        error: error.map(|(kind, message)| format!("{kind}: {message}")),
    }
}

/// The span that all others of its trace stand under. A collector hears of it last.
fn whole(closed: ExecutionClosed) -> Span {
    let ExecutionClosed {
        execution,
        machine,
        version,
        key,
        status,
        start,
        end,
    } = closed;
    let mut attributes = vec![
        ("sprag.execution.id", AttributeValue::Text(execution.to_string())),
        ("sprag.machine", AttributeValue::Text(machine.to_string())),
        ("sprag.version", AttributeValue::Whole(u64::from(version))),
        ("sprag.status", AttributeValue::Text(status.word().to_owned())),
    ];
    attributes.extend(key.map(|key| ("sprag.execution.key", AttributeValue::Text(key))));
    Span {
        trace: trace_of(execution),
        id: execution_span(execution),
        parent: None,
        name: machine.to_string(),
        kind: SpanKind::Internal,
        start: start.as_millis(),
        end: end.as_millis(),
        attributes,
        error: None,
    }
}

fn outcome_word(outcome: Verdict) -> &'static str {
    match outcome {
        Verdict::Done => "done",
        Verdict::NotDone => "notDone",
        Verdict::Unknown => "unknown",
    }
}
