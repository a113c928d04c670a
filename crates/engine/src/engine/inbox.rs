//! The way into a lane. Requests from outside are admitted up to a bound; the engine's own always fit, because what
//! is under way is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use sprag_core::clock::Clock;
use tokio::sync::{Semaphore, oneshot};

use crate::lane::member::Orders;
use crate::leases::{LeaseAnswer, Poll};
use crate::requests::{Call, Code, Command, Refusal, Replied, Request};

/// Requests from outside that may wait for a lane.
const ADMITTED_MAX: usize = 10_000;

/// Programs that may wait for work at once.
const POLLS_MAX: usize = 2_000;

/// What a lane's thread receives.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are commands")]
pub(crate) enum Wake {
    /// A caller asks for something, since that microsecond.
    Command(Command, u64),
    /// A batch was written beside the lane.
    Written,
    /// What a heartbeat of this node means for its lane.
    Orders(Box<Orders>),
    /// Start nothing more, end when nothing is under way.
    Stop,
}

/// The sending side of a lane's inbox.
#[derive(Clone)]
pub(crate) struct Inbox {
    sender: Sender<Wake>,
    clock: Arc<dyn Clock>,
    admission: Arc<Semaphore>,
    /// Those who wait for work wait long: they are counted apart.
    polls: Arc<Semaphore>,
    closing: Arc<AtomicBool>,
}

impl Inbox {
    pub(crate) fn new(sender: Sender<Wake>, clock: Arc<dyn Clock>) -> Self {
        Self {
            sender,
            clock,
            admission: Arc::new(Semaphore::new(ADMITTED_MAX)),
            polls: Arc::new(Semaphore::new(POLLS_MAX)),
            closing: Arc::default(),
        }
    }

    /// Tells the lane what a heartbeat means for it.
    pub(crate) fn order(&self, orders: Orders) {
        let _ = self.sender.send(Wake::Orders(Box::new(orders)));
    }

    /// Puts a request of the engine's own.
    pub(crate) fn put<R: Request>(&self, request: R) {
        self.put_call(Call::own(request));
    }

    /// Puts a call. The engine's own calls always fit.
    pub(crate) fn put_call<R: Request>(&self, call: Call<R>) {
        // A lane that has ended needs nothing any more: the next process recovers from the store.
        let _ = self.sender.send(Wake::Command(R::command(call), self.clock.micros()));
    }

    /// Puts a call in and waits for its answer.
    pub(crate) async fn ask<R: Request>(
        &self,
        call: Call<R>,
        answer: oneshot::Receiver<Replied<R::Answer>>,
    ) -> Replied<R::Answer> {
        if self.closing.load(Ordering::SeqCst) {
            return Replied::now(Err(shutting_down()));
        }
        let Ok(_admitted) = self.admission.try_acquire() else {
            let detail = format!("{ADMITTED_MAX} requests already wait; try again in a moment");
            return Replied::now(Err(Refusal::new(Code::Overloaded, detail)));
        };
        self.put_call(call);
        answer.await.unwrap_or_else(|_| Replied::now(Err(shutting_down())))
    }

    /// Asks for work, and waits until there is some or the time is up.
    pub(crate) async fn poll(&self, poll: Poll) -> Replied<LeaseAnswer> {
        if self.closing.load(Ordering::SeqCst) {
            return Replied::now(Err(shutting_down()));
        }
        let Ok(_waiting) = self.polls.try_acquire() else {
            let detail = format!("{POLLS_MAX} programs already wait for work; try again in a moment");
            return Replied::now(Err(Refusal::new(Code::Overloaded, detail)));
        };
        let (call, answer) = Call::asked(poll);
        self.put_call(call);
        answer.await.unwrap_or_else(|_| Replied::now(Err(shutting_down())))
    }

    /// How many requests from outside wait for their answer.
    pub(crate) fn waiting(&self) -> usize {
        ADMITTED_MAX.saturating_sub(self.admission.available_permits())
    }

    /// Lets nothing more in from outside, and lets the lane end.
    pub(crate) fn stop(&self) {
        self.closing.store(true, Ordering::SeqCst);
        let _ = self.sender.send(Wake::Stop);
    }
}

fn shutting_down() -> Refusal {
    Refusal::new(Code::ShuttingDown, "the engine is stopping; try again in a moment")
}
