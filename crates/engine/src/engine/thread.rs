//! The thread of a lane: it gathers waiting commands into batches and sleeps until the next thing is due.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;
use tokio::sync::watch;

use super::inbox::Wake;
use super::options::BATCH_MAX;
use crate::effects::metrics::Metrics;
use crate::lane::member::{Orders, Word};
use crate::lane::{Fatal, Lane};
use crate::requests::{Command, may_overlap};

/// The longest a lane sleeps without looking at the clock and the store.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// How long the lane looks for outcomes before it sleeps, in microseconds.
const SPIN_MICROS: u64 = 60;

/// Commands that go first when more than these wait and nothing is being written.
const FIRST_PART: usize = 32;

/// What a lane's thread uses.
pub(super) struct LaneThread {
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
pub(super) struct Started {
    pub(super) thread: JoinHandle<()>,
    pub(super) ended: watch::Receiver<Option<String>>,
    pub(super) grace: watch::Sender<Option<Duration>>,
}

impl LaneThread {
    pub(super) fn begin(
        lane: Lane,
        receiver: Receiver<Wake>,
        (clock, metrics): (&Arc<dyn Clock>, &Arc<Metrics>),
        words: Option<mpsc::Sender<Word>>,
    ) -> Result<Started, Fatal> {
        let (ended_sender, ended) = watch::channel(None);
        let (grace, grace_receiver) = watch::channel(None);
        let thread = Self {
            lane,
            receiver,
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
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
                tracing::error!(error = %error.0, "lane stopped");
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
            return lane.rest();
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
            Err(RecvTimeoutError::Disconnected) => return lane.rest(),
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

/// Whether the lane was asked to end.
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
