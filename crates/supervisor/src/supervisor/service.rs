//! The loop around the tree, and the handle to it.
//!
//! The loop runs until every worker has left, even after a request to stop. It answers commands between two ticks, so a
//! caller sees one instant, never half of a change.

use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::Clock;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use crate::report::explain::Explain;
use crate::report::metrics::{Gauges, Metrics};
use crate::report::trouble::Trouble;
use crate::rule::Rule;
use crate::runtime::collector::{Collector, ThresholdsError};
use crate::runtime::executor::Executor;
use crate::runtime::pool::{Pool, Threads, ThreadsOptions};
use crate::store::Store;
use crate::supervisor::options::Options;
use crate::tree::{Config, Counts, Effects, Keeper, OperateError, ShutdownOutcome, Status, Tree};
use crate::worker::child::{ChildSpec, Variables};
use crate::worker::registry::Registry;
use crate::worker::snapshot::Escalation;
use sprag_core::words;

/// Commands that wait. A caller waits when there are more.
const COMMANDS_MAX: usize = 256;
/// Commands taken between two ticks.
const COMMANDS_PER_TICK_MAX: usize = 64;
/// The pause before the next tick while workers are marked, in milliseconds.
const SOON_MILLIS: u64 = 10;

/// What a tree is declared to be.
#[derive(Clone, Debug, Default)]
pub struct Declaration {
    /// Who stands at the root.
    pub children: Vec<ChildSpec>,
    /// Rules across them.
    pub rules: Vec<Rule>,
    /// Variables for everybody.
    pub variables: Variables,
}

/// What a supervisor is made of.
pub struct Setup {
    pub(crate) registry: Registry,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
    pub(crate) keeper: Keeper,
    pub(crate) metrics: Arc<Metrics>,
}

impl Setup {
    /// The usual options, and nothing that survives the process.
    pub fn new(registry: Registry, clock: Arc<dyn Clock>) -> Self {
        Self {
            registry,
            clock,
            options: Options::default(),
            keeper: Keeper::default(),
            metrics: Arc::default(),
        }
    }

    /// The same, counting into figures that others count into as well.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// The same with other options.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The same with a store: what it remembers is taken up again.
    #[must_use]
    pub fn store(mut self, store: Arc<Store>) -> Self {
        self.keeper = Keeper::in_store(store);
        self
    }

    pub(crate) fn tree(self, threads: &Arc<Threads>) -> Result<Tree, ThresholdsError> {
        let Self {
            registry,
            clock,
            options,
            keeper,
            metrics,
        } = self;
        let passes = Pool::new(Arc::clone(threads), options.passes_max);
        let attempts = Pool::new(Arc::clone(threads), options.attempts_max);
        let executor = Executor::new(options.executor, attempts, keeper.marks());
        let collector = Collector::new(options.collector, passes)?;
        let effects = Effects::new(executor, collector, metrics);
        let config = Config {
            options,
            registry,
            memory: keeper.memory(),
        };
        Ok(Tree::new(config, effects, keeper, clock))
    }
}

enum Command {
    List(oneshot::Sender<Vec<Status>>),
    Counts(oneshot::Sender<Counts>),
    Gauges(oneshot::Sender<Gauges>),
    Alerts(oneshot::Sender<Vec<Escalation>>),
    Troubles(oneshot::Sender<Vec<Trouble>>),
    Explain(String, oneshot::Sender<Result<Explain, OperateError>>),
    Operate(OperatorRequest, oneshot::Sender<Result<(), OperateError>>),
    Declare(Box<Declaration>),
    ShutDown,
    ForceExit,
}

struct OperatorRequest {
    what: Operation,
    path: String,
    by: String,
}

words! {
    /// What a person may ask for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Operation as verb {
        /// Run.
        Start => "start",
        /// Stop and stay.
        Stop => "stop",
        /// Stop and start.
        Restart => "restart",
        /// Have the action end.
        Cancel => "cancel",
    }
}

/// Speaks to a supervisor.
#[derive(Clone)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    metrics: Arc<Metrics>,
}

/// A tree and its loop.
pub struct Supervisor {
    tree: Tree,
    clock: Arc<dyn Clock>,
    commands: mpsc::Receiver<Command>,
}

/// Why the loop woke.
enum Wake {
    Time,
    Command(Command),
    /// All handles are gone.
    Alone,
}

impl Supervisor {
    /// A supervisor and a handle to it. Call it inside the runtime whose timers and sockets the workers use.
    pub fn new(setup: Setup, declaration: Declaration) -> Result<(Self, Handle), ThresholdsError> {
        let clock = Arc::clone(&setup.clock);
        let metrics = Arc::clone(&setup.metrics);
        let runtime = tokio::runtime::Handle::current();
        let threads = Arc::new(Threads::start(ThreadsOptions::default(), runtime));
        let mut tree = setup.tree(&threads)?;
        tree.declare(declaration);
        let (sender, commands) = mpsc::channel(COMMANDS_MAX);
        let handle = Handle {
            commands: sender,
            metrics,
        };
        Ok((Self { tree, clock, commands }, handle))
    }

