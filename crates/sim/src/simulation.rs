//! One run: the production lane between simulated clients, runners, disk and clock, and the checks after every step.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::ask::{Reception, Request};
use sprag_core::clock::{Clock, Manual};
use sprag_core::time::Timestamp;
use sprag_engine::Options;
use sprag_engine::queue::{Caps, CircuitOptions};
use sprag_engine::requests::AttemptRef;

use crate::clients::{Ask, Clients, Purpose};
use crate::crowd::{self, Crowd};
use crate::describe;
use crate::machines::{self, Fixture};
use crate::model::{Acknowledged, Model};
use crate::mutant::Mutant;
use crate::picky;
use crate::process::Process;
use crate::programs;
use crate::proposers::Proposers;
use crate::random::Random;
use crate::store::{Fault, SharedDisk};
use crate::trace::Trace;
use crate::violation::{Checked, Invariant, Violation, ensure};
use crate::world::{AttemptReport, Delivery, SharedWorld};

/// When every run begins: 2026-01-01T00:00:00Z.
const START_MILLIS: i64 = 1_767_225_600_000;
/// Milliseconds that the clock of a lane is ahead under [`Mutant::ClockAhead`].
const AHEAD_MILLIS: u64 = 700;
/// The fewest and the most steps of a run before faults stop.
const STEPS: (u64, u64) = (30, 110);
/// Of so many runs, one has operations.
const OPERATIONS_IN: u64 = 3;
/// The two hosts of the simulated world.
const HOSTS: [&str; 2] = ["alpha:1", "beta:2"];

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it was run with.
    pub seed: u64,
    /// The hash over every line of the trace.
    pub hash: u64,
    /// The last lines of the trace.
    pub tail: Vec<String>,
    /// The first rule that did not hold.
    pub violation: Option<Violation>,
    /// What happened, for those who want to know that something did.
    pub counts: Counts,
}

/// What happened in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ticks of lanes.
    pub ticks: u64,
    /// Processes that died.
    pub crashes: u64,
    /// Commits that failed.
    pub failures: u64,
    /// Commits that held a row which the store refuses always.
    pub picked: u64,
    /// Executions that were started.
    pub executions: usize,
    /// Actions that were created.
    pub actions: usize,
    /// Effects that arrived.
    pub effects: usize,
    /// Commits that were refused because another owner had a shard by then.
    pub fenced: u64,
    /// Shards that were taken from nodes whose lease had run out.
    pub taken_over: u64,
    /// Commits that were written although the writer was told that the database is unreachable.
    pub told_away: u64,
    /// Of commits that had been sent behind such a one, those that were written too.
    pub told_away_behind: u64,
}

/// Runs one seed, with one process at a time.
pub fn run(seed: u64, mutant: Option<Mutant>) -> Report {
    report(seed, mutant, 1, Simulation::play)
}

/// Runs one seed, with several nodes on one store.
pub fn run_crowd(seed: u64, mutant: Option<Mutant>) -> Report {
    report(seed, mutant, crowd::SHARDS, Simulation::play_crowd)
}

fn report(seed: u64, mutant: Option<Mutant>, shards: u32, play: fn(&mut Simulation) -> Checked) -> Report {
    let trace = Trace::default();
    let mut simulation = Simulation::new(seed, mutant, trace.clone(), shards);
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| play(&mut simulation)));
    let violation = match played {
        Ok(played) => played.err(),
        Err(panic) => Some(Violation::new(Invariant::NoPanic, describe::panic(panic.as_ref()))),
    };
    let counts = simulation.counts();
    Report {
        seed,
        hash: trace.hash(),
        tail: trace.tail(),
        violation,
        counts,
    }
}

/// A run under way.
pub(crate) struct Simulation {
    pub(crate) random: Random,
    pub(crate) entropy: Random,
    pub(crate) trace: Trace,
    mutant: Option<Mutant>,
    pub(crate) clock: Arc<Manual>,
    pub(crate) lane_clock: Arc<Manual>,
    pub(crate) disk: SharedDisk,
    pub(crate) world: SharedWorld,
    pub(crate) clients: Clients,
    /// People around operations, in some runs.
    proposers: Option<Proposers>,
    pub(crate) model: Model,
    pub(crate) acknowledged: Acknowledged,
    pub(crate) options: Options,
    pub(crate) process: Option<Process>,
    /// Several processes on one store, in place of one.
    pub(crate) crowd: Crowd,
    /// A process that lost its shard and does not know it yet.
    pub(crate) stale: Option<Process>,
    /// How many processes there were.
    pub(crate) lives: u64,
    pub(crate) inbox: VecDeque<Ask>,
    /// Programs that wait for work.
    pub(crate) polls: Vec<Reception>,
    /// Deliveries for the stale process.
    pub(crate) stale_inbox: VecDeque<Ask>,
    outage_until: Option<Timestamp>,
    /// When what is answered now was asked, or earlier.
    pub(crate) asked_at: Timestamp,
    /// How many effects were checked when they arrived.
    pub(crate) checked_effects: usize,
    /// The lane leaves a store that failed alone until then.
    pub(crate) rests_until: Timestamp,
    pub(crate) ticks: u64,
    pub(crate) crashes: u64,
}

