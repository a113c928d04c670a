//! Whether the configuration of every action makes sense to its runner.

use serde_json::json;

use crate::action::cost::{self, COST_ESTIMATE};
use crate::action::{ConfigProblem, Fault};
use crate::document::source::{Place, shown};
use crate::document::{Findings, Severity};
use crate::machine::load::config::{ConfigCheck, UnknownType};
use crate::machine::load::notes::Notes;

fn note(findings: &mut Findings, place: &Place, problem: ConfigProblem, unconfigured: Severity) {
    let ConfigProblem {
        pointer: _,
        detail,
        remedy,
        fault,
    } = problem;
    match (fault, unconfigured) {
        (Fault::Definition, _) => findings.error(place, "invalid-config", detail, remedy),
        (Fault::Unconfigured, Severity::Error) => findings.error(place, "not-configured", detail, remedy),
        (Fault::Unconfigured, Severity::Warning) => findings.warning(place, "not-configured", detail, remedy),
    }
}

/// Asks about every action's configuration.
pub(super) fn check(notes: &Notes<'_>, findings: &mut Findings, runners: &dyn ConfigCheck) {
    for fields in &notes.actions {
        let (Some(kind), Some(kind_spot)) = (fields.text("type"), fields.get("type")) else {
            continue;
        };
        // What a program elsewhere accepts is not known here, even if a type of that name is.
        if fields.get("runner").is_some() {
            continue;
        }
        let spot = fields.get("config");
        let config = spot.as_ref().map_or_else(|| json!({}), |spot| spot.value.clone());
        if let (Some(detail), Some(spot)) = (cost::problem(&config), &spot) {
            let place = spot.inside(&format!("/{COST_ESTIMATE}"));
            findings.error(&place, "invalid-config", detail, "write it as in `costEstimate: 0.01`");
        }
        let config = cost::without(config);
        match runners.check(kind, &config) {
            Ok(problems) => {
                let place = |pointer: &str| match &spot {
                    Some(spot) => spot.inside(pointer),
                    None => fields.at.place(),
                };
                for problem in problems {
                    note(findings, &place(&problem.pointer), problem, runners.unconfigured());
                }
                for problem in runners.warnings(kind, &config) {
                    let place = place(&problem.pointer);
                    findings.warning(&place, "refused-here", problem.detail, problem.remedy);
                }
            }
            Err(UnknownType { nearest }) => {
                let detail = format!("no runner serves type `{}`", shown(kind));
                let remedy = match nearest {
                    Some(nearest) => {
                        format!("did you mean `{nearest}`? if not, name the external `runner` that serves it")
                    }
                    None => "use a known type, or name the external `runner` that serves it".to_owned(),
                };
                findings.error(&kind_spot.place(), "unknown-type", detail, remedy);
            }
        }
    }
}
