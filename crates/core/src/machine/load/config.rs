//! Whether an action's configuration makes sense to its runner, asked through a trait: core knows no runner.

use serde_json::{Value, json};

use super::loader::Loader;
use crate::action::cost::{self, COST_ESTIMATE};
use crate::action::{ConfigProblem, Fault, SecretRules};
use crate::document::source::{Place, shown};
use crate::document::{Findings, Severity};

/// Knows what the runners of this process accept.
pub trait ConfigCheck: SecretRules {
    /// Everything wrong with the configuration of an action of type `kind` that can be known before it is rendered.
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType>;

    /// What this process would refuse at every attempt although the definition is right.
    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let _ = (kind, config);
        Vec::new()
    }

    /// How it weighs that this process lacks something that a definition names: an error where the definition is to run.
    fn unconfigured(&self) -> Severity {
        Severity::Error
    }
}

/// No runner serves this type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownType {
    /// The known type that was most likely meant.
    pub nearest: Option<String>,
}

/// Accepts everything, for those who only want to know the machine.
impl ConfigCheck for () {
    fn check(&self, _kind: &str, _config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        Ok(Vec::new())
    }
}

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

impl Loader<'_> {
    /// Asks about every action's configuration.
    pub(super) fn check_configs(&mut self, runners: &dyn ConfigCheck) {
        for fields in &self.notes.actions {
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
                self.findings
                    .error(&place, "invalid-config", detail, "write it as in `costEstimate: 0.01`");
            }
            let config = cost::without(config);
            match runners.check(kind, &config) {
                Ok(problems) => {
                    let place = |pointer: &str| match &spot {
                        Some(spot) => spot.inside(pointer),
                        None => fields.at.place(),
                    };
                    for problem in problems {
                        note(
                            &mut self.findings,
                            &place(&problem.pointer),
                            problem,
                            runners.unconfigured(),
                        );
                    }
                    for problem in runners.warnings(kind, &config) {
                        let place = place(&problem.pointer);
                        self.findings
                            .warning(&place, "refused-here", problem.detail, problem.remedy);
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
                    self.findings.error(&kind_spot.place(), "unknown-type", detail, remedy);
                }
            }
        }
    }
}
