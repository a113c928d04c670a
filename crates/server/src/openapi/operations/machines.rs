//! Machines.

use sprag_core::machine::{DiagramFormat, Difference, Line};
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Answer, Operation, text, version, words};
use crate::handlers::compare::Both;
use crate::handlers::simulate::Simulate;
use crate::problem::Code;
use crate::request::body::FromFields;

/// The group.
pub(crate) const RESOURCE: &str = "machines";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one machine.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", text(), "The name of the machine.")
        .reads()
        .refuses([requests::Code::MachineUnknown, requests::Code::VersionUnknown])
}

/// An operation that takes machines, sent or kept.
fn of_source<B: FromFields>(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary).body::<B>().changes_nothing().reads().refuses([
        requests::Code::DefinitionInvalid,
        requests::Code::MachineUnknown,
        requests::Code::VersionUnknown,
    ])
}

pub(crate) fn list() -> Operation {
    operation("listMachines", "List machines with their newest versions, by name")
        .paged()
        .answers::<wire::Page<wire::MachineSummary>>(200, "The machines.")
        .reads()
}

pub(crate) fn apply() -> Operation {
    operation("applyMachine", "Apply a machine file as a new version")
        .definition()
        .answers::<wire::Applied>(201, "The new version. New executions use it.")
        .located()
        .tagged()
        .answers::<wire::Applied>(200, "The newest version has the same content. Nothing changed.")
        .tagged()
        .writes()
        .once()
        .audited()
        .if_match()
        .if_none()
        .refuses([requests::Code::DefinitionInvalid])
}

/// A machine whose name is that of a route.
pub(crate) fn show_verb(id: &'static str) -> Operation {
    operation(id, "Show the machine with this name")
        .alias()
        .answers::<wire::Machine>(200, "The machine.")
        .tagged()
        .if_changed()
        .reads()
        .refuses([requests::Code::MachineUnknown, requests::Code::VersionUnknown])
}

pub(crate) fn lint() -> Operation {
    operation("lintMachine", "Lint a machine file; store nothing")
        .definition()
        .answers::<wire::Linted>(200, "The findings.")
        .changes_nothing()
}

pub(crate) fn simulate() -> Operation {
    of_source::<Simulate>("simulateMachine", "Simulate a machine; store and send nothing")
        .answers::<wire::Page<Line>>(200, "One line for the start and one for each input.")
        .refuses([Code::SimulationTooLarge])
        .refuses([requests::Code::InputInvalid])
}

pub(crate) fn diff() -> Operation {
    of_source::<Both>("diffMachines", "Compare two machines").answers::<Difference>(200, "The changes.")
}

fn shows(operation: Operation) -> Operation {
    operation
        .answers::<wire::Machine>(200, "The version with its definition.")
        .tagged()
        .if_changed()
}

pub(crate) fn show() -> Operation {
    shows(one("showMachine", "Show the newest version of a machine"))
}

pub(crate) fn diagram() -> Operation {
    one("drawMachine", "Draw a machine")
        .query(
            "format",
            words(&DiagramFormat::ALL.map(DiagramFormat::word)),
            "The format. Default: `svg`.",
        )
        .query("version", version(), "The version. Default: the newest.")
        .gives(
            Answer::of(200, "The picture.", "image/svg+xml", text())
                .or("text/plain; charset=utf-8", text())
                .or("text/vnd.graphviz; charset=utf-8", text()),
        )
}

pub(crate) fn show_version() -> Operation {
    shows(one("showMachineVersion", "Show one version of a machine").path("version", version(), "The version."))
}
