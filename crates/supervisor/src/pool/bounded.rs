//! A bound on how much runs at once, and the queue before it.
//!
//! Who holds a [`Place`] may release it at any moment: what still waits then never starts, what runs is dropped at its
//! next await, and in both cases the room is free for the next at once, even while the old one blocks a thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use sprag_core::time::Timestamp;

use super::lock;
use super::task::{Task, Work};
use super::threads::Threads;

/// What can wait for one pool. A worker has at most one action and one pass.
pub const QUEUED_MAX: usize = 1 << 20;
/// What has not begun.
const NOT_BEGUN: i64 = i64::MIN;

/// The queue before a pool is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{QUEUED_MAX}` wait already; nothing more is taken on")]
pub struct QueueFull;

/// Runs at most so many futures at once.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    threads: Arc<Threads>,
    bound: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    queue: VecDeque<Arc<Inner>>,
    /// How many in the queue were released.
    void: usize,
}

impl State {
    /// One may be counted as released that is not in the queue any more, for a moment.
    fn waiting(&self) -> usize {
        self.queue.len().saturating_sub(self.void)
    }
}

/// A place in the queue or among those that run. Dropped, it is released.
pub(crate) struct Place(Arc<Inner>);

struct Inner {
    stage: Mutex<Stage>,
    pool: Weak<Shared>,
    /// The tick's time when it was first polled.
    began: AtomicI64,
}

enum Stage {
    Queued(Work),
    Running(Arc<Task>),
    Over,
}

impl Pool {
    /// At most `bound` at once, at least one.
    pub fn new(threads: Arc<Threads>, bound: usize) -> Self {
        Self(Arc::new(Shared {
            threads,
            bound: bound.max(1),
            state: Mutex::default(),
        }))
    }

    /// The threads behind it.
    pub fn threads(&self) -> &Threads {
        &self.0.threads
    }

    /// How many run now.
    pub fn running(&self) -> usize {
        lock(&self.0.state).running
    }

    /// How many wait.
    pub fn queued(&self) -> usize {
        lock(&self.0.state).waiting()
    }

    /// Starts `work` when there is room. Never waits.
    pub(crate) fn submit(&self, work: Work) -> Result<Place, QueueFull> {
        let inner = Arc::new(Inner {
            stage: Mutex::new(Stage::Queued(work)),
            pool: Arc::downgrade(&self.0),
            began: AtomicI64::new(NOT_BEGUN),
        });
        let mut state = lock(&self.0.state);
        if state.running < self.0.bound {
            state.running += usize::from(self.0.begin(&inner));
        } else if state.waiting() < QUEUED_MAX {
            state.queue.push_back(Arc::clone(&inner));
        } else {
            return Err(QueueFull);
        }
        Ok(Place(inner))
    }
}

impl Shared {
    /// Whether it had not been released.
    fn begin(&self, inner: &Arc<Inner>) -> bool {
        let mut stage = lock(&inner.stage);
        match std::mem::replace(&mut *stage, Stage::Over) {
            Stage::Queued(work) => {
                let (room, time) = (Room(Arc::clone(inner)), self.threads.tick_time());
                let task = self.threads.spawn(Box::pin(async move {
                    room.0.began.store(time.now().as_millis(), Ordering::Release);
                    work.await;
                    drop(room);
                }));
                *stage = Stage::Running(task);
                true
            }
            other => {
                *stage = other;
                false
            }
        }
    }

    /// One that ran is over: the next that still wants to begins.
    fn free(&self) {
        let mut state = lock(&self.state);
        state.running = state.running.saturating_sub(1);
        while state.running < self.bound {
            let Some(next) = state.queue.pop_front() else {
                return;
            };
            if self.begin(&next) {
                state.running += 1;
            } else {
                state.void = state.void.saturating_sub(1);
            }
        }
    }

    /// One in the queue was released: the shells that are left are cleared before they are most of it.
    fn void(&self) {
        let mut state = lock(&self.state);
        state.void += 1;
        if state.void * 2 > state.queue.len() {
            state.queue.retain(|inner| inner.is_queued());
            state.void = 0;
        }
    }
}

impl Inner {
    fn is_queued(&self) -> bool {
        matches!(*lock(&self.stage), Stage::Queued(_))
    }

    fn end(&self) -> Stage {
        std::mem::replace(&mut *lock(&self.stage), Stage::Over)
    }
}

impl Place {
    /// When what holds it was first polled; `None` before that.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        let began = self.0.began.load(Ordering::Acquire);
        (began != NOT_BEGUN).then(|| Timestamp::from_millis(began))
    }

    /// Gives the place up if what holds it has not started; then it never will. Whether that was so.
    pub(crate) fn withdraw(&self) -> bool {
        let mut stage = lock(&self.0.stage);
        let is_queued = matches!(*stage, Stage::Queued(_));
        let work = is_queued.then(|| std::mem::replace(&mut *stage, Stage::Over));
        drop(stage);
        drop(work);
        if is_queued && let Some(pool) = self.0.pool.upgrade() {
            pool.void();
        }
        is_queued
    }

    /// Gives the place up. What did not start never will.
    pub(crate) fn release(&self) {
        let stage = self.0.end();
        let Some(pool) = self.0.pool.upgrade() else {
            return;
        };
        match stage {
            Stage::Queued(_) => pool.void(),
            Stage::Running(task) => {
                task.abort();
                pool.free();
            }
            Stage::Over => {}
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.release();
    }
}

/// Held by what runs; gone with its future, however that ends.
struct Room(Arc<Inner>);

impl Drop for Room {
    fn drop(&mut self) {
        if let (Stage::Running(_), Some(pool)) = (self.0.end(), self.0.pool.upgrade()) {
            pool.free();
        }
    }
}
