//! When the tree checks a rule, how the rule's circuit reacts, and what follows.
//!
//! The tree checks a rule on news (an observation, a transition, a due time). It checks only while every child of the
//! rule is declared, running and freshly observed, its parent neither starts nor stops, and no other circuit covers
//! these children.

use std::sync::Arc;

use sprag_core::supervision::restart as machine;
use sprag_core::supervision::{Circuit, Permit, RestartEvent};
use sprag_core::time::Timestamp;

use super::act::{Act, Count};
use super::node::{Derived, LastObservation, Node};
use super::nodes::{Nodes, WorkerKey};
use super::operate::shown_path;
use super::step::caught;
use super::visit::Visit;
use super::watch::{Evidence, Watch};
use super::{aim, recover, restart};
use crate::rule::{Check, Rule, View};
use crate::worker::child::RestartPolicy;
use crate::worker::snapshot::Escalation;
use crate::worker::{Goal, Phase};

/// What a rule is judged on.
struct Judgeable {
    view: View,
    newest: Timestamp,
    suspect: Option<Evidence>,
}

/// Why a rule is not judged.
enum Unready {
    /// It cannot be at present.
    For(String),
    /// Nothing is new.
    Nothing,
}

/// Judges every rule of a worker.
pub(super) fn run(visit: &mut Visit<'_>) {
    let Some(node) = visit.node_mut() else { return };
    if node.rules.watches.is_empty() {
        return;
    }
    let mut watches = std::mem::take(&mut node.rules.watches);
    let mut events = Vec::new();
    for place in 0..watches.len() {
        let (earlier, later) = watches.split_at_mut(place);
        let Some((watch, later)) = later.split_first_mut() else {
            continue;
        };
        let others = earlier.iter().chain(later.iter());
        let others: Vec<&Watch> = others.filter(|other| other.machine.holds()).collect();
        let happened = judge(visit, watch, &others);
        events.extend(happened.into_iter().map(|event| (watch.rule.clone(), event)));
    }
    if let Some(node) = visit.node_mut() {
        node.rules.watches = watches;
    }
    let has_moved = !events.is_empty();
    for (rule, event) in events {
        follow(visit, rule, event);
    }
    resume(visit);
    if has_moved {
        visit.keep();
        visit.mark();
    }
}

fn judge(visit: &mut Visit<'_>, watch: &mut Watch, others: &[&Watch]) -> Vec<RestartEvent> {
    let (nodes, acts, now) = (&*visit.nodes, &mut *visit.acts, visit.now);
    let Some(node) = nodes.get(visit.key) else {
        return Vec::new();
    };
    if watch.machine.holds() && !has_say(nodes, node, &watch.rule) {
        watch.machine.abandon();
        acts.push(Act::Count(Count::Abandoned(
            Arc::clone(node.path()),
            Box::new(watch.rule.clone()),
        )));
    }
    let mut events = Vec::new();
    let child = nodes.child(node, &watch.rule.restart);
    let permit = || permit(nodes, (node, child), &watch.rule, now);
    let is_trial = matches!(watch.machine.circuit(), Circuit::HalfOpen { .. });
    if !is_trial {
        watch.trial = None;
    }
    if let Some(child) = child {
        events.extend(watch.machine.advance(now, restart::progress(child), permit));
    }
    if !watch.machine.judges() {
        return events;
    }
    let stale_millis = visit.config.options.collector.stale_millis;
    let check = match judgeable(nodes, (node, &*watch, others), now, stale_millis) {
        Ok(Judgeable { view, newest, suspect }) => {
            watch.judged = Some(newest);
            watch.trial = suspect.filter(|_| is_trial);
            caught(|| watch.rule.judge(&view))
                .unwrap_or_else(|panic| Check::Undecided(format!("the rule panicked: {panic}")))
        }
        Err(Unready::Nothing) => return events,
        Err(Unready::For(why)) => {
            watch.idle = Some(why);
            events.extend(watch.machine.check(now, machine::Check::Unready, permit));
            return events;
        }
    };
    watch.idle = None;
    let checked = match &check {
        Check::Good => machine::Check::Good,
        Check::Bad(why) => machine::Check::Bad(why),
        Check::Undecided(_) => machine::Check::Undecided,
    };
    events.extend(watch.machine.check(now, checked, permit));
    watch.last = Some((check, now));
    events
}

/// Whether the owner of an open circuit and the children it names are still meant to run.
fn has_say(nodes: &Nodes, node: &Node, rule: &Rule) -> bool {
    let is_owner = !node.is_leaving() && (node.is_root() || aim::wants(nodes, node) == Goal::Running);
    let mut children = rule.children.iter();
    is_owner && children.all(|name| aim::is_meant_to_run(nodes, node, name))
}

/// Whether the child may be restarted.
fn permit(nodes: &Nodes, (owner, child): (&Node, Option<&Node>), rule: &Rule, now: Timestamp) -> Permit {
    let Some(child) = child else {
        return Permit::Refuse(format!("child `{}` is not declared", rule.restart));
    };
    if child.placement.spec.restart == RestartPolicy::Never {
        return Permit::Refuse("child infrastructure failing, and its restart policy is `never`".to_owned());
    }
    let mut declared = owner.placement.child_errors.iter();
    let declared = declared.find(|error| error.child() == rule.restart);
    let derived = match &child.observed.derived {
        Derived::Failed { error, .. } => Some(error.as_ref().to_owned()),
        Derived::Due | Derived::Done => None,
    };
    if let Some(error) = declared.map(ToString::to_string).or(derived) {
        return Permit::Refuse(format!("invalid child configuration: {error}"));
    }
    match recover::obstacle(nodes, child, now) {
        Some(why) => Permit::Refuse(format!(
            "child cannot be restarted, so its process keeps running: {why}"
        )),
        None => Permit::Restart,
    }
}

