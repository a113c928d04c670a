//! Guards, conditions and templates: compiled, with a note of every path they name.

use serde_json::Value;

use super::checks::template_errors;
use super::loader::Loader;
use super::notes::{Site, Use};
use crate::document::json;
use crate::document::source::Limits;
use crate::document::source::{Spot, shown};
use crate::expression::logic::Logic;
use crate::expression::scope::Path;
use crate::expression::template::Template;
use crate::machine::model::StateIndex;

/// The operators of `JSONLogic` that read a path.
const READERS: [&str; 5] = ["var", "val", "exists", "missing", "missing_some"];

impl<'n> Loader<'n> {
    /// A transition's guard.
    pub(super) fn guard(&mut self, spot: &Spot<'n>, site: Site) -> Option<Logic> {
        if let Some(name) = guard_name(spot) {
            let detail = format!("guard `{}` is only a name", shown(name));
            let remedy = r#"write the rule itself, such as `{">": [{"var": "variables.count"}, 3]}`, in JSONLogic"#;
            self.findings.error(&spot.place(), "named-guard", detail, remedy);
            return None;
        }
        self.rule(spot, site, spot.value)
    }

    /// An action's condition: a rule, or a JSON text of one.
    pub(super) fn condition(&mut self, spot: &Spot<'n>, site: Site) -> Option<Logic> {
        let Some(text) = spot.text() else {
            return self.rule(spot, site, spot.value);
        };
        match json::parse_bounded(text.as_bytes(), &Limits::DEFINITION) {
            Ok(rule) => self.rule(spot, site, &rule),
            Err(problem) => {
                let detail = format!("condition is not JSON: {problem}");
                self.findings.error(
                    &spot.place(),
                    "bad-guard",
                    detail,
                    "write a JSONLogic rule, or a JSON text of one",
                );
                None
            }
        }
    }

    fn rule(&mut self, spot: &Spot<'n>, site: Site, rule: &Value) -> Option<Logic> {
        if !matches!(spot.value, Value::Object(_) | Value::Bool(_) | Value::String(_)) {
            return None;
        }
        match Logic::compile(rule) {
            Ok(logic) => {
                self.note(spot, site, logic.paths());
                self.notes.computes_paths |= computes_path(rule);
                for target in logic.in_states() {
                    if let Err(unresolved) = self.machine.resolve(StateIndex::ROOT, target) {
                        self.unresolved(spot, target, &unresolved);
                    }
                }
                Some(logic)
            }
            Err(error) => {
                let place = spot.inside(&error.pointer);
                self.findings.error(
                    &place,
                    "bad-guard",
                    error.detail,
                    "see JSONLogic for the operators and what they take",
                );
                None
            }
        }
    }

    /// A value whose texts may hold expressions.
    pub(super) fn template(&mut self, spot: &Spot<'n>, site: Site) -> Option<Template> {
        match Template::compile(spot.value) {
            Ok(template) => {
                self.note(spot, site, template.paths());
                Some(template)
            }
            Err(errors) => {
                template_errors(&mut self.findings, spot, &errors);
                None
            }
        }
    }

    fn note<'p>(&mut self, spot: &Spot<'n>, site: Site, paths: impl Iterator<Item = &'p Path>) {
        let uses = paths.map(|path| Use {
            spot: spot.clone(),
            site,
            path: path.clone(),
        });
        self.notes.uses.extend(uses);
    }
}

/// The name of a guard that is defined elsewhere, as other tools write it.
fn guard_name<'n>(spot: &Spot<'n>) -> Option<&'n str> {
    spot.text().or_else(|| spot.value.get("type")?.as_str())
}

/// Whether a rule works out at run time which path it reads.
fn computes_path(rule: &Value) -> bool {
    match rule {
        Value::Array(items) => items.iter().any(computes_path),
        Value::Object(members) => members.iter().any(|(operator, argument)| {
            (READERS.contains(&operator.as_str()) && holds_operation(argument)) || computes_path(argument)
        }),
        _ => false,
    }
}

fn holds_operation(argument: &Value) -> bool {
    match argument {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(holds_operation),
        _ => false,
    }
}
