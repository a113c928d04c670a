//! What callers use: everything that can be asked of a running engine.
//!
//! Writes go through the lane and are durable when answered. Reads go past it, to committed state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sprag_core::access::Caller;
use sprag_core::action::{ConfigProblem, SecretRules};
use sprag_core::clock::Clock;
use sprag_core::document::source::{Format, nearest};
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::integrity::audit::VerbSet;
use sprag_core::machine::{
    ConfigCheck, DefinitionLimits, LoadOptions, Loaded, Machine, RequiredPermissions, UnknownType, load_text,
};
use sprag_store::nodes::Node;
use sprag_store::traits::{ActionQuery, Reader, Readers};
use sprag_store::{Error, ReadKind, records};
use sprag_wire::{MigrationCheck, Replayed};
use tokio::sync::{Semaphore, broadcast, oneshot};

use super::asker::Asker;
use super::inbox::Inbox;
use super::near::no_machine;
use super::options::Limits;
use super::read_permits::ReadPermits;
use crate::decide::state::ExecutionState;
use crate::decide::{Change, compile, convert};
use crate::effects::Board;
use crate::effects::closings::{Closing, Closings};
use crate::effects::grants::Masks;
use crate::effects::metrics::Metrics;
use crate::effects::tasks::{Runners, SecretSource};
use crate::lane::damaged;
use crate::lane::member::Whereabouts;
use crate::leases::table::Leases;
use crate::read::divergence::Comparison;
use crate::read::migration;
use crate::read::open::whole;
use crate::read::queue::Depths;
use crate::read::replay::{self, Walk};
use crate::read::view::{self, ActionView, ExecutionView};
use crate::requests::audit::check_reason;
use crate::requests::idempotency::Idempotency;
use crate::requests::{
    Applied, Apply, Call, Closed, Code, Migrate, Refusal, Replied, Request, SendMessage, Sent, Start,
};

/// A way to a running engine. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inbox: Inbox,
    pub(crate) readers: Arc<dyn Readers>,
    reads: Arc<ReadPermits>,
    changes: broadcast::Sender<Change>,
    runners: Arc<Runners>,
    machines: Arc<Mutex<Compiled>>,
    clock: Arc<dyn Clock>,
    secrets: Arc<dyn SecretSource>,
    limits: Limits,
    pub(crate) board: Board,
    closings: Closings,
    /// One backup at a time.
    pub(crate) backups: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    leases: Leases,
    pub(crate) masks: Masks,
    /// How much is queued, as it was last counted.
    pub(crate) depths: Depths,
    whereabouts: Option<Whereabouts>,
    /// Who asks where nobody says who.
    pub(crate) local: Asker,
    pub(crate) reasons: Arc<VerbSet>,
}

/// What a handle is made of.
pub(crate) struct HandleParts {
    pub(crate) inbox: Inbox,
    pub(crate) readers: Arc<dyn Readers>,
    pub(crate) changes: broadcast::Sender<Change>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) secrets: Arc<dyn SecretSource>,
    pub(crate) limits: Limits,
    /// The switches that the lane shows.
    pub(crate) board: Board,
    /// Where the lane looks for those who wait.
    pub(crate) closings: Closings,
    pub(crate) metrics: Arc<Metrics>,
    /// The attempts that programs hold.
    pub(crate) leases: Leases,
    /// What masks their secrets.
    pub(crate) masks: Masks,
    /// Where everything is, where several nodes share the store.
    pub(crate) whereabouts: Option<Whereabouts>,
    /// The verbs of the audit that must have a reason.
    pub(crate) reasons: VerbSet,
}

/// Compiled versions by machine and version.
type Compiled = BTreeMap<(String, u32), Arc<Machine>>;

/// How many compiled versions readers keep.
const MACHINES_MAX: usize = 1_000;

