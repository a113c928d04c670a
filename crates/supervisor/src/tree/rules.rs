//! Rules at work: when one is judged, what its restart machine makes of it, and what follows.
//!
//! A rule is judged on news (an observation, a transition, a due time) and only while everybody it names is declared,
//! running and freshly seen, its owner neither starts nor stops, and no other circuit covers them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::supervision::restart::{Check as Checked, Stage as CircuitStage};
use sprag_core::supervision::{Budget, Circuit, Event, Permit, RestartMachine};
use sprag_core::time::Timestamp;

use super::arena::Index;
use super::node::{Derived, Node};
use super::operate::shown_path;
use super::restart::progress;
use super::step::caught;
use super::tick::Tree;
use crate::child::RestartPolicy;
use crate::metrics::RestartCause;
use crate::rule::{Check, Rule, View};
use crate::snapshot::Escalation;
use crate::worker::{Goal, Phase};

/// A rule and its restart machine.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) rule: Rule,
    pub(crate) machine: RestartMachine,
    /// Whom a restart concerns: the child and everybody who depends on it, or what the rule says.
    pub(crate) affected: BTreeSet<String>,
    /// The newest thing that was judged.
    judged: Option<Timestamp>,
    /// What was found last, and when.
    pub(crate) last: Option<(Check, Timestamp)>,
    /// Why it is not judged at present.
    pub(crate) idle: Option<String>,
    /// Which observation of the suspect the last check of a half-open circuit rested on.
    trial: Option<Evidence>,
    /// An earlier process was restarting the child: it is begun anew.
    pub(crate) is_resumed: bool,
}

/// An observation of the suspect. Two good checks of a half-open circuit never rest on the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Evidence {
    at: Timestamp,
    edition: Option<u64>,
}

impl Evidence {
    fn is_newer_than(&self, other: &Self) -> bool {
        let is_same_answer = self.edition.is_some() && self.edition == other.edition;
        self.at > other.at && !is_same_answer
    }
}

/// What a rule is judged on.
struct Sight {
    view: View,
    newest: Timestamp,
    suspect: Option<Evidence>,
}

/// What a person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Start,
    Restart,
}

/// Why a rule is not judged.
enum Unready {
    /// It cannot be at present.
    For(String),
    /// Nothing is new.
    Nothing,
}

impl Tree {
    /// Makes the watches those of the rules that are in force; what a machine knows survives.
    pub(super) fn refresh_watches(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let own = node.inner.as_ref().map(|inner| inner.rules()).unwrap_or_default();
        let rules: Vec<Rule> = node.spec.rules.iter().cloned().chain(own).collect();
        if rules.is_empty() && node.watches.is_empty() {
            return;
        }
        let children: Vec<Index> = node.children.values().copied().collect();
        let budgets: BTreeMap<Index, Option<Budget>> = children
            .into_iter()
            .filter_map(|child| Some((child, self.nodes.get(child)?.spec.budget)))
            .collect();
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let mut old = std::mem::take(&mut node.watches);
        let mut watches = Vec::with_capacity(rules.len());
        for rule in rules {
            let place = old.iter().position(|watch| watch.rule == rule);
            let mut watch = match place {
                Some(place) => old.swap_remove(place),
                None => self.keeper.watch(node, rule, self.options.restart_jitter, now),
            };
            watch.affected = affected(node, &watch.rule);
            let child = node.children.get(watch.rule.restart.as_str());
            let own = child.and_then(|child| budgets.get(child).copied().flatten());
            watch.rebound(own);
            watches.push(watch);
        }
        node.watches = watches;
        restore_escalations(node);
        let named: BTreeSet<&String> = node.watches.iter().flat_map(|watch| &watch.rule.children).collect();
        let children: Vec<(bool, Index)> = node
            .children
            .iter()
            .map(|(name, child)| (named.contains(&name.as_ref().to_owned()), *child))
            .collect();
        for (watched, child) in children {
            if let Some(child) = self.nodes.get_mut(child) {
                child.watched = watched;
            }
        }
    }

