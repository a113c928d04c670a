//! Connections: who may stay when the server is full.
//!
//! A connection is busy while a request of it runs or its answer is being taken; otherwise it is idle: it has said nothing
//! yet, is halfway through the head of a request, or is between two requests. Idle connections count for nothing. When
//! all seats are taken, the server closes the connection that has been idle longest and gives its seat to the new one. A
//! client that has just connected is the last in that order, so a client with a request gets an answer however many
//! connections others hold open, and health checks need no port of their own.
//!
//! There is always one to close: the classes of requests ([`crate::listen::admission`]) and streams together are fewer than the
//! seats. A connection whose answer is made but not written yet counts as idle, so peers that do not read cannot hold all
//! seats either.
//!
//! A connection that is still in its TLS handshake is idle as well. Of these there is a smaller number, and when it is
//! reached, the one that has been in its handshake longest is closed.
//!
//! The rule costs a busy connection two atomic stores a request, and a look at all seats only when the server is full.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::{BoxError, Router};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::service::TowerToHyperService;
use sprag_core::action::BoxFuture;
use tokio::sync::Notify;
use tokio::task::Id;

use crate::access::gate::Peer;

/// A request runs.
const BUSY: u64 = 0;
/// The connection must go.
const LEAVING: u64 = u64::MAX;

/// The seat of one connection.
#[derive(Debug)]
pub(crate) struct Seat {
    /// [`BUSY`], [`LEAVING`], or since which turn it has been idle.
    state: AtomicU64,
    turns: Arc<AtomicU64>,
    leave: Notify,
    /// Whether the connection is in its TLS handshake.
    in_handshake: AtomicBool,
}

impl Seat {
    /// The connection begins or ends its TLS handshake.
    pub(crate) fn set_in_handshake(&self, in_handshake: bool) {
        self.in_handshake.store(in_handshake, Ordering::Relaxed);
    }

    pub(crate) fn is_in_handshake(&self) -> bool {
        self.in_handshake.load(Ordering::Relaxed)
    }

    /// A request of the connection begins; none if the connection is being closed.
    fn work(self: &Arc<Self>) -> Option<Working> {
        let worked = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            (state != LEAVING).then_some(BUSY)
        });
        worked.ok().map(|_| Working(Arc::clone(self)))
    }

    /// Waits until the connection must go.
    pub(crate) async fn left(&self) {
        self.leave.notified().await;
    }
}

/// A request that runs; its connection is idle again when this is dropped.
struct Working(Arc<Seat>);

impl Drop for Working {
    fn drop(&mut self) {
        let turn = self.0.turns.fetch_add(1, Ordering::Relaxed);
        self.0.state.store(turn, Ordering::Release);
    }
}

/// The seats of a server, by the tasks that serve their connections.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: HashMap<Id, Arc<Seat>>,
    turns: Arc<AtomicU64>,
}

impl Default for Seats {
    fn default() -> Self {
        Self {
            taken: HashMap::new(),
            turns: Arc::new(AtomicU64::new(BUSY + 1)),
        }
    }
}

impl Seats {
    /// A seat for a new connection, which is idle until it says something.
    pub(crate) fn seat(&self) -> Arc<Seat> {
        Arc::new(Seat {
            state: AtomicU64::new(self.turns.fetch_add(1, Ordering::Relaxed)),
            turns: Arc::clone(&self.turns),
            leave: Notify::new(),
            in_handshake: AtomicBool::new(false),
        })
    }

    /// How many connections are in their handshake.
    pub(crate) fn handshakes(&self) -> usize {
        self.taken.values().filter(|seat| seat.is_in_handshake()).count()
    }

    /// The connection in a seat is served by a task.
    pub(crate) fn take(&mut self, task: Id, seat: Arc<Seat>) {
        self.taken.insert(task, seat);
    }

    /// The connection is closed.
    pub(crate) fn give_back(&mut self, task: Id) {
        self.taken.remove(&task);
    }

    /// Closes the connection that has been idle longest of those that may go; says whether there was one.
    pub(crate) fn make_room(&self, may_go: impl Fn(&Seat) -> bool) -> bool {
        loop {
            let idle = self.taken.values().filter(|seat| may_go(seat)).filter_map(|seat| {
                let state = seat.state.load(Ordering::Acquire);
                (state != BUSY && state != LEAVING).then_some((state, seat))
            });
            let Some((since, seat)) = idle.min_by_key(|(since, _)| *since) else {
                return false;
            };
            let leaving = seat
                .state
                .compare_exchange(since, LEAVING, Ordering::AcqRel, Ordering::Acquire);
            if leaving.is_ok() {
                seat.leave.notify_one();
                return true;
            }
        }
    }
}

/// The routes, as one connection uses them.
pub(crate) struct Seated {
    router: TowerToHyperService<Router>,
    seat: Arc<Seat>,
    peer: Peer,
}

impl Seated {
    pub(crate) fn new(router: Router, seat: Arc<Seat>, peer: Peer) -> Self {
        Self {
            router: TowerToHyperService::new(router),
            seat,
            peer,
        }
    }
}

impl Service<Request<Incoming>> for Seated {
    type Response = Response<BusyBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        let working = self.seat.work();
        let answer = self.router.call(request);
        Box::pin(async move {
            let Some(working) = working else {
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
            };
            let answer = answer.await.unwrap_or_else(|never| match never {});
            Ok(answer.map(|body| BusyBody {
                body,
                _working: working,
            }))
        })
    }
}

/// The body of an answer: its connection is busy until all of it is taken.
pub(crate) struct BusyBody {
    body: Body,
    _working: Working,
}

impl hyper::body::Body for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seats that are taken, and whose they are.
    async fn taken(count: usize) -> (Seats, Vec<(Id, Arc<Seat>)>) {
        let mut seats = Seats::default();
        let mut all = Vec::new();
        for _ in 0..count {
            let seat = seats.seat();
            let task = tokio::spawn(async {});
            seats.take(task.id(), Arc::clone(&seat));
            all.push((task.id(), seat));
            task.await.unwrap();
        }
        (seats, all)
    }

    #[tokio::test]
    async fn the_connection_that_has_been_idle_longest_goes() {
        let (mut seats, all) = taken(3).await;
        // The first one says something, and is then the last to have done so.
        drop(all[0].1.work());
        for expected in [1, 2, 0] {
            assert!(seats.make_room(|_| true));
            let (task, seat) = &all[expected];
            assert_eq!(seat.state.load(Ordering::Relaxed), LEAVING, "{expected}");
            seat.left().await;
            seats.give_back(*task);
        }
        assert!(!seats.make_room(|_| true));
    }

    #[tokio::test]
    async fn a_connection_with_a_request_stays() {
        let (seats, all) = taken(2).await;
        let working = all[0].1.work().unwrap();
        assert!(seats.make_room(|_| true));
        assert!(!seats.make_room(|_| true), "the other one is busy");
        assert!(all[1].1.work().is_none(), "one that must go takes no more requests");
        drop(working);
        assert!(seats.make_room(|_| true));
    }

    #[tokio::test]
    async fn the_oldest_handshake_goes_and_nobody_else() {
        let (seats, all) = taken(4).await;
        for handshake in [2, 3] {
            all[handshake].1.set_in_handshake(true);
        }
        assert_eq!(seats.handshakes(), 2);
        all[3].1.set_in_handshake(false);
        assert!(seats.make_room(Seat::is_in_handshake));
        assert_eq!(all[2].1.state.load(Ordering::Relaxed), LEAVING);
        assert!(!seats.make_room(Seat::is_in_handshake), "the others have had theirs");
    }
}
