//! Decisions: from what is known and what is asked to what must be written.
//!
//! A decision is a function of a [`Decider`]: what the lane knows, the batch so far, the shards it owns, one instant, and
//! the rules in force. Nothing here can reach a store, a clock or an effect. A request declares what it reads
//! ([`Reads`]), the lane loads it, and the decision finds it in [`Known`]. A decision that fails refuses its own request
//! and no other.
//!
//! Decisions change [`Known`] in place. When a batch is not written, the lane derives [`Known`] from the store again.

pub mod alerts;
mod attempts;
mod batch;
mod cache;
pub(crate) mod catalog;
mod change;
mod clock;
pub mod convert;
mod due;
mod edit;
mod ends;
mod firing;
pub(crate) mod gate;
pub(crate) mod input;
mod job;
mod log;
mod machines;
mod notes;
pub(crate) mod plans;
mod reads;
mod schedules;
mod shards;
pub(crate) mod state;
mod traced;
mod triggers;
pub(crate) mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sprag_core::access::Caller;
use sprag_core::action::{Action, Rate, Status};
use sprag_core::ids::{ActionId, ExecutionId, Mint, Slot};
use sprag_core::integrity::audit::Head;
use sprag_core::machine::Machine;
use sprag_core::operation::approval::Policy;
use sprag_core::time::Timestamp;
use sprag_store::traits::shard_of;
use sprag_store::{Mutation, ShardId};

use crate::engine::options::{Limits, Retention};
use crate::jobs::OpenJobs;
use crate::limits::demand;
use crate::queue::Dispatcher;
use crate::queue::control::Control;
use crate::read::view::{self, Waiting};
use crate::requests::audit::Audited;
use crate::requests::operations::CheckHosts;
use crate::requests::{Code, Refusal};

pub(crate) use self::alerts::{ArmedAlert, raise_alerts};
pub(crate) use self::attempts::{
    begin, config_of, interrupted, job_of, overdue, policy_of, settle, settle_by, timeout_of,
};
pub(crate) use self::batch::{Batch, Turn, Write};
pub use self::batch::{Change, RecordKind};
pub(crate) use self::cache::ExecutionCache;
use self::catalog::StoredCatalog;
pub use self::change::ExecutionChange;
pub use self::clock::{BEHIND_MILLIS, JUMP_MILLIS};
pub(crate) use self::clock::{ClockCheck, believed};
pub(crate) use self::due::{Due, DueSource, Timers};
pub(crate) use self::edit::{edit, editable};
pub use self::job::{ActionTypes, AttemptJob, Edited, Task};
pub(crate) use self::log::{LogEntry, log_durable};
pub(crate) use self::machines::{Machines, Pinned, compile};
pub use self::notes::OTHER;
pub(crate) use self::notes::{ErrorLabel, KindIndex, KindNames, Note};
pub use self::reads::Reads;
pub(crate) use self::reads::{Found, Missing};
pub(crate) use self::shards::Shards;
pub use self::shards::Tenure;
use self::state::ExecutionState;
pub use self::traced::{AttemptEnded, ExecutionClosed, StepTaken, Traced};
pub(crate) use self::triggers::{limit_uses, own_limits, wait_millis};

/// What a lane knows in memory: derived from the store, and changed by decisions.
#[derive(Debug)]
pub struct Known {
    pub(crate) executions: ExecutionCache,
    pub(crate) machines: Machines,
    /// Ready actions, and what they wait for.
    pub(crate) queue: Dispatcher,
    pub(crate) timers: Timers,
    /// What operators set.
    pub(crate) control: Control,
    pub(crate) jobs: OpenJobs,
    pub(crate) alerts: Vec<ArmedAlert>,
    /// What the reads of the present batch found.
    pub(crate) found: Found,
    /// The catalog of operations, once somebody asked for it. Only the owner of the control shard changes it.
    pub(crate) catalog: Option<Arc<StoredCatalog>>,
    /// The end of the audit's chain of each shard that is owned and has one.
    pub(crate) audit_heads: BTreeMap<ShardId, Head>,
    /// Executions whose next step the store refuses: the engine leaves them alone until the process starts again.
    pub(crate) set_aside: BTreeSet<ExecutionId>,
}

