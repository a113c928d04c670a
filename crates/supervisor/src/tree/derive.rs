//! From the spec to what is desired: rendered, then derived, when something changed; again after an error.
//!
//! While there is an error, what was derived before stays in force. A worker of which nothing was ever derived exists,
//! waits, and says for what.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::expression::scope::{Path, Scope, walk};
use sprag_core::expression::template::{Limits, Template};
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::{Derived, Node};
use super::tick::Tree;
use crate::child::Variables;
use crate::worker::Reason;

/// The variables as templates see them: the worker's own internal ones first.
struct Names<'a>(&'a Variables);

impl Scope for Names<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let (name, rest) = path.segments().split_first()?;
        let Variables { shared, internal } = self.0;
        let value = internal.get(name.as_ref()).or_else(|| shared.get(name.as_ref()))?;
        walk(value, rest).map(Cow::Borrowed)
    }
}

/// The spec with its templates rendered. A variable that is not there is an error.
fn rendered(spec: &Value, variables: &Variables) -> Result<Value, String> {
    let template = Template::compile(spec).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        errors.join("; ")
    })?;
    if template.is_constant() {
        return Ok(spec.clone());
    }
    let rendered = template.render(&Names(variables), Limits::default());
    rendered.map_err(|error| error.to_string())
}

impl Tree {
    /// Derives what is desired if something changed.
    pub(super) fn derive_due(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        // Who leaves goes with what was in force; where nothing was yet, it is what it can be asked with.
        let is_in_force = node.leaving.is_some() && node.desired.is_some();
        if node.derived == Derived::Done || is_in_force {
            return;
        }
        let Some(inner) = node.inner.as_ref() else {
            return;
        };
        let (spec, variables) = (Arc::clone(&node.spec), Arc::clone(&node.variables));
        let derived = rendered(&spec.spec, &variables).map(|spec| {
            super::step::caught(|| inner.derive(spec)).map(|derived| derived.map_err(|error| error.to_string()))
        });
        match derived {
            Ok(Ok(Ok(desired))) => self.desire(index, desired, now),
            Ok(Ok(Err(error))) | Err(error) => self.derive_failed(index, &error, now),
            Ok(Err(panic)) => {
                self.derive_failed(index, &format!("`derive` panicked: {panic}"), now);
                self.panicked(index, "derive", &panic, now);
            }
        }
    }

    fn desire(&mut self, index: Index, desired: crate::erased::Opaque, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        node.derived = Derived::Done;
        node.desired = Some(Arc::clone(&desired));
        if let Some(inner) = node.inner.as_ref() {
            self.hands.collect(index, node.path(), (inner.outer(), desired), now);
        }
        self.keeper.desired(node, now);
    }

    fn derive_failed(&mut self, index: Index, error: &str, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let path = Arc::clone(node.path());
        if node.desired.is_none() {
            node.reason = Reason::from(format!("the spec cannot be used: {error}"));
        }
        node.derived = Derived::Failed(Arc::from(error));
        if self.seldom.says(&path, error, now) {
            tracing::warn!(worker = %path, %error, "the spec cannot be used; what was in force stays");
        }
    }

    /// An error is looked at again in the next tick: a variable may have come.
    pub(super) fn derive_again(&self, node: &Node, now: Timestamp) -> Option<Timestamp> {
        let failed = matches!(node.derived, Derived::Failed(_)) && node.inner.is_some();
        failed.then(|| now.plus(self.options.tick_millis))
    }

    /// Hands variables down. Who sees other values than before derives again.
    pub(super) fn inherit(&mut self, index: Index) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let variables = Arc::clone(&node.variables);
        let children: Vec<Index> = node.children.values().copied().collect();
        for child in children {
            let Some(node) = self.nodes.get_mut(child) else {
                continue;
            };
            let merged = Variables::handed_down(&variables, &node.spec.variables);
            if node.variables != merged {
                node.variables = merged;
                node.derived = Derived::Due;
                self.mark(child);
                self.inherit(child);
            }
        }
    }
}
