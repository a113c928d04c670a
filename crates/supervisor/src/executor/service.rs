//! Taking a slot, giving it back, and the scan of every tick.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use sprag_core::ids::{ActionId, Slot as IdSlot, scatter};
use sprag_core::time::Timestamp;

use super::attempt::{Attempt, News, Note, Notes, Which, future};
use super::event::{Counters, Counts, Event, count};
use super::options::{ExecutorOptions, Marks, class};
use super::slot::{Held, Run, Slots, Stage, Times, Told};
use crate::action::{ActionContext, ActionError, ActionOptions, ActionStatus, Canceller, Outcome};
use crate::pool::{Pool, QueueFull, lock};
use crate::store::Durable;

/// Makes the future of one attempt. It is called where the attempt runs, never on the tick.
pub type Perform = Arc<dyn Fn(ActionContext) -> BoxFuture<'static, Result<(), ActionError>> + Send + Sync>;

/// An action to be performed.
#[derive(Clone)]
pub struct Request {
    /// Its name, for people and metrics.
    pub name: Arc<str>,
    /// How it is attempted.
    pub options: ActionOptions,
    /// What it does.
    pub perform: Perform,
}

/// Why an action was not taken on. Nothing is left marked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The same action holds the slot.
    #[error("`{action}` of `{worker}` is already in progress")]
    AlreadyInProgress {
        /// Whose.
        worker: Arc<str>,
        /// Its name.
        action: Arc<str>,
    },
    /// Another action holds the slot.
    #[error("`{action}` of `{worker}` must wait until `{holder}` has ended")]
    Busy {
        /// Whose.
        worker: Arc<str>,
        /// The name of what was refused.
        action: Arc<str>,
        /// The name of what holds the slot.
        holder: Arc<str>,
    },
    /// No attempt can end before it begins.
    #[error("`{action}` has a timeout of `0` ms; give it one it can keep, or none")]
    ZeroTimeout {
        /// Its name.
        action: Arc<str>,
    },
    /// Too many wait.
    #[error(transparent)]
    Full(#[from] QueueFull),
    /// The executor stops or has stopped.
    #[error("the executor takes nothing on any more: it was stopped")]
    Stopped,
}

/// Who asks for an action's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// A person.
    Operator,
    /// The worker's own `interrupt`.
    Interrupt,
    /// The supervisor goes.
    Shutdown,
    /// The worker goes.
    Removal,
}

impl CancelReason {
    /// The words for it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Operator => "cancelled by an operator",
            Self::Interrupt => "interrupted by its worker",
            Self::Shutdown => "cancelled by the shutdown",
            Self::Removal => "cancelled with its worker",
        }
    }
}

/// Performs the actions of all workers.
pub struct Executor {
    slots: Mutex<Slots>,
    pub(super) pool: Pool,
    pub(super) marks: Arc<dyn Marks>,
    notes: Arc<Notes>,
    pub(super) counters: Counters,
    pub(super) options: ExecutorOptions,
}

impl Executor {
    /// An executor whose attempts run in `pool`.
    pub fn new(options: ExecutorOptions, pool: Pool, marks: Arc<dyn Marks>) -> Self {
        Self {
            slots: Mutex::default(),
            pool,
            marks,
            notes: Arc::default(),
            counters: Counters::default(),
            options,
        }
    }

