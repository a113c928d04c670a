//! One bounded step of the whole tree: take news, visit only marked workers, run their acts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;

use super::act::Act;
use super::effects::{Effects, News};
use super::keep::Keeper;
use super::leave::{self, LastLook, Shutdown, ShutdownOutcome};
use super::node::{LastObservation, Node};
use super::nodes::{Nodes, WorkerKey};
use super::queue::VisitQueue;
use super::visit::{self, Config, Visit};
use super::{derive, watch};
use crate::supervisor::Declaration;
use crate::worker::action::ActionCall;
use crate::worker::child::ChildSpec;
use crate::worker::erased::Collected;

/// A refused action is requested again after so long, in milliseconds.
const REFUSED_AGAIN_MILLIS: u64 = 1_000;

/// All workers.
pub(crate) struct Tree {
    pub(super) nodes: Nodes,
    /// Only looked up, never walked.
    pub(super) paths: HashMap<Arc<str>, WorkerKey>,
    queue: VisitQueue,
    pub(super) effects: Effects,
    keeper: Keeper,
    shutdown: Shutdown,
    pub(super) config: Config,
    clock: Arc<dyn Clock>,
}

/// What a tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticked {
    /// Workers that were visited.
    pub visited: usize,
    /// Workers that are marked for the next tick.
    pub marked: usize,
}

impl Tree {
    pub(crate) fn new(config: Config, effects: Effects, keeper: Keeper, clock: Arc<dyn Clock>) -> Self {
        let now = clock.now();
        let nodes = Nodes::new(Node::root(now));
        Self {
            queue: VisitQueue::new(&nodes, now),
            nodes,
            paths: HashMap::new(),
            effects,
            keeper,
            shutdown: Shutdown::default(),
            config,
            clock,
        }
    }

    /// Declares the workers at the root, and the rules across them.
    pub(crate) fn declare(&mut self, declaration: Declaration) {
        let now = self.clock.now();
        let Declaration {
            children,
            rules,
            variables,
        } = declaration;
        self.act_at(self.nodes.root(), now, |visit| {
            let Some(node) = visit.node_mut() else { return };
            let mut spec = ChildSpec::new("", "", Value::Null);
            spec.rules = rules;
            spec.variables = variables;
            let placement = &mut node.placement;
            placement.variables = Arc::new(spec.variables.clone());
            placement.spec = Arc::new(spec);
            placement.declared = children.into_iter().map(Arc::new).collect();
            placement.is_settled = false;
            watch::refresh(visit);
            derive::inherit(visit);
            visit.mark();
        });
    }

