//! Which worker the tick visits, and when: marks, due times, and a sweep that finds workers whose mark was lost.

use std::collections::{BTreeSet, VecDeque};

use sprag_core::time::Timestamp;

use super::nodes::{Nodes, WorkerKey};
use super::visit::next_due;
use crate::supervisor::options::Options;

/// The visits to come.
pub(super) struct VisitQueue {
    marked: VecDeque<WorkerKey>,
    due: BTreeSet<(Timestamp, WorkerKey)>,
    ticks: u64,
    sweep: Sweep,
}

/// Marks every worker within its span, a share of them in each tick.
struct Sweep {
    began: Timestamp,
    keys: Vec<WorkerKey>,
    next: usize,
}

impl VisitQueue {
    pub(super) fn new(nodes: &Nodes, now: Timestamp) -> Self {
        Self {
            marked: VecDeque::new(),
            due: BTreeSet::new(),
            ticks: 0,
            sweep: Sweep {
                began: now,
                keys: nodes.keys().collect(),
                next: 0,
            },
        }
    }

    /// How many workers are marked.
    pub(super) fn len(&self) -> usize {
        self.marked.len()
    }

    /// Has a new worker swept with the others.
    pub(super) fn add(&mut self, key: WorkerKey) {
        self.sweep.keys.push(key);
    }

    /// The worker is gone, and was due then.
    pub(super) fn remove(&mut self, key: WorkerKey, due: Option<Timestamp>) {
        if let Some(due) = due {
            self.due.remove(&(due, key));
        }
    }

    /// Begins a tick: marks every worker that is due.
    pub(super) fn begin_tick(&mut self, nodes: &mut Nodes, options: &Options, now: Timestamp) {
        while let Some((at, key)) = self.due.first().copied()
            && at <= now
        {
            self.due.pop_first();
            if let Some(node) = nodes.get_mut(key) {
                node.schedule.due = None;
                self.mark(nodes, key);
            }
        }
        self.sweep(nodes, options.sweep_millis.max(1), now);
    }

    /// Counts the tick.
    pub(super) fn count_tick(&mut self) {
        self.ticks += 1;
    }

    /// Has the worker visited: in this tick if it was not yet, else in the next.
    pub(super) fn mark(&mut self, nodes: &mut Nodes, key: WorkerKey) {
        if let Some(node) = nodes.get_mut(key)
            && !std::mem::replace(&mut node.schedule.marked, true)
        {
            self.marked.push_back(key);
        }
    }

    /// The next marked worker that this tick has not visited. A worker that was visited goes to `later`.
    pub(super) fn next(&mut self, nodes: &mut Nodes, later: &mut VecDeque<WorkerKey>) -> Option<WorkerKey> {
        while let Some(key) = self.marked.pop_front() {
            let Some(node) = nodes.get_mut(key) else {
                continue;
            };
            if node.schedule.visited == self.ticks {
                later.push_back(key);
                continue;
            }
            node.schedule.visited = self.ticks;
            node.schedule.marked = false;
            return Some(key);
        }
        None
    }

    /// Ends a tick: workers that were marked again have their turn in the next.
    pub(super) fn end_tick(&mut self, later: VecDeque<WorkerKey>) {
        self.marked = later;
    }

    /// Sets when the worker is visited next at the latest.
    pub(super) fn reschedule(&mut self, nodes: &mut Nodes, options: &Options, key: WorkerKey, now: Timestamp) {
        let Some(node) = nodes.get_mut(key) else {
            return;
        };
        let next = next_due(node, options, now);
        if node.schedule.due == next {
            return;
        }
        if let Some(old) = std::mem::replace(&mut node.schedule.due, next) {
            self.due.remove(&(old, key));
        }
        if let Some(new) = next {
            self.due.insert((new, key));
        }
    }

    fn sweep(&mut self, nodes: &mut Nodes, span: u64, now: Timestamp) {
        let passed = now.since(self.sweep.began).min(span);
        let all = self.sweep.keys.len();
        let share = u64::try_from(all).unwrap_or(u64::MAX).saturating_mul(passed) / span;
        let until = usize::try_from(share).unwrap_or(all);
        while self.sweep.next < until
            && let Some(key) = self.sweep.keys.get(self.sweep.next).copied()
        {
            self.mark(nodes, key);
            self.sweep.next += 1;
        }
        if passed == span {
            self.sweep.began = now;
            self.sweep.next = 0;
            self.sweep.keys.clear();
            self.sweep.keys.extend(nodes.keys());
        }
    }
}