impl Handle {
    pub(crate) fn new(parts: HandleParts) -> Self {
        let HandleParts {
            inbox,
            readers,
            changes,
            runners,
            clock,
            secrets,
            limits,
            board,
            closings,
            metrics,
            leases,
            masks,
            whereabouts,
            reasons,
        } = parts;
        Self {
            inbox,
            readers,
            reads: Arc::default(),
            changes,
            runners,
            machines: Arc::default(),
            clock,
            secrets,
            limits,
            board,
            closings,
            backups: Arc::new(Semaphore::new(1)),
            metrics,
            leases,
            masks,
            depths: Depths::default(),
            whereabouts,
            local: Asker::default(),
            reasons: Arc::new(reasons),
        }
    }

    /// Where everything is, where several nodes share the store.
    pub fn whereabouts(&self) -> Option<&Whereabouts> {
        self.whereabouts.as_ref()
    }

    /// Where secrets come from.
    pub(crate) fn secrets(&self) -> &dyn SecretSource {
        self.secrets.as_ref()
    }

    /// What the engine counts.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Microseconds since some instant: only to measure how long something took.
    pub fn micros(&self) -> u64 {
        self.clock.micros()
    }

    /// How many requests wait for the lane's answer.
    pub fn requests_waiting(&self) -> usize {
        self.inbox.waiting()
    }

    /// The bounds in force.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Engine time.
    pub fn now(&self) -> sprag_core::time::Timestamp {
        self.clock.now()
    }

    /// What the wall clock says, or the database where nodes share one. Unlike engine time, it may run backwards.
    pub fn wall(&self) -> sprag_core::time::Timestamp {
        self.clock.wall()
    }

    /// Lints a definition against the runners of this engine.
    pub fn lint(&self, text: &str, format: Format) -> Loaded {
        let options = LoadOptions {
            limits: DefinitionLimits::default(),
            runners: self,
        };
        load_text(text, format, &options)
    }

    /// What the actions of a machine may reach, for people who review it.
    pub fn permissions(&self, machine: &Machine) -> Vec<RequiredPermissions> {
        machine.permissions(|kind, config| {
            let runner = self.runners.get(kind);
            runner.map_or_else(Vec::new, |runner| runner.permissions(kind, config))
        })
    }

    /// Asks for something. The answer is durable.
    pub async fn ask<R: Request>(&self, request: R) -> Result<R::Answer, Refusal> {
        self.ask_as(request, &self.local, None).await.answer
    }

    /// Asks for something in the name of `asker`. It acts once, however often it is sent under the asker's key.
    pub async fn ask_once<R: Request>(&self, request: R, asker: &Asker) -> Replied<R::Answer> {
        self.ask_as(request, asker, None).await
    }

    /// The same, with the execution of the answer once it is closed. For an answer that was given before nothing arrives.
    pub async fn ask_closing<R: Request>(&self, request: R, asker: &Asker) -> (Replied<R::Answer>, Closing) {
        let (closed, closing) = oneshot::channel();
        (self.ask_as(request, asker, Some(closed)).await, closing)
    }

    /// Asks for something, if it has the reason that the audit asks for.
    async fn ask_as<R: Request>(&self, request: R, asker: &Asker, closed: Option<Closed>) -> Replied<R::Answer> {
        if let Err(refusal) = check_reason(&request, &asker.caller, &self.reasons) {
            return Replied::now(Err(refusal));
        }
        let once = asker.key.as_ref().and_then(|key| Idempotency::of(key, &request));
        self.ask_by(request, &asker.caller, once, closed).await
    }

    /// Asks for something that counts once for `once`.
    pub(crate) async fn ask_by<R: Request>(
        &self,
        request: R,
        caller: &Arc<Caller>,
        once: Option<Idempotency>,
        closed: Option<Closed>,
    ) -> Replied<R::Answer> {
        let (call, answer) = Call::asked(request);
        let call = call.by(Arc::clone(caller)).once(once).closing(closed);
        let Replied { answer, replayed } = self.inbox.ask(call, answer).await;
        Replied {
            answer: self.suggesting(answer).await,
            replayed,
        }
    }

