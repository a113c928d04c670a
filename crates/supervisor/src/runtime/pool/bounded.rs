//! A limit on the number of running tasks, and the queue in front of it.
//!
//! The holder of a [`PooledTask`] may release it at any moment. A queued task then never starts, and a running task is
//! dropped at its next await. In both cases its place is free at once, even while the old task blocks a thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use async_task::{Runnable, Task};
use futures_util::future::BoxFuture;
use sprag_core::time::Timestamp;

use super::lock;
use super::threads::Threads;

/// The most that can wait for one pool. A worker has at most one action and one pass.
pub const QUEUED_MAX: usize = 1 << 20;
/// Marks what has not begun.
const NOT_BEGUN: i64 = i64::MIN;

/// The queue before a pool is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full: `{QUEUED_MAX}` tasks wait")]
pub struct QueueFull;

/// What runs in a pool.
pub(crate) type Work = BoxFuture<'static, ()>;

/// Runs at most so many futures at once.
#[derive(Clone)]
pub struct Pool(Arc<PoolShared>);

struct PoolShared {
    threads: Arc<Threads>,
    bound: usize,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    running: usize,
    queue: VecDeque<Arc<PoolEntry>>,
    /// How many in the queue were released.
    void: usize,
}

impl PoolState {
    /// For a moment, one may be counted as released that has left the queue.
    fn waiting(&self) -> usize {
        self.queue.len().saturating_sub(self.void)
    }
}

/// A future that waits in the queue or runs. Dropped, it is released.
pub(crate) struct PooledTask(Arc<PoolEntry>);

struct PoolEntry {
    stage: Mutex<EntryStage>,
    pool: Weak<PoolShared>,
    /// The tick's time when it was first polled.
    began: AtomicI64,
}

enum EntryStage {
    /// Its task is made when it starts: the tick that submits it has less to do.
    Queued(Work),
    Running(Task<()>),
    Over,
}

impl Pool {
    /// At most `bound` at once, at least one.
    pub fn new(threads: Arc<Threads>, bound: usize) -> Self {
        Self(Arc::new(PoolShared {
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
    pub(crate) fn submit(&self, work: Work) -> Result<PooledTask, QueueFull> {
        let entry = Arc::new(PoolEntry {
            stage: Mutex::new(EntryStage::Queued(work)),
            pool: Arc::downgrade(&self.0),
            began: AtomicI64::new(NOT_BEGUN),
        });
        let mut state = lock(&self.0.state);
        if state.running < self.0.bound {
            let started = entry.start(&self.0.threads);
            state.running += usize::from(started.is_some());
            drop(state);
            if let Some(runnable) = started {
                runnable.schedule();
            }
        } else if state.waiting() < QUEUED_MAX {
            state.queue.push_back(Arc::clone(&entry));
        } else {
            return Err(QueueFull);
        }
        Ok(PooledTask(entry))
    }
}

impl PoolShared {
    /// One that ran is over: the next that was not released starts.
    fn free(&self) {
        let mut state = lock(&self.state);
        state.running = state.running.saturating_sub(1);
        loop {
            let started = self.start_next(&mut state);
            let is_room = state.running < self.bound && !state.queue.is_empty();
            drop(state);
            // Scheduled without the lock: threads that have ended drop what they are given, and its room with it.
            if let Some(runnable) = started {
                runnable.schedule();
            }
            if !is_room {
                return;
            }
            state = lock(&self.state);
        }
    }

    fn start_next(&self, state: &mut PoolState) -> Option<Runnable> {
        while state.running < self.bound {
            if let Some(runnable) = state.queue.pop_front()?.start(&self.threads) {
                state.running += 1;
                return Some(runnable);
            }
            state.void = state.void.saturating_sub(1);
        }
        None
    }

    /// One in the queue was released: the shells that are left are cleared before they are most of it.
    fn void(&self) {
        let mut state = lock(&self.state);
        state.void += 1;
        if state.void * 2 > state.queue.len() {
            state.queue.retain(|entry| entry.is_queued());
            state.void = 0;
        }
    }
}

impl PoolEntry {
    fn is_queued(&self) -> bool {
        matches!(*lock(&self.stage), EntryStage::Queued(_))
    }

    /// What to schedule so that it runs; `None` if it was released.
    fn start(self: &Arc<Self>, threads: &Threads) -> Option<Runnable> {
        let mut stage = lock(&self.stage);
        match std::mem::replace(&mut *stage, EntryStage::Over) {
            EntryStage::Queued(work) => {
                let (room, time) = (Room(Arc::clone(self)), threads.tick_time());
                let (runnable, task) = threads.spawn(async move {
                    room.0.began.store(time.now().as_millis(), Ordering::Release);
                    work.await;
                    drop(room);
                });
                *stage = EntryStage::Running(task);
                Some(runnable)
            }
            other => {
                *stage = other;
                None
            }
        }
    }

    fn end(&self) -> EntryStage {
        std::mem::replace(&mut *lock(&self.stage), EntryStage::Over)
    }
}

impl PooledTask {
    /// When it was first polled; `None` before that.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        let began = self.0.began.load(Ordering::Acquire);
        (began != NOT_BEGUN).then(|| Timestamp::from_millis(began))
    }

    /// Releases it if it has not started; then it never will. Whether that was so.
    pub(crate) fn withdraw(&self) -> bool {
        let mut stage = lock(&self.0.stage);
        let is_queued = matches!(*stage, EntryStage::Queued(_));
        let ended = is_queued.then(|| std::mem::replace(&mut *stage, EntryStage::Over));
        drop(stage);
        drop(ended);
        if is_queued && let Some(pool) = self.0.pool.upgrade() {
            pool.void();
        }
        is_queued
    }

    /// Releases it. What has not started never will; what runs is dropped at its next await.
    pub(crate) fn release(&self) {
        let stage = self.0.end();
        let Some(pool) = self.0.pool.upgrade() else {
            return;
        };
        match stage {
            EntryStage::Queued(_) => pool.void(),
            EntryStage::Running(task) => {
                // A dropped task is cancelled.
                drop(task);
                pool.free();
            }
            EntryStage::Over => {}
        }
    }
}

impl Drop for PooledTask {
    fn drop(&mut self) {
        self.release();
    }
}

/// Held by what runs; gone with its future, however that ends.
struct Room(Arc<PoolEntry>);

impl Drop for Room {
    fn drop(&mut self) {
        if let EntryStage::Running(task) = self.0.end() {
            // It has ended: there is nothing to cancel.
            task.detach();
            if let Some(pool) = self.0.pool.upgrade() {
                pool.free();
            }
        }
    }
}
