//! Several nodes on one store in memory: what tests ask of them, and how time passes for them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sprag_core::action::Outcome;
use sprag_core::clock::{Clock, Manual};
use sprag_core::ids::{ExecutionId, NodeId, Slot, scatter};
use sprag_core::time::Timestamp;
use sprag_engine::convert::action_from;
use sprag_engine::lane::member::{self, Member};
use sprag_engine::lane::{Lane, Parts};
use sprag_engine::read::view::ExecutionView;
use sprag_engine::requests::{Apply, Command, Refusal, ReportOutcome, Request, SendMessage, Start, Target};
use sprag_engine::{AttemptJob, Options, Tenure};
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{ActionQuery, Reader, shard_of};
use sprag_store::{Memory, Page};

use super::rig::{START, Script, ScriptedRunner, ScriptedTypes, machine};

pub(crate) const SHARDS: u32 = 8;

/// One node.
pub(crate) struct Node {
    pub(crate) lane: Lane,
    pub(crate) member: Member,
    pub(crate) script: Arc<Mutex<Script>>,
}

/// Several on one store.
pub(crate) struct Crowd {
    pub(crate) store: Memory,
    pub(crate) clock: Arc<Manual>,
    pub(crate) nodes: Vec<Node>,
    drawn: u64,
    options: Options,
}

impl Crowd {
    /// So many nodes that have found each other, with these machines and bounds.
    pub(crate) fn with(nodes: usize, options: Options, machines: &[&str]) -> Self {
        let mut crowd = Self {
            options,
            store: Memory::with_shards(SHARDS),
            clock: Arc::new(Manual::new(Timestamp::from_millis(START))),
            nodes: Vec::new(),
            drawn: 0,
        };
        for _ in 0..nodes {
            crowd.join();
        }
        crowd.meet();
        for text in machines {
            let control = crowd.owner(Slot(0));
            crowd.ask(control, Apply::from(Arc::new(machine(text)))).unwrap();
        }
        crowd
    }

    pub(crate) fn join(&mut self) -> usize {
        self.drawn += 1;
        let number = self.drawn;
        let script: Arc<Mutex<Script>> = Arc::default();
        let id = NodeId::compose(self.clock.now(), Slot(0), number);
        let clock = || Arc::clone(&self.clock) as Arc<dyn Clock>;
        let mut entropy = scatter(number);
        let lane = Lane::open(Parts {
            store: Box::new(self.store.clone()),
            committer: None,
            runner: Box::new(ScriptedRunner(Arc::clone(&script))),
            types: Arc::new(ScriptedTypes(Arc::clone(&script))),
            clock: clock(),
            entropy: Box::new(move || {
                entropy = scatter(entropy.wrapping_add(1));
                entropy
            }),
            publish: Box::new(|_| ()),
            options: self.options.clone(),
            metrics: Arc::default(),
            tenure: Tenure::Shared {
                shards: SHARDS,
                node: Some(id),
            },
        })
        .unwrap();
        let options = member::Options::new(id, format!("http://node-{number}"), "test", "secret");
        let member = Member::new(options, Box::new(self.store.nodes(clock())), clock());
        self.nodes.push(Node { lane, member, script });
        self.nodes.len() - 1
    }

    /// One node gives a heartbeat, and its lane does what follows.
    pub(crate) fn beat(&mut self, node: usize) {
        let Node { lane, member, .. } = &mut self.nodes[node];
        let orders = member.beat().unwrap();
        lane.obey(&orders).unwrap();
        let gone = lane.let_go().unwrap();
        member.released(&gone).unwrap();
    }

    /// Heartbeats until everybody has what is due to them.
    pub(crate) fn meet(&mut self) {
        for _ in 0..3 {
            for node in 0..self.nodes.len() {
                self.beat(node);
                self.run(node);
            }
        }
    }

    pub(crate) fn counts(&self) -> Vec<usize> {
        self.nodes.iter().map(|node| node.lane.fences().count()).collect()
    }

