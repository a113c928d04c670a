//! The end of an attempt and what follows: success, another attempt, or failure; and attempts that do not end.

use std::sync::Arc;

use sprag_core::action::error::kind;
use sprag_core::action::retry::{Judgement, Trial};
use sprag_core::action::{ActionError as CoreError, Failure};
use sprag_core::time::Timestamp;

use super::event::{Attempted, Event, count};
use super::options::class;
use super::service::Executor;
use super::slot::{AttemptTimes, CancelCause, Slots, Turn};
use crate::store::Durable;
use crate::worker::action::{ActionError, Outcome};

impl Executor {
    /// An attempt ended. One that ends after its timeout failed, even if it succeeded; one that was cancelled and
    /// succeeded all the same has succeeded.
    pub(super) fn settle(
        &self,
        slots: &mut Slots,
        worker: &Arc<str>,
        times: AttemptTimes,
        result: Result<(), ActionError>,
        now: Timestamp,
    ) {
        let (result, is_last) = match (times.cancelled, result) {
            (Some(CancelCause::Timeout), _) => (Err(timed_out(slots, worker)), false),
            (Some(CancelCause::Asked(reason)), Err(_)) => {
                (Err(ActionError::new(class::CANCELLED, reason.text())), true)
            }
            (_, result) => (result, false),
        };
        slots.attempted(worker, times, result.as_ref().err(), now);
        let Err(error) = result else {
            return self.end(slots, worker, Ok(()), now);
        };
        if error.kind == kind::PANIC {
            count(&self.counters.panicked);
        }
        let again = if is_last || slots.stop_at.is_some() {
            None
        } else {
            slots.judge(worker, &error, now)
        };
        match again {
            Some(due) => self.wait(slots, worker, error, (now, due)),
            None => self.end(slots, worker, Err(error), now),
        }
    }

    fn wait(&self, slots: &mut Slots, worker: &Arc<str>, error: ActionError, (now, due): (Timestamp, Timestamp)) {
        if let Some(slot) = slots.workers.get_mut(worker) {
            slot.change(|status| status.error = Some(error.message));
            if let Some(action) = slot.action.as_mut() {
                action.turn = Turn::Waiting(due);
            }
            self.marks.mark(worker, &slot.status, now);
            slots.events.push(Event::Retrying {
                worker: Arc::clone(worker),
                status: Arc::clone(&slot.status),
                due,
            });
        }
        slots.reschedule(worker);
    }

    /// The action is over, and its slot free.
    pub(super) fn end(&self, slots: &mut Slots, worker: &Arc<str>, result: Result<(), ActionError>, now: Timestamp) {
        let Some(slot) = slots.workers.get_mut(worker) else {
            return;
        };
        let Some(action) = slot.action.take() else { return };
        slot.change(|status| match result {
            Ok(()) => status.outcome = Outcome::Succeeded,
            Err(error) => {
                status.outcome = Outcome::Failed { class: error.kind };
                status.error = Some(error.message);
            }
        });
        self.marks.mark(worker, &slot.status, now);
        slots.events.push(Event::Ended {
            worker: Arc::clone(worker),
            status: Arc::clone(&slot.status),
        });
        slots.taken -= 1;
        if let Turn::InPool(current) = &action.turn {
            current.task.release();
        }
        slots.over.push(*action);
        slots.reschedule(worker);
    }

    /// A moment of the worker's action has come.
    pub(super) fn look(&self, slots: &mut Slots, worker: &Arc<str>, now: Timestamp) {
        let Some(slot) = slots.workers.get_mut(worker) else {
            return;
        };
        let status = Arc::clone(&slot.status);
        let Some(action) = slot.action.as_mut() else { return };
        match &mut action.turn {
            Turn::Waiting(until) if *until > now => {}
            Turn::Waiting(until) => {
                match self.submit(&action.call, &status, Durable::at_once()) {
                    Ok(current) => action.turn = Turn::InPool(current),
                    // A full queue leaves it where it is, due at the next scan.
                    Err(_) => *until = now.plus(1),
                }
            }
            Turn::InPool(current) => {
                let times = &mut current.times;
                if times.cancelled.is_none() && times.cancel_at.is_some_and(|at| at <= now) {
                    current.canceller.cancel();
                    times.cancelled = Some(CancelCause::Timeout);
                    slots.events.push(Event::TimedOut {
                        worker: Arc::clone(worker),
                        action: Arc::clone(&action.call.name),
                        attempt: current.attempt,
                        timeout_millis: current.timeout_millis.unwrap_or(0),
                    });
                }
                let is_stuck = times.warn_at.take_if(|at| *at <= now).is_some();
                let is_given_up = times.abandon_at.is_some_and(|at| at <= now);
                let times = *times;
                if is_given_up {
                    self.abandon(slots, worker, times, now);
                } else if is_stuck {
                    self.warn(slots, worker);
                }
            }
        }
    }

    fn warn(&self, slots: &mut Slots, worker: &Arc<str>) {
        let Some(slot) = slots.workers.get(worker) else { return };
        count(&self.counters.stuck);
        let status = Arc::clone(&slot.status);
        slots.events.push(Event::Stuck {
            worker: Arc::clone(worker),
            status,
        });
    }

    /// Gives up an attempt that does not end. It is dropped at its next await; code that blocks goes on without anybody
    /// who would listen, so nothing more is tried in this action.
    fn abandon(&self, slots: &mut Slots, worker: &Arc<str>, times: AttemptTimes, now: Timestamp) {
        count(&self.counters.leaked);
        slots.stop_leaked += u64::from(slots.stop_at.is_some());
        let why = match times.cancelled {
            Some(CancelCause::Asked(reason)) => reason.text().to_owned(),
            Some(CancelCause::Timeout) | None => timed_out(slots, worker).message,
        };
        let error = ActionError::new(
            class::ABANDONED,
            format!("{why}, and it did not react; what it still does is not known"),
        );
        slots.attempted(worker, times, Some(&error), now);
        self.end(slots, worker, Err(error), now);
    }
}

fn timed_out(slots: &Slots, worker: &Arc<str>) -> ActionError {
    let action = slots.action(worker);
    let millis = action.and_then(|action| action.call.options.timeout_millis);
    let millis = millis.unwrap_or(0);
    ActionError::new(kind::TIMEOUT, format!("no end within `{millis}` ms"))
}

impl Slots {
    /// When another attempt follows, by core's rules.
    fn judge(&self, worker: &Arc<str>, error: &ActionError, now: Timestamp) -> Option<Timestamp> {
        let current = self.action(worker)?;
        let failure = Failure {
            error: CoreError::new(error.kind.clone(), error.message.clone()),
            retry_after: None,
            hopeless: error.hopeless,
        };
        let judgement = current.call.options.retry.judge(Trial {
            action: current.jitter,
            attempt: self.workers.get(worker)?.status.attempt,
            failure: &failure,
            now,
            deadline: None,
        });
        match judgement {
            Judgement::Again(due) => Some(due),
            Judgement::Stop(_) => None,
        }
    }

    fn attempted(&mut self, worker: &Arc<str>, times: AttemptTimes, error: Option<&ActionError>, now: Timestamp) {
        let Some(current) = self.action(worker) else { return };
        let attempted = Attempted {
            worker: Arc::clone(worker),
            action: Arc::clone(&current.call.name),
            attempt: self.workers.get(worker).map_or(0, |slot| slot.status.attempt),
            error: error.cloned(),
            is_timed_out: times.cancelled == Some(CancelCause::Timeout),
            millis: times.began.map_or(0, |began| now.since(began)),
        };
        self.events.push(Event::Attempted(attempted));
    }
}