    /// One step.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Ticked {
        let began = self.clock.micros();
        self.queue.count_tick();
        self.take_news(now);
        self.queue.begin_tick(&mut self.nodes, &self.config.options, now);
        let visited = self.visit_marked(now);
        self.shutdown.finish(&self.nodes, now);
        self.keeper.compact(now);
        self.effects
            .report_idle(self.nodes.len() == 0, self.shutdown.outcome.is_some());
        let took = self.clock.micros().saturating_sub(began);
        self.effects.metrics().ticked(took, self.config.options.tick_millis);
        Ticked {
            visited,
            marked: self.queue.len(),
        }
    }

    pub(crate) fn tick_millis(&self) -> u64 {
        self.config.options.tick_millis
    }

    /// How many workers there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Has every worker leave. A second call does nothing more.
    pub(crate) fn shut_down(&mut self, now: Timestamp) {
        if !self.nodes.is_shutting_down() {
            self.shutdown.cuts.clear();
            self.act_at(self.nodes.root(), now, leave::shut_down);
        }
    }

    /// Cuts every worker that is left in the next tick.
    pub(crate) fn force_exit(&mut self, now: Timestamp) {
        self.shut_down(now);
        self.act_at(self.nodes.root(), now, leave::force);
    }

    /// How the shutdown ended, once it has.
    pub(crate) fn outcome(&self) -> Option<&ShutdownOutcome> {
        self.shutdown.outcome.as_ref()
    }

    /// Changes a worker between two visits, and runs the acts that follow.
    pub(super) fn act_at(&mut self, key: WorkerKey, now: Timestamp, change: impl FnOnce(&mut Visit<'_>)) {
        let mut acts = Vec::new();
        change(&mut self.visit(key, now, &mut acts));
        self.run(&mut acts, now);
    }

    fn visit<'a>(&'a mut self, key: WorkerKey, now: Timestamp, acts: &'a mut Vec<Act>) -> Visit<'a> {
        Visit {
            nodes: &mut self.nodes,
            config: &self.config,
            key,
            now,
            acts,
        }
    }

    /// Visits every marked worker once. A worker that a later visit marks again has its turn in the next tick.
    fn visit_marked(&mut self, now: Timestamp) -> usize {
        let (mut visited, mut later, mut acts) = (0, VecDeque::new(), Vec::new());
        while let Some(key) = self.queue.next(&mut self.nodes, &mut later) {
            visited += 1;
            visit::run(&mut self.visit(key, now, &mut acts));
            self.run(&mut acts, now);
            self.queue.reschedule(&mut self.nodes, &self.config.options, key, now);
        }
        self.queue.end_tick(later);
        visited
    }

    /// Runs the acts of a visit, in order.
    fn run(&mut self, acts: &mut Vec<Act>, now: Timestamp) {
        for act in acts.drain(..) {
            match act {
                Act::Mark(key) => self.queue.mark(&mut self.nodes, key),
                Act::Introduce(key) => self.introduce(key, now),
                Act::KeepStatus(status) => self.keeper.status(*status, now),
                Act::Observe(key) => self.observe(key, now),
                Act::ObserveLast(path) => self.effects.observe_last(&path, now),
                Act::StopObserving(path) => self.effects.stop_observing(&path),
                Act::FenceOff(path) => self.effects.fence_off(&path),
                Act::Start(key, call) => self.start_action(key, *call, now),
                Act::Cancel(path, reason) => drop(self.effects.cancel(&path, reason, now)),
                Act::Forget(key, node) => self.forget(key, &node, now),
                Act::Cut(cut) => {
                    self.effects.metrics().cut();
                    self.shutdown.cuts.push(cut);
                }
                Act::Count(count) => self.effects.count(&count),
                Act::Report(path, report) => self.effects.report(&path, &report, now),
            }
        }
    }

    fn introduce(&mut self, key: WorkerKey, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(key) else {
            return;
        };
        let path = Arc::clone(node.path());
        let remembered = self.keeper.introduce(&node.placement.identity, now);
        node.progress.action = self.effects.restore_action(&path, remembered);
        self.paths.insert(path, key);
        self.queue.add(key);
    }

    fn observe(&mut self, key: WorkerKey, now: Timestamp) {
        let Some(node) = self.nodes.get(key) else {
            return;
        };
        if let (Some(inner), Some(desired)) = (&node.inner, &node.observed.desired) {
            let observed = (inner.observer(), Arc::clone(desired));
            self.effects.observe(key, node.path(), observed, now);
        }
        self.keeper.desired(node, now);
    }

    fn start_action(&mut self, key: WorkerKey, call: ActionCall, now: Timestamp) {
        let started = self.effects.start(call, now);
        let Some(node) = self.nodes.get_mut(key) else {
            return;
        };
        match started {
            Ok(status) => {
                node.progress.rests = false;
                node.progress.action = status;
                node.observed.effect_after = None;
            }
            // Why it was refused is logged.
            Err(_) => node.intent.retry_at = Some(now.plus(REFUSED_AGAIN_MILLIS)),
        }
    }

    fn forget(&mut self, key: WorkerKey, node: &Node, now: Timestamp) {
        self.queue.remove(key, node.schedule.due);
        let path = node.path();
        self.effects.forget(path);
        self.keeper.gone(node, self.nodes.is_shutting_down(), now);
        self.paths.remove(path);
    }

    /// Takes in what the executor and the collector report, and marks whom it concerns.
    fn take_news(&mut self, now: Timestamp) {
        for news in self.effects.scan(now) {
            match news {
                News::Observed { collected, at } => self.observed(collected, at, now),
                News::ObservedLast { path, last } => self.observed_last(&path, last, now),
                News::Stale { path } => drop(self.mark_path(&path)),
                News::Failed { path, error } => {
                    if let Some(node) = self.paths.get(&path).and_then(|key| self.nodes.get_mut(*key)) {
                        node.observed.failing = Some(error);
                        self.effects.metrics().not_seen();
                    }
                }
                News::Action { path, status, ended } => {
                    if let Some(node) = self.mark_path(&path) {
                        node.progress.action = status;
                        if ended {
                            node.observed.effect_after = Some(now);
                        }
                    }
                }
            }
        }
    }

    fn mark_path(&mut self, path: &str) -> Option<&mut Node> {
        let key = *self.paths.get(path)?;
        self.queue.mark(&mut self.nodes, key);
        self.nodes.get_mut(key)
    }

    fn observed(&mut self, collected: Collected, at: Timestamp, now: Timestamp) {
        let Collected {
            of,
            observed,
            document,
            edition,
        } = collected;
        self.queue.mark(&mut self.nodes, of);
        let Some(node) = self.nodes.get_mut(of) else {
            return;
        };
        node.observed.failing = None;
        let before = node.observed.last.replace(LastObservation {
            value: observed,
            document,
            at,
            edition,
        });
        self.keeper
            .observed(node, before.as_ref().map(|last| &last.document), now);
        if let Some(parent) = node.placement.parent.filter(|_| node.rules.watched) {
            self.queue.mark(&mut self.nodes, parent);
        }
    }

    fn observed_last(&mut self, path: &str, last: Option<(Timestamp, Collected)>, now: Timestamp) {
        if self.mark_path(path).is_none() {
            return;
        }
        if let Some((at, collected)) = last {
            self.observed(collected, at, now);
        }
        if let Some(leaving) = self.mark_path(path).and_then(|node| node.intent.leaving.as_mut()) {
            leaving.last_look = LastLook::Over;
        }
    }
}
