//! What a node of several has of its own: its clock, and its way to the database it shares with the others.
//!
//! A clock is wrong by any amount until the first heartbeat is answered, runs slow after that, and is set right by every
//! answer. The way to the database may be cut, and an answer may be lost although what was asked for was done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use sprag_core::clock::{Clock, Manual};
use sprag_core::ids::NodeId;
use sprag_core::time::Timestamp;
use sprag_store::memory::MemoryNodes;
use sprag_store::nodes::{Beat, Claimed, Nodes, View};
use sprag_store::{Error, Fence, ShardId};

use crate::random::Random;
use crate::store::cut_off;
use crate::world::SharedWorld;

/// A wall clock is wrong by at most this, in milliseconds.
const WRONG_MILLIS: u64 = 7_200_000;
/// So many milliseconds of every thousand are lost at most.
const SLOW_MAX: u64 = 30;

/// The clock of one node.
#[derive(Debug)]
pub(crate) struct NodeClock {
    truth: Arc<Manual>,
    /// Milliseconds lost of every thousand since `since`.
    slow: AtomicI64,
    since: AtomicI64,
    /// What it showed at `since`.
    base: AtomicI64,
    given: AtomicI64,
    follows: AtomicBool,
}

impl NodeClock {
    /// A clock that is wrong.
    pub(crate) fn wrong(truth: Arc<Manual>, random: &mut Random) -> Self {
        let now = truth.now().as_millis();
        let ahead = i64::try_from(random.below(2 * WRONG_MILLIS)).unwrap_or(0);
        let base = now + ahead - i64::try_from(WRONG_MILLIS).unwrap_or(0);
        Self {
            truth,
            slow: AtomicI64::new(i64::try_from(random.below(SLOW_MAX)).unwrap_or(0)),
            since: AtomicI64::new(now),
            base: AtomicI64::new(base),
            given: AtomicI64::new(i64::MIN),
            follows: AtomicBool::new(false),
        }
    }

    /// It is right, and loses nothing any more.
    pub(crate) fn repair(&self) {
        self.slow.store(0, Ordering::SeqCst);
        self.set(self.truth.now().as_millis());
    }

    fn set(&self, to: i64) {
        self.since.store(self.truth.now().as_millis(), Ordering::SeqCst);
        self.base.store(to, Ordering::SeqCst);
    }

    fn elapsed(&self) -> i64 {
        let elapsed = self.truth.now().as_millis() - self.since.load(Ordering::SeqCst);
        elapsed - elapsed * self.slow.load(Ordering::SeqCst) / 1_000
    }
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        let shown = self.base.load(Ordering::SeqCst) + self.elapsed();
        let given = self.given.fetch_max(shown, Ordering::SeqCst);
        Timestamp::from_millis(given.max(shown))
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.truth.now().as_millis()).unwrap_or(0) * 1_000
    }

    fn follow(&self, store: Timestamp) -> Option<i64> {
        let store = store.as_millis();
        if !self.follows.swap(true, Ordering::SeqCst) {
            self.given.store(store, Ordering::SeqCst);
            self.set(store);
        } else if self.now().as_millis() < store {
            self.set(store);
        }
        None
    }
}

/// The way to the other nodes, which may be cut.
pub(crate) struct CutNodes {
    pub(crate) nodes: MemoryNodes,
    pub(crate) is_cut: Arc<AtomicBool>,
    pub(crate) world: SharedWorld,
    pub(crate) random: Random,
}

impl CutNodes {
    fn ask<T>(&mut self, ask: impl FnOnce(&mut MemoryNodes) -> Result<T, Error>) -> Result<T, Error> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(cut_off());
        }
        let answer = ask(&mut self.nodes);
        let is_calm = self.world.lock().is_calm;
        if !is_calm && self.random.chance(1, 25) {
            return Err(cut_off());
        }
        answer
    }
}

impl Nodes for CutNodes {
    fn heartbeat(&mut self, beat: &Beat) -> Result<View, Error> {
        self.ask(|nodes| nodes.heartbeat(beat))
    }

    fn claim(&mut self, node: NodeId, shards: &[ShardId]) -> Result<Vec<Claimed>, Error> {
        self.ask(|nodes| nodes.claim(node, shards))
    }

    fn release(&mut self, node: NodeId, fences: &[Fence]) -> Result<(), Error> {
        self.ask(|nodes| nodes.release(node, fences))
    }

    fn leave(&mut self, node: NodeId) -> Result<(), Error> {
        self.ask(|nodes| nodes.leave(node))
    }
}