/// What a decision follows besides definitions: bounds, and what the runners say about action types.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) limits: Limits,
    pub(crate) retention: Option<Retention>,
    /// Which plans need approval, and whose.
    pub(crate) approval: Policy,
    /// The rate at which actions that a switch held start, unless its release says otherwise.
    pub(crate) drain: Rate,
    /// The hosts that a principal who may only propose may have checked without approval.
    pub(crate) check_hosts: CheckHosts,
    /// Whether decisions note what traces show.
    pub(crate) is_traced: bool,
    pub(crate) types: Arc<dyn ActionTypes>,
    pub(crate) kinds: KindNames,
}

/// The instant of a batch. The lane reads the clock once, so a batch is one instant.
#[derive(Debug)]
pub(crate) struct BatchTime {
    pub(crate) now: Timestamp,
    /// Microseconds that never jump, as of the latest commands of the batch.
    pub(crate) micros: u64,
    /// New ids, in order.
    pub(crate) mint: Mint,
}

/// Everything that a decision may use.
pub struct Decider<'a> {
    pub(crate) known: &'a mut Known,
    pub(crate) batch: &'a mut Batch,
    pub(crate) shards: &'a Shards,
    pub(crate) at: &'a mut BatchTime,
    pub(crate) rules: &'a Rules,
    /// Whether attempts that an earlier process left running are still to be settled.
    pub(crate) is_recovering: bool,
    /// Who asks. The engine itself does where there is none.
    pub(crate) caller: Option<Arc<Caller>>,
    /// Where an execution without a key starts, if its request has an idempotency key.
    pub(crate) slot: Option<Slot>,
}

impl<'a> Decider<'a> {
    /// The instant of the batch.
    pub(crate) fn now(&self) -> Timestamp {
        self.at.now
    }

    /// Lends one execution to `act`. Refuses an execution that does not exist or cannot be read.
    pub(crate) fn change<T>(
        &mut self,
        id: ExecutionId,
        act: impl FnOnce(&mut ExecutionChange<'_, 'a>) -> T,
    ) -> Result<T, Refusal> {
        let Some((mut state, mut machines)) = self.known.executions.take(id) else {
            return Err(self.unknown(id));
        };
        let machine = Arc::clone(&machines.own);
        let mut change = ExecutionChange {
            decider: self,
            state: &mut state,
            machines: &mut machines,
            machine: &machine,
        };
        let result = act(&mut change);
        gate::follow_plans(&mut change);
        self.known.executions.put(state, machines);
        Ok(result)
    }

    /// Why an execution is not in memory although the request declared it.
    pub(crate) fn unknown(&self, id: ExecutionId) -> Refusal {
        match self.known.found.damaged.get(&id) {
            Some(detail) => Refusal::new(Code::RecordDamaged, detail.clone()),
            None => Refusal::no_execution(id),
        }
    }

    /// The open execution that holds a key, as of this batch.
    pub(crate) fn holder(&self, machine: &str, key: &str) -> Option<ExecutionId> {
        let name = (machine.to_owned(), key.to_owned());
        match self.batch.keys.get(&name) {
            Some(known) => *known,
            None => self.known.found.keys.get(&name).copied().flatten(),
        }
    }

    /// The newest version of a machine, as of this batch. Where other nodes write to the store, the batch counts only if
    /// the version is still the newest when the batch is written.
    pub(crate) fn newest(&mut self, machine: &str) -> Option<u32> {
        let read = self.known.found.newest.get(machine).copied().flatten();
        if let Some(version) = self.batch.newest.get(machine).copied().or(read) {
            return Some(version);
        }
        let known = self.known.machines.newest(machine)?;
        if self.shards.is_shared && !self.batch.expected.contains_key(machine) {
            self.batch.expected.insert(machine.to_owned(), known);
        }
        Some(known)
    }

    /// A machine version that the request declared.
    pub(crate) fn machine(&self, machine: &str, version: u32) -> Option<Arc<Machine>> {
        self.known.machines.known(machine, version)
    }

    /// An action as this batch left it, or as it is stored.
    pub(crate) fn find_action(&self, id: ActionId) -> Option<Action> {
        let stored = || self.known.found.actions.get(&id).cloned().flatten();
        self.batch.action(id).cloned().or_else(stored)
    }

    /// A slot of a shard that this lane owns. All executions of a batch that may start anywhere start in one shard,
    /// because each shard that a commit writes to costs a fence.
    pub(crate) fn own_slot(&mut self) -> Slot {
        if let Some(slot) = self.batch.slot.filter(|slot| self.shards.owns(*slot)) {
            return slot;
        }
        let drawn = self.at.mint.slot();
        let slot = self.shards.near(drawn).unwrap_or(drawn);
        self.batch.slot = Some(slot);
        slot
    }

