//! Several nodes on one store: they join, beat, stand still past their lease, are cut off, hand over and die.
//!
//! Every node is a production lane with a production member. The rules are those of one process, over all of them
//! together: nothing acknowledged is lost, transitions happen once, effects are accounted for, and whoever lost a shard
//! writes nothing. Only what one process alone can be held to (its own caps, the order of its lines) is not checked here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sprag_core::clock::Clock;
use sprag_core::ids::{NodeId, Slot};
use sprag_core::time::Timestamp;
use sprag_engine::lane::{Lane, Parts, Tenure, slot_of};
use sprag_engine::member::{self, Member};
use sprag_store::memory::MemoryNodes;
use sprag_store::nodes::{Beat, Claimed, Nodes, View};
use sprag_store::traits::shard_of;
use sprag_store::{Error, Fence, ShardId};

use crate::clients::{Ask, Clients};
use crate::hands::SimulatedHands;
use crate::rest::{REST_MILLIS, TICKS_MAX, TIME_MAX_MILLIS};
use crate::simulation::{Simulation, said};
use crate::store::{Fault, cut_off};
use crate::violation::{Checked, Invariant, Violation, ensure};
use crate::world::Delivery;

/// How many shards a store has that nodes share.
pub(crate) const SHARDS: u32 = 6;
/// As many nodes as there are at once.
const NODES_MAX: usize = 4;
/// The fewest and the most steps of a run before faults stop.
const STEPS: (u64, u64) = (60, 160);
/// The longest a node stands still, in milliseconds: well beyond its lease.
const STILL_MILLIS: u64 = 25_000;

/// All nodes.
#[derive(Default)]
pub(crate) struct Crowd {
    nodes: Vec<Node>,
    drawn: u64,
    /// Shards that were taken from nodes whose lease had run out.
    pub(crate) taken_over: u64,
}

/// One node.
struct Node {
    life: u64,
    lane: Lane,
    member: Member,
    is_cut: Arc<AtomicBool>,
    /// It hears from its database again then.
    cut_until: Timestamp,
    /// It does nothing until then, and does not know that.
    still_until: Timestamp,
    beats_at: Timestamp,
    /// It goes down: then at the latest it is gone.
    closes_at: Option<Timestamp>,
    inbox: VecDeque<Ask>,
}

/// The way to the other nodes, which may be cut.
struct CutNodes {
    nodes: MemoryNodes,
    is_cut: Arc<AtomicBool>,
}

impl CutNodes {
    fn check(&self) -> Result<(), Error> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(cut_off());
        }
        Ok(())
    }
}

impl Nodes for CutNodes {
    fn heartbeat(&mut self, beat: &Beat) -> Result<View, Error> {
        self.check()?;
        self.nodes.heartbeat(beat)
    }

    fn claim(&mut self, node: NodeId, shards: &[ShardId]) -> Result<Vec<Claimed>, Error> {
        self.check()?;
        self.nodes.claim(node, shards)
    }

    fn release(&mut self, node: NodeId, fences: &[Fence]) -> Result<(), Error> {
        self.check()?;
        self.nodes.release(node, fences)
    }

    fn leave(&mut self, node: NodeId) -> Result<(), Error> {
        self.check()?;
        self.nodes.leave(node)
    }
}

impl Simulation {
    /// One run of several nodes.
    pub(crate) fn play_crowd(&mut self) -> Checked {
        for _ in 0..2 {
            self.join()?;
        }
        self.meet()?;
        for ask in self.clients.begin() {
            self.put(ask, true);
        }
        self.tick_nodes()?;
        let (least, most) = STEPS;
        for _ in 0..self.random.between(least, most) {
            self.crowd_step()?;
        }
        self.settle_crowd()
    }

