//! What requests read before they are decided: each declares it, the lane loads what is missing, and decisions find it
//! in memory.
//!
//! A request's `reads` runs again after each round of loading, so that what was found can lead to more: a key to its
//! execution, a dead letter to its machine version. It notes nothing that is known already, so most batches read
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::action::Action;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, WorkflowId};
use sprag_store::Wanted;
use sprag_store::records::{Idempotency, Scope};
use sprag_store::traits::OpenPlan;

use super::Known;
use super::plans::PlanState;
use super::state::ExecutionState;

/// What the reads of a batch found. `None` means that the store was asked and has nothing.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) keys: BTreeMap<(String, String), Option<ExecutionId>>,
    pub(crate) actions: BTreeMap<ActionId, Option<Action>>,
    /// The stored answers to messages.
    pub(crate) receipts: BTreeMap<(ExecutionId, String), Option<Vec<u8>>>,
    pub(crate) newest: BTreeMap<String, Option<u32>>,
    /// The stored answers to idempotency keys.
    pub(crate) answers: BTreeMap<Scope, Option<Idempotency>>,
    /// The highest version of a machine with this digest.
    pub(crate) digests: BTreeMap<(String, [u8; 32]), Option<u32>>,
    pub(crate) no_version: BTreeSet<(String, u32)>,
    pub(crate) no_execution: BTreeSet<ExecutionId>,
    /// Executions that cannot be read, with why.
    pub(crate) damaged: BTreeMap<ExecutionId, String>,
    /// Actions that cannot be read, with why.
    pub(crate) damaged_actions: BTreeMap<ActionId, String>,
    /// Whether what operators set was read for this batch.
    pub(crate) is_control_fresh: bool,
    /// Plans that no execution in memory runs.
    pub(crate) plans: BTreeMap<WorkflowId, Option<PlanState>>,
    /// Plans that cannot be read, with why.
    pub(crate) damaged_plans: BTreeMap<WorkflowId, String>,
    /// The open plans of principals, newest first.
    pub(crate) proposals: BTreeMap<String, Vec<OpenPlan>>,
}

/// Collects what requests need and memory does not hold.
pub struct Reads<'a> {
    known: &'a Known,
    missing: Wanted,
    needs_control: bool,
    needs_catalog: bool,
}

/// What must be loaded before a batch can be decided.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    pub(crate) wanted: Wanted,
    /// What operators set must be read again, because another node decides on it.
    pub(crate) control: bool,
    /// The catalog must be read.
    pub(crate) catalog: bool,
}

impl Missing {
    pub(crate) fn is_empty(&self) -> bool {
        !self.control && !self.catalog && self.wanted == Wanted::default()
    }
}

impl<'a> Reads<'a> {
    pub(crate) fn new(known: &'a Known) -> Self {
        Self {
            known,
            missing: Wanted::default(),
            needs_control: false,
            needs_catalog: false,
        }
    }

    /// What is missing, each once.
    pub(crate) fn missing(self) -> Missing {
        let mut wanted = self.missing;
        sort(&mut wanted.executions);
        sort(&mut wanted.keys);
        sort(&mut wanted.actions);
        sort(&mut wanted.receipts);
        sort(&mut wanted.newest);
        sort(&mut wanted.idempotency);
        sort(&mut wanted.versions);
        sort(&mut wanted.version_by_digest);
        sort(&mut wanted.plans);
        sort(&mut wanted.proposers);
        Missing {
            wanted,
            control: self.needs_control,
            catalog: self.needs_catalog,
        }
    }