impl Simulation {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>, trace: Trace, shards: u32) -> Self {
        let mut random = Random::new(seed);
        let start = Timestamp::from_millis(START_MILLIS + i64::try_from(random.below(100_000)).unwrap_or(0));
        let disk = SharedDisk::new(mutant, shards);
        disk.lock().is_picky = picky::is_met_by(seed);
        let world = SharedWorld::new(random.fork(1), trace.clone(), mutant, start);
        // Programs ask one node for work, and get what that node has: they are left to runs with one process.
        let is_used = |fixture: &&Fixture| shards == 1 || fixture.name != programs::SERVED;
        let mut fixtures: Vec<_> = machines::all().iter().filter(is_used).collect();
        while fixtures.len() > 4 {
            let bound = u64::try_from(fixtures.len()).unwrap_or(1);
            fixtures.swap_remove(usize::try_from(random.below(bound)).unwrap_or(0));
        }
        let mut options = Options::default();
        let total = usize::try_from(random.between(3, 12)).unwrap_or(3);
        options.caps = Caps {
            total,
            per_type: [("probed".to_owned(), 2)].into(),
        };
        options.circuits = CircuitOptions {
            failures: 3,
            rest_millis: 1_000,
            rest_max_millis: 8_000,
        };
        options.limits.inbox = usize::try_from(random.between(3, 150)).unwrap_or(3);
        let mut model = Model::new(options.caps.clone(), shards);
        // The rows of plans are not among those that a picky store refuses.
        let has_operations = shards == 1 && seed.is_multiple_of(OPERATIONS_IN) && !picky::is_met_by(seed);
        let proposers = has_operations.then(|| {
            let (proposers, policy) = Proposers::new(random.fork(4));
            options.approval = mutant.map_or_else(|| policy.clone(), |mutant| mutant.policy(&policy));
            model.policy = policy;
            proposers
        });
        Self {
            entropy: random.fork(2),
            clients: Clients::new(random.fork(3), fixtures),
            random,
            trace,
            mutant,
            clock: Arc::new(Manual::new(start)),
            lane_clock: Arc::new(Manual::new(start)),
            disk,
            world,
            proposers,
            model,
            crowd: Crowd::default(),
            acknowledged: Acknowledged::default(),
            options,
            process: None,
            stale: None,
            lives: 0,
            inbox: VecDeque::new(),
            polls: Vec::new(),
            stale_inbox: VecDeque::new(),
            outage_until: None,
            asked_at: start,
            checked_effects: 0,
            rests_until: start,
            ticks: 0,
            crashes: 0,
        }
    }

    fn counts(&self) -> Counts {
        let disk = self.disk.lock();
        Counts {
            ticks: self.ticks,
            crashes: self.crashes,
            failures: disk.failures,
            picked: disk.picked,
            executions: self.model.executions.len(),
            actions: self.model.actions.len(),
            effects: self.world.lock().ledger.len(),
            fenced: disk.fenced,
            taken_over: self.crowd.taken_over,
            told_away: disk.told_away,
            told_away_behind: disk.told_away_behind,
        }
    }

    fn play(&mut self) -> Checked {
        self.open()?;
        self.inbox = self.clients.begin().into();
        self.inbox.extend(self.proposers.as_ref().map(|_| Proposers::begin()));
        self.tick_all()?;
        let (least, most) = STEPS;
        for _ in 0..self.random.between(least, most) {
            self.step()?;
        }
        self.settle()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn move_to(&mut self, at: Timestamp) {
        self.clock.advance_to(at);
        let ahead = if self.mutant == Some(Mutant::ClockAhead) {
            AHEAD_MILLIS
        } else {
            0
        };
        self.lane_clock.advance_to(self.now().plus(ahead));
    }

    /// One step with everything that may go wrong.
    fn step(&mut self) -> Checked {
        self.pass_time();
        self.plan_faults();
        self.deliver();
        for _ in 0..self.random.below(4) {
            self.inbox.extend(self.clients.ask(&mut self.model));
        }
        if let Some(proposers) = &mut self.proposers {
            self.inbox.extend(proposers.ask(&mut self.model));
        }
        self.programs_ask();
        if self.random.chance(1, 100) {
            self.inbox.extend(self.clients.flood(&self.model));
        }
        if self.random.chance(1, 60) {
            self.take_over()?;
        }
        if self.process.is_none() {
            if self.random.chance(2, 3) {
                self.open()?;
            }
            return Ok(());
        }
        self.tick_stale()?;
        let most = if self.random.chance(1, 6) {
            self.random.below(3)
        } else {
            u64::MAX
        };
        self.tick(most)?;
        self.go_down();
        if self.process.is_some() && self.random.chance(1, 40) {
            self.crash("kill");
        }
        Ok(())
    }

    fn pass_time(&mut self) {
        let now = self.now();
        let next = self.next_instant();
        let to = match self.random.below(20) {
            0..=6 => now,
            7..=9 => now.plus(self.random.below(30)),
            10..=15 => next.unwrap_or(now).min(now.plus(60_000)).max(now),
            16 | 17 => now.plus(self.random.below(3_000)),
            18 => now.plus(self.random.below(20_000)),
            _ if self.random.chance(1, 4) => now.plus(self.random.between(20_000, 400_000)),
            _ => now.plus(1),
        };
        self.move_to(to);
    }

    /// When something happens next, in the lane or in the world.
    pub(crate) fn next_instant(&self) -> Option<Timestamp> {
        let wake = self.process.as_ref().map(|process| process.lane.next_wake());
        wake.into_iter().chain(self.world.lock().next_event()).min()
    }

    fn plan_faults(&mut self) {
        let now = self.now();
        let mut disk = self.disk.lock();
        if self.outage_until.is_some_and(|until| until <= now) {
            self.outage_until = None;
            disk.outage = None;
        }
        if self.random.chance(1, 80) {
            disk.outage = Some(if self.random.chance(1, 2) {
                Fault::Full
            } else {
                Fault::ReadOnly
            });
            self.outage_until = Some(now.plus(self.random.below(4_000)));
        }
        if self.random.chance(1, 12) {
            let faults = [
                Fault::DieBefore,
                Fault::DieAfter,
                Fault::DieAfter,
                Fault::Full,
                Fault::Failed,
                // Rows that are refused by chance could not be told from those that are chosen.
                if disk.is_picky { Fault::Failed } else { Fault::Refused },
            ];
            let fault = self.random.pick(&faults).copied().unwrap_or(Fault::Full);
            disk.next = Some((u32::try_from(self.random.below(2)).unwrap_or(0), fault));
        }
        if self.random.chance(1, 120) {
            disk.next_read = Some(u32::try_from(self.random.below(6)).unwrap_or(0));
        }
        drop(disk);
        if self.random.chance(1, 25) {
            let host = HOSTS[usize::from(self.random.chance(1, 2))];
            let millis = self.random.below(15_000);
            self.world.lock().take_down(host, millis);
        }
    }

    /// What the world has to say by now goes to whom it is for.
    pub(crate) fn deliver(&mut self) {
        let deliveries = self.world.lock().advance(self.now());
        let life = self.process.as_ref().map(|process| process.life);
        let stale = self.stale.as_ref().map(|process| process.life);
        for Delivery { to, attempt, news } in deliveries {
            let ask = said(attempt, news);
            if to.is_none() || to == life {
                self.inbox.push_back(ask);
            } else if to == stale {
                self.stale_inbox.push_back(ask);
            }
        }
    }

    /// The rule that everything is stored as it was committed.
    pub(crate) fn check_stored(&mut self) -> Checked {
        self.model.compare(&self.disk.memory())?;
        self.acknowledged.check(&self.model)?;
        if self.random.chance(3, 4) {
            // The model has replayed everything; the engine's own replay is only to agree, and takes its time.
            return Ok(());
        }
        let memory = self.disk.memory();
        for id in self.model.executions.keys() {
            let replayed = sprag_engine::replay(&memory, *id).ok().flatten();
            let agrees = replayed.as_ref().is_some_and(|replayed| replayed.agrees);
            ensure(agrees, Invariant::Replay, || {
                format!("{id}: the engine's own replay says {replayed:?}")
            })?;
        }
        Ok(())
    }
}

/// What an attempt says, as a request.
pub(crate) fn said(attempt: AttemptRef, news: AttemptReport) -> Ask {
    match news {
        AttemptReport::Outcome(outcome) => Ask {
            request: Request::Outcome(attempt, outcome),
            purpose: Purpose::Nothing,
        },
        AttemptReport::Checkpoint(value) => Ask {
            request: Request::Checkpoint(attempt, value.clone()),
            purpose: Purpose::Checkpoint(attempt, value),
        },
        AttemptReport::Beat => Ask {
            request: Request::Heartbeat(attempt.attempt, None),
            purpose: Purpose::Beat(attempt),
        },
        AttemptReport::Finish(outcome) => programs::finish(attempt, outcome),
    }
}
