//! The engine as a whole: one lane on a thread, attempts as tasks, readers beside them.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use sprag_core::action::Runner;
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use sprag_store::traits::Readers;
use sprag_store::{LaneStore, Nodes};
use tokio::sync::{broadcast, oneshot, watch};

use crate::command::Command;
use crate::committer::Beside;
use crate::grants::Masks;
use crate::handle::{Handle, HandleParts};
use crate::homes::Peers;
use crate::inbox::{Inbox, Wake};
use crate::lane::{Change, Committer, Fatal, Lane, Parts, Publish, Tenure, may_overlap};
use crate::member::{self, Member, Orders, Word};
use crate::metrics::Metrics;
use crate::options::{BATCH_MAX, Options};
use crate::tasks::{NoSecrets, Runners, SecretSource, TaskHands};

/// Changes that a slow listener may lag behind before it is told to look for itself.
const CHANGES_MAX: usize = 4_096;
/// The longest a lane sleeps without looking at the clock and the store.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// How long the lane looks for outcomes before it sleeps, in microseconds.
const SPIN_MICROS: u64 = 60;

/// Commands that go first when more than these wait and nothing is being written.
const FIRST_PART: usize = 32;

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
    /// wall clock (a computer that slept): whoever must, keeps a [`System`] of their own and calls
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

/// Numbers nobody can guess: a keyed hash of a counter, with keys that come from the operating system.
fn system_entropy() -> impl FnMut() -> u64 + Send {
    let keys = RandomState::new();
    let mut drawn: u64 = 0;
    move || {
        drawn = drawn.wrapping_add(1);
        keys.hash_one(drawn)
    }
}

impl Builder {
    /// Asks somebody else for secrets.
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
        let join = |(options, nodes)| Joined::new(options, nodes, Arc::clone(&clock));
        let joined = member.map(join).transpose()?;
        let (sender, receiver) = mpsc::channel();
        let committer: Box<dyn Committer> = Box::new(Beside::start(sender.clone())?);
        let inbox = Inbox::new(sender, Arc::clone(&clock));
        let (runners, masks) = (Arc::new(runners), Masks::default());
        let hands = TaskHands::new(Arc::clone(&runners), Arc::clone(&secrets), inbox.clone(), masks.clone());
        let mut hands = hands.traced(&options.traces);
        let is_linked = peers.is_some();
        if let (Some(joined), Some(peers)) = (&joined, peers) {
            hands = hands.linked(joined.member.whereabouts(), peers);
        }
        let (changes, _) = broadcast::channel(CHANGES_MAX);
        let metrics = Arc::new(Metrics::new(runners.keys().map(String::as_str)).of_traces(&options.traces));
        let mut lane = Lane::open(Parts {
            store,
            committer: Some(committer),
            hands: Box::new(hands),
            clock: Arc::clone(&clock),
            entropy,
            publish: publisher(changes.clone()),
            options: options.clone(),
            metrics: Arc::clone(&metrics),
            tenure: joined.as_ref().map_or(Tenure::Whole, |joined| joined.tenure(is_linked)),
        })?;
        if let Some(joined) = &joined {
            lane.obey(&joined.first)?;
        }
        let recovered = lane.recovered();
        let whereabouts = joined.as_ref().map(|joined| joined.member.whereabouts());
        let (words, member) = joined.map(|joined| joined.serve(inbox.clone())).transpose()?.unzip();
        let (board, closings, leases) = (lane.board(), lane.closings(), lane.leases());
        let started = LaneThread::begin(lane, receiver, (Arc::clone(&clock), Arc::clone(&metrics)), words)?;
        let Started { thread, ended, grace } = started;
        let handle = Handle::new(HandleParts {
            inbox: inbox.clone(),
            readers,
            changes,
            runners,
            clock,
            secrets,
            limits: options.limits,
            board,
            closings,
            metrics,
            leases,
            masks,
            whereabouts,
        });
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

/// What a lane's thread has at hand.
struct LaneThread {
    lane: Lane,
    receiver: Receiver<Wake>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    grace: watch::Receiver<Option<Duration>>,
    /// The way to the member, where others share the store.
    words: Option<mpsc::Sender<Word>>,
    ended: watch::Sender<Option<String>>,
}

/// A lane's thread that runs, and what it hears and says.
struct Started {
    thread: JoinHandle<()>,
    ended: watch::Receiver<Option<String>>,
    grace: watch::Sender<Option<Duration>>,
}

impl LaneThread {
    fn begin(
        lane: Lane,
        receiver: Receiver<Wake>,
        (clock, metrics): (Arc<dyn Clock>, Arc<Metrics>),
        words: Option<mpsc::Sender<Word>>,
    ) -> Result<Started, Fatal> {
        let (ended_sender, ended) = watch::channel(None);
        let (grace, grace_receiver) = watch::channel(None);
        let thread = Self {
            lane,
            receiver,
            clock,
            metrics,
            grace: grace_receiver,
            words,
            ended: ended_sender,
        };
        let thread = thread.start()?;
        Ok(Started { thread, ended, grace })
    }