    /// Takes the worker's slot and has the action started when there is room, or refuses at once. The status that is
    /// returned, and every one read from here on, says that it is in progress.
    pub fn start(&self, worker: &Arc<str>, request: Request, now: Timestamp) -> Result<Arc<ActionStatus>, Refused> {
        if request.options.timeout_millis == Some(0) {
            return Err(Refused::ZeroTimeout { action: request.name });
        }
        self.pool.threads().publish(now);
        let mut slots = self.lock();
        self.refuse(&slots, worker, &request.name)?;
        let slots = &mut *slots;
        slots.generation += 1;
        let generation = slots.generation;
        let slot = slots.workers.entry(Arc::clone(worker)).or_default();
        let before = Arc::clone(&slot.status);
        slot.status = Arc::new(ActionStatus {
            id: before.id + 1,
            name: request.name.as_ref().to_owned(),
            generation,
            started: None,
            attempt: 0,
            outcome: Outcome::InProgress,
            error: None,
        });
        let mark = self.marks.mark(worker, &slot.status, now);
        match self.submit(worker, &slot.status, (&request.perform, &request.options), mark) {
            Ok(run) => {
                slot.held = Some(Box::new(Held {
                    perform: request.perform,
                    options: request.options,
                    name: request.name,
                    jitter: ActionId::compose(now, IdSlot(0), scatter(generation)),
                    stage: Stage::InPool(run),
                }));
            }
            Err(full) => {
                slot.status = before;
                self.marks.mark(worker, &slot.status, now);
                return Err(Refused::Full(full));
            }
        }
        slots.held += 1;
        count(&self.counters.accepted);
        Ok(Arc::clone(&slot.status))
    }

    fn refuse(&self, slots: &Slots, worker: &Arc<str>, action: &Arc<str>) -> Result<(), Refused> {
        if slots.stop_at.is_some() {
            return Err(Refused::Stopped);
        }
        let Some(held) = slots.workers.get(worker).and_then(|slot| slot.held.as_ref()) else {
            return Ok(());
        };
        count(&self.counters.refused);
        let (worker, action, holder) = (Arc::clone(worker), Arc::clone(action), Arc::clone(&held.name));
        Err(if holder == action {
            Refused::AlreadyInProgress { worker, action }
        } else {
            Refused::Busy { worker, action, holder }
        })
    }

    /// Puts the next attempt into the pool.
    pub(super) fn submit(
        &self,
        worker: &Arc<str>,
        status: &ActionStatus,
        (perform, options): (&Perform, &ActionOptions),
        mark: Durable,
    ) -> Result<Run, QueueFull> {
        let (canceller, cancel) = Canceller::new();
        let attempt = status.attempt + 1;
        let work = future(Attempt {
            which: Which {
                worker: Arc::clone(worker),
                generation: status.generation,
                attempt,
            },
            perform: Arc::clone(perform),
            context: ActionContext {
                attempt,
                generation: status.generation,
                cancel,
            },
            mark,
            notes: Arc::clone(&self.notes),
            time: self.pool.threads().tick_time(),
        });
        let place = self.pool.submit(work)?;
        Ok(Run {
            place,
            canceller,
            attempt,
            timeout_millis: options.timeout_millis,
            times: Times::default(),
        })
    }

    /// One tick's look: what ended, what took too long, what is due again. Never waits for an action. A tick scans the
    /// executor before the collector: an observation that is no older than the tick which heard of an action's end was
    /// made after it.
    pub fn scan(&self, now: Timestamp) -> Vec<Event> {
        // In this order: a pass that begins at the published time began after everything that is heard here.
        let notes = self.notes.take();
        self.pool.threads().watch(now);
        let mut slots = self.lock();
        for note in notes {
            self.hear(&mut slots, note, now);
        }
        while let Some(worker) = slots.take_due(now) {
            self.look(&mut slots, &worker, now);
            slots.reschedule(&worker);
        }
        let events = std::mem::take(&mut slots.events);
        let over = std::mem::take(&mut slots.over);
        drop(slots);
        drop(over);
        events
    }

