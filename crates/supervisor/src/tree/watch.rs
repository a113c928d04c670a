//! A rule in use: its circuit, its last check, and why it is not checked at the moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::supervision::restart::{RestartStage, Saved};
use sprag_core::supervision::{Circuit, RestartBudget, RestartMachine};
use sprag_core::time::Timestamp;

use super::node::Node;
use super::visit::Visit;
use crate::rule::{Check, Rule};
use crate::worker::snapshot::Escalation;

/// A rule and its restart machine.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) rule: Rule,
    pub(crate) machine: RestartMachine,
    /// Whom a restart concerns: the child and everything that depends on it, or what the rule says.
    pub(crate) affected: BTreeSet<String>,
    /// The newest thing that was judged.
    pub(super) judged: Option<Timestamp>,
    /// The last result, and when.
    pub(crate) last: Option<(Check, Timestamp)>,
    /// Why it is not judged at present.
    pub(crate) idle: Option<String>,
    /// The observation of the suspect that the last check of a half-open circuit rested on.
    pub(super) trial: Option<Evidence>,
    /// An earlier process was restarting the child: the restart begins anew.
    pub(super) is_resumed: bool,
}

/// An observation of the suspect. Two good checks of a half-open circuit never rest on the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) at: Timestamp,
    pub(super) edition: Option<u64>,
}

impl Evidence {
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        let is_same_answer = self.edition.is_some() && self.edition == other.edition;
        self.at > other.at && !is_same_answer
    }
}

/// Makes the watches those of the rules that are in force; what a machine knows survives.
pub(super) fn refresh(visit: &mut Visit<'_>) {
    let Some(node) = visit.node() else { return };
    let own = node.inner.as_ref().map(|inner| inner.rules()).unwrap_or_default();
    let rules: Vec<Rule> = node.placement.spec.rules.iter().cloned().chain(own).collect();
    if rules.is_empty() && node.rules.watches.is_empty() {
        return;
    }
    let budgets: BTreeMap<Arc<str>, Option<RestartBudget>> = visit
        .nodes
        .children(node)
        .map(|child| (Arc::clone(child.name()), child.placement.spec.budget))
        .collect();
    let (config, now) = (visit.config, visit.now);
    let Some(node) = visit.node_mut() else { return };
    let mut old = std::mem::take(&mut node.rules.watches);
    let mut saved = None;
    let mut watch = |rule: Rule| {
        if let Some(place) = old.iter().position(|watch| watch.rule == rule) {
            return old.swap_remove(place);
        }
        let saved = saved.get_or_insert_with(|| config.memory.rules(&node.placement.identity));
        let saved = saved.get(&rule.name);
        Watch::new(rule, config.options.restart_jitter).restored(saved, now)
    };
    let mut watches: Vec<Watch> = rules.into_iter().map(&mut watch).collect();
    for watch in &mut watches {
        watch.affected = affected(node, &watch.rule);
        watch.rebound(budgets.get(watch.rule.restart.as_str()).copied().flatten());
    }
    node.rules.watches = watches;
    restore_escalations(node);
    let named: BTreeSet<String> = node
        .rules
        .watches
        .iter()
        .flat_map(|watch| watch.rule.children.iter().cloned())
        .collect();
    for child in visit.children() {
        if let Some(child) = visit.nodes.get_mut(child) {
            child.rules.watched = named.contains(child.name().as_ref());
        }
    }
}

/// A child that an earlier process gave up on stays given up.
fn restore_escalations(node: &mut Node) {
    let mut escalations: Vec<Escalation> = node.rules.escalations.to_vec();
    for watch in &node.rules.watches {
        if let Circuit::Escalated { since, cause } = watch.machine.circuit()
            && !escalations.iter().any(|known| known.child == watch.rule.restart)
        {
            escalations.push(Escalation {
                child: watch.rule.restart.clone(),
                cause: cause.clone(),
                since: *since,
            });
        }
    }
    if escalations.len() != node.rules.escalations.len() {
        node.rules.escalations = escalations.into();
    }
}

/// The child and everything that depends on it, unless the rule says otherwise.
fn affected(node: &Node, rule: &Rule) -> BTreeSet<String> {
    if let Some(affects) = &rule.affects {
        return affects.clone();
    }
    let mut affected = BTreeSet::from([rule.restart.clone()]);
    let mut open = vec![rule.restart.clone()];
    while let Some(at) = open.pop() {
        for dependent in node.placement.dependents.get(at.as_str()).into_iter().flatten() {
            if affected.insert(dependent.as_ref().to_owned()) {
                open.push(dependent.as_ref().to_owned());
            }
        }
    }
    affected
}

impl Watch {
    /// A rule that was never judged.
    fn new(rule: Rule, jitter: Option<u64>) -> Self {
        let mut limits = rule.budget.unwrap_or_default().limits();
        limits.grace_millis = rule.grace_millis;
        limits.schedule.jitter = jitter;
        Self {
            machine: RestartMachine::new(limits),
            affected: BTreeSet::new(),
            judged: None,
            last: None,
            idle: None,
            trial: None,
            is_resumed: false,
            rule,
        }
    }

    /// The same with what its machine knew in an earlier process.
    fn restored(mut self, saved: Option<&Saved>, now: Timestamp) -> Self {
        if let Some(saved) = saved {
            self.machine = RestartMachine::restored(*self.machine.limits(), saved, now);
            let stage = match self.machine.circuit() {
                Circuit::Open { stage, .. } => Some(*stage),
                _ => None,
            };
            self.is_resumed = matches!(stage, Some(RestartStage::Restarting { .. }));
        }
        self
    }

    /// Follows the rule's own budget, or that of the child it restarts.
    fn rebound(&mut self, child: Option<RestartBudget>) {
        let budget = self.rule.budget.or(child).unwrap_or_default();
        let before = *self.machine.limits();
        let mut limits = budget.limits();
        limits.grace_millis = before.grace_millis;
        limits.schedule.jitter = before.schedule.jitter;
        if limits != before {
            self.machine.rebound(limits);
        }
    }

    pub(super) fn is_escalated(&self) -> bool {
        matches!(self.machine.circuit(), Circuit::Escalated { .. })
    }

    /// Since when the circuit is open.
    pub(crate) fn open_since(&self) -> Option<Timestamp> {
        match self.machine.circuit() {
            Circuit::Open { since, .. } | Circuit::HalfOpen { since, .. } => Some(*since),
            Circuit::Closed | Circuit::Escalated { .. } => None,
        }
    }

    /// What the rule waits for, in a word.
    pub(crate) fn stands(&self) -> &'static str {
        match self.machine.circuit() {
            Circuit::Closed if self.machine.grace_since().is_some() => "grace",
            Circuit::Closed => "closed",
            Circuit::Open {
                stage: RestartStage::Restarting { .. },
                ..
            } => "restarting",
            Circuit::Open {
                stage: RestartStage::Resting { .. },
                ..
            } => "resting",
            Circuit::HalfOpen { .. } => "half-open",
            Circuit::Escalated { .. } => "escalated",
        }
    }
}
