//! Facts freeze when an action is triggered; secrets and the attempt are bound when it is tried.
//!
//! Flow: [`Template::freeze`] renders every string that names no late-bound root and keeps the others as they are,
//! with the values they name besides; the result is stored. [`Frozen::bind`] gives each attempt its config, in memory.
//!
//! Guarantees: freezing never asks the scope for a late-bound value, so the stored form cannot hold one. Binding
//! never asks the late scope for anything else, so every attempt is given the same facts. A string that was rendered
//! is never read as a template again, whatever it holds.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::analyze::is_late;
use super::compile::Template;
use super::convert;
use super::error::{RenderError, RenderErrorKind};
use super::expression::Expression;
use super::limits::{Meter, TemplateLimits};
use super::secret::SecretUse;
use super::text::Text;
use crate::expression::scope::{Path, Scope};

/// A template with its facts frozen, in the form that is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// The rendered value, in which the strings at `late` still are templates.
    pub config: Json,
    /// JSON pointers to the strings that still are templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<String>,
    /// The other values that those strings name, by path. A path that led nowhere is not among them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub bindings: Map<String, Json>,
}

impl Template {
    /// Renders now what can be rendered now, and captures what the rest will need besides its late-bound values. What
    /// is missing now is an error now, unless its expression names a late-bound value as well.
    pub fn freeze(&self, scope: &dyn Scope, limits: TemplateLimits) -> Result<Frozen, RenderError> {
        let mut late = Vec::new();
        let mut bindings = Map::new();
        let config = self.walk(&mut Meter::new(limits), |text, meter, pointer| {
            if !text.is_late() {
                return text.render(scope, meter);
            }
            late.push(pointer.to_owned());
            capture(text, scope, meter, &mut bindings)?;
            meter.output.take(text.source().len())?;
            Ok(text.source().into())
        })?;
        Ok(Frozen { config, late, bindings })
    }
}

/// Adds what `text` names to `bindings`, late-bound values excepted.
fn capture(
    text: &Text,
    scope: &dyn Scope,
    meter: &mut Meter,
    bindings: &mut Map<String, Json>,
) -> Result<(), RenderErrorKind> {
    for expression in text.expressions() {
        if !expression.is_late() {
            // Only to see that it can be evaluated: its value is made again, from the bindings, for each attempt.
            expression.evaluate(scope, &mut meter.clone())?;
        }
        for path in expression.paths().iter().filter(|path| !is_late(path)) {
            let name = path.to_string();
            if bindings.contains_key(&name) {
                continue;
            }
            if let Some(value) = scope.lookup(path) {
                meter.output.take(convert::name_size(&name))?;
                convert::measure(&value, &mut meter.output)?;
                bindings.insert(name, value.into_owned());
            }
        }
    }
    Ok(())
}

impl Frozen {
    /// The config of one attempt. `late` offers the late-bound values, and is asked for nothing else. An expression that
    /// does more with a secret than it may is an error, no matter which version stored it.
    pub fn bind(&self, late: &dyn Scope, limits: TemplateLimits) -> Result<Json, RenderError> {
        let scope = Bound {
            bindings: &self.bindings,
            late,
        };
        let mut meter = Meter::new(limits);
        let mut config = self.config.clone();
        let fits = convert::measure(&config, &mut meter.output);
        fits.map_err(|overrun| RenderError {
            pointer: String::new(),
            kind: overrun.into(),
        })?;
        for pointer in &self.late {
            let fail = |kind| RenderError {
                pointer: pointer.clone(),
                kind,
            };
            let text = self.text(pointer).map_err(fail)?;
            // Definitions that were applied before this rule existed are still stored.
            text.check_secrets().map_err(fail)?;
            let rendered = text.render(&scope, &mut meter).map_err(fail)?;
            if let Some(slot) = config.pointer_mut(pointer) {
                *slot = rendered;
            }
        }
        Ok(config)
    }

    /// The late-bound values that [`bind`](Self::bind) will ask for, each once, sorted.
    pub fn late_paths(&self) -> Result<Vec<Path>, RenderError> {
        let mut paths = BTreeSet::new();
        for pointer in &self.late {
            let text = self.text(pointer).map_err(|kind| RenderError {
                pointer: pointer.clone(),
                kind,
            })?;
            let named = text.expressions().flat_map(Expression::paths);
            paths.extend(named.filter(|path| is_late(path)).cloned());
        }
        Ok(paths.into_iter().collect())
    }

    /// Every place where the config names a secret.
    pub fn secrets(&self) -> Result<Vec<SecretUse>, RenderError> {
        let mut uses = Vec::new();
        for pointer in &self.late {
            let text = self.text(pointer).map_err(|kind| RenderError {
                pointer: pointer.clone(),
                kind,
            })?;
            uses.extend(text.secrets(pointer));
        }
        Ok(uses)
    }

    /// The template at `pointer`. Only a stored form that was changed by hand lacks it.
    fn text(&self, pointer: &str) -> Result<Text, RenderErrorKind> {
        let source = self.config.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
        let damaged = |detail: String| RenderErrorKind::Failed {
            expression: source.to_owned(),
            detail,
        };
        match Text::compile(source) {
            Ok(Some(text)) => Ok(text),
            Ok(None) => Err(damaged("the stored form holds no template here".into())),
            Err(problems) => Err(damaged(problems.into_iter().map(|problem| problem.detail).collect())),
        }
    }
}

/// The frozen facts and the late-bound values as one scope.
struct Bound<'a> {
    bindings: &'a Map<String, Json>,
    late: &'a dyn Scope,
}

impl Scope for Bound<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Json>> {
        if is_late(path) {
            self.late.lookup(path)
        } else {
            self.bindings.get(&path.to_string()).map(Cow::Borrowed)
        }
    }
}
