//! What follows once a batch is durable: memory learns it, attempts start, callers get their answers.
//!
//! The order is part of the contract: a caller that has its answer finds everything else done.

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;

use super::Lane;
use crate::commit::{Durable, Sealed};
use crate::decide::{AttemptJob, Batch, Change, Known, Task};
use crate::effects::Consequences;
use crate::leases::{LeaseAnswer, polls};
use crate::read::view::{self, ExecutionView};
use crate::requests::{Command, Replied, ReportOutcome};

/// Acts on a durable batch.
pub(super) fn on_durable(lane: &mut Lane, durable: Durable) {
    let Sealed {
        mut commands,
        mut batch,
        changes,
        closed,
        commit: _,
        began,
    } = durable.into_inner();
    if let Some(began) = began {
        let micros = lane.time.clock.micros().saturating_sub(began);
        lane.effects.metrics.committed(commands.len(), micros);
    }
    lane.effects.keep_waiting(&mut commands);
    lane.known.keep_polls(&mut commands);
    lane.effects.count(&mut batch);
    lane.backlog.note_recovered(batch.interrupted);
    lane.known.learn(&mut batch, &changes);
    lane.backlog.extend(std::mem::take(&mut batch.next));
    note_upkeep(lane, &batch);
    start_all(lane, std::mem::take(&mut batch.jobs));
    let consequences = Consequences {
        grants: polls::over(&mut lane.known.queue, lane.time.at.now),
        demands: batch.demands,
        cancels: batch.cancels,
        abandons: batch.abandons,
    };
    lane.effects.run(consequences, &changes);
    lane.effects.tell_closed(&changes, closed);
    for command in &mut commands {
        command.call_mut().reply();
    }
    lane.known.executions.shrink();
    lane.known.machines.shrink();
}

/// What operators set is in force, and shown.
fn note_upkeep(lane: &mut Lane, batch: &Batch) {
    let now = lane.now();
    let stored_at = now.max(lane.time.clock.now());
    lane.known.control.is_stored(stored_at);
    lane.effects.board.show(&lane.known.control.switches);
    lane.effects.board.show_tokens(&lane.known.control.tokens);
    if batch.is_clock_accepted {
        lane.upkeep.order_by_clock();
        // The answer lists the notes that are left: it must not show the one that this settles.
        lane.effects.board.clock.show(&lane.known.control.clock, now);
    }
    if let Some(expires_at) = batch.answers_expire {
        lane.upkeep.expiry_due = lane.upkeep.expiry_due.min(expires_at);
    }
}

/// Starts the attempts of a durable batch, or keeps them for the external runners that polled for them.
fn start_all(lane: &mut Lane, jobs: Vec<AttemptJob>) {
    let now = lane.now();
    for job in jobs {
        if job.task == Task::Run {
            lane.known.queue.started.add(&job.kind, now);
        }
        match job.lease {
            Some(_) => lane.known.queue.polls.grant(job),
            None => start(lane, job),
        }
    }
}

/// Starts an attempt, unless this node may have lost its shard meanwhile. Finding out what became of an interrupted
/// attempt is no effect; and that attempt may have had its own, so it cannot end as "not done".
fn start(lane: &mut Lane, job: AttemptJob) {
    let is_in_touch = lane.shards.is_whole() || lane.shards.is_in_touch(lane.time.clock.micros());
    if job.task == Task::Settle || is_in_touch {
        lane.effects.start(job);
        return;
    }
    let AttemptJob { attempt, .. } = job;
    tracing::warn!(attempt = %attempt.attempt, "attempt not started, node out of touch with its database");
    let message = "the node was out of touch with its database; the attempt did not start";
    lane.backlog.push(Command::own(ReportOutcome {
        attempt,
        outcome: Outcome::not_done(kind::TEMPORARY_FAILURE, message),
    }));
}

impl Known {
    /// External runners that polled in this batch get their answer later.
    fn keep_polls(&mut self, commands: &mut [Command]) {
        for command in commands {
            if let Command::Poll(call) = command
                && let Some(Replied {
                    answer: Ok(LeaseAnswer::Waiting(id)),
                    ..
                }) = &call.decided
            {
                self.queue.polls.hold(*id, call.sender.take());
            }
        }
    }

    /// Learns what is durable now.
    fn learn(&mut self, batch: &mut Batch, changes: &[Change]) {
        for id in changes.iter().filter_map(Change::execution) {
            self.executions.forget_over(id);
        }
        self.machines.learn(std::mem::take(&mut batch.newest));
        let ended = batch.ended.iter().map(|(id, _)| *id);
        self.jobs.settle(std::mem::take(&mut batch.bulk), ended);
        for (at, due) in batch.due.drain(..) {
            self.timers.add(at, due);
        }
    }

    /// The executions that a batch closed, as it left them.
    pub(super) fn closed_views(&self, changes: &[Change]) -> Vec<ExecutionView> {
        let closed = changes.iter().filter_map(Change::closed);
        let found = closed.filter_map(|id| self.executions.with_machines(id));
        found
            .map(|(state, machines)| view::execution(state, &machines.own))
            .collect()
    }
}
