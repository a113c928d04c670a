//! A tree on a paused clock.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::clockwork::Clockwork;
use crate::report::explain::Explain;
use crate::report::metrics::{Gauges, Metrics};
use crate::report::trouble::Trouble;
use crate::runtime::collector::ThresholdsError;
use crate::runtime::pool::Threads;
use crate::supervisor::options::Options;
use crate::supervisor::{Declaration, Setup};
use crate::tree::{Counts, OperateError, ShutdownOutcome, Status, Ticked, Tree};
use crate::worker::registry::Registry;
use crate::worker::snapshot::Escalation;

/// A tree, its clock, and nothing else: no thread, no task, no real time.
pub struct World {
    tree: Tree,
    clockwork: Clockwork,
    threads: Arc<Threads>,
    metrics: Arc<Metrics>,
    tick_millis: u64,
}

impl World {
    /// A tree with the usual options and without jitter.
    pub fn new(registry: Registry, clockwork: &Clockwork) -> Result<Self, ThresholdsError> {
        let options = Options {
            restart_jitter: None,
            ..Options::default()
        };
        Self::with(Setup::new(registry, clockwork.clock()).options(options), clockwork)
    }

    /// A tree as it is set up.
    pub fn with(setup: Setup, clockwork: &Clockwork) -> Result<Self, ThresholdsError> {
        let threads = Arc::new(Threads::none());
        let metrics = Arc::clone(&setup.metrics);
        let tick_millis = setup.options.tick_millis;
        let tree = setup.tree(&threads)?;
        Ok(Self {
            tree,
            clockwork: clockwork.clone(),
            threads,
            metrics,
            tick_millis,
        })
    }

    /// Declares who stands at the root.
    pub fn declare(&mut self, declaration: Declaration) {
        self.tree.declare(declaration);
    }

    /// The present instant.
    pub fn now(&self) -> Timestamp {
        self.clockwork.now()
    }

    /// One tick at the present instant, and everything that can happen between it and the next.
    pub fn tick(&mut self) -> Ticked {
        let ticked = self.tree.tick(self.clockwork.now());
        self.threads.drive();
        ticked
    }

    /// Moves the clock by one tick, and ticks.
    pub fn step(&mut self) -> Ticked {
        self.clockwork.advance(self.tick_millis);
        self.threads.drive();
        self.tick()
    }

    /// A tick at the present instant, and nothing else: for those who measure it.
    pub fn tick_alone(&mut self) -> Ticked {
        self.tree.tick(self.clockwork.now())
    }

    /// What can happen between two ticks, and the time until the next.
    pub fn wait_a_tick(&mut self) {
        self.threads.drive();
        self.clockwork.advance(self.tick_millis);
        self.threads.drive();
    }

    /// Lets time pass.
    pub fn run_for(&mut self, millis: u64) {
        let end = self.now().plus(millis);
        while self.now() < end {
            self.step();
        }
    }

    /// Lets time pass until something holds; how long that took, or `None` when it did not happen in time.
    pub fn run_until(&mut self, within_millis: u64, mut test: impl FnMut(&Self) -> bool) -> Option<u64> {
        let began = self.now();
        while self.now().since(began) <= within_millis {
            if test(self) {
                return Some(self.now().since(began));
            }
            self.step();
        }
        None
    }

    /// Everybody, by path.
    pub fn list(&self) -> Vec<Status> {
        self.tree.list(self.now())
    }

    /// One worker; `None` when there is none of that path.
    pub fn status(&self, path: &str) -> Option<Status> {
        self.tree.explain(path, self.now()).ok().map(|explain| explain.status)
    }

    /// The state of a worker, `gone` when there is none.
    pub fn state(&self, path: &str) -> &'static str {
        self.status(path).map_or("gone", |status| status.state)
    }

    /// Why a worker is where it is.
    pub fn explain(&self, path: &str) -> Result<Explain, OperateError> {
        self.tree.explain(path, self.now())
    }

    /// How many are how.
    pub fn counts(&self) -> Counts {
        self.tree.counts()
    }

    /// Rules at the root that gave up.
    pub fn alerts(&self) -> Vec<Escalation> {
        self.tree.alerts()
    }

    /// What the operator on duty should know of.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.tree.troubles(self.now())
    }

    /// How many workers there are.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a worker by hand.
    pub fn start(&mut self, path: &str) -> Result<(), OperateError> {
        self.tree.start(path, "test", self.clockwork.now())
    }

    /// Stops a worker by hand.
    pub fn stop(&mut self, path: &str) -> Result<(), OperateError> {
        self.tree.stop(path, "test", self.clockwork.now())
    }

    /// Restarts a worker by hand.
    pub fn restart(&mut self, path: &str) -> Result<(), OperateError> {
        self.tree.restart(path, "test", self.clockwork.now())
    }

    /// Cancels a worker's action by hand.
    pub fn cancel(&mut self, path: &str) -> Result<(), OperateError> {
        self.tree.cancel(path, "test", self.clockwork.now())
    }

    /// What only the tree knows.
    pub fn gauges(&self) -> Gauges {
        self.tree.gauges(self.now())
    }

    /// Has everybody leave.
    pub fn shut_down(&mut self) {
        self.tree.shut_down(self.clockwork.now());
    }

    /// Cuts every worker that is left.
    pub fn force_exit(&mut self) {
        self.tree.force_exit(self.clockwork.now());
    }

    /// How the shutdown ended, once it has.
    pub fn outcome(&self) -> Option<ShutdownOutcome> {
        self.tree.outcome().cloned()
    }

    /// What was counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