    /// Whether this node can be sure that its lease runs.
    pub(crate) fn is_in_touch(&self) -> bool {
        self.shards.is_in_touch(self.at.micros)
    }

    /// Starts what may start, in the commit of this batch, up to `most` actions. Nothing starts while interrupted
    /// attempts are unsettled, because some of them may have to run alone. Returns chosen actions that must start in a
    /// batch of their own, because `is_suspected` says so.
    pub(crate) fn begin_ready(&mut self, most: usize, is_suspected: impl Fn(&Turn) -> bool) -> Vec<Turn> {
        let mut alone = Vec::new();
        if self.is_recovering {
            return alone;
        }
        let is_in_touch = self.is_in_touch();
        let Known { control, queue, .. } = &mut *self.known;
        queue.resting.hold(!is_in_touch);
        queue.drains.follow(self.shards.share(), &control.switches);
        for _ in 0..most {
            let Some(turn) = self.choose() else { break };
            if is_suspected(&turn) {
                alone.push(turn);
            } else if self.known.executions.contains(turn.0) {
                self.batch.begun.push(turn);
                begin(self, turn.0, turn.1);
            } else {
                self.batch.next.push(crate::requests::Begin::command(turn));
            }
        }
        if is_in_touch {
            let demands = demand::due(&mut self.known.queue, self.at.now);
            self.batch.demands.extend(demands);
        }
        alone
    }

    /// The next action that may start.
    pub(crate) fn choose(&mut self) -> Option<Turn> {
        let Self { known, at, .. } = self;
        let chosen = known.queue.choose(&mut at.mint, &known.control.switches, at.now)?;
        Some((chosen.execution, chosen.action))
    }

    /// Whether a switch keeps a chosen action from starting. It goes back to its queue where the whole queue is held. It
    /// leaves its queue where it is held for what it is, so that others of its queue continue.
    pub(crate) fn is_switched_off(&mut self, action: &Arc<Action>) -> bool {
        let now = self.now();
        let Known { control, queue, .. } = &mut *self.known;
        let switches = &control.switches;
        let until = match switches.holding(action, now) {
            Some(_) => None,
            None => match queue.drains.take(switches, action, now) {
                Ok(()) => return false,
                Err(until) => Some(until),
            },
        };
        queue.give_back(action.id);
        let is_selected = match until {
            None => switches.sets_aside(action, now),
            Some(_) => switches
                .releases(action, now)
                .any(|(switch, _)| switch.scope.is_selective()),
        };
        // An action that must run alone leaves its queue too: it would be chosen again at once.
        if !is_selected && !action.body.crashes.is_suspect() {
            queue.join(action);
            return true;
        }
        if let Some(until) = until {
            control.rejoin_again(until, now);
        }
        self.batch.set_aside(Arc::clone(action));
        true
    }

    /// Writes an open action that a decision changed.
    pub(crate) fn put_action(&mut self, action: impl Into<Arc<Action>>) {
        self.batch.put_action(Write::UPDATE, action);
    }
}

impl Known {
    /// The audit's entries of a batch, each linked to the one before it. The fence of the commit makes this lane the only
    /// writer of the chain; if the batch is not written, the heads are derived from the store again.
    pub(crate) fn link(&mut self, audited: Vec<Audited>, shards: u32, now: Timestamp) -> Vec<Mutation> {
        let linked = audited.into_iter().map(|Audited { slot, decision }| {
            let shard = shard_of(slot, shards);
            let head = self
                .audit_heads
                .entry(shard)
                .or_insert_with(|| Head::beginning(shard.0));
            let entry = head.link(now, decision);
            *head = entry.head();
            Mutation::InsertAudit(entry)
        });
        linked.collect()
    }

    /// What an execution waits for, now that the batch is decided: an action that was queued when an answer was made may
    /// have started since.
    pub(crate) fn waiting(&self, state: &ExecutionState, now: Timestamp) -> Waiting {
        let mut waiting = view::execution_waiting(state);
        view::name_switch(&mut waiting, state.open(), &self.control.switches, now);
        let mut queued = state.actions.values().filter(|action| action.status == Status::Queued);
        let mut waiting = match queued.next() {
            Some(action) if waiting.is_for_permit() => self.queue.explain(action),
            _ => waiting,
        };
        view::renew_waiting(&mut waiting, &self.queue.leases);
        waiting
    }
}