    /// Runs the lane on a thread of its own, inside the present runtime, and says how it ended.
    fn start(self) -> Result<JoinHandle<()>, Fatal> {
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::Builder::new().name("lane".to_owned());
        let spawned = thread.spawn(move || {
            let _inside = runtime.enter();
            let around = (self.clock.as_ref(), self.metrics.as_ref());
            let end = run(self.lane, &self.receiver, around, (&self.grace, self.words.as_ref()));
            if let Err(error) = &end {
                tracing::error!(error = %error.0, "the lane stopped");
            }
            let reason = end.err().map(|error| error.0.to_string());
            self.ended.send_replace(Some(reason.unwrap_or_default()));
        });
        let failed = |error| sprag_store::Error::Failed {
            detail: format!("no thread for the lane: {error}"),
        };
        Ok(spawned.map_err(failed)?)
    }
}

/// A node that has given its first heartbeat.
struct Joined {
    member: Member,
    first: Orders,
    shards: u32,
}

impl Joined {
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

/// Tells whoever listens. A lane with nobody to tell pays nothing for it.
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
    if let Ok(census) = handle.census().await {
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

/// The lane's loop: gather what waits, decide it in one batch, sleep until the next thing is due.
fn run(
    mut lane: Lane,
    receiver: &Receiver<Wake>,
    (clock, metrics): (&dyn Clock, &Metrics),
    (grace, words): (&watch::Receiver<Option<Duration>>, Option<&mpsc::Sender<Word>>),
) -> Result<(), Fatal> {
    let mut until: Option<Timestamp> = None;
    let mut is_quiet = true;
    let mut last = 0;
    loop {
        let now = clock.now();
        if until.is_some_and(|until| now >= until || lane.performing() == 0) {
            return lane.come_to_rest();
        }
        let wake = lane.next_wake().min(until.unwrap_or(Timestamp::MAX));
        let sleep = Duration::from_millis(wake.since(now)).min(SLEEP_MAX);
        let mut batch = Vec::with_capacity(last);
        let mut oldest = None;
        let patience = if is_quiet && lane.performing() > 0 {
            SPIN_MICROS
        } else {
            0
        };
        let mut orders = None;
        let stop = match receive(receiver, sleep, (clock, patience)) {
            Ok(Wake::Command(command, at)) => {
                oldest = Some(at);
                batch.push(command);
                fill(&mut batch, &mut orders, receiver, lane.is_writing())
            }
            Ok(Wake::Orders(given)) => {
                orders = Some(given);
                Stop::NotAsked
            }
            Ok(Wake::Stop) => Stop::Asked,
            Ok(Wake::Written) | Err(RecvTimeoutError::Timeout) => Stop::NotAsked,
            Err(RecvTimeoutError::Disconnected) => return lane.come_to_rest(),
        };
        if stop == Stop::Asked {
            lane.stop_starting();
            // Others take what is free of work while the rest of it ends.
            let _ = words.map(|words| words.send(Word::Leaving));
            let grace = grace.borrow().unwrap_or_default();
            until = Some(now.plus(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)));
        }
        last = batch.len();
        is_quiet = last <= 1;
        metrics.begin(clock.micros(), oldest);
        if batch.is_empty() {
            lane.check_store()?;
        }
        if !batch.is_empty() || lane.next_wake() <= clock.now() {
            lane.tick(batch)?;
        } else {
            lane.advance()?;
        }
        if let Some(words) = words {
            share(&mut lane, orders.as_deref(), words)?;
        }
        metrics.rest(lane.running(), lane.leased());
    }
}

/// The lane's share of a node's heartbeat: what it takes up, and what it has let go of.
fn share(lane: &mut Lane, orders: Option<&Orders>, words: &mpsc::Sender<Word>) -> Result<(), Fatal> {
    if let Some(orders) = orders {
        lane.obey(orders)?;
    }
    let gone = lane.let_go()?;
    if !gone.is_empty() {
        // A member that has ended leaves by itself.
        let _ = words.send(Word::Released(gone));
    }
    Ok(())
}

/// Waits for something to do. A lane with little to do looks for the outcomes of what is under way for a moment before it
/// sleeps: many attempts end at once, and to wake a thread takes longer than that. One with much to do has the next batch
/// waiting anyway, and leaves the time to others.
fn receive(
    receiver: &Receiver<Wake>,
    sleep: Duration,
    (clock, patience): (&dyn Clock, u64),
) -> Result<Wake, RecvTimeoutError> {
    let began = clock.micros();
    while clock.micros().saturating_sub(began) < patience {
        match receiver.try_recv() {
            Ok(wake) => return Ok(wake),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => std::thread::yield_now(),
        }
    }
    receiver.recv_timeout(sleep)
}

/// Whether somebody asked the lane to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Asked,
    NotAsked,
}

/// Takes what else waits, without waiting for it. While a batch is being written there is time to take all of it; otherwise
/// a part of many everyday commands goes first, so that writing it and deciding on the others go side by side.
fn fill(
    batch: &mut Vec<Command>,
    orders: &mut Option<Box<Orders>>,
    receiver: &Receiver<Wake>,
    is_writing: bool,
) -> Stop {
    let goes_first = |batch: &[Command]| !is_writing && batch.len() == FIRST_PART && may_overlap(batch);
    while batch.len() < BATCH_MAX && !goes_first(batch) {
        match receiver.try_recv() {
            Ok(Wake::Orders(given)) => {
                // What came before them is decided first; what comes after waits for the next batch.
                *orders = Some(given);
                return Stop::NotAsked;
            }
            Ok(Wake::Command(command, _)) => batch.push(command),
            Ok(Wake::Written) => {}
            Ok(Wake::Stop) => return Stop::Asked,
            Err(_) => return Stop::NotAsked,
        }
    }
    Stop::NotAsked
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
