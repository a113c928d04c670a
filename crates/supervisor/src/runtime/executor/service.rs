//! Takes a slot, releases it, and scans at every tick.

use std::sync::{Arc, Mutex, MutexGuard};

use sprag_core::ids::{ActionId, Slot as IdSlot, scatter};
use sprag_core::time::Timestamp;

use super::attempt::{AttemptId, AttemptNews, AttemptNote, AttemptNotes, attempt};
use super::event::{Event, ExecutorCounters, ExecutorCounts, count};
use super::options::{ExecutorOptions, Marks, class};
use super::slot::{AttemptTimes, CancelCause, CurrentAction, CurrentAttempt, Slots, Turn};
use crate::runtime::pool::{Pool, QueueFull, lock};
use crate::store::Durable;
use crate::worker::action::{ActionCall, ActionContext, ActionError, ActionStatus, Canceller, Outcome};

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
    #[error("the executor has stopped and accepts no more actions")]
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
    notes: Arc<AttemptNotes>,
    pub(super) counters: ExecutorCounters,
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
            counters: ExecutorCounters::default(),
            options,
        }
    }

    /// Takes the worker's slot and has the action started when there is room, or refuses at once. The status that is
    /// returned, and every one read from here on, says that it is in progress.
    pub fn start(&self, call: ActionCall, now: Timestamp) -> Result<Arc<ActionStatus>, Refused> {
        if call.options.timeout_millis == Some(0) {
            return Err(Refused::ZeroTimeout { action: call.name });
        }
        self.pool.threads().publish(now);
        let mut slots = self.lock();
        self.refuse(&slots, &call)?;
        let slots = &mut *slots;
        slots.generation += 1;
        let generation = slots.generation;
        let slot = slots.workers.entry(Arc::clone(&call.worker)).or_default();
        let before = Arc::clone(&slot.status);
        slot.status = Arc::new(ActionStatus {
            id: before.id + 1,
            name: call.name.as_ref().to_owned(),
            generation,
            started: None,
            attempt: 0,
            outcome: Outcome::InProgress,
            error: None,
        });
        let mark = self.marks.mark(&call.worker, &slot.status, now);
        match self.submit(&call, &slot.status, mark) {
            Ok(current) => {
                slot.action = Some(Box::new(CurrentAction {
                    call,
                    jitter: ActionId::compose(now, IdSlot(0), scatter(generation)),
                    turn: Turn::InPool(current),
                }));
            }
            Err(full) => {
                slot.status = before;
                self.marks.mark(&call.worker, &slot.status, now);
                return Err(Refused::Full(full));
            }
        }
        slots.taken += 1;
        count(&self.counters.accepted);
        Ok(Arc::clone(&slot.status))
    }

    fn refuse(&self, slots: &Slots, call: &ActionCall) -> Result<(), Refused> {
        if slots.stop_at.is_some() {
            return Err(Refused::Stopped);
        }
        let Some(current) = slots.action(&call.worker) else {
            return Ok(());
        };
        count(&self.counters.refused);
        let (worker, action) = (Arc::clone(&call.worker), Arc::clone(&call.name));
        let holder = Arc::clone(&current.call.name);
        Err(if holder == action {
            Refused::AlreadyInProgress { worker, action }
        } else {
            Refused::Busy { worker, action, holder }
        })
    }

    /// Puts the next attempt into the pool.
    pub(super) fn submit(
        &self,
        call: &ActionCall,
        status: &ActionStatus,
        mark: Durable,
    ) -> Result<CurrentAttempt, QueueFull> {
        let (canceller, cancel) = Canceller::new();
        let (number, generation) = (status.attempt + 1, status.generation);
        let id = AttemptId {
            worker: Arc::clone(&call.worker),
            generation,
            attempt: number,
        };
        let context = ActionContext {
            attempt: number,
            generation,
            cancel,
        };
        let (notes, time) = (Arc::clone(&self.notes), self.pool.threads().tick_time());
        let work = Box::pin(attempt(id, Arc::clone(&call.perform), context, mark, (notes, time)));
        Ok(CurrentAttempt {
            task: self.pool.submit(work)?,
            canceller,
            attempt: number,
            timeout_millis: call.options.timeout_millis,
            times: AttemptTimes::default(),
        })
    }

    /// One tick's look: what ended, what took too long, what is due again. Never waits for an action. A tick scans the
    /// executor before the collector: an observation that is no older than the tick that learned of an action's end was
    /// made after it.
    pub fn scan(&self, now: Timestamp) -> Vec<Event> {
        // In this order: a pass that begins at the published time began after everything that is noted here.
        let notes = self.notes.take();
        self.pool.threads().watch(now);
        let mut slots = self.lock();
        for note in notes {
            self.take_note(&mut slots, note, now);
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

    fn take_note(&self, slots: &mut Slots, note: AttemptNote, now: Timestamp) {
        let AttemptNote { id, news } = note;
        let slot = slots.workers.get_mut(&id.worker);
        let slot = slot.filter(|slot| slot.status.generation == id.generation);
        let Some((status, Turn::InPool(current))) =
            slot.and_then(|slot| Some((&mut slot.status, &mut slot.action.as_mut()?.turn)))
        else {
            return self.count_late(&news);
        };
        match news {
            AttemptNews::Begun(at) if current.times.began.is_none() && status.attempt + 1 == id.attempt => {
                let status = Arc::make_mut(status);
                status.attempt = id.attempt;
                let is_first = status.started.is_none();
                status.started.get_or_insert(at);
                current.times.begin(at, current.timeout_millis);
                if is_first {
                    slots.events.push(Event::Started {
                        worker: Arc::clone(&id.worker),
                        action: Arc::from(status.name.as_str()),
                        attempt: id.attempt,
                    });
                }
                slots.reschedule(&id.worker);
            }
            AttemptNews::Ended(result) if current.attempt == id.attempt => {
                let times = current.times;
                self.settle(slots, &id.worker, times, result, now);
            }
            news => self.count_late(&news),
        }
    }

    fn count_late(&self, news: &AttemptNews) {
        if matches!(news, AttemptNews::Ended(_)) {
            count(&self.counters.late);
        }
    }

    /// Has the worker's action end: at once unless it runs, else as soon as it reacts. Whether there was one.
    pub fn cancel(&self, worker: &str, reason: CancelReason, now: Timestamp) -> bool {
        let mut slots = self.lock();
        self.cancel_current(&mut slots, worker, reason, now)
    }

    pub(super) fn cancel_current(&self, slots: &mut Slots, worker: &str, reason: CancelReason, now: Timestamp) -> bool {
        let Some((worker, _)) = slots.workers.get_key_value(worker) else {
            return false;
        };
        let worker = Arc::clone(worker);
        let action = slots.workers.get_mut(&worker).and_then(|slot| slot.action.as_mut());
        match action.map(|action| &mut action.turn) {
            None => return false,
            Some(Turn::InPool(current)) if !current.task.withdraw() => {
                current.canceller.cancel();
                current.times.cancelled = Some(CancelCause::Asked(reason));
                let bound = now.plus(self.options.stop_bound_millis);
                current.times.abandon_by(Some(bound));
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
    /// unknown: the process ended, and its result was not seen. The mark stays as it was left, so that a process
    /// that dies as well finds the same.
    pub fn restore(&self, worker: &Arc<str>, mut status: ActionStatus) -> Arc<ActionStatus> {
        if status.in_progress() {
            status.outcome = Outcome::Unknown;
            status.error = Some("the process ended while it was in progress".to_owned());
        }
        let status = Arc::new(status);
        let mut slots = self.lock();
        // Generations of this process begin behind those of earlier ones.
        slots.generation = slots.generation.max(status.generation);
        let slot = slots.workers.entry(Arc::clone(worker)).or_default();
        if slot.action.is_none() {
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
        let Some(action) = slot.action else { return };
        slots.taken -= 1;
        if let Turn::InPool(current) = &action.turn
            && current.times.began.is_some()
        {
            current.canceller.cancel();
            count(&self.counters.leaked);
        }
        drop(slots);
        drop(action);
    }

    /// What was counted.
    pub fn counts(&self) -> ExecutorCounts {
        self.counters.read()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Slots> {
        lock(&self.slots)
    }
}