    pub(crate) fn run(&mut self, node: usize) {
        let Node { lane, member, .. } = &mut self.nodes[node];
        for _ in 0..1_000 {
            let gone = lane.let_go().unwrap();
            member.released(&gone).unwrap();
            if lane.next_wake() > self.clock.now() {
                return;
            }
            lane.tick(Vec::new()).unwrap();
        }
        panic!("the lane does not come to rest");
    }

    pub(crate) fn run_all(&mut self) {
        for node in 0..self.nodes.len() {
            self.run(node);
        }
    }

    /// Time passes, with heartbeats of these nodes every second.
    pub(crate) fn pass(&mut self, millis: u64, alive: &[usize]) {
        let end = self.clock.now().plus(millis);
        while self.clock.now() < end {
            self.clock.advance_to(self.clock.now().plus(1_000).min(end));
            for &node in alive {
                self.beat(node);
                self.run(node);
            }
        }
    }

    pub(crate) fn ask<R: Request>(&mut self, node: usize, request: R) -> Result<R::Answer, Refusal> {
        let (command, mut answer) = Command::asked(request);
        self.nodes[node].lane.tick(vec![command]).unwrap();
        self.run(node);
        answer.try_recv().expect("an answer").answer
    }

    pub(crate) fn start(&mut self, node: usize, start: Start) -> Result<ExecutionView, Refusal> {
        self.ask(node, start).map(|view| *view)
    }

    pub(crate) fn start_of(&mut self, node: usize, name: &str) -> ExecutionId {
        let start = Start {
            machine: name.to_owned(),
            ..Start::default()
        };
        self.start(node, start).unwrap().id
    }

    pub(crate) fn owner(&self, slot: Slot) -> usize {
        let shard = shard_of(slot, SHARDS);
        let mut nodes = self.nodes.iter();
        nodes
            .position(|node| node.lane.fences().any(|fence| fence.shard == shard))
            .expect("somebody owns it")
    }

    /// A node, if it believes that it owns what is of a slot.
    pub(crate) fn owner_among(&self, slot: Slot, node: usize) -> Option<usize> {
        let shard = shard_of(slot, SHARDS);
        let mut fences = self.nodes[node].lane.fences();
        fences.any(|fence| fence.shard == shard).then_some(node)
    }

    pub(crate) fn jobs(&self, node: usize) -> Vec<AttemptJob> {
        self.nodes[node].script.lock().unwrap().jobs.clone()
    }

    pub(crate) fn job_of(&self, node: usize, id: ExecutionId) -> Option<AttemptJob> {
        self.jobs(node)
            .into_iter()
            .rev()
            .find(|job| job.attempt.execution == id)
    }

    pub(crate) fn done(&mut self, node: usize, id: ExecutionId) {
        let attempt = self.job_of(node, id).expect("a job").attempt;
        let outcome = Outcome::done(json!({}));
        let request = ReportOutcome { attempt, outcome };
        self.nodes[node].lane.tick(vec![Command::own(request)]).unwrap();
        self.run(node);
    }

    pub(crate) fn pay(&mut self, node: usize, id: ExecutionId) -> Result<(), Refusal> {
        let message = SendMessage {
            to: Target::Id(id),
            kind: "paid".to_owned(),
            payload: Value::Null,
            id: None,
        };
        self.ask(node, message).map(|_| ())
    }

    pub(crate) fn status(&self, id: ExecutionId) -> ExecutionStatus {
        self.store.execution(id).unwrap().expect("a stored execution").status
    }

    pub(crate) fn action_count(&self, id: ExecutionId) -> usize {
        let query = ActionQuery {
            execution: Some(id),
            page: Page::first(100),
            ..ActionQuery::default()
        };
        self.store.actions(&query).unwrap().rows.len()
    }

    pub(crate) fn action_of(&self, id: ExecutionId) -> sprag_core::action::Action {
        let query = ActionQuery {
            execution: Some(id),
            page: Page::first(10),
            ..ActionQuery::default()
        };
        let row = self.store.actions(&query).unwrap().rows.remove(0);
        action_from(row).unwrap()
    }
}
