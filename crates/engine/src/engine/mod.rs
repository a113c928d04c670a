//! The engine as a whole: one lane on a thread, attempts as tasks, readers beside them.

mod asker;
pub(crate) mod handle;
mod hooks;
pub(crate) mod inbox;
pub(crate) mod leases;
pub(crate) mod near;
pub(crate) mod operate;
pub(crate) mod operations;
pub mod options;
mod thread;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use sprag_core::action::Runner;
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use sprag_store::traits::Readers;
use sprag_store::{LaneStore, Nodes};
use tokio::sync::{Semaphore, broadcast, oneshot, watch};

pub use self::asker::Asker;
pub use self::handle::Handle;
pub use self::hooks::InboundHook;
use self::inbox::Inbox;
pub use self::leases::LeaseHandle;
pub use self::operate::OperatorHandle;
pub use self::operations::OperationsHandle;
use self::options::Options;
use self::thread::{LaneThread, Started};
use crate::commit::writer::WriterThread;
use crate::decide::{Change, Tenure};
use crate::effects::Publish;
use crate::effects::grants::Masks;
use crate::effects::metrics::Metrics;
use crate::effects::tasks::{NoSecrets, RunnerTypes, Runners, SecretSource, TaskRunner};
use crate::lane::member::{self, Member, Orders, Word};
use crate::lane::{Fatal, Lane, Parts};
use crate::limits::Peers;
use crate::read::handle::ReadHandle;
use crate::read::lookup::Caches;

/// Changes that a slow listener may lag behind before it is told to look for itself.
const CHANGES_MAX: usize = 4_096;
/// What an engine is built from.
pub struct Builder {
    store: Box<dyn LaneStore>,
    readers: Arc<dyn Readers>,
    clock: Arc<dyn Clock>,
    secrets: Arc<dyn SecretSource>,
    entropy: Box<dyn FnMut() -> u64 + Send>,
    runners: Runners,
    options: Options,
    member: Option<(member::Options, Box<dyn Nodes>)>,
    peers: Option<Arc<dyn Peers>>,
}

/// A running engine. Dropping it without [`Engine::shutdown`] is a crash, which it survives.
pub struct Engine {
    handle: Handle,
    inbox: Inbox,
    thread: Option<JoinHandle<()>>,
    /// Gives this node's heartbeats, where others share the store; leaves once the lane has ended.
    member: Option<JoinHandle<()>>,
    ended: watch::Receiver<Option<String>>,
    grace: watch::Sender<Option<Duration>>,
}

/// What the engine cannot do without. [`Requirements::new`] needs a store only.
pub struct Requirements {
    /// Writes, for the one lane.
    pub store: Box<dyn LaneStore>,
    /// Reads, for everybody else.
    pub readers: Arc<dyn Readers>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What no two decisions share: must be unpredictable in production.
    pub entropy: Box<dyn FnMut() -> u64 + Send>,
    /// Where secrets come from.
    pub secrets: Arc<dyn SecretSource>,
}

impl Requirements {
    /// The engine on this store, with what suits a process of its own: the machine's clock; entropy of the operating system; no
    /// secrets. That clock follows no jump of the
    /// wall clock (a computer that slept): a program that must, keeps a [`System`] of their own and calls
    /// [`System::adopt_wall`] now and then.
    pub fn new(store: impl LaneStore + 'static, readers: impl Readers + 'static) -> Self {
        Self {
            store: Box::new(store),
            readers: Arc::new(readers),
            clock: Arc::new(System::start(Timestamp::default())),
            entropy: Box::new(system_entropy()),
            secrets: Arc::new(NoSecrets),
        }
    }
}

/// Numbers that cannot be guessed: a keyed hash of a counter, with keys that come from the operating system.
fn system_entropy() -> impl FnMut() -> u64 + Send {
    let keys = RandomState::new();
    let mut drawn: u64 = 0;
    move || {
        drawn = drawn.wrapping_add(1);
        keys.hash_one(drawn)
    }
}

