//! One future under way: polled by whichever thread is free, never by two at once, and dropped where it is polled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Wake, Waker};

use futures_util::future::BoxFuture;

use super::lock;
use super::threads::Ready;

/// What runs.
pub(crate) type Work = BoxFuture<'static, ()>;

/// Waits to be woken.
const RESTING: u8 = 0;
/// Stands in the queue of what is ready.
const QUEUED: u8 = 1;
/// Is being polled.
const POLLED: u8 = 2;
/// Is being polled, and was woken meanwhile.
const WOKEN: u8 = 3;
/// Its future is gone.
const ENDED: u8 = 4;

/// A future under way.
pub(crate) struct Task {
    work: Mutex<Option<Work>>,
    stage: AtomicU8,
    is_aborted: AtomicBool,
    ready: Weak<Ready>,
}

impl Task {
    /// A task that stands in the queue already.
    pub(super) fn queued(work: Work, ready: Weak<Ready>) -> Arc<Self> {
        Arc::new(Self {
            work: Mutex::new(Some(work)),
            stage: AtomicU8::new(QUEUED),
            is_aborted: AtomicBool::new(false),
            ready,
        })
    }

    /// Has the future dropped at its next await: one that blocks its thread goes on until it returns.
    pub(crate) fn abort(self: &Arc<Self>) {
        self.is_aborted.store(true, Ordering::Release);
        self.schedule();
    }

    /// Polls once. The caller took the task from the queue.
    pub(super) fn run(self: &Arc<Self>) {
        self.stage.store(POLLED, Ordering::Release);
        if self.poll_ended() {
            self.stage.store(ENDED, Ordering::Release);
            return;
        }
        let rested = self
            .stage
            .compare_exchange(POLLED, RESTING, Ordering::AcqRel, Ordering::Acquire);
        if rested.is_err() {
            self.stage.store(QUEUED, Ordering::Release);
            self.push();
        }
    }

    /// Whether the future is gone after this: finished, panicked, or aborted.
    fn poll_ended(self: &Arc<Self>) -> bool {
        let mut guard = lock(&self.work);
        if let Some(work) = guard.as_mut()
            && !self.is_aborted.load(Ordering::Acquire)
        {
            let waker = Waker::from(Arc::clone(self));
            let mut context = Context::from_waker(&waker);
            // Who made the future catches panics of what it calls; this one keeps the thread whatever is left.
            let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context)));
            if matches!(polled, Ok(std::task::Poll::Pending)) {
                return false;
            }
        }
        let work = guard.take();
        drop(guard);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
        true
    }

    fn schedule(self: &Arc<Self>) {
        loop {
            let (from, to) = match self.stage.load(Ordering::Acquire) {
                RESTING => (RESTING, QUEUED),
                POLLED => (POLLED, WOKEN),
                _ => return,
            };
            let moved = self
                .stage
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
            match (moved, to) {
                (Ok(_), QUEUED) => return self.push(),
                (Ok(_), _) => return,
                (Err(_), _) => {}
            }
        }
    }

    fn push(self: &Arc<Self>) {
        if let Some(ready) = self.ready.upgrade() {
            ready.push(Arc::clone(self));
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.schedule();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.schedule();
    }
}
