//! The simulated world: what attempts do to it, when they say so, and what it remembers of them.
//!
//! An attempt is planned when it starts: whether and when its effect arrives, and whether, when and what is reported.
//! The truth is kept apart from the report: "not done" is only ever said where no effect arrived or ever will, because
//! that is what the engine may rely on; everything else may be said.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::{ActionError, Done, Failure, Outcome, ResultEvent};
use sprag_core::ids::{ActionId, AttemptId};
use sprag_core::time::Timestamp;
use sprag_engine::limits::LimitDemand;
use sprag_engine::requests::AttemptRef;
use sprag_engine::{AttemptJob, Task};

use self::programs::OUTSIDE;
use crate::mutant::Mutant;
use crate::random::Random;
use crate::trace::Trace;
use crate::violation::{Invariant, Violation};

/// How long after its start an effect that left may arrive, in milliseconds.
const LATE_MILLIS: u64 = 3_000;
/// How long a quick attempt takes at most, in milliseconds.
const QUICK_MILLIS: u64 = 900;
/// How long a slow attempt takes at most, in milliseconds.
const SLOW_MILLIS: u64 = 9_000;

/// An effect that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The attempt that caused it.
    pub attempt: AttemptId,
    /// The attempt's action.
    pub action: ActionId,
    /// The key it came under.
    pub key: String,
    /// When.
    pub at: Timestamp,
}

/// Something that comes out of the world towards the lane.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// The process it is for; whichever is alive, when none is given.
    pub to: Option<u64>,
    /// Which attempt it is about.
    pub attempt: AttemptRef,
    /// What is said.
    pub news: AttemptReport,
}

/// What an attempt says.
#[derive(Clone, Debug)]
pub(crate) enum AttemptReport {
    /// It ended.
    Outcome(Outcome),
    /// It wants a value committed with it, and waits for that.
    Checkpoint(Value),
    /// The program that holds it is alive.
    Beat,
    /// The program that holds it says how it ended.
    Finish(Outcome),
}

#[derive(Clone, Debug)]
enum Event {
    Arrive(AttemptRef, String),
    /// To the process with that number; to whichever is alive, when none is given.
    Report {
        to: Option<u64>,
        attempt: AttemptRef,
        outcome: Outcome,
    },
    Checkpoint(AttemptRef),
    /// The program that holds the attempt gives a sign of life.
    Beat(AttemptRef),
    /// The program that holds the attempt says how it ended, to whichever process is alive.
    Finish {
        attempt: AttemptRef,
        outcome: Outcome,
    },
}

type EventKey = (Timestamp, u64);

/// An attempt that some process carries out.
#[derive(Clone, Debug)]
struct UnderWay {
    job: AttemptJob,
    life: u64,
    arrival: Option<EventKey>,
    reports: Vec<EventKey>,
}

/// The world.
#[derive(Debug)]
pub(crate) struct World {
    random: Random,
    trace: Trace,
    mutant: Option<Mutant>,
    now: Timestamp,
    /// The process dies after so many starts: the others never begin.
    pub starts_left: Option<u32>,
    /// No more faults: attempts are quick and succeed.
    pub is_calm: bool,
    under_way: BTreeMap<AttemptId, UnderWay>,
    events: BTreeMap<EventKey, Event>,
    drawn: u64,
    /// Destinations that fail until then.
    down: BTreeMap<String, Timestamp>,
    /// Every effect that arrived.
    pub ledger: Vec<Effect>,
    /// What was reported of each attempt.
    pub reports: BTreeMap<AttemptId, Vec<Outcome>>,
    /// What nodes have said to limit owners, with the node that said it.
    pub statements: Vec<(u64, LimitDemand)>,
    /// The attempts that began. To ask what became of one is not to begin it.
    pub started: BTreeSet<AttemptId>,
    /// Until when programs were told that attempts are theirs.
    pub promised: BTreeMap<AttemptId, Timestamp>,
    /// Attempts whose programs heard that they should stop.
    stopped: BTreeSet<AttemptId>,
    /// What was sent under each idempotency key.
    bodies: BTreeMap<String, String>,
    /// Rules that did not hold while something started.
    pub found: Vec<Violation>,
}

/// A handle to the world.
#[derive(Clone, Debug)]
pub(crate) struct SharedWorld(Arc<Mutex<World>>);

