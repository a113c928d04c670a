//! What callers read: committed state, past the lane.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sprag_core::action::Action;
use sprag_core::clock::Clock;
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::machine::{Machine, RequiredPermissions};
use sprag_core::operation::approval::Policy;
use sprag_store::nodes::Node;
use sprag_store::traits::{ActionQuery, Reader, Readers};
use sprag_store::{Error, ReadKind, records};
use sprag_wire::{MigrationCheck, Replayed};

use super::divergence::Comparison;
use super::migration;
use super::open::{completed, whole};
use super::permits::ReadPermits;
use super::replay::{self, Walk};
use super::view::{self, ActionView, ExecutionView};
use super::workflows::plan_from;
use crate::decide::plans::plan_of;
use crate::decide::state::ExecutionState;
use crate::decide::{compile, convert};
use crate::effects::Board;
use crate::effects::tasks::Runners;
use crate::engine::near::no_machine;
use crate::engine::options::Limits;
use crate::lane::damaged;
use crate::lane::member::Whereabouts;
use crate::leases::table::Leases;
use crate::requests::{Code, Migrate, Refusal};

/// Compiled versions by machine and version.
type Compiled = BTreeMap<(String, u32), Arc<Machine>>;

/// How many compiled versions readers keep.
const MACHINES_MAX: usize = 1_000;

/// What a running engine has committed. Cheap to clone.
#[derive(Clone)]
pub struct ReadHandle {
    pub(crate) readers: Arc<dyn Readers>,
    pub(crate) permits: Arc<ReadPermits>,
    pub(crate) machines: Arc<Mutex<Compiled>>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    /// Which plans need approval, and whose.
    pub(crate) approval: Arc<Policy>,
    /// The switches and the clock, as the lane shows them.
    pub(crate) board: Board,
    /// The attempts that programs hold.
    pub(crate) leases: Leases,
    /// Where everything is, where several nodes share the store.
    pub(crate) whereabouts: Option<Whereabouts>,
}

impl ReadHandle {
    /// One version of a machine, or its newest.
    pub async fn machine(&self, name: String, version: Option<u32>) -> Result<records::MachineVersion, Refusal> {
        let wanted = name.clone();
        let found = self
            .query(ReadKind::Point, move |reader| reader.machine(&wanted, version))
            .await?;
        let found = found.ok_or_else(|| match version {
            Some(version) => Refusal::no_version(&name, version),
            None => no_machine(&name),
        });
        self.suggesting(found).await
    }

    /// What the actions of a machine may reach, for people who review it.
    pub fn permissions(&self, machine: &Machine) -> Vec<RequiredPermissions> {
        machine.permissions(|kind, config| {
            let runner = self.runners.get(kind);
            runner.map_or_else(Vec::new, |runner| runner.permissions(kind, config))
        })
    }

    /// One execution with why it does not move.
    pub async fn execution(&self, id: ExecutionId) -> Result<ExecutionView, Refusal> {
        let handle = self.clone();
        let found = self.query(ReadKind::Point, move |reader| {
            let Some(state) = whole(reader, id)? else {
                return Ok(None);
            };
            let machine = handle.compiled(reader, &state)?;
            Ok(Some(handle.shown(&state, &machine)))
        });
        found.await?.ok_or_else(|| Refusal::no_execution(id))
    }

    /// The open execution that holds a key.
    pub async fn execution_by_key(&self, machine: String, key: String) -> Result<Option<ExecutionId>, Refusal> {
        self.query(ReadKind::Point, move |reader| reader.execution_by_key(&machine, &key))
            .await
    }

    /// What moving an execution to another version would do. Nothing is changed.
    pub async fn check_migration(&self, migrate: Migrate) -> Result<MigrationCheck, Refusal> {
        let Migrate {
            execution,
            version,
            states,
        } = migrate;
        let now = self.clock.now();
        self.of_execution(ReadKind::Scan, execution, move |handle, reader, row| {
            let state = completed(reader, row)?;
            let name = Arc::clone(&state.head.machine);
            let Some(target) = reader.machine(&name, version)? else {
                return Ok(Err(Refusal::no_version(&name, version.unwrap_or_default())));
            };
            let from = handle.compiled(reader, &state)?;
            let to = handle.version(reader, &name, target.version)?;
            let mut check = migration::check(&state, (&from, &to), target.version, &states, now);
            if check.possible {
                let versions = |machine: &str, version| handle.version(reader, machine, version);
                let walk = Walk::begin(reader, &state, &versions)?;
                let compared = Comparison::new(&state, (&from, &to), target.version, &states).over(walk)?;
                (check.replayed, check.divergence) = compared;
            }
            Ok(Ok(check))
        })
        .await?
    }

    /// Steps through an execution's causes again and compares with what is stored.
    pub async fn replay(&self, id: ExecutionId) -> Result<Replayed, Refusal> {
        self.of_execution(ReadKind::Scan, id, |handle, reader, row| {
            let versions = |machine: &str, version| handle.version(reader, machine, version);
            replay::replay(reader, row, &versions)
        })
        .await
    }

    /// One action.
    pub async fn action(&self, id: ActionId) -> Result<ActionView, Refusal> {
        self.of_action(ReadKind::Point, id, |handle, reader, row| {
            handle.action_view(reader, row)
        })
        .await
    }

