//! Whether an action's configuration makes sense to its runner, asked through a trait: core knows no runner.

use serde_json::{Value, json};

use super::loader::Loader;
use super::reader::shown;
use crate::action::cost::{self, COST_ESTIMATE};
use crate::action::{ConfigProblem, SecretRules};

/// Knows what the runners of this process accept.
pub trait ConfigCheck: SecretRules {
    /// Everything wrong with the configuration of an action of type `kind` that can be known before it is rendered.
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType>;
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
            let config = spot.as_ref().map_or_else(|| json!({}), |spot| spot.node.to_value());
            if let (Some(detail), Some(spot)) = (cost::problem(&config), &spot) {
                let place = spot.inside(&format!("/{COST_ESTIMATE}"));
                self.findings
                    .error(&place, "invalid-config", detail, "write it as in `costEstimate: 0.01`");
            }
            let config = cost::without(config);
            match runners.check(kind, &config) {
                Ok(problems) => {
                    for ConfigProblem {
                        pointer,
                        detail,
                        remedy,
                    } in problems
                    {
                        let place = spot
                            .as_ref()
                            .map_or_else(|| fields.at.place(), |spot| spot.inside(&pointer));
                        self.findings.error(&place, "invalid-config", detail, remedy);
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
