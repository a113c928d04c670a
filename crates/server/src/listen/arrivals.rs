//! Bodies of requests on their way in: how many at once, and how many bytes of bodies in memory over all requests.
//!
//! A request takes no permit of its class ([`crate::listen::admission`]) before its body is whole, so a client that sends slowly
//! holds a seat here and nothing else. When all seats are taken, or all bytes, the body that has been arriving longest is
//! cut off: a body that arrives at an ordinary pace always finds room, however many others trickle in. Small bodies are
//! not counted in bytes: the number of requests bounds them already. One that is here together with its head never waits
//! and takes no seat.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;

use crate::listen::admission::overloaded;
use crate::problem::Problem;

/// Bodies that arrive at once.
pub(crate) const ARRIVING_MAX: usize = 512;
/// Bytes of all bodies in memory, from their arrival until their requests are answered.
const BODIES_BYTES_MAX: usize = 64 << 20;
/// Bodies up to this size are not counted in bytes.
pub(crate) const SMALL_BYTES: usize = 16 << 10;

/// The bodies of a server. Cheap to clone: all share one.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Bodies that were cut off for others.
    cut: Counter,
}

#[derive(Default)]
struct State {
    turn: u64,
    /// In the order in which they began.
    arriving: BTreeMap<u64, Seat>,
    /// Bytes that are counted, of bodies that arrive and of those that have arrived.
    bytes: usize,
}

/// A body that arrives.
struct Seat {
    bytes: usize,
    cut: Arc<Notify>,
}

impl Arrivals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what is counted here to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Request bodies that the server cut off because they arrived slowly and others needed the room";
        registry.register("bodies_cut", help, self.0.cut.clone());
    }

    /// A body begins to arrive. If there are too many, the oldest one goes.
    pub(crate) fn begin(&self) -> Arriving {
        let mut state = self.state();
        if state.arriving.len() >= ARRIVING_MAX {
            self.cut_off(&mut state, |_| true);
        }
        let (turn, cut) = (state.turn, Arc::new(Notify::new()));
        state.turn += 1;
        let seat = Seat {
            bytes: 0,
            cut: Arc::clone(&cut),
        };
        state.arriving.insert(turn, seat);
        Arriving {
            arrivals: self.clone(),
            turn,
            cut,
        }
    }

    /// Cuts off the oldest body that is `fit` for it; says whether there was one. Its bytes count no more: they go as soon as
    /// its task wakes up.
    fn cut_off(&self, state: &mut State, fit: impl Fn(&Seat) -> bool) -> bool {
        let oldest = state.arriving.iter().find(|(_, seat)| fit(seat));
        let Some(turn) = oldest.map(|(turn, _)| *turn) else {
            return false;
        };
        if let Some(seat) = state.arriving.remove(&turn) {
            state.bytes -= seat.bytes;
            seat.cut.notify_one();
            self.0.cut.inc();
        }
        true
    }
}

/// A body that arrives. Dropping it gives everything back.
pub(crate) struct Arriving {
    arrivals: Arrivals,
    turn: u64,
    cut: Arc<Notify>,
}

impl Arriving {
    /// Waits until the body is cut off; says why.
    pub(crate) async fn cut_off(&self) -> Problem {
        self.cut.notified().await;
        gone()
    }

    /// Makes room for a body of so many bytes so far. Older ones that still arrive go for it.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), Problem> {
        if bytes <= SMALL_BYTES {
            return Ok(());
        }
        let mut state = self.arrivals.state();
        let Some(own) = state.arriving.get_mut(&self.turn) else {
            return Err(gone());
        };
        // While it makes room it is not in its own way.
        let before = std::mem::take(&mut own.bytes);
        state.bytes -= before;
        while state.bytes + bytes > BODIES_BYTES_MAX {
            if !self.arrivals.cut_off(&mut state, |seat| seat.bytes > 0) {
                return Err(full());
            }
        }
        state.bytes += bytes;
        if let Some(own) = state.arriving.get_mut(&self.turn) {
            own.bytes = bytes;
        }
        Ok(())
    }

    /// The body is whole. Its bytes keep their room until they, and the room, are dropped.
    pub(crate) fn arrived(self, body: Vec<u8>) -> Whole {
        let bytes = self
            .arrivals
            .state()
            .arriving
            .remove(&self.turn)
            .map_or(0, |seat| seat.bytes);
        if bytes == 0 {
            return Whole::small(body);
        }
        let arrivals = self.arrivals.clone();
        let room = Arc::new(Room { arrivals, bytes });
        let held = Held {
            body,
            _room: Arc::clone(&room),
        };
        Whole {
            bytes: Bytes::from_owner(held),
            room: Some(room),
        }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let mut state = self.arrivals.state();
        if let Some(seat) = state.arriving.remove(&self.turn) {
            state.bytes -= seat.bytes;
        }
    }
}