    /// Keeps a machine version.
    pub async fn apply(&self, machine: Machine) -> Result<Applied, Refusal> {
        self.ask(Apply::from(Arc::new(machine))).await
    }

    /// Starts an execution.
    pub async fn start(&self, start: Start) -> Result<ExecutionView, Refusal> {
        self.ask(start).await.map(|view| *view)
    }

    /// Sends a message.
    pub async fn send(&self, message: SendMessage) -> Result<Sent, Refusal> {
        self.ask(message).await
    }

    /// Changes as they become durable. A listener that lags is told so and looks for itself.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// An execution once it is closed, or as it is when the time is up.
    pub async fn wait_closed(&self, id: ExecutionId, most: Duration) -> Result<ExecutionView, Refusal> {
        let closing = self.closings.wait(id);
        let view = self.execution(id).await?;
        if !view.is_open() {
            return Ok(view);
        }
        self.wait_closing(id, closing, most).await
    }

    /// What arrives when an execution closes, or the execution as it is when the time is up.
    pub async fn wait_closing(
        &self,
        id: ExecutionId,
        closing: Closing,
        most: Duration,
    ) -> Result<ExecutionView, Refusal> {
        match tokio::time::timeout(most, closing).await {
            Ok(Ok(view)) => Ok(view),
            Ok(Err(_)) | Err(_) => self.execution(id).await,
        }
    }

    /// One version of a machine, or its newest.
    pub async fn machine(&self, name: String, version: Option<u32>) -> Result<records::MachineVersion, Refusal> {
        let wanted = name.clone();
        let found = self
            .read(ReadKind::Point, move |reader| reader.machine(&wanted, version))
            .await?;
        let found = found.ok_or_else(|| match version {
            Some(version) => Refusal::new(
                Code::VersionUnknown,
                format!("machine `{name}` has no version {version}; use another version, or omit it for the newest"),
            ),
            None => no_machine(&name),
        });
        self.suggesting(found).await
    }

    /// One execution with why it does not move.
    pub async fn execution(&self, id: ExecutionId) -> Result<ExecutionView, Refusal> {
        let handle = self.clone();
        let found = self
            .read(ReadKind::Point, move |reader| {
                let Some(aggregate) = whole(reader, id)? else {
                    return Ok(None);
                };
                let machine = handle.compiled(reader, &aggregate)?;
                Ok(Some(handle.shown(&aggregate, &machine)))
            })
            .await?;
        found.ok_or_else(|| Refusal::no_execution(id))
    }

    /// The open execution that holds a key.
    pub async fn execution_by_key(&self, machine: String, key: String) -> Result<Option<ExecutionId>, Refusal> {
        self.read(ReadKind::Point, move |reader| reader.execution_by_key(&machine, &key))
            .await
    }

    /// What moving an execution to another version would do. Nothing is changed.
    pub async fn check_migration(&self, migrate: Migrate) -> Result<MigrationCheck, Refusal> {
        let Migrate {
            execution: id,
            version,
            states,
        } = migrate;
        let now = self.now();
        let handle = self.clone();
        self.read(ReadKind::Scan, move |reader| {
            let Some(aggregate) = whole(reader, id)? else {
                return Ok(Err(Refusal::no_execution(id)));
            };
            let name = Arc::clone(&aggregate.head.machine);
            let Some(target) = reader.machine(&name, version)? else {
                let detail = format!(
                    "machine `{name}` has no version {}; use another version, or omit it for the newest",
                    version.unwrap_or_default()
                );
                return Ok(Err(Refusal::new(Code::VersionUnknown, detail)));
            };
            let from = handle.compiled(reader, &aggregate)?;
            let to = handle.version(reader, &name, target.version)?;
            let mut check = migration::check(&aggregate, (&from, &to), target.version, &states, now);
            if check.possible {
                let versions = |machine: &str, version| handle.version(reader, machine, version);
                let walk = Walk::begin(reader, &aggregate, &versions)?;
                let compared = Comparison::new(&aggregate, (&from, &to), target.version, &states).over(walk)?;
                (check.replayed, check.divergence) = compared;
            }
            Ok(Ok(check))
        })
        .await?
    }