impl Builder {
    /// Takes secrets from another source.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<dyn SecretSource>) -> Self {
        self.secrets = secrets;
        self
    }

    /// Adds a runner for each of its types; a later one takes over from an earlier one.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a builder takes what it is given")]
    pub fn runner(mut self, runner: Arc<dyn Runner>) -> Self {
        for kind in runner.types() {
            self.runners.insert((*kind).to_owned(), Arc::clone(&runner));
        }
        self
    }

    /// Shares the store with other nodes: this one serves the shards that are due to it.
    #[must_use]
    pub fn member(mut self, options: member::Options, nodes: Box<dyn Nodes>) -> Self {
        self.member = Some((options, nodes));
        self
    }

    /// The way to the other nodes: with it, limits per key count across all of them. Without it, each node counts for
    /// itself.
    #[must_use]
    pub fn peers(mut self, peers: Arc<dyn Peers>) -> Self {
        self.peers = Some(peers);
        self
    }

    /// Sets bounds.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Opens the lane and starts it. Must be called inside a tokio runtime, which carries the attempts.
    pub fn start(self) -> Result<Engine, Fatal> {
        let Self {
            store,
            readers,
            clock,
            secrets,
            entropy,
            runners,
            options,
            member,
            peers,
        } = self;
        let joined = Joined::of(member, &clock)?;
        let (sender, receiver) = mpsc::channel();
        let inbox = Inbox::new(sender.clone(), Arc::clone(&clock));
        let (runners, masks) = (Arc::new(runners), Masks::default());
        let runner = TaskRunner::new(Arc::clone(&runners), Arc::clone(&secrets), inbox.clone(), masks.clone());
        let whereabouts = joined.as_ref().map(|joined| joined.member.whereabouts());
        let is_linked = peers.is_some();
        let (changes, _) = broadcast::channel(CHANGES_MAX);
        let metrics = Arc::new(Metrics::new(runners.keys().map(String::as_str)).of_traces(&options.traces));
        let parts = Parts {
            store,
            committer: Some(Box::new(WriterThread::start(sender)?)),
            runner: Box::new(runner.traced(&options.traces).linked(whereabouts.clone().zip(peers))),
            types: Arc::new(RunnerTypes::new(&runners, &secrets)),
            clock: Arc::clone(&clock),
            entropy,
            publish: publisher(changes.clone()),
            options: options.clone(),
            metrics: Arc::clone(&metrics),
            tenure: joined.as_ref().map_or(Tenure::Whole, |joined| joined.tenure(is_linked)),
        };
        let mut lane = open_lane(parts, joined.as_ref())?;
        let (words, member) = joined.map(|joined| joined.serve(inbox.clone())).transpose()?.unzip();
        let (board, closings, leases, recovered) = (lane.board(), lane.closings(), lane.leases(), lane.recovered());
        let Started { thread, ended, grace } = LaneThread::begin(lane, receiver, (&clock, &metrics), words)?;
        let handle = Handle {
            inbox: inbox.clone(),
            read: ReadHandle {
                readers,
                permits: Arc::default(),
                machines: Arc::default(),
                runners,
                clock,
                limits: options.limits,
                approval: Arc::new(options.approval),
                board,
                leases,
                whereabouts,
            },
            changes,
            secrets,
            closings,
            backups: Arc::new(Semaphore::new(1)),
            metrics,
            masks,
            caches: Caches::default(),
            local: Asker::default(),
            reasons: Arc::new(options.reasons),
        };
        tokio::spawn(report_recovery(handle.clone(), recovered));
        Ok(Engine {
            handle,
            inbox,
            thread: Some(thread),
            member,
            ended,
            grace,
        })
    }
}

impl Engine {
    /// Begins to build an engine.
    pub fn builder(requirements: Requirements) -> Builder {
        let Requirements {
            store,
            readers,
            clock,
            entropy,
            secrets,
        } = requirements;
        Builder {
            store,
            readers,
            clock,
            secrets,
            entropy,
            runners: Runners::new(),
            options: Options::default(),
            member: None,
            peers: None,
        }
    }

