//! The threads that poll futures, and the futures that are ready.
//!
//! A few threads serve any number of futures. Every tick calls [`Threads::watch`]. It publishes the time of the tick
//! and looks for threads that have been in one poll for too long. Such threads are blocked, and new threads replace
//! them. A blocked thread that continues ends if enough others exist.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use async_task::{Runnable, Task};
use sprag_core::time::Timestamp;
use tokio::runtime::Handle;

use super::{lock, say};

/// A poll that takes longer blocks its thread, in milliseconds.
const BLOCKED_AFTER_MILLIS: u64 = 200;
/// Threads in all, blocked ones included. When all are blocked, what is ready waits.
pub const THREADS_MAX: usize = 256;
/// Polls in one drive of a test: a future that wakes itself for ever ends there.
const DRIVE_POLLS_MAX: usize = 1_000_000;
/// A seat whose thread polls nothing.
const IDLE: i64 = i64::MIN;

/// How many threads poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadsOptions {
    /// Threads that are not blocked; at most [`THREADS_MAX`].
    pub threads: usize,
}

impl Default for ThreadsOptions {
    fn default() -> Self {
        Self { threads: 4 }
    }
}

/// The threads that poll futures of workers.
pub struct Threads {
    ready: Arc<Ready>,
}

/// What is ready to be polled, and by whom.
struct Ready {
    queue: Mutex<Queue>,
    bell: Condvar,
    seats: Mutex<Vec<Arc<Seat>>>,
    threads: usize,
    runtime: Option<Handle>,
    now: TickTime,
}

/// The time of the last tick, for what runs: nothing here reads a clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct TickTime(Arc<AtomicI64>);

impl TickTime {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Acquire))
    }

    fn set(&self, now: Timestamp) {
        self.0.fetch_max(now.as_millis(), Ordering::AcqRel);
    }
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Runnable>,
    /// Threads that wait and were not woken: at least as many as there are. A needless wake-up is a call to the
    /// system all the same.
    waiting: usize,
    is_closed: bool,
}

/// A thread, as the watch sees it.
struct Seat {
    /// The tick's time when the present poll began.
    since: AtomicI64,
    is_blocked: AtomicBool,
}

impl Threads {
    /// Threads whose futures use timers and sockets of `runtime`.
    pub fn start(options: ThreadsOptions, runtime: Handle) -> Self {
        let threads = Self::with(options.threads.clamp(1, THREADS_MAX), Some(runtime));
        threads.ready.fill_seats();
        threads
    }

    /// None: futures are polled in [`Threads::drive`] only.
    pub fn none() -> Self {
        Self::with(0, Handle::try_current().ok())
    }

    fn with(threads: usize, runtime: Option<Handle>) -> Self {
        Self {
            ready: Arc::new(Ready {
                queue: Mutex::default(),
                bell: Condvar::new(),
                seats: Mutex::default(),
                threads,
                runtime,
                now: TickTime::default(),
            }),
        }
    }

    /// Publishes the tick's time, and has blocked threads replaced. Never waits for one.
    pub fn watch(&self, now: Timestamp) {
        self.publish(now);
        if self.ready.mark_blocked(now) {
            self.ready.fill_seats();
        }
    }

    /// Polls what is ready on this thread, until nothing is. For tests, where no threads are.
    pub fn drive(&self) {
        for _ in 0..DRIVE_POLLS_MAX {
            let Some(runnable) = lock(&self.ready.queue).tasks.pop_front() else {
                return;
            };
            poll(runnable);
        }
    }

    /// How many threads are inside a poll that takes too long.
    pub fn blocked(&self) -> usize {
        lock(&self.ready.seats).iter().filter(|seat| seat.is_blocked()).count()
    }

    /// Publishes the time without a look at the threads.
    pub(crate) fn publish(&self, now: Timestamp) {
        self.ready.now.set(now);
    }

    /// The time as it is published.
    pub(crate) fn tick_time(&self) -> TickTime {
        self.ready.now.clone()
    }

    /// A task that begins when it is scheduled.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> (Runnable, Task<()>) {
        let ready = Arc::downgrade(&self.ready);
        let schedule = move |runnable| {
            if let Some(ready) = ready.upgrade() {
                ready.push(runnable);
            }
        };
        async_task::spawn(work, schedule)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut queue = lock(&self.ready.queue);
        queue.is_closed = true;
        let tasks = std::mem::take(&mut queue.tasks);
        drop(queue);
        self.ready.bell.notify_all();
        // Their futures may hold what locks the queue.
        drop(tasks);
    }
}

impl Seat {
    fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Acquire)
    }
}

impl Ready {
    fn push(&self, runnable: Runnable) {
        let mut queue = lock(&self.queue);
        if queue.is_closed {
            drop(queue);
            // The future goes with it, and may hold what locks the queue.
            return drop(runnable);
        }
        queue.tasks.push_back(runnable);
        let is_awaited = queue.waiting > 0;
        queue.waiting -= usize::from(is_awaited);
        drop(queue);
        if is_awaited {
            self.bell.notify_one();
        }
    }

    /// Whether a thread was found blocked that was not before.
    fn mark_blocked(&self, now: Timestamp) -> bool {
        let mut is_news = false;
        for seat in lock(&self.seats).iter() {
            let since = seat.since.load(Ordering::Acquire);
            let is_long = since != IDLE && now.since(Timestamp::from_millis(since)) >= BLOCKED_AFTER_MILLIS;
            is_news |= is_long && !seat.is_blocked.swap(is_long, Ordering::AcqRel);
        }
        is_news
    }

    /// Starts threads until enough are not blocked.
    fn fill_seats(self: &Arc<Self>) {
        let mut seats = lock(&self.seats);
        let mut free = seats.iter().filter(|seat| !seat.is_blocked()).count();
        while free < self.threads && seats.len() < THREADS_MAX {
            let seat = Arc::new(Seat {
                since: AtomicI64::new(IDLE),
                is_blocked: AtomicBool::new(false),
            });
            let (ready, own) = (Arc::clone(self), Arc::clone(&seat));
            let spawned = std::thread::Builder::new()
                .name("sprag-worker".to_owned())
                .spawn(move || ready.serve(&own));
            if let Err(problem) = spawned {
                say(|| tracing::error!(%problem, "worker thread not started"));
                return;
            }
            seats.push(seat);
            free += 1;
        }
    }

    /// What a thread does until it leaves.
    fn serve(&self, seat: &Arc<Seat>) {
        let _runtime = self.runtime.as_ref().map(Handle::enter);
        while let Some(runnable) = self.next() {
            seat.since.store(self.now.now().as_millis(), Ordering::Release);
            poll(runnable);
            seat.since.store(IDLE, Ordering::Release);
            if seat.is_blocked() && self.leaves(seat) {
                return;
            }
        }
    }

    fn next(&self) -> Option<Runnable> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some(runnable) = queue.tasks.pop_front() {
                return Some(runnable);
            }
            queue.waiting += 1;
            queue = self.bell.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// A thread that was blocked takes its seat again, or leaves when its place was taken.
    fn leaves(&self, seat: &Arc<Seat>) -> bool {
        let mut seats = lock(&self.seats);
        let free = seats.iter().filter(|other| !other.is_blocked()).count();
        if free < self.threads {
            seat.is_blocked.store(false, Ordering::Release);
            return false;
        }
        seats.retain(|other| !Arc::ptr_eq(other, seat));
        true
    }
}

/// Polls once. The maker of the future catches panics of what it calls; this keeps the thread alive in all other cases.
fn poll(runnable: Runnable) {
    let _ = catch_unwind(AssertUnwindSafe(|| runnable.run()));
}
