//! The declaration of a child: its type, its spec, and its dependencies.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_core::supervision::RestartBudget;

use crate::rule::Rule;
use crate::worker::Goal;
use sprag_core::words;

/// A child that should exist.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildSpec {
    /// Its name, unique among its siblings.
    pub name: String,
    /// Its type, as the registry knows it. A changed type replaces the child.
    pub kind: String,
    /// What its worker derives from. Texts may be templates over the variables.
    pub spec: Value,
    /// Whether it runs. A disabled child exists and is stopped.
    pub enabled: bool,
    /// Siblings that must be there first. Stopping goes the other way.
    pub depends_on: Vec<Dependency>,
    /// Whether it may be restarted.
    pub restart: RestartPolicy,
    /// How often rules restart it before they give up, unless a rule has a budget of its own; `None`: the usual one.
    pub budget: Option<RestartBudget>,
    /// What each state of the parent wants of it; a state that is not named wants it running.
    pub states: BTreeMap<String, Goal>,
    /// Variables for its templates and those of its descendants.
    pub variables: Variables,
    /// Children that exist while its worker has no opinion of its own.
    pub children: Vec<ChildSpec>,
    /// Rules across its children, besides those its worker has.
    pub rules: Vec<Rule>,
    /// How long its stop may take, in milliseconds, where that is longer than the shutdown's base.
    pub stop_grace_millis: Option<u64>,
}

impl ChildSpec {
    /// An enabled child without dependencies.
    pub fn new(name: impl Into<String>, kind: impl Into<String>, spec: Value) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
            spec,
            enabled: true,
            depends_on: Vec::new(),
            restart: RestartPolicy::default(),
            budget: None,
            states: BTreeMap::new(),
            variables: Variables::default(),
            children: Vec::new(),
            rules: Vec::new(),
            stop_grace_millis: None,
        }
    }
}

/// A sibling that must be there first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// Which sibling.
    pub on: String,
    /// What it must have reached.
    pub need: Need,
}

words! {
    /// What a sibling must have reached.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Need as name {
        /// It left its stopped state.
        Started => "started",
        /// It does its work.
        #[default]
        Ready => "ready",
        /// It stopped because its work was done.
        Completed => "completed",
    }
}

/// Whether a child may be restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// Whenever it is not running and should be.
    Always,
    /// When it failed, or a rule finds it guilty.
    #[default]
    OnFailure,
    /// Not by the supervisor: a rule escalates at once.
    Never,
}

/// Values for templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variables {
    /// For the worker and everything below it; a descendant's own value wins.
    pub shared: Map<String, Value>,
    /// For the worker alone.
    pub internal: Map<String, Value>,
}

impl Variables {
    /// What a child with `own` variables sees, shared with its parent where both see the same.
    pub(crate) fn handed_down(above: &Arc<Self>, own: &Self) -> Arc<Self> {
        if above.internal.is_empty() && own.shared.is_empty() && own.internal.is_empty() {
            return Arc::clone(above);
        }
        Arc::new(above.inherited_by(own))
    }

    /// What a child with `own` variables sees below this: copies, its own values first, nothing internal of its
    /// ancestors.
    #[must_use]
    pub fn inherited_by(&self, own: &Self) -> Self {
        let mut shared = self.shared.clone();
        shared.extend(own.shared.clone());
        Self {
            shared,
            internal: own.internal.clone(),
        }
    }
}
