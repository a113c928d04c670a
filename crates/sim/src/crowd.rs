//! Several nodes on one store: they join, beat, stand still past their lease, are cut off, hand over and die.
//!
//! Every node is a production lane with a production member. The rules are those of one process, over all of them
//! together: nothing acknowledged is lost, transitions happen once, effects are accounted for, and a node that lost a shard
//! writes nothing. Only what one process alone can be held to (its own caps, the order of its lines) is not checked here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ask::{Answer, Reception, Reply, Request};
use sprag_core::clock::Clock;
use sprag_core::ids::{NodeId, Slot};
use sprag_core::time::Timestamp;
use sprag_engine::Tenure;
use sprag_engine::lane::member::{self, Member, Orders};
use sprag_engine::lane::{Lane, Parts};
use sprag_engine::limits::GrantReceived;
use sprag_store::traits::shard_of;
use sprag_store::{Fence, ShardId};
use tokio::sync::oneshot::error::TryRecvError;

use crate::beside::Beside;
use crate::clients::{Ask, Clients, Purpose};
use crate::effects::{SimulatedRunner, SimulatedTypes};
use crate::node::{CutNodes, NodeClock};
use crate::rest::{REST_MILLIS, TICKS_MAX, TIME_MAX_MILLIS};
use crate::simulation::{Simulation, said};
use crate::store::Fault;
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
/// How far the clock of a node may be behind between two heartbeats, in milliseconds.
const BEHIND_MILLIS: i64 = 1_000;

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
    clock: Arc<NodeClock>,
    is_cut: Arc<AtomicBool>,
    /// It hears from its database again then.
    cut_until: Timestamp,
    /// It does nothing until then, and does not know that.
    still_until: Timestamp,
    beats_at: Timestamp,
    /// It goes down: then at the latest it is gone.
    closes_at: Option<Timestamp>,
    inbox: VecDeque<Ask>,
    /// What its member says and its lane has not heard yet.
    orders: VecDeque<Orders>,
    /// Those who wait for an answer, each since when.
    waiting: Vec<(Timestamp, Ask, Reception)>,
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
        self.trace.line(format_args!("{} node {life} joins", self.now()));
        let is_cut = Arc::new(AtomicBool::new(false));
        let own = Arc::new(NodeClock::wrong(Arc::clone(&self.clock), &mut self.random));
        let clock = Arc::clone(&own) as Arc<dyn Clock>;
        let id = NodeId::compose(self.now(), Slot(0), life);
        let nodes = CutNodes {
            nodes: self.disk.memory().nodes(Arc::clone(&self.clock) as Arc<dyn Clock>),
            is_cut: Arc::clone(&is_cut),
            world: self.world.clone(),
            random: self.random.fork(life),
        };
        let options = member::Options::new(id, format!("node-{life}"), "simulated", "secret");
        let mut member = Member::new(options, Box::new(nodes), Arc::clone(&clock));
        // It is told the database's time before it decides on anything.
        let Ok(first) = member.beat() else { return Ok(()) };
        let Some(lane) = self.open_node((life, id), clock, Arc::clone(&is_cut)) else {
            self.disk.crash();
            return self.observe();
        };
        self.crowd.nodes.push(Node {
            life,
            lane,
            beats_at: self.now().plus(member.rest_millis()),
            member,
            clock: own,
            is_cut,
            cut_until: self.now(),
            still_until: self.now(),
            closes_at: None,
            inbox: VecDeque::new(),
            orders: VecDeque::new(),
            waiting: Vec::new(),
        });
        self.obey(self.crowd.nodes.len() - 1, &first)
    }

    fn open_node(&self, (life, id): (u64, NodeId), clock: Arc<dyn Clock>, is_cut: Arc<AtomicBool>) -> Option<Lane> {
        let runner = SimulatedRunner {
            world: self.world.clone(),
            disk: self.disk.clone(),
            trace: self.trace.clone(),
            life,
        };
        let mut entropy = self.entropy.fork(life);
        let opened = Lane::open(Parts {
            store: Box::new(self.disk.open_cut(life, is_cut)),
            committer: Some(Box::new(Beside::default())),
            runner: Box::new(runner),
            types: Arc::new(SimulatedTypes),
            clock,
            entropy: Box::new(move || entropy.bits()),
            publish: Box::new(|_| {}),
            options: self.options.clone(),
            metrics: Arc::default(),
            tenure: Tenure::Shared {
                shards: SHARDS,
                node: Some(id),
            },
        });
        opened.ok()
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

    /// A node gives a heartbeat, and its lane hears of it, sooner or later.
    fn beat(&mut self, place: usize) -> Checked {
        let now = self.now();
        let is_late = !self.world.lock().is_calm && self.random.chance(1, 6);
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
        node.orders.push_back(orders);
        if is_late {
            return Ok(());
        }
        self.obey_all(place).map(|_| ())
    }

    /// A lane does what its member has said by now. Says whether it lives.
    fn obey_all(&mut self, place: usize) -> Result<bool, Violation> {
        let orders = std::mem::take(&mut self.crowd.nodes[place].orders);
        let life = self.crowd.nodes[place].life;
        for orders in orders {
            self.obey(place, &orders)?;
            if self.crowd.place(life).is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn obey(&mut self, place: usize, orders: &Orders) -> Checked {
        let obeyed = self.crowd.nodes[place].lane.obey(orders);
        self.observe()?;
        self.hear(place)?;
        if let Err(fatal) = obeyed {
            self.die(place, &fatal.0.to_string());
        }
        Ok(())
    }

    /// Takes the answers that have come by now.
    fn hear(&mut self, place: usize) -> Checked {
        for (since, ask, mut receiver) in std::mem::take(&mut self.crowd.nodes[place].waiting) {
            self.asked_at = Timestamp::from_millis(since.as_millis() - BEHIND_MILLIS);
            match receiver.try_recv() {
                Ok(reply) => match ask.purpose {
                    Purpose::State(life) => self.tell(life, &ask, &reply),
                    _ => self.take_reply(&ask, &reply)?,
                },
                Err(TryRecvError::Empty) => self.crowd.nodes[place].waiting.push((since, ask, receiver)),
                Err(TryRecvError::Closed) => self.unanswered(&ask),
            }
        }
        Ok(())
    }

    /// What nodes say to limit owners gets there, or is lost.
    fn carry(&mut self) {
        let said = std::mem::take(&mut self.world.lock().statements);
        for (life, statement) in said {
            let ask = Ask {
                request: Request::Demand(statement),
                purpose: Purpose::State(life),
            };
            if self.is_lost() {
                continue;
            }
            if self.random.chance(1, 10) {
                self.crowd.put_by_owner(ask.clone());
            }
            self.crowd.put_by_owner(ask);
        }
    }

    fn is_lost(&mut self) -> bool {
        !self.world.lock().is_calm && self.random.chance(1, 10)
    }

    /// the owner of a limit answers the node that asked.
    fn tell(&mut self, life: u64, ask: &Ask, reply: &Reply) {
        let Request::Demand(said) = &ask.request else { return };
        let allowed = match reply {
            Ok(Answer::LimitGrant(allowed)) => Some(*allowed),
            _ => None,
        };
        self.trace
            .line(format_args!("  allowed {}: {allowed:?}", said.limit.key));
        let is_lost = self.is_lost();
        if let Some(place) = self.crowd.place(life)
            && !is_lost
        {
            let heard = GrantReceived {
                limit: said.limit.clone(),
                number: said.number,
                allowed,
            };
            self.crowd.nodes[place].inbox.push_back(Ask {
                request: Request::Granted(heard),
                purpose: Purpose::Nothing,
            });
        }
    }

    fn die(&mut self, place: usize, why: &str) {
        let node = self.crowd.nodes.remove(place);
        self.trace
            .line(format_args!("{} node {} dies: {why}", self.now(), node.life));
        self.crashes += 1;
        self.world.lock().crash(node.life);
        self.disk.crash();
        let waiting = node.waiting.into_iter().map(|(_, ask, _)| ask);
        for ask in node.inbox.into_iter().chain(waiting) {
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
        self.carry();
        for Delivery { to, attempt, news } in self.world.lock().advance(self.clock.now()) {
            let ask = said(attempt, news);
            let place = to.map(|life| self.crowd.place(life));
            match place {
                Some(Some(place)) => self.crowd.nodes[place].inbox.push_back(ask),
                // To a node that is gone, no node says anything any more.
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
    #[expect(clippy::same_functions_in_if_condition, reason = "every call draws anew")]
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
        } else if self.random.chance(1, 20) {
            let faults = [
                Fault::DieBefore,
                Fault::DieAfter,
                Fault::Failed,
                Fault::Away,
                Fault::ToldAway,
                Fault::ToldAway,
            ];
            let fault = self.random.pick(&faults).copied().unwrap_or(Fault::Failed);
            self.disk.lock().next = Some((0, fault));
        }
        Ok(())
    }

    /// A request goes to its owner, or to any node.
    fn put(&mut self, ask: Ask, is_informed: bool) {
        if is_informed {
            self.crowd.put_by_owner(ask);
        } else if !self.crowd.nodes.is_empty() {
            let count = u64::try_from(self.crowd.nodes.len()).unwrap_or(1);
            let place = usize::try_from(self.random.below(count)).unwrap_or(0);
            self.crowd.nodes[place].inbox.push_back(ask);
        }
    }

    /// A node that is not paused beats when it is time, and ticks. A node that wakes up may tick before it beats.
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
        if !self.obey_all(place)? {
            return Ok(());
        }
        let asks: Vec<Ask> = self.crowd.nodes[place].inbox.drain(..).collect();
        self.trace.line(format_args!("{} node {life} ticks", self.now()));
        let (commands, replies) = self.commands(asks);
        self.count_tick();
        let now = self.now();
        let rests = self.world.lock().is_calm || self.random.chance(2, 3);
        let mut node = self.crowd.nodes.remove(place);
        let waiting = replies.into_iter().map(|(ask, receiver)| (now, ask, receiver));
        node.waiting.extend(waiting);
        let ticked = if rests {
            self.decide(&mut node.lane, commands)
        } else {
            self.decide_on(&mut node.lane, commands)
        };
        let left_alone = node.lane.left_alone().clone();
        self.crowd.nodes.insert(place, node);
        self.observe()?;
        self.disk.lock().check_refused(&left_alone)?;
        self.hear(place)?;
        if let Err(fatal) = ticked {
            self.die(place, &fatal.0.to_string());
            return Ok(());
        }
        self.let_go(place)
    }

    /// A lane lets go of what it is to hand over, and of everything when it has gone down.
    fn let_go(&mut self, place: usize) -> Checked {
        let now = self.now();
        let node = &mut self.crowd.nodes[place];
        let life = node.life;
        let is_down = node
            .closes_at
            .is_some_and(|at| at <= now || node.lane.performing() == 0);
        let rested = if is_down { node.lane.rest() } else { Ok(()) };
        let gone = rested.and_then(|()| node.lane.let_go());
        if let Ok(gone) = &gone
            && !gone.is_empty()
        {
            self.trace.line(format_args!("{now} node {life} lets go of {gone:?}"));
            // A release that is not heard is made good by a later heartbeat.
            let _ = node.member.released(gone);
        }
        if is_down && gone.is_ok() {
            let _ = node.member.leave();
        }
        self.observe()?;
        self.hear(place)?;
        match gone {
            Err(fatal) => self.die(place, &fatal.0.to_string()),
            Ok(_) if is_down => self.die(place, "it went down"),
            Ok(_) => {}
        }
        Ok(())
    }

    /// Faults stop, and everything comes to rest on the nodes that are left.
    fn settle_crowd(&mut self) -> Checked {
        self.trace.line(format_args!("{} faults stop", self.now()));
        self.world.lock().is_calm = true;
        let has_refused = {
            let mut disk = self.disk.lock();
            disk.next = None;
            disk.is_picky = false;
            disk.has_refused
        };
        // What was refused by plan was set aside: only other processes take it up again.
        while has_refused && !self.crowd.nodes.is_empty() {
            self.die(0, "after a refusal");
        }
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
            self.crowd.nodes.iter().for_each(|node| node.clock.repair());
            if self.crowd.owned() == SHARDS {
                self.repair(round);
            }
            for ask in std::mem::take(&mut self.inbox) {
                self.put(ask, true);
            }
            self.carry();
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

    /// How many shards are served; none while two believe to serve the same one.
    fn owned(&self) -> u32 {
        let fences = self.nodes.iter().flat_map(|node| node.lane.fences());
        let mut held: Vec<ShardId> = fences.map(|fence| fence.shard).collect();
        let count = held.len();
        held.sort_unstable();
        held.dedup();
        let is_clear = held.len() == count;
        if is_clear {
            u32::try_from(count).unwrap_or(u32::MAX)
        } else {
            0
        }
    }

    /// A request goes to the node that believes it owns it; to the first of several, of whom only one is right.
    fn put_by_owner(&mut self, ask: Ask) {
        let slot = ask.request.asked(Clients::idempotency(&ask)).0.slot();
        let believes = |node: &&mut Node| {
            let is_it = |fence: Fence| slot.is_none_or(|slot| shard_of(slot, SHARDS) == fence.shard);
            node.lane.fences().any(is_it)
        };
        if let Some(node) = self.nodes.iter_mut().find(believes) {
            node.inbox.push_back(ask);
        }
    }
}
