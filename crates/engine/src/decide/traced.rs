//! What a batch will tell whoever draws traces, once it is durable.

use sprag_core::action::Action;
use sprag_core::machine::{Cause, Machine};
use sprag_store::records::ExecutionStatus;

use crate::aggregate::Aggregate;
use crate::lane::{Batch, Lane, log_durable};
use crate::traces::{AttemptEnded, ExecutionClosed, StepTaken, Traced};

impl Lane {
    /// What the batch holds is durable: it is counted, logged, and told to whoever draws traces.
    pub(crate) fn count(&self, batch: &mut Batch) {
        self.metrics.count(batch);
        log_durable(batch);
        self.options.traces.tell(std::mem::take(&mut batch.traced));
    }

    /// A macrostep was taken and recorded.
    pub(super) fn trace_step(
        &mut self,
        aggregate: &Aggregate,
        machine: &Machine,
        event: Option<String>,
        handled: bool,
    ) {
        let Some(event) = event else { return };
        self.batch.traced.push(Traced::Step(StepTaken {
            execution: aggregate.head.id,
            sequence: aggregate.head.sequence,
            machine: aggregate.head.machine.clone(),
            event,
            handled,
            configuration: machine.configuration(&aggregate.execution.active),
            at: self.now,
        }));
    }

    /// The name of what a macrostep answers; none when nobody draws traces.
    pub(super) fn traced_event(&self, cause: &Cause) -> Option<String> {
        self.options.traces.is_on().then(|| name(cause))
    }

    /// The action's last attempt ended.
    pub(super) fn trace_attempt(&mut self, action: &Action) {
        if !self.options.traces.is_on() {
            return;
        }
        let Some(attempt) = action.body.attempts.last() else {
            return;
        };
        let (Some(end), Some(outcome)) = (attempt.end_time, attempt.outcome) else {
            return;
        };
        let error = attempt.error.as_ref();
        self.batch.traced.push(Traced::Attempt(AttemptEnded {
            execution: action.origin.execution,
            attempt: attempt.id,
            action: action.id,
            action_id: action.action_id.clone(),
            kind: action.kind.clone(),
            number: attempt.number,
            start: attempt.start_time,
            end,
            outcome,
            error: error.map(|error| (error.kind.clone(), error.message.clone())),
        }));
    }

    /// The execution is closed.
    pub(super) fn trace_closed(&mut self, aggregate: &Aggregate, status: ExecutionStatus) {
        if !self.options.traces.is_on() {
            return;
        }
        let head = &aggregate.head;
        self.batch.traced.push(Traced::Closed(ExecutionClosed {
            execution: head.id,
            machine: head.machine.clone(),
            version: head.version,
            key: head.key.clone(),
            status,
            start: head.created_at,
            end: self.now,
        }));
    }
}

fn name(cause: &Cause) -> String {
    match cause {
        Cause::Start => "start".to_owned(),
        Cause::Message(message) => message.kind.clone(),
        Cause::Timer(_) => "after".to_owned(),
        Cause::Ended(end) => format!("{}.{}", end.how.word(), end.action_id),
        Cause::Occurrence { action, .. } => format!("schedule.{action}"),
    }
}
