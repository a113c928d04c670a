//! Machines.

use serde_json::Value;
use sprag_core::machine::DiagramFormat;
use sprag_engine::command;

use super::{Answer, Operation, page_of, reference, text, version, words};
use crate::problem::Code;

/// The group.
pub(crate) const RESOURCE: &str = "machines";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one machine.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", text(), "The machine's name.")
        .reads()
        .refuses([command::Code::MachineUnknown, command::Code::VersionUnknown])
}

/// An operation that takes machines, sent or kept.
fn of_source(id: &'static str, summary: &'static str, body: Value) -> Operation {
    operation(id, summary).body(body).changes_nothing().reads().refuses([
        command::Code::DefinitionInvalid,
        command::Code::MachineUnknown,
        command::Code::VersionUnknown,
    ])
}

pub(crate) fn list() -> Operation {
    operation("listMachines", "Every machine with its newest version, by name")
        .paged()
        .answers(Answer::json(200, "The machines.", page_of("MachineSummary")))
        .reads()
}

pub(crate) fn apply() -> Operation {
    operation("applyMachine", "Keep a new version, unless the newest one is the same")
        .definition()
        .answers(
            Answer::json(
                201,
                "A new version is kept; new executions use it.",
                reference("Applied"),
            )
            .located()
            .tagged(),
        )
        .answers(
            Answer::json(
                200,
                "The newest version is the same; nothing changed.",
                reference("Applied"),
            )
            .tagged(),
        )
        .writes()
        .once()
        .if_match()
        .if_none()
        .refuses([command::Code::DefinitionInvalid])
}

/// A machine whose name is that of a route.
pub(crate) fn show_verb(id: &'static str) -> Operation {
    operation(id, "The machine of this name")
        .alias()
        .answers(Answer::json(200, "The machine.", reference("Machine")).tagged())
        .if_changed()
        .reads()
        .refuses([command::Code::MachineUnknown, command::Code::VersionUnknown])
}

pub(crate) fn lint() -> Operation {
    operation("lintMachine", "Everything wrong or doubtful; nothing is kept")
        .definition()
        .answers(Answer::json(200, "What was found.", reference("Linted")))
        .changes_nothing()
}

pub(crate) fn simulate() -> Operation {
    of_source(
        "simulateMachine",
        "Where a machine is after each input; nothing is stored, nothing is sent",
        reference("SimulateRequest"),
    )
    .answers(Answer::json(
        200,
        "A line for the start, and one for each input.",
        page_of("SimulationLine"),
    ))
    .refuses([Code::SimulationTooLarge])
    .refuses([command::Code::InputInvalid])
}

pub(crate) fn diff() -> Operation {
    of_source(
        "diffMachines",
        "What is different between two machines",
        reference("DiffRequest"),
    )
    .answers(Answer::json(
        200,
        "The changes, in the words of a machine file.",
        reference("Difference"),
    ))
}

fn shows(operation: Operation) -> Operation {
    let version = Answer::json(200, "The version with its definition.", reference("Machine"));
    operation.answers(version.tagged()).if_changed()
}

pub(crate) fn show() -> Operation {
    shows(one("showMachine", "The newest version of a machine"))
}

pub(crate) fn diagram() -> Operation {
    one("drawMachine", "A picture of a machine")
        .query(
            "format",
            words(&DiagramFormat::ALL.map(DiagramFormat::word)),
            "`svg` unless given.",
        )
        .query("version", version(), "The newest unless given.")
        .answers(
            Answer::of(200, "The picture.", "image/svg+xml", text())
                .or("text/plain; charset=utf-8", text())
                .or("text/vnd.graphviz; charset=utf-8", text()),
        )
}

pub(crate) fn show_version() -> Operation {
    shows(one("showMachineVersion", "One version of a machine").path("version", version(), "The version."))
}