    /// Ticks until everybody is gone after a shutdown. When all handles are gone the tree goes on.
    pub async fn run(mut self) -> ShutdownOutcome {
        let mut is_alone = false;
        // Counted from tick to tick, so what a tick takes does not make the next one late.
        let mut pace = tokio::time::interval(Duration::from_millis(self.tree.tick_millis().max(1)));
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pace.reset();
        loop {
            let ticked = self.tree.tick(self.clock.now());
            if let Some(outcome) = self.tree.outcome() {
                return outcome.clone();
            }
            let soon = tokio::time::sleep(Duration::from_millis(SOON_MILLIS));
            let wake = tokio::select! {
                biased;
                command = self.commands.recv(), if !is_alone => command.map_or(Wake::Alone, Wake::Command),
                () = soon, if ticked.marked > 0 => Wake::Time,
                _ = pace.tick() => Wake::Time,
            };
            match wake {
                Wake::Time => {}
                Wake::Alone => is_alone = true,
                Wake::Command(command) => self.serve(command),
            }
        }
    }

    /// Serves what waits, up to a bound.
    fn serve(&mut self, first: Command) {
        self.obey(first);
        for _ in 1..COMMANDS_PER_TICK_MAX {
            let Ok(command) = self.commands.try_recv() else {
                return;
            };
            self.obey(command);
        }
    }

    /// A caller that has left does not want the answer.
    fn obey(&mut self, command: Command) {
        let now = self.clock.now();
        match command {
            Command::List(reply) => drop(reply.send(self.tree.list(now))),
            Command::Counts(reply) => drop(reply.send(self.tree.counts())),
            Command::Gauges(reply) => drop(reply.send(self.tree.gauges(now))),
            Command::Alerts(reply) => drop(reply.send(self.tree.alerts())),
            Command::Troubles(reply) => drop(reply.send(self.tree.troubles(now))),
            Command::Explain(path, reply) => drop(reply.send(self.tree.explain(&path, now))),
            Command::Operate(OperatorRequest { what, path, by }, reply) => {
                let done = match what {
                    Operation::Start => self.tree.start(&path, &by, now),
                    Operation::Stop => self.tree.stop(&path, &by, now),
                    Operation::Restart => self.tree.restart(&path, &by, now),
                    Operation::Cancel => self.tree.cancel(&path, &by, now),
                };
                drop(reply.send(done));
            }
            Command::Declare(declaration) => self.tree.declare(*declaration),
            Command::ShutDown => self.tree.shut_down(now),
            Command::ForceExit => self.tree.force_exit(now),
        }
    }
}

impl Handle {
    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, OperateError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(command(reply)).await;
        sent.map_err(|_| OperateError::Gone)?;
        answer.await.map_err(|_| OperateError::Gone)
    }

    /// Everybody, by path.
    pub async fn list(&self) -> Result<Vec<Status>, OperateError> {
        self.ask(Command::List).await
    }

    /// How many are how.
    pub async fn counts(&self) -> Result<Counts, OperateError> {
        self.ask(Command::Counts).await
    }

    /// What only the tree knows, for monitoring.
    pub async fn gauges(&self) -> Result<Gauges, OperateError> {
        self.ask(Command::Gauges).await
    }

    /// Rules at the root that gave up.
    pub async fn alerts(&self) -> Result<Vec<Escalation>, OperateError> {
        self.ask(Command::Alerts).await
    }

    /// What the operator on duty should know of.
    pub async fn troubles(&self) -> Result<Vec<Trouble>, OperateError> {
        self.ask(Command::Troubles).await
    }

    /// Why a worker is where it is.
    pub async fn explain(&self, path: &str) -> Result<Explain, OperateError> {
        self.ask(|reply| Command::Explain(path.to_owned(), reply)).await?
    }

    /// Starts, stops or restarts a worker, or has its action end. `by` is who asks: it is recorded.
    pub async fn operate(&self, what: Operation, path: &str, by: &str) -> Result<(), OperateError> {
        let request = OperatorRequest {
            what,
            path: path.to_owned(),
            by: by.to_owned(),
        };
        self.ask(|reply| Command::Operate(request, reply)).await?
    }

    /// Declares anew who stands at the root.
    pub async fn declare(&self, declaration: Declaration) -> Result<(), OperateError> {
        let sent = self.commands.send(Command::Declare(Box::new(declaration))).await;
        sent.map_err(|_| OperateError::Gone)
    }

    /// Has everybody leave. The loop ends when they have. A second time does nothing.
    pub async fn shut_down(&self) {
        // A supervisor that is gone has shut down.
        let _ = self.commands.send(Command::ShutDown).await;
    }

    /// Cuts every worker that is left at once.
    pub async fn force_exit(&self) {
        let _ = self.commands.send(Command::ForceExit).await;
    }

    /// What was counted.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }
}