    /// Another node joins, unless the database cannot be opened.
    fn join(&mut self) -> Checked {
        self.crowd.drawn += 1;
        let life = self.crowd.drawn;
        let is_cut = Arc::new(AtomicBool::new(false));
        let hands = SimulatedHands {
            world: self.world.clone(),
            disk: self.disk.clone(),
            trace: self.trace.clone(),
            life,
        };
        let mut entropy = self.entropy.fork(life);
        let clock = Arc::clone(&self.lane_clock) as Arc<dyn Clock>;
        let opened = Lane::open(Parts {
            store: Box::new(self.disk.open_cut(Arc::clone(&is_cut))),
            committer: None,
            hands: Box::new(hands),
            clock: Arc::clone(&clock),
            entropy: Box::new(move || entropy.bits()),
            publish: Box::new(|_| {}),
            options: self.options.clone(),
            metrics: Arc::default(),
            tenure: Tenure::Shared { shards: SHARDS },
        });
        self.trace.line(format_args!("{} node {life} joins", self.now()));
        let Ok(lane) = opened else {
            self.disk.crash();
            return self.observe();
        };
        let id = NodeId::compose(self.now(), Slot(0), life);
        let nodes = CutNodes {
            nodes: self.disk.memory().nodes(Arc::clone(&clock)),
            is_cut: Arc::clone(&is_cut),
        };
        let options = member::Options::new(id, format!("node-{life}"), "simulated", "secret");
        self.crowd.nodes.push(Node {
            life,
            lane,
            member: Member::new(options, Box::new(nodes), clock),
            is_cut,
            cut_until: self.now(),
            still_until: self.now(),
            beats_at: self.now(),
            closes_at: None,
            inbox: VecDeque::new(),
        });
        self.observe()
    }

    /// Everybody hears of everybody.
    fn meet(&mut self) -> Checked {
        for _ in 0..3 {
            for place in 0..self.crowd.nodes.len() {
                self.beat(place)?;
            }
        }
        Ok(())
    }

    /// A node gives a heartbeat, and its lane does what follows.
    fn beat(&mut self, place: usize) -> Checked {
        let now = self.now();
        let node = &mut self.crowd.nodes[place];
        let Ok(orders) = node.member.beat() else {
            node.beats_at = now.plus(member::BEAT_MILLIS);
            return Ok(());
        };
        node.beats_at = now.plus(node.member.rest_millis());
        let taken: Vec<u32> = orders.acquired.iter().map(|claimed| claimed.fence.shard.0).collect();
        let former = orders.acquired.iter().filter(|claimed| claimed.former.is_some());
        self.crowd.taken_over += u64::try_from(former.count()).unwrap_or(0);
        self.trace.line(format_args!(
            "{now} node {} beats: takes {taken:?}, lost {:?}, hands over {:?}, keeps {:?}",
            node.life, orders.lost, orders.hand_over, orders.keep
        ));
        let obeyed = node.lane.obey(&orders);
        if obeyed.is_err() {
            self.die(place, "it could not read what it was given");
        }
        self.observe()
    }

    fn die(&mut self, place: usize, why: &str) {
        let node = self.crowd.nodes.remove(place);
        self.trace
            .line(format_args!("{} node {} dies: {why}", self.now(), node.life));
        self.crashes += 1;
        self.world.lock().crash(node.life);
        self.disk.crash();
        for ask in node.inbox {
            self.unanswered(&ask);
        }
    }

    /// One step with everything that may go wrong.
    fn crowd_step(&mut self) -> Checked {
        let now = self.now();
        let wakes = self
            .crowd
            .nodes
            .iter()
            .map(|node| node.lane.next_wake().min(node.beats_at));
        let next = wakes.chain(self.world.lock().next_event()).min().unwrap_or(now);
        let to = match self.random.below(20) {
            0..=6 => now,
            7..=9 => now.plus(self.random.below(50)),
            10..=15 => next.max(now).min(now.plus(10_000)),
            16..=18 => now.plus(self.random.below(3_000)),
            _ => now.plus(self.random.below(9_000)),
        };
        self.move_to(to);
        self.go_wrong()?;
        for Delivery { to, attempt, news } in self.world.lock().advance(self.clock.now()) {
            let ask = said(attempt, news);
            let place = to.map(|life| self.crowd.place(life));
            match place {
                Some(Some(place)) => self.crowd.nodes[place].inbox.push_back(ask),
                // To a node that is gone, nobody says anything any more.
                Some(None) => {}
                None => self.crowd.put_by_owner(ask),
            }
        }
        for _ in 0..self.random.below(4) {
            if let Some(ask) = self.clients.ask(&mut self.model) {
                let is_informed = !self.random.chance(1, 5);
                self.put(ask, is_informed);
            }
        }
        self.tick_nodes()
    }