/// A body that has arrived.
pub(crate) struct Whole {
    /// It.
    pub(crate) bytes: Bytes,
    /// What it counts for; none if it is small.
    pub(crate) room: Option<Arc<Room>>,
}

impl Whole {
    /// A body that is not counted.
    pub(crate) fn small(body: Vec<u8>) -> Self {
        Self {
            bytes: Bytes::from(body),
            room: None,
        }
    }
}

/// What a body counts for.
pub(crate) struct Room {
    arrivals: Arrivals,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.arrivals.state().bytes -= self.bytes;
    }
}

struct Held {
    body: Vec<u8>,
    _room: Arc<Room>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

fn gone() -> Problem {
    overloaded(
        "the body arrived slowly, so the server gave its place to others; send it again, without pauses".to_owned(),
    )
}

fn full() -> Problem {
    overloaded(format!(
        "bodies of other requests fill the {} MiB for bodies; try again in a moment",
        BODIES_BYTES_MAX >> 20
    ))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LARGE: usize = 1 << 20;

    fn is_cut(arriving: &Arriving) -> bool {
        arriving.cut_off().now_or_never().is_some()
    }

    #[test]
    fn one_body_too_many_cuts_off_the_one_that_has_been_arriving_longest() {
        let arrivals = Arrivals::default();
        let mut all: Vec<Arriving> = (0..ARRIVING_MAX).map(|_| arrivals.begin()).collect();
        // One that has arrived, or whose client has gone, makes room itself.
        assert!(all.remove(0).arrived(b"{}".to_vec()).room.is_none());
        all.push(arrivals.begin());
        assert!(!all.iter().any(is_cut));
        all.push(arrivals.begin());
        assert!(is_cut(&all[0]) && !is_cut(&all[1]));
        assert!(all[0].grow(LARGE).is_err(), "it takes no more room");
        assert_eq!(arrivals.0.cut.get(), 1);
        drop(all);
        assert!(arrivals.state().arriving.is_empty());
    }

    #[test]
    fn bodies_that_still_arrive_go_for_newer_ones_when_there_are_no_bytes_left() {
        let arrivals = Arrivals::default();
        let small = arrivals.begin();
        small.grow(SMALL_BYTES).unwrap();
        let large: Vec<Arriving> = (0..BODIES_BYTES_MAX / LARGE).map(|_| arrivals.begin()).collect();
        for one in &large {
            one.grow(LARGE / 2).unwrap();
            one.grow(LARGE).unwrap();
        }
        let next = arrivals.begin();
        next.grow(LARGE).unwrap();
        assert!(is_cut(&large[0]) && !is_cut(&large[1]), "the oldest that is counted");
        assert!(!is_cut(&small), "a small one gives no room");
        drop((large, next));
        assert_eq!(arrivals.state().bytes, 0);
    }

    #[test]
    fn bodies_that_have_arrived_keep_their_room_until_they_are_dropped() {
        let arrivals = Arrivals::default();
        let arrive = || {
            let arriving = arrivals.begin();
            arriving.grow(LARGE).map(|()| arriving.arrived(vec![0; LARGE]))
        };
        let mut whole: Vec<Whole> = (0..BODIES_BYTES_MAX / LARGE).map(|_| arrive().unwrap()).collect();
        assert!(arrive().is_err());
        assert!(arrivals.begin().grow(SMALL_BYTES).is_ok(), "small ones always fit");
        let Whole { bytes, room } = whole.pop().unwrap();
        drop(bytes);
        assert!(arrive().is_err(), "its request still runs");
        drop(room);
        assert!(arrive().is_ok());
        drop(whole);
        assert_eq!(arrivals.state().bytes, 0);
    }
}
