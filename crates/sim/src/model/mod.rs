//! What must be so, worked out beside the engine from what it committed and what was asked of it.
//!
//! Every applied commit is read mutation by mutation: history is replayed with `step`, the effects of each step are
//! held against the actions and timers that were written with it, and each move of an action against the rules of its
//! definition. Nothing here asks the engine for its opinion.

mod acknowledged;
mod actions;
mod attempts;
mod commit;
mod exits;
mod history;
mod known;
mod limits;
mod plans;
mod policy;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::action::Outcome;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, Slot, WorkflowId};
use sprag_core::machine::Machine;
use sprag_core::operation::approval::Policy;
use sprag_core::time::Timestamp;
use sprag_engine::queue::Caps;
use sprag_store::Fence;
use sprag_store::records::ProcessRun;
use sprag_store::traits::shard_of;

pub(crate) use self::acknowledged::{Acknowledged, Message};
pub(crate) use self::known::{KnownAction, KnownExecution};
use self::limits::Pace;
use self::plans::KnownPlan;

/// Everything that was committed, and what is known beside it.
#[derive(Debug)]
pub(crate) struct Model {
    /// Machine versions by name and number.
    pub versions: BTreeMap<(String, u32), Arc<Machine>>,
    /// Every execution.
    pub executions: BTreeMap<ExecutionId, KnownExecution>,
    /// Every action.
    pub actions: BTreeMap<ActionId, KnownAction>,
    /// Every plan.
    pub plans: BTreeMap<WorkflowId, KnownPlan>,
    /// By which people approve.
    pub policy: Policy,
    /// What people asked for: only then may some moves happen.
    pub asked: OperatorRequests,
    caps: Caps,
    paces: BTreeMap<String, Pace>,
    /// The number of the present process.
    life: u64,
    /// When it opened the store.
    opened_at: Timestamp,
    /// The newest life that was written, and whether the one before it was short.
    last_run: Option<ProcessRun>,
    after_short_life: bool,
    /// Nothing more may start.
    is_closing: bool,
    /// Ticks of all lanes so far.
    ticks: u64,
    /// How many shards there are. With one, there is one process at a time; with more there are several nodes, and what
    /// only one process can be held to is not.
    shards: u32,
}

/// What people asked for, whether or not they were answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperatorRequests {
    /// Actions that need not wait until they are due.
    pub retry_now: BTreeSet<ActionId>,
    /// Dead letters to try again.
    pub retry_dead: BTreeSet<ActionId>,
    /// Dead letters to put away.
    pub archive: BTreeSet<ActionId>,
    /// Actions to end.
    pub cancel: BTreeSet<ActionId>,
    /// Plans to approve, with who approved.
    pub approve: BTreeSet<(WorkflowId, String)>,
}

/// What the world knows at the time of a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    /// The present instant.
    pub now: Timestamp,
    /// What was reported of each attempt.
    pub reports: &'a BTreeMap<AttemptId, Vec<Outcome>>,
    /// The attempts that began.
    pub started: &'a BTreeSet<AttemptId>,
    /// Until when programs were told that attempts are theirs.
    pub promised: &'a BTreeMap<AttemptId, Timestamp>,
    /// Whether a record was refused by plan in this life.
    pub has_refused: bool,
}

impl Model {
    /// Nothing is stored yet.
    pub(crate) fn new(caps: Caps, shards: u32) -> Self {
        Self {
            versions: BTreeMap::new(),
            executions: BTreeMap::new(),
            actions: BTreeMap::new(),
            plans: BTreeMap::new(),
            policy: Policy::default(),
            asked: OperatorRequests::default(),
            caps,
            paces: BTreeMap::new(),
            life: 0,
            opened_at: Timestamp::default(),
            last_run: None,
            after_short_life: false,
            is_closing: false,
            ticks: 0,
            shards,
        }
    }

    /// Another process takes over.
    pub(crate) fn opened(&mut self, life: u64, now: Timestamp) {
        self.life = life;
        self.opened_at = now;
        self.after_short_life = self
            .last_run
            .is_some_and(|life| life.seen_at.since(life.started_at) < limits::SHORT_LIFE_MILLIS);
        self.is_closing = false;
        self.read_anew();
        // A rate is kept in memory: a new process begins with a full measure.
        self.paces.clear();
    }

    /// Whether several nodes share the store.
    pub(crate) fn is_shared(&self) -> bool {
        self.shards > 1
    }

    /// Where several nodes share the store, every change of a shard's owner is another life of what is in it.
    fn serve(&mut self, fences: &[Fence], slot: Slot) {
        if self.is_shared() {
            let shard = shard_of(slot, self.shards);
            let fence = fences.iter().find(|fence| fence.shard == shard);
            self.life = fence.map_or(0, |fence| fence.epoch);
        }
    }

    /// Lines are in memory: who stands in them is read anew.
    pub(crate) fn read_anew(&mut self) {
        for known in self.actions.values_mut() {
            known.queued_in = self.ticks;
            known.passed_in = None;
        }
    }

    /// The process lets nothing more start.
    pub(crate) fn closing(&mut self) {
        self.is_closing = true;
    }

    /// A lane is about to tick.
    pub(crate) fn ticked(&mut self) {
        self.ticks += 1;
    }

    /// The newest version of a machine.
    pub(crate) fn newest(&self, machine: &str) -> Option<u32> {
        let versions = self
            .versions
            .range((machine.to_owned(), 0)..=(machine.to_owned(), u32::MAX));
        versions.last().map(|((_, version), _)| *version)
    }
}