    /// Looks at every rule of a worker.
    pub(super) fn judge_rules(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.watches.is_empty() {
            return;
        }
        let mut watches = std::mem::take(&mut node.watches);
        let mut events = Vec::new();
        for place in 0..watches.len() {
            let (mut before, rest) = (Vec::new(), watches.split_at_mut(place));
            let (earlier, later) = rest;
            let Some((watch, later)) = later.split_first_mut() else {
                continue;
            };
            before.extend(earlier.iter().chain(later.iter()).filter(|other| other.machine.holds()));
            let happened = self.judge(index, watch, &before, now);
            events.extend(happened.into_iter().map(|event| (watch.rule.clone(), event)));
        }
        if let Some(node) = self.nodes.get_mut(index) {
            node.watches = watches;
        }
        for (rule, event) in &events {
            self.follow(index, rule, event, now);
        }
        self.resume(index, now);
        if !events.is_empty()
            && let Some(node) = self.nodes.get(index)
        {
            self.keeper.status(node, now);
            self.mark(index);
        }
    }

    fn judge(&self, index: Index, watch: &mut Watch, others: &[&Watch], now: Timestamp) -> Vec<Event> {
        let Some(node) = self.nodes.get(index) else {
            return Vec::new();
        };
        if watch.machine.holds() && !self.has_say(node, &watch.rule) {
            watch.machine.abandon();
            self.metrics.abandoned(node.path(), &watch.rule);
        }
        let mut events = Vec::new();
        let child = node
            .children
            .get(watch.rule.restart.as_str())
            .and_then(|child| self.nodes.get(*child));
        let permit = || permit(node, child, &watch.rule, || self.obstacle(child?, now));
        let is_trial = matches!(watch.machine.circuit(), Circuit::HalfOpen { .. });
        if !is_trial {
            watch.trial = None;
        }
        if let Some(child) = child {
            events.extend(watch.machine.advance(now, progress(child), permit));
        }
        if !watch.machine.judges() {
            return events;
        }
        let check = match self.view(node, watch, others, now) {
            Ok(Sight { view, newest, suspect }) => {
                watch.judged = Some(newest);
                watch.trial = suspect.filter(|_| is_trial);
                caught(|| watch.rule.judge(&view))
                    .unwrap_or_else(|panic| Check::Undecided(format!("the rule panicked: {panic}")))
            }
            Err(Unready::Nothing) => return events,
            Err(Unready::For(why)) => {
                watch.idle = Some(why);
                events.extend(watch.machine.check(now, Checked::Unready, permit));
                return events;
            }
        };
        watch.idle = None;
        let checked = match &check {
            Check::Good => Checked::Good,
            Check::Bad(why) => Checked::Bad(why),
            Check::Undecided(_) => Checked::Undecided,
        };
        events.extend(watch.machine.check(now, checked, permit));
        watch.last = Some((check, now));
        events
    }

    /// Whether an open circuit still has somebody to wait for.
    fn has_say(&self, node: &Node, rule: &Rule) -> bool {
        let is_owner = node.leaving.is_none() && (node.is_root() || self.wants(node) == Goal::Running);
        is_owner && rule.children.iter().all(|name| self.is_meant_to_run(node, name))
    }

    /// Begins restarts anew that an earlier process did not end.
    fn resume(&mut self, index: Index, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let mut children = Vec::new();
        for watch in node.watches.iter_mut().filter(|watch| watch.is_resumed) {
            if let Some(child) = node.children.get(watch.rule.restart.as_str()) {
                watch.is_resumed = false;
                children.push(*child);
            }
        }
        for child in children {
            // One whose restart is remembered goes on from where it was.
            if self.nodes.get(child).is_some_and(|child| child.procedure.is_none()) {
                self.begin_restart(child, now);
            }
        }
    }

