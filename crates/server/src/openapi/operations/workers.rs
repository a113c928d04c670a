//! Supervised services.

use sprag_wire as wire;

use super::{Operation, text, whole};
use crate::problem::Code;

/// The group.
pub(crate) const RESOURCE: &str = "workers";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary).refuses([Code::SupervisionOff, Code::SupervisorStopped])
}

/// An operation on one worker.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path(
            "path",
            text(),
            "The worker: `parent/child` as one segment, `parent%2Fchild`; `%2F` is the supervisor itself, which owns the \
             rules at the top.",
        )
        .refuses([Code::WorkerUnknown])
}

/// A person's word to a worker.
fn word(id: &'static str, summary: &'static str) -> Operation {
    one(id, summary)
        .answers::<wire::Worker>(200, "The worker.")
        .writes()
        .once()
        .audited()
        .refuses([Code::WorkerLeaving, Code::OperationRefused])
}

pub(crate) fn list() -> Operation {
    operation("listWorkers", "List workers, parents before their children")
        .continued()
        .answers::<wire::Page<wire::Worker>>(200, "The workers.")
}

pub(crate) fn deltas() -> Operation {
    operation("listWorkerDeltas", "List the changes of workers since a cursor")
        .query("after", text(), "`cursor` of the previous answer. Send none to start.")
        .answers::<wire::WorkerDeltas>(200, "The changes.")
}

pub(crate) fn explain() -> Operation {
    one("explainWorker", "Explain the state of a worker and its next step")
        .answers::<wire::WorkerExplanation>(200, "The explanation.")
}

pub(crate) fn logs() -> Operation {
    one("showWorkerLogs", "Read the log of a worker")
        .query("lines", whole(0), "The number of last lines.")
        .query("after", whole(0), "Only text after this `offset`.")
        .answers::<wire::WorkerLog>(200, "A part of its log.")
}

pub(crate) fn start() -> Operation {
    word("startWorker", "Start a worker; clear escalations and failures below it")
}

pub(crate) fn stop() -> Operation {
    word("stopWorker", "Stop a worker and keep it stopped")
}

pub(crate) fn restart() -> Operation {
    word("restartWorker", "Restart a worker and clear its failures")
}

pub(crate) fn cancel() -> Operation {
    word("cancelWorkerAction", "Cancel the action in progress of a worker")
}

pub(crate) fn reload() -> Operation {
    operation("reloadWorkers", "Reload the services file")
        .answers::<wire::Reloaded>(200, "The changes of the reload.")
        .writes()
        .once()
        .audited()
        .refuses([Code::ServicesInvalid])
}
