//! Steps that become due by time alone: the next pass, a timeout, staleness, a restart.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::entries::EntryKey;
use super::event::CollectorEvent;
use super::service::Collector;

/// Restarts after which the trouble is reported: as many as there are spacings.
const RESTARTS_MAX: u32 = 3;

impl<O: Send + 'static> Collector<O> {
    /// A moment of the worker has come.
    pub(super) fn look(&mut self, key: EntryKey, now: Timestamp) {
        self.look_at_finish(key, now);
        self.look_at_pass(key, now);
        self.look_at_age(key, now);
        let Some(entry) = self.entries.get(key) else { return };
        if entry.pass.is_none() && entry.due <= now {
            self.begin_pass(key, now);
            self.finish_idle(key);
        }
    }

    /// The last pass is not waited for beyond its time.
    fn look_at_finish(&mut self, key: EntryKey, now: Timestamp) {
        let finish = self.entries.get(key).and_then(|entry| entry.finish.as_ref());
        if finish.is_some_and(|finish| finish.by <= now) {
            self.finished(key, None);
        }
    }

    /// Where there is nothing to look for, there is no last look.
    fn finish_idle(&mut self, key: EntryKey) {
        let entry = self.entries.get(key);
        if entry.is_some_and(|entry| entry.is_idle && entry.finish.is_some()) {
            self.finished(key, None);
        }
    }

    /// A pass that takes too long is cancelled. One that blocks its thread does not react and stays the current one, so
    /// that no second one blocks another thread before collection restarts.
    fn look_at_pass(&mut self, key: EntryKey, now: Timestamp) {
        let timeout = self.options.pass_timeout_millis;
        let pass = self.entries.get_mut(key).and_then(|entry| entry.pass.as_mut());
        let Some(pass) = pass else { return };
        let is_long = pass.task.began().is_some_and(|began| began.plus(timeout) <= now);
        if pass.is_overdue || !is_long {
            return;
        }
        pass.is_overdue = true;
        pass.task.release();
        let number = pass.number;
        self.counts.timed_out += 1;
        self.fail(key, number, format!("no observation within `{timeout}` ms"));
    }

    fn look_at_age(&mut self, key: EntryKey, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let is_stale = entry.stale_at(&self.options).is_some_and(|at| at <= now);
        if is_stale && !std::mem::replace(&mut entry.is_told_stale, true) {
            self.events.push(CollectorEvent::Stale {
                worker: Arc::clone(&entry.worker),
            });
        }
        if entry.restart_at(&self.options).is_some_and(|at| at <= now) {
            self.restart(key, now);
        }
    }

    /// Gives the present pass up and begins another. One that is still queued keeps its place: it would only lose it.
    fn restart(&mut self, key: EntryKey, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let worker = Arc::clone(&entry.worker);
        entry.restarts = entry.restarts.saturating_add(1);
        entry.restarted_at = now;
        let (restarts, error) = (entry.restarts, entry.error.clone());
        if let Some(pass) = entry.pass.take_if(|pass| pass.task.began().is_some()) {
            entry.strays.push(pass.number);
            entry.is_triggered = false;
            drop(pass);
        }
        if entry.pass.is_none() {
            entry.due = now;
        }
        self.counts.restarts += 1;
        self.events.push(CollectorEvent::Restarted {
            worker: Arc::clone(&worker),
            restarts,
        });
        if restarts == RESTARTS_MAX + 1 {
            self.events.push(CollectorEvent::Exhausted { worker, error });
        }
    }
}