    /// An execution with its machine versions.
    pub(crate) fn execution(&mut self, id: ExecutionId) -> Option<&'a ExecutionState> {
        let known = self.known.executions.get(id);
        let found = &self.known.found;
        if known.is_none() && !found.no_execution.contains(&id) && !found.damaged.contains_key(&id) {
            self.missing.executions.push(id);
        }
        known
    }

    /// An action with its execution and the machine version that it follows.
    pub(crate) fn action(&mut self, id: ActionId) -> Option<&'a Action> {
        let Some(found) = self.known.found.actions.get(&id) else {
            self.missing.actions.push(id);
            return None;
        };
        let action = found.as_ref()?;
        if action.body.approval {
            self.plan_row(id.into());
        }
        self.execution(action.origin.execution);
        self.version(&action.origin.machine, action.origin.version);
        Some(action)
    }

    /// The execution that holds a key.
    pub(crate) fn key(&mut self, machine: &str, key: &str) -> Option<ExecutionId> {
        let name = (machine.to_owned(), key.to_owned());
        let found = self.known.found.keys.get(&name);
        if found.is_none() {
            self.missing.keys.push(name);
        }
        found.copied().flatten()
    }

    /// The answer to a message that an execution got before.
    pub(crate) fn receipt(&mut self, execution: ExecutionId, message: &str) {
        let name = (execution, message.to_owned());
        if !self.known.found.receipts.contains_key(&name) {
            self.missing.receipts.push(name);
        }
    }

    /// The newest version of a machine. Memory knows it, or another node may have stored a newer one: then the commit
    /// fails and the batch is decided again.
    pub(crate) fn newest(&mut self, machine: &str) -> Option<u32> {
        if let Some(known) = self.known.machines.newest(machine) {
            return Some(known);
        }
        let found = self.known.found.newest.get(machine);
        if found.is_none() {
            self.missing.newest.push(machine.to_owned());
        }
        found.copied().flatten()
    }

    /// A machine version.
    pub(crate) fn version(&mut self, machine: &str, version: u32) {
        if self.known.machines.has(machine, version) {
            return;
        }
        let name = (machine.to_owned(), version);
        if !self.known.found.no_version.contains(&name) {
            self.missing.versions.push(name);
        }
    }

    /// The highest version of a machine that has this digest.
    pub(crate) fn version_by_digest(&mut self, machine: &str, digest: [u8; 32]) {
        let name = (machine.to_owned(), digest);
        if !self.known.found.digests.contains_key(&name) {
            self.missing.version_by_digest.push(name);
        }
    }

    /// The answer that an idempotency key has.
    pub(crate) fn answer(&mut self, scope: Scope) {
        if !self.known.found.answers.contains_key(&scope) {
            self.missing.idempotency.push(scope);
        }
    }

    /// The execution of an attempt that an external runner holds.
    pub(crate) fn leased(&mut self, attempt: AttemptId) {
        if let Some(lease) = self.known.queue.leases.get(attempt) {
            self.execution(lease.at.execution);
        }
    }

    /// A plan. One that runs comes with its execution, and one that is about an action with that.
    pub(crate) fn plan(&mut self, id: WorkflowId) -> Option<&'a PlanState> {
        let plan = self.plan_row(id)?;
        if plan.is_of_action() {
            self.action(id.action());
        } else if plan.has_started() {
            self.execution(id.execution());
        }
        Some(plan)
    }

    /// A plan without what it is about.
    fn plan_row(&mut self, id: WorkflowId) -> Option<&'a PlanState> {
        let found = &self.known.found;
        if !found.plans.contains_key(&id) && !found.damaged_plans.contains_key(&id) {
            self.missing.plans.push(id);
            return None;
        }
        found.plans.get(&id)?.as_ref()
    }

    /// The open plans of a principal.
    pub(crate) fn proposals(&mut self, proposer: &str) {
        if !self.known.found.proposals.contains_key(proposer) {
            self.missing.proposers.push(proposer.to_owned());
        }
    }

    /// The catalog, as it is stored.
    pub(crate) fn catalog(&mut self) {
        self.needs_catalog |= self.known.catalog.is_none();
    }

    /// What operators set, as it is stored: another node may have set it.
    pub(crate) fn control(&mut self) {
        self.needs_control |= !self.known.found.is_control_fresh;
    }
}

fn sort<T: Ord>(wanted: &mut Vec<T>) {
    wanted.sort_unstable();
    wanted.dedup();
}