    /// Nodes stand still, are cut off, come, go down and die.
    fn go_wrong(&mut self) -> Checked {
        let now = self.now();
        let count = u64::try_from(self.crowd.nodes.len()).unwrap_or(0);
        let place = usize::try_from(self.random.below(count.max(1))).unwrap_or(0);
        if self.crowd.nodes.len() < NODES_MAX && self.random.chance(1, 12) {
            self.join()?;
        }
        if self.crowd.nodes.is_empty() {
            return Ok(());
        }
        if self.random.chance(1, 15) {
            let until = now.plus(self.random.below(STILL_MILLIS));
            let node = &mut self.crowd.nodes[place];
            node.still_until = until;
            self.trace
                .line(format_args!("{now} node {} stands still until {until}", node.life));
        } else if self.random.chance(1, 20) {
            let until = now.plus(self.random.below(STILL_MILLIS));
            let node = &mut self.crowd.nodes[place];
            node.cut_until = until;
            self.trace
                .line(format_args!("{now} node {} is cut off until {until}", node.life));
        } else if self.random.chance(1, 40) {
            let grace = self.random.below(6_000);
            let node = &mut self.crowd.nodes[place];
            if node.closes_at.is_none() {
                self.trace.line(format_args!("{now} node {} goes down", node.life));
                node.lane.stop_starting();
                node.closes_at = Some(now.plus(grace));
            }
        } else if self.random.chance(1, 35) {
            self.die(place, "kill");
        } else if self.random.chance(1, 30) {
            let faults = [Fault::DieBefore, Fault::DieAfter, Fault::Failed];
            let fault = self.random.pick(&faults).copied().unwrap_or(Fault::Failed);
            self.disk.lock().next = Some((0, fault));
        }
        Ok(())
    }

    /// A request goes to whoever decides on it, or to anybody.
    fn put(&mut self, ask: Ask, is_informed: bool) {
        if is_informed {
            self.crowd.put_by_owner(ask);
        } else if !self.crowd.nodes.is_empty() {
            let count = u64::try_from(self.crowd.nodes.len()).unwrap_or(1);
            let place = usize::try_from(self.random.below(count)).unwrap_or(0);
            self.crowd.nodes[place].inbox.push_back(ask);
        }
    }

    /// Whoever does not stand still beats when it is time, and ticks. A node that wakes up may tick before it beats.
    fn tick_nodes(&mut self) -> Checked {
        let lives: Vec<u64> = self.crowd.nodes.iter().map(|node| node.life).collect();
        for life in lives {
            let is_eager = self.random.chance(1, 2);
            let now = self.now();
            let Some(place) = self.crowd.place(life) else { continue };
            let node = &mut self.crowd.nodes[place];
            if node.still_until > now {
                continue;
            }
            node.is_cut.store(node.cut_until > now, Ordering::SeqCst);
            let is_due = node.beats_at <= now;
            if is_due && !is_eager {
                self.beat(place)?;
            }
            self.tick_node(life)?;
            if let Some(place) = self.crowd.place(life)
                && is_due
                && is_eager
            {
                self.beat(place)?;
            }
        }
        Ok(())
    }