    fn hear(&self, slots: &mut Slots, note: Note, now: Timestamp) {
        let Note { which, news } = note;
        let slot = slots.workers.get_mut(&which.worker);
        let slot = slot.filter(|slot| slot.status.generation == which.generation);
        let Some((status, Stage::InPool(run))) =
            slot.and_then(|slot| Some((&mut slot.status, &mut slot.held.as_mut()?.stage)))
        else {
            return self.hear_late(&news);
        };
        match news {
            News::Begun(at) if run.times.began.is_none() && status.attempt + 1 == which.attempt => {
                let status = Arc::make_mut(status);
                status.attempt = which.attempt;
                let is_first = status.started.is_none();
                status.started.get_or_insert(at);
                run.times.begin(at, run.timeout_millis);
                if is_first {
                    slots.events.push(Event::Started {
                        worker: Arc::clone(&which.worker),
                        action: Arc::from(status.name.as_str()),
                        attempt: which.attempt,
                    });
                }
                slots.reschedule(&which.worker);
            }
            News::Ended(result) if run.attempt == which.attempt => {
                let times = run.times;
                self.settle(slots, &which.worker, times, result, now);
            }
            news => self.hear_late(&news),
        }
    }

    fn hear_late(&self, news: &News) {
        if matches!(news, News::Ended(_)) {
            count(&self.counters.late);
        }
    }

    /// Has the worker's action end: at once unless it runs, else as soon as it reacts. Whether there was one.
    pub fn cancel(&self, worker: &str, reason: CancelReason, now: Timestamp) -> bool {
        let mut slots = self.lock();
        self.cancel_held(&mut slots, worker, reason, now)
    }

    pub(super) fn cancel_held(&self, slots: &mut Slots, worker: &str, reason: CancelReason, now: Timestamp) -> bool {
        let Some((worker, _)) = slots.workers.get_key_value(worker) else {
            return false;
        };
        let worker = Arc::clone(worker);
        let held = slots.workers.get_mut(&worker).and_then(|slot| slot.held.as_mut());
        match held.map(|held| &mut held.stage) {
            None => return false,
            Some(Stage::InPool(run)) if !run.place.withdraw() => {
                run.canceller.cancel();
                run.times.told = Some(Told::Asked(reason));
                let bound = now.plus(self.options.stop_bound_millis);
                run.times.abandon_by(Some(bound));
            }
            Some(_) => {
                let error = ActionError::new(class::CANCELLED, reason.text());
                self.end(slots, &worker, Err(error), now);
            }
        }
        slots.reschedule(&worker);
        true
    }

    /// What is known about the worker's last action.
    pub fn status(&self, worker: &str) -> Arc<ActionStatus> {
        let slots = self.lock();
        let slot = slots.workers.get(worker);
        Arc::clone(slot.map_or(&slots.nothing, |slot| &slot.status))
    }

    /// What the store remembers of a worker's last action, at the start of a process. One that was in progress is
    /// unknown: the process ended, and nobody saw how far it came. The mark stays as it was left, so that a process
    /// that dies as well finds the same.
    pub fn restore(&self, worker: &Arc<str>, mut status: ActionStatus) -> Arc<ActionStatus> {
        if status.in_progress() {
            status.outcome = Outcome::Unknown;
            status.error = Some("the process ended while it was in progress".to_owned());
        }
        let status = Arc::new(status);
        let mut slots = self.lock();
        // Generations of this life begin behind those of earlier ones.
        slots.generation = slots.generation.max(status.generation);
        let slot = slots.workers.entry(Arc::clone(worker)).or_default();
        if slot.held.is_none() {
            slot.status = Arc::clone(&status);
        }
        status
    }

    /// Forgets a worker that is gone. An action that still runs is given up.
    pub fn forget(&self, worker: &str) {
        let mut slots = self.lock();
        let Some(slot) = slots.workers.remove(worker) else {
            return;
        };
        if let Some(at) = slot.due {
            let key = (at, Arc::from(worker));
            slots.due.remove(&key);
        }
        let Some(held) = slot.held else { return };
        slots.held -= 1;
        if let Stage::InPool(run) = &held.stage
            && run.times.began.is_some()
        {
            run.canceller.cancel();
            count(&self.counters.leaked);
        }
        drop(slots);
        drop(held);
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Slots> {
        lock(&self.slots)
    }
}