    /// What the rule sees, when it can and should be judged.
    fn view(&self, node: &Node, watch: &Watch, others: &[&Watch], now: Timestamp) -> Result<Sight, Unready> {
        let not = |why: String| Err(Unready::For(why));
        if node.leaving.is_some() || matches!(node.shown.phase, Phase::Starting | Phase::Stopping | Phase::Stopped) {
            return not(format!("its owner is {}", node.shown.phase));
        }
        let covers = |other: &&&Watch| watch.rule.children.iter().any(|child| other.affected.contains(child));
        if let Some(other) = others.iter().find(covers) {
            return not(format!("rule `{}` is at work on the same children", other.rule.name));
        }
        let (mut view, mut newest, mut suspect) = (View::default(), Timestamp::from_millis(0), None);
        for name in &watch.rule.children {
            let child = node
                .children
                .get(name.as_str())
                .and_then(|child| self.nodes.get(*child));
            let Some(child) = child.filter(|child| child.leaving.is_none()) else {
                return not(format!("child `{name}` is not declared"));
            };
            if !child.shown.phase.is_operational() || child.procedure.is_some() {
                return not(format!("child `{name}` is {}", child.shown.state));
            }
            let seen = child
                .seen
                .as_ref()
                .filter(|_| child.is_fresh(now, self.options.collector.stale_millis));
            let Some(seen) = seen else {
                return not(format!("child `{name}` was not seen recently"));
            };
            if *name == watch.rule.restart {
                let evidence = Evidence {
                    at: seen.at,
                    edition: seen.edition,
                };
                // What was seen before it ran again says nothing about the restart, and each check needs news of it.
                let is_trial = matches!(watch.machine.circuit(), Circuit::HalfOpen { .. });
                let is_news = watch.trial.is_none_or(|last| evidence.is_newer_than(&last));
                if is_trial && (seen.at < child.since || !is_news) {
                    return Err(Unready::Nothing);
                }
                suspect = Some(evidence);
            }
            newest = newest.max(seen.at).max(child.since);
            view = view.with(name, child.shown.state, &seen.document.read());
        }
        // At the end of grace what is known is looked at once more; otherwise only what is new counts.
        let is_due = watch.machine.grace_since().is_some() && watch.machine.due(now).is_some_and(|due| due <= now);
        if watch.judged.is_some_and(|judged| newest <= judged) && !is_due {
            return Err(Unready::Nothing);
        }
        Ok(Sight { view, newest, suspect })
    }

