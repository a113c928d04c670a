//! One bounded step of the whole tree: take in what happened, visit who is marked, and only them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;

use super::arena::{Arena, Index};
use super::hands::Hands;
use super::keep::Keeper;
use super::leave::{CutAt, ShutdownOutcome};
use super::node::Node;
use crate::child::ChildSpec;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::registry::Registry;
use crate::seldom::Seldom;
use crate::snapshot::Identity;
use crate::supervisor::Declaration;
use crate::worker::{Goal, Phase, Reason};

/// What a tree is made of.
pub(crate) struct Parts {
    pub(crate) registry: Registry,
    pub(crate) options: Options,
    pub(crate) hands: Hands,
    pub(crate) keeper: Keeper,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<Metrics>,
}

/// All workers.
pub(crate) struct Tree {
    pub(super) nodes: Arena<Node>,
    pub(super) root: Index,
    /// Only looked up, never walked.
    pub(super) by_path: HashMap<Arc<str>, Index>,
    pub(super) marks: VecDeque<Index>,
    pub(super) due: BTreeSet<(Timestamp, Index)>,
    pub(super) ticks: u64,
    sweep_from: Timestamp,
    swept: usize,
    pub(super) registry: Registry,
    pub(super) options: Options,
    pub(super) hands: Hands,
    pub(super) keeper: Keeper,
    clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) seldom: Seldom,
    pub(super) cuts: Vec<CutAt>,
    pub(super) outcome: Option<ShutdownOutcome>,
    is_idle: bool,
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
    pub(crate) fn new(parts: Parts, now: Timestamp) -> Self {
        let Parts {
            registry,
            options,
            hands,
            keeper,
            clock,
            metrics,
        } = parts;
        let nothing: Arc<str> = Arc::from("");
        let identity = Identity {
            path: Arc::clone(&nothing),
            name: Arc::clone(&nothing),
            kind: nothing,
        };
        let spec = Arc::new(ChildSpec::new("", "", Value::Null));
        let mut root = Node::new(identity, None, spec, now);
        root.goal = Goal::Running;
        root.shown.state = Phase::Running.name();
        root.shown.phase = Phase::Running;
        root.reason = Reason::from("it supervises the workers below it");
        let mut nodes = Arena::default();
        let root = nodes.insert(root);
        Self {
            nodes,
            root,
            by_path: HashMap::new(),
            marks: VecDeque::new(),
            due: BTreeSet::new(),
            ticks: 0,
            sweep_from: now,
            swept: 0,
            registry,
            options,
            hands,
            keeper,
            clock,
            metrics,
            seldom: Seldom::default(),
            cuts: Vec::new(),
            outcome: None,
            is_idle: false,
        }
    }

    /// Declares who stands at the root, and the rules across them.
    pub(crate) fn declare(&mut self, declaration: Declaration) {
        let now = self.clock.now();
        let Declaration {
            children,
            rules,
            variables,
        } = declaration;
        let root = self.root;
        let Some(node) = self.nodes.get_mut(root) else {
            return;
        };
        let mut spec = ChildSpec::new("", "", Value::Null);
        spec.rules = rules;
        spec.variables = variables;
        node.variables = Arc::new(spec.variables.clone());
        node.spec = Arc::new(spec);
        node.declared = children.into_iter().map(Arc::new).collect();
        node.is_settled = false;
        self.refresh_watches(root, now);
        self.inherit(root);
        self.mark(root);
    }

    /// One step.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Ticked {
        let began = self.clock.micros();
        self.ticks += 1;
        self.take_news(now);
        self.mark_due(now);
        self.sweep(now);
        let visited = self.visit_marked(now);
        self.finish_shutdown(now);
        self.keeper.compact(now);
        self.say_idle();
        self.metrics
            .ticked(self.clock.micros().saturating_sub(began), self.options.tick_millis);
        Ticked {
            visited,
            marked: self.marks.len(),
        }
    }

    pub(crate) fn tick_millis(&self) -> u64 {
        self.options.tick_millis
    }

    /// How many workers there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Visits every marked worker once. Who is marked again by a later visit has its turn in the next tick.
    fn visit_marked(&mut self, now: Timestamp) -> usize {
        let (mut visited, mut later) = (0, VecDeque::new());
        while let Some(index) = self.marks.pop_front() {
            let ticks = self.ticks;
            let Some(node) = self.nodes.get_mut(index) else {
                continue;
            };
            if node.visited == ticks {
                later.push_back(index);
                continue;
            }
            node.visited = ticks;
            node.marked = false;
            visited += 1;
            self.visit(index, now);
            self.reschedule(index, now);
        }
        self.marks = later;
        visited
    }

    /// Has the worker visited: in this tick if it was not yet, else in the next.
    pub(super) fn mark(&mut self, index: Index) {
        if let Some(node) = self.nodes.get_mut(index)
            && !node.marked
        {
            node.marked = true;
            self.marks.push_back(index);
        }
    }

    pub(super) fn mark_path(&mut self, path: &str) -> Option<Index> {
        let index = *self.by_path.get(path)?;
        self.mark(index);
        Some(index)
    }

    fn mark_due(&mut self, now: Timestamp) {
        while let Some((at, index)) = self.due.first().copied() {
            if at > now {
                return;
            }
            self.due.pop_first();
            if let Some(node) = self.nodes.get_mut(index) {
                node.due = None;
                self.mark(index);
            }
        }
    }

    /// Puts the worker where the next look at it is due, whatever else marks it.
    pub(super) fn reschedule(&mut self, index: Index, now: Timestamp) {
        let Some(next) = self.nodes.get(index).map(|node| self.next_due(node, now)) else {
            return;
        };
        let Some(node) = self.nodes.get_mut(index) else {
            return;
        };
        if node.due == next {
            return;
        }
        if let Some(old) = std::mem::replace(&mut node.due, next) {
            self.due.remove(&(old, index));
        }
        if let Some(new) = next {
            self.due.insert((new, index));
        }
    }

    /// Marks everybody within the span of a sweep, a share of them in each tick.
    fn sweep(&mut self, now: Timestamp) {
        let span = self.options.sweep_millis.max(1);
        let passed = now.since(self.sweep_from).min(span);
        let places = self.nodes.places();
        let share = u64::try_from(places).unwrap_or(u64::MAX).saturating_mul(passed) / span;
        let until = usize::try_from(share).unwrap_or(places);
        while self.swept < until {
            if let Some(index) = self.nodes.index_at(self.swept) {
                self.mark(index);
            }
            self.swept += 1;
        }
        if passed == span {
            self.sweep_from = now;
            self.swept = 0;
        }
    }

    fn say_idle(&mut self) {
        let is_idle = self.len() == 0;
        if is_idle && !self.is_idle && self.outcome.is_none() {
            tracing::info!("no workers are declared");
        }
        self.is_idle = is_idle;
    }
}
