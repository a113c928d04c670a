//! The parameters of a step when it begins: results of steps before are rendered into them, they are checked against what
//! the operation declares once more, and only then does the configuration see them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::parameters::{ParameterFault, Parameters};
use crate::document::Findings;
use crate::document::source::Spot;
use crate::expression::scope::{Path, Scope, walk};
use crate::expression::template::{Template, TemplateLimits};

/// The parameters of a step that are known only in part.
#[derive(Debug)]
pub struct StepParams {
    params: Template,
    /// What the operation declares; none where the values are no caller's.
    declared: Option<Parameters>,
    secrets: Vec<String>,
    now: Value,
}

/// Values around the parameters of one step.
pub struct Bound<'a> {
    around: &'a dyn Scope,
    params: Value,
    now: &'a Value,
}

impl StepParams {
    /// Parameters that are rendered by `params` and checked against what `declared` holds.
    pub(crate) fn new(
        params: Template,
        declared: Option<&Spot<'_>>,
        secrets: Vec<String>,
        now: &str,
        findings: &mut Findings,
    ) -> Self {
        Self {
            params,
            declared: declared.map(|declared| Parameters::read(Some(declared), findings)),
            secrets,
            now: now.into(),
        }
    }

    /// Renders the parameters and checks them. What they came to is data: nothing in it is a template any more.
    pub fn bind<'a>(&'a self, around: &'a dyn Scope) -> Result<Bound<'a>, String> {
        let rendered = self.params.render(around, TemplateLimits::default());
        let rendered = rendered.map_err(|error| format!("params: {error}"))?;
        let Value::Object(given) = &rendered else {
            return Err("params: not an object".to_owned());
        };
        let faults = self.faults(given);
        if faults.is_empty() {
            Ok(Bound {
                around,
                params: rendered,
                now: &self.now,
            })
        } else {
            Err(format!("params: {}", faults.join("; ")))
        }
    }

    fn faults(&self, given: &Map<String, Value>) -> Vec<String> {
        let Some(declared) = &self.declared else {
            return Vec::new();
        };
        let (_, faults) = declared.check(given, &self.secrets, &|_| false);
        let said = |fault: ParameterFault| format!("`{}`: {}", fault.name, fault.detail);
        faults.into_iter().map(said).collect()
    }
}

impl Scope for Bound<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        match path.segments() {
            [root, rest @ ..] if root.as_ref() == "params" => walk(&self.params, rest).map(Cow::Borrowed),
            [root] if root.as_ref() == "now" => Some(Cow::Borrowed(self.now)),
            _ => self.around.lookup(path),
        }
    }

    fn in_state(&self, target: &str) -> bool {
        self.around.in_state(target)
    }
}
