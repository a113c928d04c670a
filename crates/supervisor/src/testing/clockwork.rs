//! A paused clock, and waits that end when a test advances it.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use sprag_core::clock::{Clock, Manual};
use sprag_core::time::Timestamp;

use crate::runtime::pool::lock;

/// Where the clock starts: an hour after 1970 began, so that ages have room.
const START_MILLIS: i64 = 3_600_000;

/// A clock that is moved by hand.
#[derive(Clone)]
pub struct Clockwork {
    clock: Arc<Manual>,
    waiting: Arc<Mutex<Vec<(Timestamp, Waker)>>>,
}

impl Default for Clockwork {
    fn default() -> Self {
        Self {
            clock: Arc::new(Manual::new(Timestamp::from_millis(START_MILLIS))),
            waiting: Arc::default(),
        }
    }
}

impl Clockwork {
    /// The present instant.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The clock itself.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as Arc<dyn Clock>
    }

    /// Moves on, and wakes every sleeper whose time has come.
    pub fn advance(&self, millis: u64) {
        let now = self.now().plus(millis);
        self.clock.advance_to(now);
        let mut waiting = lock(&self.waiting);
        let (due, later) = std::mem::take(&mut *waiting)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        *waiting = later;
        drop(waiting);
        let due: Vec<(Timestamp, Waker)> = due;
        for (_, waker) in due {
            waker.wake();
        }
    }

    /// Waits until so much time has passed on this clock.
    pub fn sleep(&self, millis: u64) -> impl Future<Output = ()> + Send + use<> {
        Sleep {
            until: self.now().plus(millis),
            clockwork: self.clone(),
        }
    }
}

struct Sleep {
    until: Timestamp,
    clockwork: Clockwork,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.clockwork.now() >= self.until {
            return Poll::Ready(());
        }
        lock(&self.clockwork.waiting).push((self.until, context.waker().clone()));
        Poll::Pending
    }
}
