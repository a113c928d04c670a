//! Processes: they open the store, tick, go down, die, and sometimes do not know that another has taken over.

use std::sync::Arc;

use crate::ask::{Reception, Request};
use sprag_core::clock::Clock;
use sprag_core::time::Timestamp;
use sprag_engine::Tenure;
use sprag_engine::lane::{Fatal, Lane, Parts};
use sprag_engine::requests::{AttemptRef, Command};
use tokio::sync::oneshot::error::TryRecvError;

use crate::beside::Beside;
use crate::clients::{Ask, Clients, Purpose};
use crate::describe;
use crate::effects::{SimulatedRunner, SimulatedTypes};
use crate::model::Circumstances;
use crate::simulation::Simulation;
use crate::violation::{Checked, Invariant, Violation};

/// How long a lane leaves a store alone that failed, in milliseconds.
const STORE_REST_MILLIS: u64 = 500;

/// The attempt whose end a request reports.
fn reported(ask: &Ask) -> Option<AttemptRef> {
    match ask.request {
        Request::Outcome(attempt, _) => Some(attempt),
        _ => None,
    }
}

/// A lane that is alive, with the number of its process.
pub(crate) struct Process {
    pub(crate) lane: Lane,
    pub(crate) life: u64,
    opened_at: Timestamp,
    /// It goes down: then at the latest it is gone.
    pub(crate) closes_at: Option<Timestamp>,
}

impl Simulation {
    /// A new process opens the store. It may fail to; then the operator tries again later.
    pub(crate) fn open(&mut self) -> Checked {
        self.lives += 1;
        let life = self.lives;
        let runner = SimulatedRunner {
            world: self.world.clone(),
            disk: self.disk.clone(),
            trace: self.trace.clone(),
            life,
        };
        let mut entropy = self.entropy.fork(life);
        self.model.compare(&self.disk.memory())?;
        self.acknowledged.check(&self.model)?;
        self.model.opened(life, self.now());
        self.world.lock().starts_left = None;
        let opened = Lane::open(Parts {
            store: Box::new(self.disk.open(life)),
            committer: Some(Box::new(Beside::default())),
            runner: Box::new(runner),
            types: Arc::new(SimulatedTypes),
            clock: Arc::clone(&self.lane_clock) as Arc<dyn Clock>,
            entropy: Box::new(move || entropy.bits()),
            publish: Box::new(|_| {}),
            options: self.options.clone(),
            metrics: Arc::default(),
            tenure: Tenure::Whole,
        });
        self.trace.line(format_args!(
            "{} process {life} opens: {}",
            self.now(),
            describe::opened(&opened)
        ));
        self.disk.lock().has_refused = false;
        match opened {
            Ok(lane) => {
                self.process = Some(Process {
                    lane,
                    life,
                    opened_at: self.now(),
                    closes_at: None,
                });
            }
            Err(_) => self.disk.crash(),
        }
        self.observe()
    }

    /// The process dies.
    pub(crate) fn crash(&mut self, why: &str) {
        let Some(process) = self.process.take() else { return };
        self.trace
            .line(format_args!("{} process {} dies: {why}", self.now(), process.life));
        self.crashes += 1;
        self.world.lock().crash(process.life);
        self.disk.crash();
        self.forget_asks();
    }

    /// What was asked gets no answer: programs ask again.
    fn forget_asks(&mut self) {
        self.polls.clear();
        for ask in std::mem::take(&mut self.inbox) {
            self.unanswered(&ask);
        }
    }

    /// Another process takes the shard while the present one still runs.
    pub(crate) fn take_over(&mut self) -> Checked {
        self.drop_stale();
        let Some(process) = self.process.take() else {
            return Ok(());
        };
        self.trace
            .line(format_args!("{} process {} loses its shard", self.now(), process.life));
        self.stale = Some(process);
        self.forget_asks();
        self.open()
    }

    pub(crate) fn drop_stale(&mut self) {
        if let Some(stale) = self.stale.take() {
            self.world.lock().crash(stale.life);
            self.stale_inbox.clear();
        }
    }

    /// The stale process continues until it meets its fence.
    pub(crate) fn tick_stale(&mut self) -> Checked {
        let Some(mut stale) = self.stale.take() else {
            return Ok(());
        };
        let mut asks: Vec<Ask> = self.stale_inbox.drain(..).collect();
        asks.extend(self.clients.ask(&mut self.model));
        self.trace
            .line(format_args!("{} stale process {} ticks", self.now(), stale.life));
        let (commands, replies) = self.commands(asks);
        let ticked = self.decide(&mut stale.lane, commands);
        self.observe()?;
        match ticked {
            Ok(()) => self.stale = Some(stale),
            Err(fatal) => {
                self.trace.line(format_args!("  stale process dies: {}", fatal.0));
                self.world.lock().crash(stale.life);
            }
        }
        self.take_replies(replies)
    }

    pub(crate) fn tick_all(&mut self) -> Checked {
        self.tick(u64::MAX)
    }

