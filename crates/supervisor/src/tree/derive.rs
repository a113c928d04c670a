//! From the spec to the desired state: renders and derives it when something changed, and again after an error.
//!
//! While there is an error, the previous desired state stays in force. A worker without any desired state exists,
//! waits, and reports why.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::expression::scope::{Path, Scope, walk};
use sprag_core::expression::template::{Template, TemplateLimits};
use sprag_core::time::Timestamp;

use super::act::{Act, Report};
use super::node::{Derived, Node};
use super::step::{caught, panicked};
use super::visit::Visit;
use crate::supervisor::options::Options;
use crate::worker::Reason;
use crate::worker::child::Variables;
use crate::worker::erased::Opaque;

/// The variables as templates see them: the worker's own internal ones first.
struct TemplateScope<'a>(&'a Variables);

impl Scope for TemplateScope<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let (name, rest) = path.segments().split_first()?;
        let Variables { shared, internal } = self.0;
        let value = internal.get(name.as_ref()).or_else(|| shared.get(name.as_ref()))?;
        walk(value, rest).map(Cow::Borrowed)
    }
}

/// The spec with its templates rendered. A missing variable is an error.
fn rendered(spec: &Value, variables: &Variables) -> Result<Value, String> {
    let template = Template::compile(spec).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        errors.join("; ")
    })?;
    if template.is_constant() {
        return Ok(spec.clone());
    }
    let rendered = template.render(&TemplateScope(variables), TemplateLimits::default());
    rendered.map_err(|error| error.to_string())
}

/// Why nothing was derived.
enum Failure {
    Error(String),
    Panic(String),
}

/// Derives what is desired if something changed.
pub(super) fn run(visit: &mut Visit<'_>) {
    let Some(node) = visit.node() else { return };
    // A leaving worker keeps what was in force; where nothing was yet, it needs something to be asked with.
    let is_in_force = node.is_leaving() && node.observed.desired.is_some();
    if node.observed.derived == Derived::Done || is_in_force || node.inner.is_none() {
        return;
    }
    match derived(node) {
        Ok(desired) => succeeded(visit, desired),
        Err(Failure::Error(error)) => failed(visit, error),
        Err(Failure::Panic(panic)) => {
            failed(visit, format!("`derive` panicked: {panic}"));
            panicked(visit, "derive", panic);
        }
    }
}

fn derived(node: &Node) -> Result<Opaque, Failure> {
    let spec = rendered(&node.placement.spec.spec, &node.placement.variables).map_err(Failure::Error)?;
    let inner = node.inner.as_ref();
    let inner = inner.ok_or_else(|| Failure::Error("there is no worker".to_owned()))?;
    let derived = caught(|| inner.derive(spec)).map_err(Failure::Panic)?;
    derived.map_err(|error| Failure::Error(error.to_string()))
}

fn succeeded(visit: &mut Visit<'_>, desired: Opaque) {
    if let Some(node) = visit.node_mut() {
        node.observed.derived = Derived::Done;
        node.observed.desired = Some(desired);
    }
    visit.acts.push(Act::Observe(visit.key));
}

fn failed(visit: &mut Visit<'_>, error: String) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    if node.observed.desired.is_none() {
        node.progress.reason = Reason::from(format!("the spec cannot be used: {error}"));
    }
    let since = match &node.observed.derived {
        Derived::Failed { since, .. } => *since,
        Derived::Due | Derived::Done => now,
    };
    node.observed.derived = Derived::Failed {
        error: Arc::from(error.as_str()),
        since,
    };
    let path = Arc::clone(node.path());
    visit.acts.push(Act::Report(path, Report::Spec { error }));
}

/// An error is tried again in the next tick: a variable may have come.
pub(super) fn again(node: &Node, options: &Options, now: Timestamp) -> Option<Timestamp> {
    let has_failed = matches!(node.observed.derived, Derived::Failed { .. }) && node.inner.is_some();
    has_failed.then(|| now.plus(options.tick_millis))
}

/// Hands variables down. A worker that sees other values than before derives again.
pub(super) fn inherit(visit: &mut Visit<'_>) {
    let Some(variables) = visit.node().map(|node| Arc::clone(&node.placement.variables)) else {
        return;
    };
    for child in visit.children() {
        let mut child = visit.at(child);
        let Some(node) = child.node_mut() else {
            continue;
        };
        let merged = Variables::handed_down(&variables, &node.placement.spec.variables);
        if node.placement.variables != merged {
            node.placement.variables = merged;
            node.observed.derived = Derived::Due;
            child.mark();
            inherit(&mut child);
        }
    }
}
