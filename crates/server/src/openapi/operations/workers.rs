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
        .answers::<wire::Worker>(200, "The worker as it is now.")
        .once()
        .refuses([Code::WorkerLeaving, Code::OperationRefused])
}

pub(crate) fn list() -> Operation {
    operation("listWorkers", "All workers, parents before their children")
        .continued()
        .answers::<wire::Page<wire::Worker>>(200, "The workers.")
}

pub(crate) fn deltas() -> Operation {
    operation("listWorkerDeltas", "What changed since a cursor, or everything")
        .query("after", text(), "`cursor` of the answer before; none to begin with.")
        .answers::<wire::WorkerDeltas>(200, "What changed.")
}

pub(crate) fn explain() -> Operation {
    one("explainWorker", "Why a worker is where it is, and what happens next")
        .answers::<wire::WorkerExplanation>(200, "What holds it.")
}

pub(crate) fn logs() -> Operation {
    one("showWorkerLogs", "What a worker wrote")
        .query("lines", whole(0), "The last so many lines.")
        .query("after", whole(0), "What was written after this `offset`.")
        .answers::<wire::WorkerLog>(200, "A part of its log.")
}

pub(crate) fn start() -> Operation {
    word(
        "startWorker",
        "Start a worker; escalations end and what failed below it starts, the rest is not touched",
    )
}

pub(crate) fn stop() -> Operation {
    word("stopWorker", "Have a worker stop, and stay stopped")
}

pub(crate) fn restart() -> Operation {
    word(
        "restartWorker",
        "Stop a worker and start it again; what failed before is forgotten",
    )
}

pub(crate) fn cancel() -> Operation {
    word(
        "cancelWorkerAction",
        "Cancel the action of a worker that is in progress",
    )
}

pub(crate) fn reload() -> Operation {
    operation("reloadWorkers", "Read the file of services again")
        .answers::<wire::Reloaded>(200, "What is different.")
        .once()
        .refuses([Code::ServicesInvalid])
}