    /// Carries out what a restart machine decided, and says so.
    fn follow(&mut self, index: Index, rule: &Rule, event: &Event, now: Timestamp) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let path = Arc::clone(node.path());
        let supervisor = shown_path(&path);
        let child = node.children.get(rule.restart.as_str()).copied();
        let name = rule.restart.as_str();
        self.metrics.circuit(&path, rule, event);
        match event {
            Event::Detected {
                number,
                opened,
                last,
                cause,
            } => {
                if *opened {
                    tracing::warn!(%supervisor, child = name, rule = rule.name, %cause, "detected: the circuit opens");
                }
                if *last {
                    tracing::warn!(%supervisor, child = name, number, "the next detection escalates");
                }
                tracing::info!(%supervisor, child = name, number, %cause, "restarting");
                if let Some(child) = child {
                    self.begin_restart(child, now);
                }
            }
            Event::Resting { millis } => {
                tracing::info!(%supervisor, child = name, "restarted");
                tracing::info!(%supervisor, child = name, millis, "resting");
            }
            Event::HalfOpened => tracing::debug!(%supervisor, child = name, "half-open"),
            Event::Closed { open_millis } => tracing::info!(%supervisor, child = name, open_millis, "closed"),
            Event::Released { open_millis } => {
                tracing::warn!(%supervisor, child = name, open_millis, "released: nobody can judge the rule");
            }
            Event::Escalated { cause } => self.escalate(index, rule, cause, now),
        }
    }

    fn escalate(&mut self, index: Index, rule: &Rule, cause: &str, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        let path = Arc::clone(node.path());
        let supervisor = shown_path(&path);
        tracing::error!(%supervisor, child = rule.restart, rule = rule.name, %cause, "escalated");
        let escalation = Escalation {
            child: rule.restart.clone(),
            cause: cause.to_owned(),
            since: now,
        };
        let others = node
            .escalations
            .iter()
            .filter(|known| known.child != rule.restart)
            .cloned();
        node.escalations = others.chain([escalation]).collect();
        self.mark(index);
    }

    /// Why a restart could not bring the worker back, or one of those below it that would stop with it.
    pub(super) fn obstacle(&self, node: &Node, now: Timestamp) -> Option<String> {
        if let Some(why) = node.obstacle(now) {
            return Some(why);
        }
        let children = node.children.values().filter_map(|child| self.nodes.get(*child));
        let stops_too = |child: &&Node| child.spec.states.values().any(|goal| *goal != Goal::Running);
        let running = |child: &&Node| self.wants_lastingly(child) == Goal::Running;
        children.filter(stops_too).filter(running).find_map(|child| {
            let why = self.obstacle(child, now)?;
            Some(format!("child `{}`: {why}", child.identity.name))
        })
    }

    /// Ends every escalation below a worker and has what failed there start. What is well is not touched; a child that
    /// was given up is restarted at once if that is `asked` for, and judged anew if not.
    pub(super) fn recover(&mut self, index: Index, by: &str, asked: Again, now: Timestamp) {
        let Some(node) = self.nodes.get(index) else {
            return;
        };
        let given_up: BTreeSet<String> = node
            .watches
            .iter()
            .filter(|watch| matches!(watch.machine.circuit(), Circuit::Escalated { .. }))
            .map(|watch| watch.rule.restart.clone())
            .collect();
        let children: Vec<(Arc<str>, Index)> = node
            .children
            .iter()
            .map(|(name, child)| (Arc::clone(name), *child))
            .collect();
        for (name, child) in children {
            let Some(node) = self.nodes.get(child).filter(|node| node.leaving.is_none()) else {
                continue;
            };
            let has_failed = node.shown.phase == Phase::Failed;
            let recovers = node.inner.as_ref().is_some_and(|inner| inner.recovers());
            let is_given_up = given_up.contains(name.as_ref());
            let is_wanted = self.wants_lastingly(node) == Goal::Running;
            if has_failed || is_given_up {
                self.forgive(child, by, now);
                self.mark(child);
            }
            let is_restarted = (has_failed && !recovers) || (is_given_up && asked == Again::Restart);
            if is_wanted && is_restarted {
                self.metrics.restarted(&self.path_of(child), RestartCause::Manual);
                self.begin_restart(child, now);
            }
            self.recover(child, by, asked, now);
        }
        self.forgive_strangers(index, by);
    }

    /// Ends escalations over children that are not there.
    fn forgive_strangers(&mut self, index: Index, by: &str) {
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        for watch in &mut node.watches {
            if matches!(watch.machine.circuit(), Circuit::Escalated { .. }) && watch.machine.reset() {
                tracing::warn!(supervisor = %shown_path(&node.identity.path), child = watch.rule.restart, by,
                    "the escalation ended");
            }
        }
        node.escalations = Arc::default();
        self.mark(index);
    }

    fn path_of(&self, index: Index) -> Arc<str> {
        let node = self.nodes.get(index);
        node.map_or_else(|| Arc::from(""), |node| Arc::clone(node.path()))
    }

    /// A person restarted the child or its spec changed: what its rules hold against it is forgotten.
    pub(super) fn forgive(&mut self, child: Index, why: &str, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(child) else {
            return;
        };
        node.breaker.clear();
        let (name, parent) = (Arc::clone(&node.identity.name), node.parent);
        let Some(parent) = parent else {
            return;
        };
        let Some(owner) = self.nodes.get_mut(parent) else {
            return;
        };
        let mut ended = false;
        for watch in owner.watches.iter_mut().filter(|watch| *watch.rule.restart == *name) {
            ended |= watch.machine.reset();
        }
        if ended {
            tracing::warn!(supervisor = %shown_path(&owner.identity.path), child = %name, by = why, "the escalation ended");
            owner.escalations = owner
                .escalations
                .iter()
                .filter(|known| *known.child != *name)
                .cloned()
                .collect();
        }
        if let Some(owner) = self.nodes.get(parent) {
            self.keeper.status(owner, now);
        }
        self.mark(parent);
    }
}

