//! Guards, conditions and templates: compiled, with a note of every path they name.

use serde_json::Value;

use super::loader::Loader;
use super::notes::{Site, Use};
use crate::document::json;
use crate::document::source::Limits;
use crate::document::source::{Spot, shown};
use crate::expression::logic::Logic;
use crate::expression::scope::Path;
use crate::expression::template::{LATE_ROOTS, Template};
use crate::machine::context::ROOTS;
use crate::machine::model::StateIndex;

/// The operators of `JSONLogic` that read a path.
const READERS: [&str; 5] = ["var", "val", "exists", "missing", "missing_some"];

/// The names right below the roots that have a fixed set of them.
const FIELDS: [(&str, &[&str]); 3] = [
    (
        "execution",
        &["id", "key", "machine", "version", "state", "variables", "createdAt"],
    ),
    ("event", &["type", "payload", "result", "error", "source", "timestamp"]),
    ("message", &["id", "type", "payload"]),
];

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
                self.template_errors(
                    spot,
                    errors
                        .iter()
                        .map(|error| (error.pointer.as_str(), error.detail.as_str())),
                );
                None
            }
        }
    }

    /// Notes what does not parse in a template; a message says what is wrong, then what to write.
    pub(super) fn template_errors<'e>(&mut self, spot: &Spot<'n>, errors: impl Iterator<Item = (&'e str, &'e str)>) {
        for (pointer, message) in errors {
            let (detail, remedy) = message
                .split_once("; ")
                .unwrap_or((message, "fix the expression between the braces"));
            self.findings
                .error(&spot.inside(pointer), "bad-template", detail, remedy);
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

    /// Names every path that can lead nowhere, whatever happens.
    pub(super) fn check_paths(&mut self) {
        let uses = std::mem::take(&mut self.notes.uses);
        for found in &uses {
            self.check_root(found);
            self.check_field(found);
        }
        self.notes.uses = uses;
    }

    fn check_root(&mut self, found: &Use<'n>) {
        let Some(root) = found.path.root() else { return };
        let is_late = LATE_ROOTS.contains(&root);
        if ROOTS.contains(&root) || (is_late && matches!(found.site, Site::Config(_))) {
            return;
        }
        let remedy = match self.findings.nearest(root, ROOTS) {
            _ if is_late => "name it in an action's `config`, where it is bound for each attempt".to_owned(),
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("begin with one of `{}`", ROOTS.join("`, `")),
        };
        let detail = format!(
            "`{}` begins with `{}`, which is not known here",
            shown(&found.path.to_string()),
            shown(root)
        );
        self.findings.error(&found.place(), "unknown-root", detail, remedy);
    }

    fn check_field(&mut self, found: &Use<'n>) {
        let [root, field, ..] = found.path.segments() else {
            return;
        };
        let Some((_, fields)) = FIELDS.iter().find(|(known, _)| *known == root.as_ref()) else {
            return;
        };
        if fields.contains(&field.as_ref()) {
            return;
        }
        let remedy = match self.findings.nearest(field, fields.iter().copied()) {
            Some(nearest) => format!("did you mean `{root}.{nearest}`?"),
            None => format!("`{root}` has `{}`", fields.join("`, `")),
        };
        let detail = format!("`{root}` has no `{}`", shown(field));
        self.findings.error(&found.place(), "unknown-field", detail, remedy);
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
