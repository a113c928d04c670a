//! What survives the process: who there is, what is desired, what was seen, counters, circuits and windows.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::node::Node;
use super::rules::Watch;
use crate::action::ActionStatus;
use crate::executor::{Marks, NoMarks};
use crate::rule::Rule;

/// Writes down what must survive.
#[derive(Default)]
pub(crate) struct Keeper {}

impl Keeper {
    pub(crate) fn marks(&self) -> Arc<dyn Marks> {
        Arc::new(NoMarks)
    }

    pub(crate) fn restore(&mut self, _node: &mut Node, _now: Timestamp) {}

    pub(crate) fn action(&mut self, _path: &Arc<str>) -> Option<ActionStatus> {
        None
    }

    pub(crate) fn watch(&mut self, _node: &Node, rule: Rule, jitter: Option<u64>) -> Watch {
        Watch::new(rule, jitter)
    }

    pub(crate) fn desired(&mut self, _node: &Node, _now: Timestamp) {}

    pub(crate) fn status(&mut self, _node: &Node, _now: Timestamp) {}

    pub(crate) fn observed(&mut self, _node: &Node, _now: Timestamp) {}

    pub(crate) fn gone(&mut self, _path: &Arc<str>, _node: &Node, _now: Timestamp) {}
}
