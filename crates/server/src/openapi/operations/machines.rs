//! Machines.

use sprag_core::machine::{DiagramFormat, Difference, Line};
use sprag_engine::command;
use sprag_wire as wire;

use super::{Answer, Operation, text, version, words};
use crate::body::FromFields;
use crate::handlers::compare::Both;
use crate::handlers::simulate::Simulate;
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
fn of_source<B: FromFields>(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary).body::<B>().changes_nothing().reads().refuses([
        command::Code::DefinitionInvalid,
        command::Code::MachineUnknown,
        command::Code::VersionUnknown,
    ])
}

pub(crate) fn list() -> Operation {
    operation("listMachines", "Every machine with its newest version, by name")
        .paged()
        .answers::<wire::Page<wire::MachineSummary>>(200, "The machines.")
        .reads()
}

pub(crate) fn apply() -> Operation {
    operation("applyMachine", "Keep a new version, unless the newest one is the same")
        .definition()
        .answers::<wire::Applied>(201, "A new version is kept; new executions use it.")
        .located()
        .tagged()
        .answers::<wire::Applied>(200, "The newest version is the same; nothing changed.")
        .tagged()
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
        .answers::<wire::Machine>(200, "The machine.")
        .tagged()
        .if_changed()
        .reads()
        .refuses([command::Code::MachineUnknown, command::Code::VersionUnknown])
}

pub(crate) fn lint() -> Operation {
    operation("lintMachine", "Everything wrong or doubtful; nothing is kept")
        .definition()
        .answers::<wire::Linted>(200, "What was found.")
        .changes_nothing()
}

pub(crate) fn simulate() -> Operation {
    of_source::<Simulate>(
        "simulateMachine",
        "Where a machine is after each input; nothing is stored, nothing is sent",
    )
    .answers::<wire::Page<Line>>(200, "A line for the start, and one for each input.")
    .refuses([Code::SimulationTooLarge])
    .refuses([command::Code::InputInvalid])
}

pub(crate) fn diff() -> Operation {
    of_source::<Both>("diffMachines", "What is different between two machines")
        .answers::<Difference>(200, "The changes, in the words of a machine file.")
}

fn shows(operation: Operation) -> Operation {
    operation
        .answers::<wire::Machine>(200, "The version with its definition.")
        .tagged()
        .if_changed()
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
        .gives(
            Answer::of(200, "The picture.", "image/svg+xml", text())
                .or("text/plain; charset=utf-8", text())
                .or("text/vnd.graphviz; charset=utf-8", text()),
        )
}

pub(crate) fn show_version() -> Operation {
    shows(one("showMachineVersion", "One version of a machine").path("version", version(), "The version."))
}
