//! What callers use: everything that can be asked of a running engine.
//!
//! Writes go through the lane and are durable when answered. Reads go past it, to committed state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sprag_core::action::{ConfigProblem, SecretRules, Status};
use sprag_core::clock::Clock;
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::machine::{
    ConfigCheck, DefinitionLimits, LoadOptions, Loaded, Machine, RequiredPermissions, UnknownType, load_text,
};
use sprag_core::source::{Format, nearest};
use sprag_store::nodes::Node;
use sprag_store::traits::{ActionQuery, Reader, Readers};
use sprag_store::{Error, Page, PageLimit, ReadKind, records};
use tokio::sync::{Semaphore, broadcast};

use crate::aggregate::Aggregate;
use crate::closings::{Closing, Closings};
use crate::command::{Answer, Applied, Code, Migrate, Refusal, Reply, Request, RetryDead, SendMessage, Sent, Start};
use crate::control::{Board, Matches};
use crate::convert;
use crate::divergence::Comparison;
use crate::grants::Masks;
use crate::homes::{Allowed, Statement};
use crate::idempotency::Key;
use crate::inbox::Inbox;
use crate::lane::{Change, compile, damaged};
use crate::leases::Leases;
use crate::member::Whereabouts;
use crate::metrics::Metrics;
use crate::migration::{self, MigrationCheck};
use crate::near::no_machine;
use crate::once::Once;
use crate::options::Limits;
use crate::queue::Depths;
use crate::reads::ReadPermits;
use crate::replay::{self, Replayed, Walk};
use crate::tasks::{Runners, SecretSource};
use crate::view::{ActionView, ExecutionView};

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
        }
    }

    /// Where everything is, where several nodes share the store.
    pub fn whereabouts(&self) -> Option<&Whereabouts> {
        self.whereabouts.as_ref()
    }

    /// What another node says that it has and wants under a limit whose home is here.
    pub async fn state(&self, statement: Statement) -> Result<Allowed, Refusal> {
        match self.inbox.ask(Request::State(statement)).await? {
            Answer::Allowed(allowed) => Ok(allowed),
            other => Err(unexpected(&other)),
        }
    }

    /// Where secrets come from.
    pub(crate) fn secrets(&self) -> &dyn SecretSource {
        self.secrets.as_ref()
    }

    /// The newest version of a machine, compiled.
    pub(crate) async fn newest(&self, name: String) -> Result<Arc<Machine>, Refusal> {
        let version = self.machine(name.clone(), None).await?.version;
        let handle = self.clone();
        self.read(ReadKind::Point, move |reader| handle.version(reader, &name, version))
            .await
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

    /// The same for a version that is stored.
    pub async fn permissions_of(&self, name: String, version: u32) -> Result<Vec<RequiredPermissions>, Refusal> {
        let handle = self.clone();
        let read = self.read(ReadKind::Point, move |reader| handle.version(reader, &name, version));
        let machine = read.await?;
        Ok(self.permissions(&machine))
    }

    /// The same engine for one request that acts once, however often it is sent under `key`.
    pub fn once(&self, key: Option<Key>) -> Once {
        Once {
            handle: self.clone(),
            key,
        }
    }

    /// Keeps a machine version.
    pub async fn apply(&self, machine: Machine) -> Result<Applied, Refusal> {
        self.once(None).apply(machine, Matches::Any).await.answer
    }

    /// Starts an execution.
    pub async fn start(&self, start: Start) -> Result<ExecutionView, Refusal> {
        execution(self.inbox.ask(Request::Start(start)).await)
    }

    /// Sends a message.
    pub async fn send(&self, message: SendMessage) -> Result<Sent, Refusal> {
        match self.inbox.ask(Request::Send(message)).await? {
            Answer::Sent(sent) => Ok(sent),
            other => Err(unexpected(&other)),
        }
    }

    /// Holds an execution.
    pub async fn pause(&self, id: ExecutionId) -> Result<ExecutionView, Refusal> {
        execution(self.inbox.ask(Request::Pause(id)).await)
    }

    /// Lets an execution go on.
    pub async fn resume(&self, id: ExecutionId) -> Result<ExecutionView, Refusal> {
        execution(self.inbox.ask(Request::Resume(id)).await)
    }

    /// Ends an execution.
    pub async fn cancel(&self, id: ExecutionId) -> Result<ExecutionView, Refusal> {
        execution(self.inbox.ask(Request::Cancel(id)).await)
    }

    /// Moves an execution to another version.
    pub async fn migrate(&self, migrate: Migrate) -> Result<ExecutionView, Refusal> {
        execution(self.inbox.ask(Request::Migrate(migrate)).await)
    }

    /// Lets a scheduled or retrying action be due now.
    pub async fn retry_now(&self, id: ActionId) -> Result<ActionView, Refusal> {
        action(self.inbox.ask(Request::RetryNow(id)).await)
    }

    /// Ends an action.
    pub async fn cancel_action(&self, id: ActionId) -> Result<ActionView, Refusal> {
        action(self.inbox.ask(Request::CancelAction(id)).await)
    }

    /// Tries a dead letter again.
    pub async fn retry_dead(&self, retry: RetryDead) -> Result<ActionView, Refusal> {
        action(self.inbox.ask(Request::RetryDead(retry)).await)
    }

    /// Puts a dead letter away.
    pub async fn archive(&self, id: ActionId) -> Result<ActionView, Refusal> {
        action(self.inbox.ask(Request::Archive(id)).await)
    }

    /// An action with why it does not move, as its owner knows it.
    pub async fn explain_action(&self, id: ActionId) -> Result<ActionView, Refusal> {
        action(self.inbox.ask(Request::Explain(id)).await)
    }

    /// Changes as they become durable. A listener that lags is told so and looks for itself.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// An execution once it is closed, or as it is when the time is up.
    pub async fn wait_closed(&self, id: ExecutionId, most: Duration) -> Result<ExecutionView, Refusal> {
        let closing = self.closings.wait(id);
        let view = self.execution(id).await?;
        if view.is_closed() {
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
                format!("machine `{name}` has no version {version}"),
            ),
            None => no_machine(&name),
        });
        self.suggesting(found, &name).await
    }

    /// One execution with why it does not move.
    pub async fn execution(&self, id: ExecutionId) -> Result<ExecutionView, Refusal> {
        let handle = self.clone();
        let found = self
            .read(ReadKind::Point, move |reader| {
                let Some(row) = reader.execution(id)? else {
                    return Ok(None);
                };
                let aggregate = whole(reader, row)?;
                let machine = handle.compiled(reader, &aggregate)?;
                Ok(Some(handle.shown(&aggregate, &machine)))
            })
            .await?;
        found.ok_or_else(|| Refusal::new(Code::ExecutionUnknown, format!("there is no execution `{id}`")))
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
            let Some(row) = reader.execution(id)? else {
                return Ok(Err(Refusal::new(
                    Code::ExecutionUnknown,
                    format!("there is no execution `{id}`"),
                )));
            };
            let aggregate = whole(reader, row)?;
            let name = Arc::clone(&aggregate.head.machine);
            let Some(target) = reader.machine(&name, version)? else {
                let detail = format!("machine `{name}` has no version {}", version.unwrap_or_default());
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
        found.ok_or_else(|| Refusal::new(Code::ExecutionUnknown, format!("there is no execution `{id}`")))
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
        found.ok_or_else(|| Refusal::new(Code::ActionUnknown, format!("there is no action `{id}`")))
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
    pub(crate) fn shown(&self, aggregate: &Aggregate, machine: &Machine) -> ExecutionView {
        let mut view = ExecutionView::of(aggregate, machine);
        let waiting = view.waiting.clone();
        view.waiting = waiting.under(aggregate.open(), &self.board.switches(), self.now());
        view.waiting.renew(&self.leases);
        view.waiting.kept_by(self.keeper(view.id.slot()).as_ref());
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
        let mut view = ActionView::of(&action, status);
        let waiting = view.waiting.clone();
        view.waiting = waiting.under(std::iter::once(&action), &self.board.switches(), self.now());
        view.renew(&self.leases);
        view.waiting.kept_by(self.keeper(view.id.slot()).as_ref());
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
            Err(_) => Err(Refusal::new(Code::StoreFailed, "a read did not come back")),
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

    pub(crate) fn compiled(&self, reader: &dyn Reader, aggregate: &Aggregate) -> Result<Arc<Machine>, Error> {
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

/// An execution with its open actions and timers, for its view.
pub(crate) fn whole(reader: &dyn Reader, row: records::Execution) -> Result<Aggregate, Error> {
    let mut aggregate = convert::aggregate_of(row).map_err(|error| damaged(&error))?;
    if !aggregate.head.status.is_open() {
        return Ok(aggregate);
    }
    let id = aggregate.head.id;
    for timer in reader.timers(id)? {
        aggregate.timers.insert((timer.key.visit, timer.key.index), timer);
    }
    for row in open_actions(reader, id)? {
        let action = convert::action_from(row).map_err(|error| damaged(&error))?;
        aggregate.actions.insert(action.id, Arc::new(action));
    }
    Ok(aggregate)
}

/// Open actions of an execution that are looked at, per status.
const OPEN_SHOWN: usize = 100;
/// The same in bytes.
const OPEN_BYTES: usize = 512 * 1024;

/// The open actions of an execution, up to a bound.
pub(crate) fn open_actions(reader: &dyn Reader, id: ExecutionId) -> Result<Vec<records::Action>, Error> {
    let mut rows = Vec::new();
    for status in Status::ALL.into_iter().filter(|status| status.is_open()) {
        let limit = PageLimit {
            rows: OPEN_SHOWN,
            bytes: OPEN_BYTES,
        };
        let open = reader.actions(&ActionQuery {
            execution: Some(id),
            status: Some(status.number()),
            page: Page::first(limit),
            ..ActionQuery::default()
        })?;
        rows.extend(open.rows);
    }
    Ok(rows)
}

pub(crate) fn execution(reply: Reply) -> Result<ExecutionView, Refusal> {
    match reply? {
        Answer::Execution(view) => Ok(*view),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn action(reply: Reply) -> Result<ActionView, Refusal> {
    match reply? {
        Answer::Action(view) => Ok(*view),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn unexpected(answer: &Answer) -> Refusal {
    Refusal::new(
        Code::StoreFailed,
        format!("the lane answered something else: {answer:?}"),
    )
}