impl SharedWorld {
    /// A world in which nothing has happened.
    pub(crate) fn new(random: Random, trace: Trace, mutant: Option<Mutant>, now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(World {
            random,
            trace,
            mutant,
            now,
            starts_left: None,
            is_calm: false,
            under_way: BTreeMap::new(),
            events: BTreeMap::new(),
            drawn: 0,
            down: BTreeMap::new(),
            ledger: Vec::new(),
            reports: BTreeMap::new(),
            statements: Vec::new(),
            started: BTreeSet::new(),
            promised: BTreeMap::new(),
            stopped: BTreeSet::new(),
            bodies: BTreeMap::new(),
            found: Vec::new(),
        })))
    }

    /// The world itself.
    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    /// When something happens next.
    pub(crate) fn next_event(&self) -> Option<Timestamp> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// Moves to `now`: effects arrive, and what is reported by then comes out.
    pub(crate) fn advance(&mut self, now: Timestamp) -> Vec<Delivery> {
        self.now = self.now.max(now);
        let mut deliveries = Vec::new();
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= now
        {
            let ((at, _), event) = entry.remove_entry();
            deliveries.extend(self.happen(at, event));
        }
        deliveries
    }

    fn happen(&mut self, at: Timestamp, event: Event) -> Option<Delivery> {
        match event {
            Event::Arrive(attempt, key) => {
                self.trace
                    .line(format_args!("  effect of {} under {key}", attempt.attempt));
                if let Some(known) = self.under_way.get_mut(&attempt.attempt) {
                    known.arrival = None;
                }
                self.ledger.push(Effect {
                    attempt: attempt.attempt,
                    action: attempt.action,
                    key,
                    at,
                });
                None
            }
            Event::Report { to, attempt, outcome } => {
                self.under_way.remove(&attempt.attempt);
                self.reports.entry(attempt.attempt).or_default().push(outcome.clone());
                Some(Delivery {
                    to,
                    attempt,
                    news: AttemptReport::Outcome(outcome),
                })
            }
            Event::Beat(attempt) => self.under_way.contains_key(&attempt.attempt).then_some(Delivery {
                to: None,
                attempt,
                news: AttemptReport::Beat,
            }),
            Event::Finish { attempt, outcome } => {
                self.under_way.remove(&attempt.attempt);
                self.reports.entry(attempt.attempt).or_default().push(outcome.clone());
                Some(Delivery {
                    to: None,
                    attempt,
                    news: AttemptReport::Finish(outcome),
                })
            }
            Event::Checkpoint(attempt) => {
                let known = self.under_way.get(&attempt.attempt)?;
                let value = json!({ "nonce": known.job.number, "attempt": attempt.attempt });
                Some(Delivery {
                    to: Some(known.life),
                    attempt,
                    news: AttemptReport::Checkpoint(value),
                })
            }
        }
    }

    /// A destination fails for a while.
    pub(crate) fn take_down(&mut self, host: &str, millis: u64) {
        self.down.insert(host.to_owned(), self.now.plus(millis));
    }

    fn is_down(&self, job: &AttemptJob) -> bool {
        let host = job.config.config.get("host").and_then(Value::as_str);
        host.and_then(|host| self.down.get(host))
            .is_some_and(|until| self.now < *until)
    }

    fn after(&mut self, millis: u64, event: Event) -> EventKey {
        self.drawn += 1;
        let key = (self.now.plus(millis), self.drawn);
        self.events.insert(key, event);
        key
    }

    /// A process begins an attempt, or asks what became of one.
    pub(crate) fn start(&mut self, life: u64, job: AttemptJob) {
        match &mut self.starts_left {
            Some(0) => return,
            Some(left) => *left -= 1,
            None => {}
        }
        match job.task {
            Task::Run => {
                self.started.insert(job.attempt.attempt);
                self.run(life, job);
            }
            Task::Settle => self.settle(life, &job),
        }
    }

    fn run(&mut self, life: u64, mut job: AttemptJob) {
        if self.mutant == Some(Mutant::KeyChanged) {
            job.idempotency_key = format!("{}-{}", job.idempotency_key, job.number);
        }
        self.check_body(&job);
        let attempt = job.attempt;
        let under_way = UnderWay {
            job,
            life,
            arrival: None,
            reports: Vec::new(),
        };
        let timeout = under_way.job.timeout_millis;
        let asks_first = under_way.job.kind == "mint" && !self.random.chance(1, 5);
        self.under_way.insert(attempt.attempt, under_way);
        if asks_first {
            // Nothing happens before the checkpoint is acknowledged; if that never comes, only the timeout does.
            let wait = self.random.below(QUICK_MILLIS / 4);
            self.after(wait, Event::Checkpoint(attempt));
            self.report_after(timeout, attempt, Outcome::unknown(kind::TIMEOUT, "no outcome in time"));
        } else {
            self.act(attempt, timeout);
        }
    }

    /// The checkpoint of an attempt was acknowledged, or not: then it has no effect.
    pub(crate) fn checkpointed(&mut self, attempt: AttemptRef, acknowledged: bool) {
        let Some(known) = self.under_way.get_mut(&attempt.attempt) else {
            return;
        };
        for report in std::mem::take(&mut known.reports) {
            self.events.remove(&report);
        }
        let timeout = known.job.timeout_millis;
        if acknowledged {
            self.act(attempt, timeout);
        } else {
            self.report_after(1, attempt, Outcome::not_done(kind::TEMPORARY_FAILURE, "superseded"));
        }
    }

    /// Plans what the attempt does and says.
    fn act(&mut self, attempt: AttemptRef, timeout: u64) {
        let took = self.duration();
        let Some(known) = self.under_way.get(&attempt.attempt) else {
            return;
        };
        let (number, is_wait) = (known.job.number, known.job.kind == "wait");
        let is_down = self.is_down(&known.job);
        if is_wait {
            self.report_after(0, attempt, Outcome::done(Value::Null));
        } else if is_down {
            self.report_after(
                took.min(timeout),
                attempt,
                Outcome::not_done(kind::NETWORK_ERROR, "host is down"),
            );
        } else if took >= timeout {
            if self.random.chance(1, 2) {
                let when = self.random.below(timeout + LATE_MILLIS);
                self.arrive_after(when, attempt);
            }
            self.report_after(timeout, attempt, Outcome::unknown(kind::TIMEOUT, "no outcome in time"));
        } else {
            self.end_after(took, attempt, number);
        }
    }

    fn duration(&mut self) -> u64 {
        if self.is_calm {
            return self.random.below(50);
        }
        match self.random.below(10) {
            0 => 0,
            1..=5 => self.random.below(QUICK_MILLIS),
            6 | 7 => self.random.between(QUICK_MILLIS, SLOW_MILLIS / 2),
            8 => self.random.between(QUICK_MILLIS, SLOW_MILLIS),
            _ => u64::MAX,
        }
    }

    fn end_after(&mut self, took: u64, attempt: AttemptRef, number: u32) {
        let roll = if self.is_calm { 0 } else { self.random.below(20) };
        match roll {
            0..=10 => {
                let when = self.random.below(took + 1);
                self.arrive_after(when, attempt);
                let result = done(number, self.random.chance(1, 3));
                self.report_after(took, attempt, result);
            }
            11..=14 => {
                if self.mutant == Some(Mutant::FalseNotDone) {
                    self.arrive_after(0, attempt);
                }
                let failure = self.refusal();
                self.report_after(took, attempt, Outcome::NotDone(failure));
            }
            _ => {
                if self.random.chance(1, 2) {
                    let when = self.random.below(took + LATE_MILLIS);
                    self.arrive_after(when, attempt);
                }
                let error = if roll < 18 {
                    kind::SERVICE_UNAVAILABLE
                } else {
                    kind::PROCESS_FAILED
                };
                self.report_after(took, attempt, Outcome::unknown(error, "nobody knows"));
            }
        }
    }

    fn refusal(&mut self) -> Failure {
        let error = |kind: &str| Failure::new(ActionError::new(kind, "refused"));
        match self.random.below(8) {
            0 => error(kind::MALFORMED_REQUEST),
            1 => Failure {
                hopeless: true,
                ..error(kind::TEMPORARY_FAILURE)
            },
            2 | 3 => Failure {
                retry_after: Some(self.random.below(8_000)),
                ..error(kind::RATE_LIMIT)
            },
            4 => error(kind::NETWORK_ERROR),
            _ => error(kind::TEMPORARY_FAILURE),
        }
    }

    fn arrive_after(&mut self, millis: u64, attempt: AttemptRef) {
        let Some(key) = self
            .under_way
            .get(&attempt.attempt)
            .map(|known| known.job.idempotency_key.clone())
        else {
            return;
        };
        let event = self.after(millis, Event::Arrive(attempt, key));
        if let Some(known) = self.under_way.get_mut(&attempt.attempt) {
            known.arrival = Some(event);
        }
    }

    fn report_after(&mut self, millis: u64, attempt: AttemptRef, outcome: Outcome) {
        if self.mutant == Some(Mutant::OutcomeSwallowed) && attempt.attempt.to_bytes()[15].is_multiple_of(8) {
            return;
        }
        let Some(life) = self.under_way.get(&attempt.attempt).map(|known| known.life) else {
            return;
        };
        let said = if life == OUTSIDE {
            Event::Finish { attempt, outcome }
        } else {
            let to = Some(life);
            Event::Report { to, attempt, outcome }
        };
        let twice = !self.is_calm && self.random.chance(1, 8);
        let mut reports = vec![self.after(millis, said.clone())];
        if twice {
            let more = self.random.below(QUICK_MILLIS);
            reports.push(self.after(millis + more, said));
        }
        if let Some(known) = self.under_way.get_mut(&attempt.attempt) {
            known.reports.extend(reports);
        }
    }

    /// The attempt was asked to stop: it does, or it does not listen.
    pub(crate) fn cancel(&mut self, life: u64, attempt: AttemptRef) {
        let listens = self.random.chance(1, 2);
        let Some(known) = self
            .under_way
            .get_mut(&attempt.attempt)
            .filter(|known| known.life == life)
        else {
            return;
        };
        if !listens {
            return;
        }
        let arrival = known.arrival.take();
        for report in std::mem::take(&mut known.reports) {
            self.events.remove(&report);
        }
        let number = known.job.number;
        let has_happened = self.has_happened(attempt.attempt);
        let is_stopped = !has_happened && arrival.is_none_or(|arrival| self.events.remove(&arrival).is_some());
        let outcome = match (has_happened, self.random.below(3)) {
            (true, 0) => done(number, false),
            (false, 0) if is_stopped => Outcome::not_done(kind::TEMPORARY_FAILURE, "stopped"),
            _ => Outcome::unknown(kind::PROCESS_FAILED, "stopped"),
        };
        let when = self.random.below(QUICK_MILLIS);
        self.report_after(when, attempt, outcome);
    }

    /// The attempt's outcome no longer matters to a process; what left may still arrive.
    pub(crate) fn abandon(&mut self, life: u64, attempt: AttemptId) {
        let is_theirs = |known: &UnderWay| known.life != life;
        if self.under_way.get(&attempt).is_some_and(is_theirs) {
            // A program continues until it is told, and so does another process, which this one cannot reach.
            return;
        }
        self.drop_attempt(attempt, 0);
    }

    /// The process dies: its attempts end where they are. What left may still arrive; an outcome may still be heard.
    pub(crate) fn crash(&mut self, life: u64) {
        let lost: Vec<AttemptId> = self
            .under_way
            .iter()
            .filter(|(_, known)| known.life == life)
            .map(|(&id, _)| id)
            .collect();
        for attempt in lost {
            self.drop_attempt(attempt, 8);
        }
    }

    /// One report in `late_in` still reaches whichever process comes next; none when that is 0.
    fn drop_attempt(&mut self, attempt: AttemptId, late_in: u64) {
        let Some(known) = self.under_way.remove(&attempt) else {
            return;
        };
        let left = self.random.chance(1, 2);
        if let Some(arrival) = known.arrival.filter(|_| !left) {
            self.events.remove(&arrival);
        }
        let is_stopped = known.arrival.is_some() && !left;
        for report in known.reports {
            let is_late = late_in > 0 && !is_stopped && self.random.chance(1, late_in);
            match self.events.get_mut(&report) {
                Some(Event::Report { to, .. }) if is_late => *to = None,
                _ => {
                    self.events.remove(&report);
                }
            }
        }
    }

    fn has_happened(&self, attempt: AttemptId) -> bool {
        self.ledger.iter().any(|effect| effect.attempt == attempt)
    }

    /// What became of an attempt of an earlier process: the truth, or that it is unknown.
    fn settle(&mut self, life: u64, job: &AttemptJob) {
        let attempt = job.attempt;
        let crashed = || Failure::new(ActionError::new(kind::CRASHED, "the process died"));
        let when = self.random.below(QUICK_MILLIS);
        let is_clear = self.random.chance(2, 3);
        let outcome = if !is_clear {
            Outcome::Unknown(crashed())
        } else if self.has_happened(attempt.attempt) {
            done(job.number, false)
        } else {
            // Whatever was still on its way is ended first: only then is "not done" true.
            self.events.retain(|_, event| match event {
                Event::Arrive(of, _) | Event::Report { attempt: of, .. } => of.attempt != attempt.attempt,
                Event::Checkpoint(_) | Event::Beat(_) | Event::Finish { .. } => true,
            });
            self.under_way.remove(&attempt.attempt);
            Outcome::NotDone(crashed())
        };
        // A process that died meanwhile is not there to hear it.
        self.after(
            when,
            Event::Report {
                to: Some(life),
                attempt,
                outcome,
            },
        );
    }

    /// What is sent under one idempotency key is always the same.
    fn check_body(&mut self, job: &AttemptJob) {
        let body = serde_json::to_string(&job.config).unwrap_or_default();
        let known = self
            .bodies
            .entry(job.idempotency_key.clone())
            .or_insert_with(|| body.clone());
        if *known != body {
            let detail = format!("`{known}` and `{body}` under the key `{}`", job.idempotency_key);
            self.found.push(Violation::new(Invariant::EffectsAccounted, detail));
        }
    }
}

fn done(number: u32, with_event: bool) -> Outcome {
    let event = with_event.then(|| ResultEvent {
        kind: "called".to_owned(),
        payload: json!({ "number": number }),
    });
    Outcome::Done(Done {
        result: json!({ "number": number }),
        event,
        ..Done::default()
    })
}