    /// The process decides on at most so many of the requests that wait.
    pub(crate) fn tick(&mut self, most: u64) -> Checked {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        let count = self.inbox.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let asks: Vec<Ask> = self.inbox.drain(..count).collect();
        self.trace.line(format_args!("{} tick", self.now()));
        let dies_in_starts = !self.world.lock().is_calm && self.random.chance(1, 50);
        if dies_in_starts {
            self.world.lock().starts_left = Some(u32::try_from(self.random.below(2)).unwrap_or(0));
        }
        let reported: Vec<AttemptRef> = asks.iter().filter_map(reported).collect();
        let (commands, replies) = self.commands(asks);
        let failures = self.disk.lock().failures;
        let mishaps = self.disk.lock().mishaps();
        self.count_tick();
        let ticked = self.decide(&mut process.lane, commands);
        self.observe()?;
        let (wake, opened_at) = (process.lane.next_wake(), process.opened_at);
        let left_alone = process.lane.left_alone().clone();
        self.process = Some(process);
        match ticked {
            Err(fatal) => {
                // A disk that failed may still let the answer out; a process that died does not.
                let is_told = self.random.chance(1, 2);
                if is_told {
                    self.take_replies(replies)?;
                }
                self.crash(&fatal.0.to_string());
                return Ok(());
            }
            Ok(()) if dies_in_starts => {
                self.crash("between the starts of attempts");
                return Ok(());
            }
            Ok(()) => self.take_replies(replies)?,
        }
        if self.disk.lock().mishaps() == mishaps {
            self.model.check_ended(&reported)?;
        }
        self.disk.lock().check_refused(&left_alone)?;
        if self.disk.lock().failures != failures {
            self.model.read_anew();
            self.rests_until = self.now().plus(STORE_REST_MILLIS);
        } else if self.rests_until <= self.now() {
            self.model.check_sleep(self.now(), wake, &left_alone)?;
            self.model.check_stopped(self.now(), opened_at, &left_alone)?;
        }
        Ok(())
    }

    /// A lane is about to tick.
    pub(crate) fn count_tick(&mut self) {
        self.ticks += 1;
        self.disk.lock().ticks = self.ticks;
        self.model.ticked();
    }

    /// A process that is asked to goes down: it starts nothing more, and is gone once nothing is under way.
    pub(crate) fn go_down(&mut self) {
        let is_asked = self.random.chance(1, 80);
        let grace = self.random.below(6_000);
        let now = self.now();
        let Some(process) = self.process.as_mut() else {
            return;
        };
        match process.closes_at {
            None if is_asked => {
                self.trace
                    .line(format_args!("{now} process {} goes down", process.life));
                process.lane.stop_starting();
                process.closes_at = Some(now.plus(grace));
                self.model.closing();
            }
            Some(at) if at <= now || process.lane.performing() == 0 => self.crash("it went down"),
            _ => {}
        }
    }

    /// The lane decides in one batch, or in several of which none waits for the one before it to be written.
    pub(crate) fn decide(&mut self, lane: &mut Lane, commands: Vec<Command>) -> Result<(), Fatal> {
        self.decide_on(lane, commands)?;
        lane.rest()
    }

    /// The same, and the last batch may be on its way still.
    pub(crate) fn decide_on(&mut self, lane: &mut Lane, mut commands: Vec<Command>) -> Result<(), Fatal> {
        for _ in 0..self.random.below(6) {
            let first = usize::try_from(self.random.below(3)).unwrap_or(0).min(commands.len());
            let others = commands.split_off(first);
            lane.tick(std::mem::replace(&mut commands, others))?;
        }
        lane.tick(commands)
    }

    pub(crate) fn commands(&mut self, asks: Vec<Ask>) -> (Vec<Command>, Vec<(Ask, Reception)>) {
        let mut commands = Vec::with_capacity(asks.len());
        let mut replies = Vec::new();
        for ask in asks {
            self.trace
                .line(format_args!("  ask {}", describe::request(&ask.request)));
            if ask.purpose == Purpose::Nothing {
                commands.push(ask.request.own());
            } else {
                let (command, reception) = ask.request.asked(Clients::idempotency(&ask));
                commands.push(command);
                replies.push((ask, reception));
            }
        }
        (commands, replies)
    }

    /// Reads what was committed and what arrived, and checks all of it.
    pub(crate) fn observe(&mut self) -> Checked {
        if let Some(found) = self.world.lock().found.pop() {
            return Err(found);
        }
        let (journal, refused) = {
            let mut disk = self.disk.lock();
            (std::mem::take(&mut disk.journal), std::mem::take(&mut disk.refused))
        };
        if let Some(detail) = refused.into_iter().next() {
            return Err(Violation::new(Invariant::StoreAccepts, detail));
        }
        for applied in &journal {
            for mutation in &applied.mutations {
                self.trace
                    .line(format_args!("  write {}", describe::mutation(mutation)));
            }
            let world = self.world.lock();
            let has_refused = self.disk.lock().has_refused;
            self.model.apply(
                applied,
                Circumstances {
                    now: self.clock.now(),
                    reports: &world.reports,
                    started: &world.started,
                    promised: &world.promised,
                    has_refused,
                },
            )?;
        }
        self.check_effects()
    }

    fn check_effects(&mut self) -> Checked {
        let world = self.world.lock();
        let new = world.ledger.get(self.checked_effects..).unwrap_or_default();
        new.iter().try_for_each(|effect| self.model.check_effect(effect))?;
        self.checked_effects = world.ledger.len();
        Ok(())
    }

    /// Every effect again, now that all outcomes are known.
    pub(crate) fn check_all_effects(&mut self) -> Checked {
        self.checked_effects = 0;
        self.check_effects()
    }

    pub(crate) fn take_replies(&mut self, replies: Vec<(Ask, Reception)>) -> Checked {
        self.asked_at = self.now();
        for (ask, mut receiver) in replies {
            match receiver.try_recv() {
                Ok(reply) => self.take_reply(&ask, &reply)?,
                Err(TryRecvError::Empty) if ask.purpose == Purpose::Lease => self.polls.push(receiver),
                // The process died before it answered.
                Err(_) => {
                    self.trace
                        .line(format_args!("  no answer to {}", describe::request(&ask.request)));
                    self.unanswered(&ask);
                }
            }
        }
        Ok(())
    }
}