/// What was given up in an earlier life still is.
fn restore_escalations(node: &mut Node) {
    let mut escalations: Vec<Escalation> = node.escalations.to_vec();
    for watch in &node.watches {
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
    if escalations.len() != node.escalations.len() {
        node.escalations = escalations.into();
    }
}

/// Whether the child may be restarted.
fn permit(owner: &Node, child: Option<&Node>, rule: &Rule, obstacle: impl FnOnce() -> Option<String>) -> Permit {
    let Some(child) = child else {
        return Permit::Refuse(format!("child `{}` is not declared", rule.restart));
    };
    if child.spec.restart == RestartPolicy::Never {
        return Permit::Refuse("child infrastructure failing, and its restart policy is `never`".to_owned());
    }
    let declared = owner.child_errors.iter().find(|error| error.child() == rule.restart);
    let declared = declared.map(ToString::to_string);
    let derived = match &child.derived {
        Derived::Failed { error, .. } => Some(error.as_ref().to_owned()),
        Derived::Due | Derived::Done => None,
    };
    if let Some(error) = declared.or(derived) {
        return Permit::Refuse(format!("invalid child configuration: {error}"));
    }
    match obstacle() {
        Some(why) => Permit::Refuse(format!(
            "child cannot be restarted, so what runs of it is left alone: {why}"
        )),
        None => Permit::Restart,
    }
}

/// The child and everybody who depends on it, unless the rule says otherwise.
fn affected(node: &Node, rule: &Rule) -> BTreeSet<String> {
    if let Some(affects) = &rule.affects {
        return affects.clone();
    }
    let mut affected = BTreeSet::from([rule.restart.clone()]);
    let mut open = vec![rule.restart.clone()];
    while let Some(at) = open.pop() {
        for dependent in node.dependents.get(at.as_str()).into_iter().flatten() {
            if affected.insert(dependent.as_ref().to_owned()) {
                open.push(dependent.as_ref().to_owned());
            }
        }
    }
    affected
}

impl Watch {
    /// A rule that was never judged.
    pub(crate) fn new(rule: Rule, jitter: Option<u64>) -> Self {
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

    /// Follows the rule's own budget, or that of the child it restarts.
    fn rebound(&mut self, child: Option<Budget>) {
        let budget = self.rule.budget.or(child).unwrap_or_default();
        let before = *self.machine.limits();
        let mut limits = budget.limits();
        limits.grace_millis = before.grace_millis;
        limits.schedule.jitter = before.schedule.jitter;
        if limits != before {
            self.machine.rebound(limits);
        }
    }

    /// Since when the circuit is open.
    pub(crate) fn open_since(&self) -> Option<Timestamp> {
        match self.machine.circuit() {
            Circuit::Open { since, .. } | Circuit::HalfOpen { since, .. } => Some(*since),
            Circuit::Closed | Circuit::Escalated { .. } => None,
        }
    }

    /// What the rule waits for, in words.
    pub(crate) fn stands(&self) -> &'static str {
        match self.machine.circuit() {
            Circuit::Closed if self.machine.grace_since().is_some() => "grace",
            Circuit::Closed => "closed",
            Circuit::Open {
                stage: CircuitStage::Restarting { .. },
                ..
            } => "restarting",
            Circuit::Open {
                stage: CircuitStage::Resting { .. },
                ..
            } => "resting",
            Circuit::HalfOpen { .. } => "half-open",
            Circuit::Escalated { .. } => "escalated",
        }
    }
}
