//! Trace context: which trace an execution is, and which span each thing that happens to it (W3C Trace Context).
//!
//! Everything follows from ids that are stored anyway, so a restart, a replay and another node name the same spans.

use crate::ids::{AttemptId, ExecutionId, scatter};

/// The trace of an execution: its own 16 bytes, whose last half is random.
pub fn trace_of(execution: ExecutionId) -> [u8; 16] {
    execution.to_bytes()
}

/// The span of the whole execution.
pub fn execution_span(execution: ExecutionId) -> [u8; 8] {
    span(entropy(execution.to_bytes()))
}

/// The span of the history entry with this sequence.
pub fn step_span(execution: ExecutionId, sequence: u64) -> [u8; 8] {
    span(entropy(execution.to_bytes()) ^ scatter(sequence.wrapping_add(1)))
}

/// The span of an attempt.
pub fn attempt_span(attempt: AttemptId) -> [u8; 8] {
    span(entropy(attempt.to_bytes()))
}

/// The header `traceparent` of what an attempt sends: the receiver continues under the attempt's span.
pub fn traceparent(execution: ExecutionId, attempt: AttemptId) -> String {
    let trace = u128::from_be_bytes(trace_of(execution));
    let span = u64::from_be_bytes(attempt_span(attempt));
    format!("00-{trace:032x}-{span:016x}-01")
}

fn entropy(id: [u8; 16]) -> u64 {
    u64::try_from(u128::from_be_bytes(id) & u128::from(u64::MAX)).unwrap_or(0)
}

/// A span is never all zeros: that means none.
fn span(bits: u64) -> [u8; 8] {
    scatter(bits).max(1).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Slot;
    use crate::time::Timestamp;

    #[test]
    fn the_same_ids_give_the_same_spans_and_others_others() {
        let at = Timestamp::from_millis(1_767_225_600_000);
        let execution = ExecutionId::compose(at, Slot(7), 9);
        let [first, second] = [1, 2].map(|entropy| AttemptId::compose(at, Slot(7), entropy));
        assert_eq!(traceparent(execution, first), traceparent(execution, first));
        assert_ne!(attempt_span(first), attempt_span(second));
        assert_ne!(step_span(execution, 1), step_span(execution, 2));
        assert_ne!(step_span(execution, 1), execution_span(execution));
    }

    #[test]
    fn the_header_has_the_form_of_the_standard() {
        let at = Timestamp::from_millis(1_767_225_600_000);
        let header = traceparent(ExecutionId::compose(at, Slot(7), 9), AttemptId::compose(at, Slot(7), 1));
        let parts: Vec<&str> = header.split('-').collect();
        let [version, trace, span, flags] = parts.as_slice() else {
            panic!("{header}")
        };
        assert_eq!((*version, trace.len(), span.len(), *flags), ("00", 32, 16, "01"));
        assert!(
            header
                .bytes()
                .all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        );
    }
}