    /// Steps through an execution's causes again and compares with what is stored.
    pub async fn replay(&self, id: ExecutionId) -> Result<Replayed, Refusal> {
        let handle = self.clone();
        let found = self
            .read(ReadKind::Scan, move |reader| {
                let Some(row) = reader.execution(id)? else {
                    return Ok(None);
                };
                replay::replay(reader, row, &|machine, version| {
                    handle.version(reader, machine, version)
                })
                .map(Some)
            })
            .await?;
        found.ok_or_else(|| Refusal::no_execution(id))
    }

    /// One action.
    pub async fn action(&self, id: ActionId) -> Result<ActionView, Refusal> {
        let handle = self.clone();
        let found = self
            .read(ReadKind::Point, move |reader| {
                let Some(row) = reader.action(id)? else { return Ok(None) };
                handle.action_view(reader, row).map(Some)
            })
            .await?;
        found.ok_or_else(|| Refusal::no_action(id))
    }

    /// Actions, newest first.
    pub async fn actions(&self, query: ActionQuery) -> Result<Vec<ActionView>, Refusal> {
        let handle = self.clone();
        self.read(ReadKind::Point, move |reader| {
            reader
                .actions(&query)?
                .rows
                .into_iter()
                .map(|row| handle.action_view(reader, row))
                .collect()
        })
        .await
    }

    /// An execution as far as the store and the switches know.
    pub(crate) fn shown(&self, aggregate: &ExecutionState, machine: &Machine) -> ExecutionView {
        let mut view = view::execution(aggregate, machine);
        view::name_switch(&mut view.waiting, aggregate.open(), &self.board.switches(), self.now());
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
        let actions = std::iter::once(&action);
        view::name_switch(&mut view.waiting, actions, &self.board.switches(), self.now());
        view::renew(&mut view, &self.leases);
        view::name_node(&mut view.waiting, self.keeper(view.id.slot()).as_ref());
        Ok(view)
    }

    /// Reads committed state off the async threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        kind: ReadKind,
        read: impl FnOnce(&dyn Reader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let readers = Arc::clone(&self.readers);
        let permit = self.reads.get(kind).await;
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
            Err(_) => Err(Refusal::new(
                Code::StoreFailed,
                "the store did not answer a read; check the server's log for the cause",
            )),
        }
    }

    /// Whether a runner of this server performs actions of a type.
    pub(crate) fn has_runner(&self, kind: &str) -> bool {
        self.runners.contains_key(kind)
    }

    /// The types of actions that runners of this server perform.
    pub(crate) fn runner_types(&self) -> impl Iterator<Item = &str> {
        self.runners.keys().map(String::as_str)
    }

    pub(crate) fn compiled(&self, reader: &dyn Reader, aggregate: &ExecutionState) -> Result<Arc<Machine>, Error> {
        self.version(reader, &aggregate.head.machine, aggregate.head.version)
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

impl SecretRules for Handle {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        let runner = self.runners.get(kind);
        runner.is_none_or(|runner| runner.takes_secret(kind, pointer))
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.secrets().allows(machine, name)
    }
}

impl ConfigCheck for Handle {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        match self.runners.get(kind) {
            Some(runner) => Ok(runner.validate(kind, config)),
            None => Err(UnknownType {
                nearest: nearest(kind, self.runners.keys().map(String::as_str)).map(str::to_owned),
            }),
        }
    }

    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let runner = self.runners.get(kind);
        runner.map_or_else(Vec::new, |runner| runner.warnings(kind, config))
    }
}