/// What the rule is judged on, when it can and should be judged.
fn judgeable(
    nodes: &Nodes,
    (node, watch, others): (&Node, &Watch, &[&Watch]),
    now: Timestamp,
    stale_millis: u64,
) -> Result<Judgeable, Unready> {
    let not = |why: String| Err(Unready::For(why));
    if node.is_leaving() || matches!(node.phase(), Phase::Starting | Phase::Stopping | Phase::Stopped) {
        return not(format!("its owner is {}", node.phase()));
    }
    let covers = |other: &&&Watch| watch.rule.children.iter().any(|child| other.affected.contains(child));
    if let Some(other) = others.iter().find(covers) {
        return not(format!("rule `{}` handles the same children", other.rule.name));
    }
    let (mut view, mut newest, mut suspect) = (View::default(), Timestamp::from_millis(0), None);
    for name in &watch.rule.children {
        let Some(child) = nodes.child(node, name).filter(|child| !child.is_leaving()) else {
            return not(format!("child `{name}` is not declared"));
        };
        let state = child.progress.shown.state;
        if !child.phase().is_operational() || child.intent.procedure.is_some() {
            return not(format!("child `{name}` is {state}"));
        }
        let last = child.observed.last.as_ref();
        let Some(last) = last.filter(|_| child.is_fresh(now, stale_millis)) else {
            return not(format!("child `{name}` was not seen recently"));
        };
        if *name == watch.rule.restart {
            suspect = Some(evidence(watch, last, child.progress.since)?);
        }
        newest = newest.max(last.at).max(child.progress.since);
        view = view.with(name, state, &last.document.read());
    }
    // At the end of grace what is known is judged once more; otherwise only what is new counts.
    let is_due = watch.machine.grace_since().is_some() && watch.machine.due(now).is_some_and(|due| due <= now);
    if watch.judged.is_some_and(|judged| newest <= judged) && !is_due {
        return Err(Unready::Nothing);
    }
    Ok(Judgeable { view, newest, suspect })
}

/// The observation of the suspect. What was observed before it ran again says nothing about the restart, and each check
/// of a half-open circuit needs a new observation.
fn evidence(watch: &Watch, last: &LastObservation, running_since: Timestamp) -> Result<Evidence, Unready> {
    let evidence = Evidence {
        at: last.at,
        edition: last.edition,
    };
    let is_trial = matches!(watch.machine.circuit(), Circuit::HalfOpen { .. });
    let is_news = watch.trial.is_none_or(|before| evidence.is_newer_than(&before));
    if is_trial && (last.at < running_since || !is_news) {
        return Err(Unready::Nothing);
    }
    Ok(evidence)
}

/// Continues restarts that an earlier process did not end.
fn resume(visit: &mut Visit<'_>) {
    let Some(node) = visit.node_mut() else { return };
    let children = &node.placement.children;
    let resumed = node.rules.watches.iter_mut().filter(|watch| watch.is_resumed);
    let resumed: Vec<WorkerKey> = resumed
        .filter_map(|watch| {
            let child = children.get(watch.rule.restart.as_str())?;
            watch.is_resumed = false;
            Some(*child)
        })
        .collect();
    for child in resumed {
        let mut child = visit.at(child);
        // A restart that was restored continues from where it was.
        if child.node().is_some_and(|child| child.intent.procedure.is_none()) {
            restart::begin(&mut child);
        }
    }
}

/// Carries out what a restart machine decided, and logs it.
fn follow(visit: &mut Visit<'_>, rule: Rule, event: RestartEvent) {
    let Some(node) = visit.node() else { return };
    let path = Arc::clone(node.path());
    let supervisor = shown_path(&path);
    let name = rule.restart.as_str();
    match &event {
        RestartEvent::Detected {
            number,
            opened,
            last,
            cause,
        } => {
            if *opened {
                tracing::warn!(%supervisor, child = name, rule = rule.name, %cause, "problem detected, circuit opened");
            }
            if *last {
                tracing::warn!(%supervisor, child = name, number, "next detection escalates");
            }
            tracing::info!(%supervisor, child = name, number, %cause, "restarting");
            if let Some(child) = node.placement.children.get(name).copied() {
                restart::begin(&mut visit.at(child));
            }
        }
        RestartEvent::Resting { millis } => {
            tracing::info!(%supervisor, child = name, "restarted");
            tracing::info!(%supervisor, child = name, millis, "waiting before the next check");
        }
        RestartEvent::HalfOpened => tracing::debug!(%supervisor, child = name, "circuit half-open"),
        RestartEvent::Closed { open_millis } => {
            tracing::info!(%supervisor, child = name, open_millis, "circuit closed");
        }
        RestartEvent::Released { open_millis } => {
            tracing::warn!(%supervisor, child = name, open_millis, "circuit released, rule cannot be checked");
        }
        RestartEvent::Escalated { cause } => {
            tracing::error!(%supervisor, child = name, rule = rule.name, %cause, "escalated");
            escalate(visit, &rule, cause);
        }
    }
    visit
        .acts
        .push(Act::Count(Count::Circuit(path, Box::new((rule, event)))));
}

fn escalate(visit: &mut Visit<'_>, rule: &Rule, cause: &str) {
    let now = visit.now;
    let Some(node) = visit.node_mut() else { return };
    let escalation = Escalation {
        child: rule.restart.clone(),
        cause: cause.to_owned(),
        since: now,
    };
    let known = node.rules.escalations.iter();
    let others = known.filter(|known| known.child != rule.restart).cloned();
    node.rules.escalations = others.chain([escalation]).collect();
    visit.mark();
}