    fn tick_node(&mut self, life: u64) -> Checked {
        let Some(place) = self.crowd.place(life) else {
            return Ok(());
        };
        let asks: Vec<Ask> = self.crowd.nodes[place].inbox.drain(..).collect();
        self.trace.line(format_args!("{} node {life} ticks", self.now()));
        let (commands, replies) = self.commands(asks);
        self.ticks += 1;
        self.model.ticked();
        let ticked = self.crowd.nodes[place].lane.tick(commands);
        self.observe()?;
        if let Err(fatal) = ticked {
            self.die(place, &fatal.0.to_string());
            return self.take_replies(replies);
        }
        self.take_replies(replies)?;
        let now = self.now();
        let node = &mut self.crowd.nodes[place];
        let gone = node.lane.let_go();
        if !gone.is_empty() {
            self.trace.line(format_args!("{now} node {life} lets go of {gone:?}"));
            // A release that is not heard is made good by a later heartbeat.
            let _ = node.member.released(&gone);
        }
        if node
            .closes_at
            .is_some_and(|at| at <= now || node.lane.performing() == 0)
        {
            let _ = node.member.leave();
            self.die(place, "it went down");
        }
        Ok(())
    }

    /// Faults stop, and everything comes to rest on whoever is left.
    fn settle_crowd(&mut self) -> Checked {
        self.trace.line(format_args!("{} faults stop", self.now()));
        self.world.lock().is_calm = true;
        self.disk.lock().next = None;
        let now = self.now();
        for node in &mut self.crowd.nodes {
            node.still_until = now;
            node.cut_until = now;
        }
        if self.crowd.nodes.iter().all(|node| node.closes_at.is_some()) {
            self.join()?;
        }
        let until = now.plus(TIME_MAX_MILLIS);
        for round in 0..TICKS_MAX {
            if self.crowd.owned() == SHARDS {
                self.mend(round);
            }
            for ask in std::mem::take(&mut self.inbox) {
                self.put(ask, true);
            }
            for Delivery { to, attempt, news } in self.world.lock().advance(self.clock.now()) {
                let ask = said(attempt, news);
                let place = to.and_then(|life| self.crowd.place(life));
                match place {
                    Some(place) => self.crowd.nodes[place].inbox.push_back(ask),
                    None => self.crowd.put_by_owner(ask),
                }
            }
            self.tick_nodes()?;
            let is_quiet =
                self.model.is_at_rest(self.now().plus(REST_MILLIS)) && self.world.lock().next_event().is_none();
            if is_quiet && !self.needs_mending() && self.crowd.owned() == SHARDS {
                self.model.check_reasons()?;
                self.check_all_effects()?;
                self.check_spread()?;
                return self.check_stored();
            }
            let wakes = self
                .crowd
                .nodes
                .iter()
                .map(|node| node.lane.next_wake().min(node.beats_at));
            let next = wakes.chain(self.world.lock().next_event()).min().unwrap_or(self.now());
            self.move_to(next.max(self.now()).min(until));
            if self.now() >= until {
                break;
            }
        }
        Err(Violation::new(Invariant::Settles, self.model.unrest(self.now())))
    }

    /// Every shard has one owner among those who are alive.
    fn check_spread(&self) -> Checked {
        let fences = self.crowd.nodes.iter().flat_map(|node| node.lane.fences());
        let mut held: Vec<ShardId> = fences.map(|fence| fence.shard).collect();
        held.sort_unstable();
        let all: Vec<ShardId> = (0..SHARDS).map(ShardId).collect();
        ensure(held == all, Invariant::Fences, || format!("nodes hold {held:?}"))
    }
}

impl Crowd {
    fn place(&self, life: u64) -> Option<usize> {
        self.nodes.iter().position(|node| node.life == life)
    }

    /// How many shards anybody serves.
    fn owned(&self) -> u32 {
        let held = self.nodes.iter().map(|node| node.lane.fences().count());
        u32::try_from(held.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// A request goes to whoever believes to own what it is about; to the first of several, of whom only one is right.
    fn put_by_owner(&mut self, ask: Ask) {
        let once = Clients::idempotency(&ask).map(|once| once.scope.slot());
        let slot = slot_of(&ask.request, once);
        let believes = |node: &&mut Node| {
            let is_it = |fence: Fence| slot.is_none_or(|slot| shard_of(slot, SHARDS) == fence.shard);
            node.lane.fences().any(is_it)
        };
        if let Some(node) = self.nodes.iter_mut().find(believes) {
            node.inbox.push_back(ask);
        }
    }
}