    /// Actions, newest first.
    pub async fn actions(&self, query: ActionQuery) -> Result<Vec<ActionView>, Refusal> {
        let handle = self.clone();
        self.query(ReadKind::Point, move |reader| {
            let found = reader.actions(&query)?.rows.into_iter();
            found.map(|row| handle.action_view(reader, row)).collect()
        })
        .await
    }

    /// An execution as far as the store and the switches know.
    pub(crate) fn shown(&self, state: &ExecutionState, machine: &Machine) -> ExecutionView {
        let mut view = view::execution(state, machine);
        view::name_switch(
            &mut view.waiting,
            state.open(),
            &self.board.switches(),
            self.clock.now(),
        );
        view::renew_waiting(&mut view.waiting, &self.leases);
        view::name_node(&mut view.waiting, self.keeper(view.id.slot()).as_ref());
        view
    }

    /// The node that has what is of a slot, where several share a database.
    fn keeper(&self, slot: Slot) -> Option<Node> {
        self.whereabouts.as_ref()?.keeper(slot)
    }

    pub(crate) fn action_view(&self, reader: &dyn Reader, row: records::Action) -> Result<ActionView, Error> {
        let action = convert::action_from(row).map_err(|error| damaged(&error))?;
        let status = reader.execution_status(action.origin.execution)?;
        let status = status.unwrap_or(records::ExecutionStatus::Cancelled);
        let mut view = view::action(&action, status);
        if let Some(trigger) = &mut view.trigger {
            trigger.state = trigger_state(self, reader, &action)?;
        }
        if view.waiting.is_for_permit() {
            let plan = plan_of(&action).map(|id| reader.plan(id)).transpose()?.flatten();
            let plan = plan.map(plan_from).transpose()?;
            view::name_approval(&mut view.waiting, plan.as_ref());
        }
        let actions = std::iter::once(&action);
        view::name_switch(&mut view.waiting, actions, &self.board.switches(), self.clock.now());
        view::renew(&mut view, &self.leases);
        view::name_node(&mut view.waiting, self.keeper(view.id.slot()).as_ref());
        Ok(view)
    }

    /// Reads what belongs to an execution.
    pub(crate) async fn of_execution<T: Send + 'static>(
        &self,
        kind: ReadKind,
        id: ExecutionId,
        read: impl FnOnce(&Self, &dyn Reader, records::Execution) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let handle = self.clone();
        let found = self.query(kind, move |reader| {
            let row = reader.execution(id)?;
            row.map(|row| read(&handle, reader, row)).transpose()
        });
        found.await?.ok_or_else(|| Refusal::no_execution(id))
    }

    /// Reads what belongs to an action.
    pub(crate) async fn of_action<T: Send + 'static>(
        &self,
        kind: ReadKind,
        id: ActionId,
        read: impl FnOnce(&Self, &dyn Reader, records::Action) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let handle = self.clone();
        let found = self.query(kind, move |reader| {
            let row = reader.action(id)?;
            row.map(|row| read(&handle, reader, row)).transpose()
        });
        found.await?.ok_or_else(|| Refusal::no_action(id))
    }

    /// Reads committed state off the async threads.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        kind: ReadKind,
        read: impl FnOnce(&dyn Reader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let readers = Arc::clone(&self.readers);
        let permit = self.permits.get(kind).await;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let reader = readers.reader(kind)?;
            read(reader.as_ref())
        });
        match task.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error @ Error::Away { .. })) => Err(Refusal::new(Code::StoreAway, error.to_string())),
            Ok(Err(error @ Error::Unreadable { .. })) => Err(Refusal::new(Code::RecordDamaged, error.to_string())),
            Ok(Err(error)) => Err(Refusal::new(Code::StoreFailed, error.to_string())),
            Err(_) => Err(Refusal::new(Code::StoreFailed, "a read did not come back")),
        }
    }

    pub(crate) fn compiled(&self, reader: &dyn Reader, state: &ExecutionState) -> Result<Arc<Machine>, Error> {
        self.version(reader, &state.head.machine, state.head.version)
    }

    pub(crate) fn version(&self, reader: &dyn Reader, machine: &str, version: u32) -> Result<Arc<Machine>, Error> {
        let key = (machine.to_owned(), version);
        if let Some(known) = self.machines.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(known));
        }
        let row = reader.machine(machine, Some(version))?;
        let row = row.ok_or_else(|| Error::Corrupt {
            detail: format!("machine `{machine}` version {version} is gone"),
        })?;
        let compiled = Arc::new(compile(&row.definition).map_err(|detail| Error::Corrupt { detail })?);
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if machines.len() >= MACHINES_MAX {
            machines.pop_first();
        }
        machines.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

/// The state that triggered an action, in the version that defines it.
fn trigger_state(handle: &ReadHandle, reader: &dyn Reader, action: &Action) -> Result<Option<String>, Error> {
    let machine = handle.version(reader, &action.origin.machine, action.origin.version)?;
    let Some((position, _)) = machine.action(&action.action_id) else {
        return Ok(None);
    };
    let state = machine.states.iter().find(|state| state.triggers.contains(&position));
    Ok(state.map(|state| state.path.clone()))
}
