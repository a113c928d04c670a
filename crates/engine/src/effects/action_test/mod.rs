//! Action tests: the code that runs actions in earnest triggers, tries and retries one without a store.
//!
//! What the definition is frozen to, how secrets are bound, what a runner makes of it, whether and when another
//! attempt follows: all of that is production code. Only what lies between attempts is different: the test does not wait for it.

mod line;
mod scripted;

#[cfg(test)]
mod tests;

use std::time::Duration;

use sprag_core::action::error::kind;
use sprag_core::action::progress::Rules;
use sprag_core::action::retry::Trial;
use sprag_core::action::{Action, ActionError, Body, Definition, Done, Failure, Next, Origin, Outcome, Runner, Status};
use sprag_core::clock::Clock;
use sprag_core::ids::{ExecutionId, Mint, Slot};
use sprag_core::machine::testing::{Course, Occasion, Stop, TestSubject, Tried};
use sprag_core::machine::{Fate, SkipReason};
use sprag_core::time::Timestamp;

use crate::decide::Task;
use crate::decide::{job_of, settle_by, wait_millis};
use crate::effects::tasks::{SecretSource, Work, perform};
use line::Memory;

pub use scripted::Scripted;

/// A test makes no more attempts than this, whatever the policy allows.
const ATTEMPTS_MAX: usize = 1_000;

/// One action to be tested, and with what.
pub struct ActionTest<'a> {
    /// What is tested.
    pub subject: &'a TestSubject,
    /// What it is triggered on.
    pub occasion: &'a Occasion,
    /// Who performs its attempts; none, if no runner serves the type.
    pub runner: Option<&'a dyn Runner>,
    /// Where its secrets come from.
    pub secrets: &'a dyn SecretSource,
    /// The time.
    pub clock: &'a dyn Clock,
    /// How the time between attempts passes.
    pub rest: Rest,
    /// Ids are made of it: jitter follows from them, and so does the idempotency key.
    pub entropy: u64,
    /// Told the number of each attempt before it begins.
    pub begins: &'a (dyn Fn(u32) + Sync),
}

/// How the time between attempts passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// On the runtime's clock, which is paused and jumps.
    Simulated,
    /// Not at all: it is added to what the clock says.
    Skipped,
}

impl ActionTest<'_> {
    /// Triggers the action and tries it until it ends.
    pub async fn run(&self) -> Course {
        let mut stage = Stage {
            test: self,
            mint: Mint::new(self.clock.now(), self.entropy),
            skipped: 0,
        };
        let slot = Slot::default();
        let execution = stage.mint.execution(slot);
        let triggered_at = stage.now();
        let mut course = Course {
            action: stage.new_action(execution, triggered_at),
            tried: Vec::new(),
            done: None,
            triggered_at,
            ended_at: triggered_at,
            is_cut_off: false,
        };
        match self.subject.trigger(self.occasion, execution) {
            Some(Fate::Ready { frozen, .. }) => {
                course.action.body.frozen = frozen;
                stage.play(&mut course).await;
            }
            Some(Fate::Skipped(reason)) => skip(&mut course.action, reason),
            Some(Fate::Dead(error)) => die(&mut course.action, error),
            None => {}
        }
        course.ended_at = stage.now();
        course
    }
}

/// A test under way.
struct Stage<'a> {
    test: &'a ActionTest<'a>,
    mint: Mint,
    /// Milliseconds that the test did not wait for.
    skipped: u64,
}