    /// What callers use.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Waits until the lane has ended by itself: the reason, for the process to stop and recover by reading.
    pub async fn failed(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the lane's thread is gone".to_owned(),
        }
    }

    /// Lets nothing new in and nothing new start, waits up to `grace` for what is under way, then ends. What is still
    /// under way is `Unknown` to the next process.
    pub async fn shutdown(mut self, grace: Duration) {
        self.grace.send_replace(Some(grace));
        self.inbox.stop();
        let Some(thread) = self.thread.take() else { return };
        // The lane's own bound ends it; joining is quick from there.
        let member = self.member.take();
        let ended = tokio::task::spawn_blocking(move || {
            let _ = thread.join();
            // Others may take its shards at once, not only when its lease has run out.
            member.map(JoinHandle::join)
        });
        let _ = ended.await;
    }
}

/// A node that has given its first heartbeat.
struct Joined {
    member: Member,
    first: Orders,
    shards: u32,
}

impl Joined {
    /// Joins the other nodes, where several share the store.
    fn of(member: Option<(member::Options, Box<dyn Nodes>)>, clock: &Arc<dyn Clock>) -> Result<Option<Self>, Fatal> {
        let join = |(options, nodes)| Self::new(options, nodes, Arc::clone(clock));
        member.map(join).transpose()
    }

    fn new(options: member::Options, nodes: Box<dyn Nodes>, clock: Arc<dyn Clock>) -> Result<Self, Fatal> {
        let mut member = Member::new(options, nodes, clock);
        let first = member.beat()?;
        let view = member.whereabouts().view();
        let shards = view.map_or(0, |view| view.shards.len());
        let shards = u32::try_from(shards).unwrap_or(u32::MAX);
        Ok(Self { member, first, shards })
    }

    fn tenure(&self, is_linked: bool) -> Tenure {
        Tenure::Shared {
            shards: self.shards,
            node: is_linked.then(|| self.member.id()),
        }
    }

    /// Gives its heartbeats from now on, on a thread of its own. The lane tells it what it let go of, and its end.
    fn serve(self, inbox: Inbox) -> Result<(mpsc::Sender<Word>, JoinHandle<()>), Fatal> {
        let (words, heard) = mpsc::channel();
        let orders = Box::new(move |orders| inbox.order(orders));
        let service = member::Service::new(self.member, orders, heard);
        let thread = std::thread::Builder::new().name("member".to_owned());
        let thread = thread
            .spawn(move || service.run())
            .map_err(|error| sprag_store::Error::Failed {
                detail: format!("no thread for the member: {error}"),
            })?;
        Ok((words, thread))
    }
}

/// A lane that has the shards of a node's first heartbeat, where nodes share the store.
fn open_lane(parts: Parts, joined: Option<&Joined>) -> Result<Lane, Fatal> {
    let mut lane = Lane::open(parts)?;
    if let Some(joined) = joined {
        lane.obey(&joined.first)?;
    }
    Ok(lane)
}

/// Tells listeners. A lane without listeners pays nothing for it.
fn publisher(changes: broadcast::Sender<Change>) -> Publish {
    Box::new(move |batch: &[Change]| {
        if changes.receiver_count() == 0 {
            return;
        }
        for change in batch {
            // The last listener may have gone just now.
            let _ = changes.send(change.clone());
        }
    })
}

/// Says what this process took over from the one before it, once the lane has taken it up.
async fn report_recovery(handle: Handle, recovered: oneshot::Receiver<usize>) {
    let Ok(interrupted) = recovered.await else { return };
    if let Ok(census) = handle.read().census().await {
        let executions: u64 = census.executions.iter().map(|(_, count)| count).sum();
        let interrupted_attempts = u64::try_from(interrupted).unwrap_or(u64::MAX);
        if handle.whereabouts().is_some() {
            // Other nodes may own some of the executions.
            tracing::info!(
                executions,
                interrupted_attempts,
                "recovered {}; the database holds {}",
                counted(interrupted_attempts, "interrupted attempt"),
                counted(executions, "open execution")
            );
        } else {
            tracing::info!(
                executions,
                interrupted_attempts,
                "recovered {}, {}",
                counted(executions, "execution"),
                counted(interrupted_attempts, "interrupted attempt")
            );
        }
    }
}

/// `1 attempt`, `2 attempts`.
fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_named_in_the_singular_and_any_other_number_in_the_plural() {
        assert_eq!(counted(1, "execution"), "1 execution");
        assert_eq!(counted(0, "execution"), "0 executions");
        assert_eq!(counted(2, "interrupted attempt"), "2 interrupted attempts");
    }
}
