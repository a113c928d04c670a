//! Results of passes: the collector takes those of the current pass, and drops and counts all others.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::entries::EntryKey;
use super::event::CollectorEvent;
use super::pass::{PassFailure, PassNews, PassNote};
use super::service::Collector;
use crate::runtime::pool::say;

impl<O: Send + 'static> Collector<O> {
    pub(super) fn take_note(&mut self, note: PassNote<O>, now: Timestamp) {
        let PassNote { key, number, news } = note;
        let entry = self.entries.get_mut(key);
        let pass = entry.and_then(|entry| entry.pass.as_ref());
        let Some(pass) = pass.filter(|pass| pass.number == number) else {
            return self.take_stray(key, number, &news, now);
        };
        let (began, is_overdue) = (pass.task.began().unwrap_or(now), pass.is_overdue);
        match news {
            PassNews::Dropped => self.pass_over(key, now),
            PassNews::Ended(_) if is_overdue => {
                self.counts.late += 1;
                self.pass_over(key, now);
            }
            PassNews::Ended(Ok(value)) => self.observed(key, (number, began), value, now),
            PassNews::Ended(Err(failure)) => self.failed(key, number, failure, now),
        }
        self.reschedule(key, now);
    }

    fn take_stray(&mut self, key: EntryKey, number: u64, news: &PassNews<O>, now: Timestamp) {
        self.counts.late += u64::from(matches!(news, PassNews::Ended(_)));
        if let Some(entry) = self.entries.get_mut(key) {
            entry.strays.retain(|stray| *stray != number);
            self.reschedule(key, now);
        }
    }

    fn observed(&mut self, key: EntryKey, (number, at): (u64, Timestamp), value: O, now: Timestamp) {
        self.pass_over(key, now);
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let worker = Arc::clone(&entry.worker);
        entry.observed_at = Some(at);
        entry.since = at;
        entry.error = None;
        entry.is_told_stale = false;
        let restarts = std::mem::take(&mut entry.restarts);
        if restarts > 0 {
            self.events.push(CollectorEvent::Recovered {
                worker: Arc::clone(&worker),
                restarts,
            });
        }
        if self.is_last(key, number) {
            return self.finished(key, Some((at, value)));
        }
        self.events.push(CollectorEvent::Observed { worker, at, value });
    }

    fn failed(&mut self, key: EntryKey, number: u64, failure: PassFailure, now: Timestamp) {
        let error = match failure {
            PassFailure::Error(error) => error.to_string(),
            PassFailure::Panic(text) => {
                self.counts.panicked += 1;
                if let Some(entry) = self.entries.get(key) {
                    say(|| tracing::error!(worker = %entry.worker, panic = %text, "collection panicked"));
                }
                format!("collection panicked: {text}")
            }
        };
        self.pass_over(key, now);
        self.fail(key, number, error);
    }

    /// A pass without an observation.
    pub(super) fn fail(&mut self, key: EntryKey, number: u64, error: String) {
        self.counts.failed += 1;
        let error: Arc<str> = error.into();
        if let Some(entry) = self.entries.get_mut(key) {
            entry.error = Some(Arc::clone(&error));
            self.events.push(CollectorEvent::Failed {
                worker: Arc::clone(&entry.worker),
                error,
            });
        }
        if self.is_last(key, number) {
            self.finished(key, None);
        }
    }

    fn pass_over(&mut self, key: EntryKey, now: Timestamp) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.pass_over(&self.options, now);
        }
    }

    /// Whether the pass began after the worker's end was asked for.
    fn is_last(&self, key: EntryKey, number: u64) -> bool {
        let finish = self.entries.get(key).and_then(|entry| entry.finish.as_ref());
        finish.is_some_and(|finish| number > finish.after)
    }

    pub(super) fn finished(&mut self, key: EntryKey, last: Option<(Timestamp, O)>) {
        if let Some(entry) = self.entries.remove(key) {
            let worker = entry.worker;
            self.events.push(CollectorEvent::Finished { worker, last });
        }
    }
}