impl Stage<'_> {
    fn now(&self) -> Timestamp {
        self.test.clock.now().plus(self.skipped)
    }

    fn new_action(&mut self, execution: ExecutionId, now: Timestamp) -> Action {
        let definition = self.test.subject.definition();
        let text = |of: fn(&Definition) -> &String| definition.map(of).cloned().unwrap_or_default();
        Action {
            id: self.mint.action(Slot::default()),
            origin: Origin {
                execution,
                machine: self.test.subject.machine.id.clone(),
                version: 1,
            },
            action_id: text(|definition| &definition.action_id),
            kind: text(|definition| &definition.kind),
            status: Status::Queued,
            priority: definition.map_or(0, |definition| definition.priority),
            tags: Vec::new(),
            created_at: now,
            run_at: now,
            body: Body {
                version: 1,
                ordinal: 1,
                ..Body::default()
            },
        }
    }

    async fn play(&mut self, course: &mut Course) {
        let Some(definition) = self.test.subject.definition() else {
            return;
        };
        let action = &mut course.action;
        let frozen = action.body.frozen.as_ref().map(|frozen| &frozen.config);
        let wait = match wait_millis(definition, frozen.or_else(|| definition.config.constant())) {
            Ok(wait) => wait,
            Err(error) => return die(action, *error),
        };
        action.body.deadline_at = definition.deadline.map(|deadline| self.now().plus(deadline));
        self.pass(definition.delay.saturating_add(wait)).await;
        loop {
            if course.tried.len() == ATTEMPTS_MAX {
                course.is_cut_off = true;
                return;
            }
            let Some(delay) = self.try_once(course, definition).await else {
                return;
            };
            self.pass(delay).await;
            if course.action.make_ready(self.now()).is_err() {
                return;
            }
        }
    }

    /// Makes one attempt; the milliseconds until the next, if one follows.
    async fn try_once(&mut self, course: &mut Course, definition: &Definition) -> Option<u64> {
        let (subject, action) = (self.test.subject, &mut course.action);
        let began = self.now();
        if action.body.deadline_at.is_some_and(|deadline| deadline <= began) {
            let error = ActionError::new(kind::TIMEOUT, "the deadline passed before an attempt could begin");
            die(action, error);
            return None;
        }
        let attempt = self.mint.attempt(Slot::default());
        action.begin(attempt, began).ok()?;
        let job = job_of(action, &subject.machine, attempt, Task::Run, began);
        (self.test.begins)(job.number);
        let memory = Memory::default();
        let work = Work {
            runner: self.test.runner,
            secrets: self.test.secrets,
            line: &memory,
        };
        let outcome = perform(work, &job).await;
        if let Some(value) = memory.take() {
            action.body.checkpoint = Some(value);
        }
        let now = self.now();
        let mut tried = Tried {
            number: job.number,
            start_time: began,
            duration: now.since(began),
            outcome: outcome.verdict(),
            error: None,
            delay: None,
            retry_after: failure_of(&outcome).and_then(|failure| failure.retry_after),
            stopped: stopped(definition, action, &outcome, now),
        };
        course.done = done_of(&outcome);
        let next = settle_by(action, &subject.machine, attempt, outcome, now).ok()?;
        tried.error = action.body.attempts.last().and_then(|attempt| attempt.error.clone());
        tried.delay = (next == Next::Again).then(|| action.run_at.since(now));
        let delay = tried.delay;
        course.tried.push(tried);
        delay
    }

    async fn pass(&mut self, millis: u64) {
        match self.test.rest {
            Rest::Simulated => tokio::time::sleep(Duration::from_millis(millis)).await,
            Rest::Skipped => self.skipped = self.skipped.saturating_add(millis),
        }
    }
}

fn skip(action: &mut Action, reason: SkipReason) {
    action.status = Status::Skipped;
    action.body.skipped = Some(reason);
}

fn die(action: &mut Action, error: ActionError) {
    action.status = Status::Dead;
    action.body.last_error = Some(error);
}

fn done_of(outcome: &Outcome) -> Option<Done> {
    match outcome {
        Outcome::Done(done) => Some(done.clone()),
        Outcome::NotDone(_) | Outcome::Unknown(_) => None,
    }
}

fn failure_of(outcome: &Outcome) -> Option<&Failure> {
    match outcome {
        Outcome::Done(_) => None,
        Outcome::NotDone(failure) | Outcome::Unknown(failure) => Some(failure),
    }
}

/// Why no attempt will follow this one, asked of the same judge that settles it.
fn stopped(definition: &Definition, action: &Action, outcome: &Outcome, now: Timestamp) -> Option<Stop> {
    let failure = failure_of(outcome)?;
    let rules = Rules {
        policy: &definition.policy,
        on_unknown: definition.on_unknown,
        cost: None,
    };
    let trial = Trial {
        action: action.id,
        attempt: action.attempts_made(),
        failure,
        now,
        deadline: action.body.deadline_at,
    };
    Stop::of(rules, trial, outcome.verdict())
}
