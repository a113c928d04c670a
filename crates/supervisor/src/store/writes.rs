//! Writes to the store. Writing an equal document changes nothing.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sprag_core::time::Timestamp;

use super::delta::DeltaKind;
use super::document::{Change, difference};
use super::durable::Durable;
use super::error::PutError;
use super::journal::DocumentKey;
use super::record::{ObservedText, Part, StoredDocument, Text, WorkerRecord};
use super::service::{Store, Texts};
use crate::runtime::collector::Recorded;
use crate::runtime::executor::Marks;
use crate::worker::action::ActionStatus;
use crate::worker::snapshot::Identity;

/// What a caller believes to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any version.
    Any,
    /// This version; 0: none yet.
    Version(u64),
}

/// What became of a desired state.
#[derive(Clone, Debug)]
pub struct Put {
    /// Its version now.
    pub version: u64,
    /// Whether it said something new.
    pub is_changed: bool,
    /// Says when it is on disk.
    pub durable: Durable,
}

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// When the pass began.
    pub at: Timestamp,
    /// The state the worker was in.
    pub state: &'a str,
    /// The document.
    pub document: &'a Value,
    /// What was counted and measured since the last one.
    pub recorded: &'a Recorded,
}

/// Which document, and when.
struct PutTarget<'a> {
    worker: &'a Arc<str>,
    part: Part,
    name: Option<&'a Arc<str>>,
    now: Timestamp,
}

impl Store {
    /// Introduces a worker. Who it is never changes, until it is gone.
    pub fn put_identity(&self, identity: &Identity, now: Timestamp) -> Result<Durable, PutError> {
        let worker = &identity.path;
        let body = text(worker, identity)?;
        let mut texts = self.lock();
        let record = texts.record(worker);
        if record.gone_at.is_some() {
            *record = WorkerRecord::default();
        } else if record
            .text(Part::Identity, None)
            .is_some_and(|known| *known.body != *body)
        {
            return Err(PutError::IdentityChanged {
                worker: worker.as_ref().to_owned(),
            });
        }
        let place = PutTarget::of(worker, Part::Identity, now);
        Ok(self.put(&mut texts, &place, body).1)
    }

    /// What is remembered of this very worker under that name; nothing if another had its path.
    pub(crate) fn memory_of(&self, identity: &Identity, name: &str) -> Option<Value> {
        let own = text(&identity.path, identity).ok()?;
        let texts = self.lock();
        let record = texts.records.get(&identity.path)?;
        let is_other = |known: &Text| *known.body != *own;
        if record.gone_at.is_some() || record.text(Part::Identity, None).is_some_and(is_other) {
            return None;
        }
        let body = Arc::clone(&record.text(Part::Memory, Some(name))?.body);
        drop(texts);
        serde_json::from_str(&body).ok()
    }

    /// Says what is wanted, if `expected` still holds.
    pub fn put_desired(
        &self,
        worker: &str,
        document: &Value,
        expected: Expected,
        now: Timestamp,
    ) -> Result<Put, PutError> {
        let body = text(worker, document)?;
        let mut texts = self.lock();
        let worker = texts.known(worker)?;
        let known = texts.record(&worker).text(Part::Desired, None);
        let found = known.map_or(0, |known| known.version);
        if let Expected::Version(expected) = expected
            && expected != found
        {
            return Err(PutError::Conflict {
                worker: worker.as_ref().to_owned(),
                expected,
                found,
            });
        }
        let place = PutTarget::of(&worker, Part::Desired, now);
        let (version, durable) = self.put(&mut texts, &place, body);
        Ok(Put {
            version: version.unwrap_or(found),
            is_changed: version.is_some(),
            durable,
        })
    }

    /// Says what was seen. One that differs by its time alone changes nothing but that time. Whether it said something
    /// new.
    pub fn put_observed(&self, worker: &str, sight: Sight<'_>) -> Result<bool, PutError> {
        let mut texts = self.lock();
        let worker = texts.known(worker)?;
        let record = texts.record(&worker);
        if !sight.recorded.is_empty() {
            record.metrics.get_or_insert_default().record(sight.recorded);
        }
        let body = ObservedText {
            state: sight.state,
            observed: sight.document,
            metrics: record.metrics.as_deref(),
        };
        let body = text(&worker, &body)?;
        record.observed_at = Some(sight.at);
        let place = PutTarget::of(&worker, Part::Observed, sight.at);
        Ok(self.put(&mut texts, &place, body).0.is_some())
    }

    /// Remembers something that must survive, under a name.
    pub fn put_memory(
        &self,
        worker: &Arc<str>,
        name: &str,
        document: &Value,
        now: Timestamp,
    ) -> Result<Durable, PutError> {
        let body = text(worker, document)?;
        let mut texts = self.lock();
        let name = Arc::from(name);
        let place = PutTarget {
            name: Some(&name),
            ..PutTarget::of(worker, Part::Memory, now)
        };
        Ok(self.put(&mut texts, &place, body).1)
    }

    /// Puts a text where it says something new: the version it has then.
    fn put(&self, texts: &mut Texts, place: &PutTarget<'_>, body: String) -> (Option<u64>, Durable) {
        let PutTarget {
            worker,
            part,
            name,
            now,
        } = *place;
        let record = texts.record(worker);
        let Some((version, changes)) = record.set(place, body) else {
            return (None, Durable::at_once());
        };
        if part != Part::Memory {
            texts
                .log
                .push(now, worker, DeltaKind::Changed { part, changes }, &self.shared.options);
        }
        let key = DocumentKey::of(worker, part, name);
        (Some(version), self.shared.dirty(key))
    }
}

impl Marks for Store {
    fn mark(&self, worker: &Arc<str>, status: &ActionStatus, now: Timestamp) -> Durable {
        let Ok(body) = text(worker, status) else {
            return Durable::at_once();
        };
        let mut texts = self.lock();
        self.put(&mut texts, &PutTarget::of(worker, Part::Action, now), body).1
    }
}

impl<'a> PutTarget<'a> {
    fn of(worker: &'a Arc<str>, part: Part, now: Timestamp) -> Self {
        Self {
            worker,
            part,
            name: None,
            now,
        }
    }
}

fn text(worker: &str, document: &impl Serialize) -> Result<String, PutError> {
    serde_json::to_string(document).map_err(|problem| PutError::NotJson {
        worker: worker.to_owned(),
        problem: problem.to_string(),
    })
}

impl Texts {
    fn record(&mut self, worker: &Arc<str>) -> &mut WorkerRecord {
        self.records.entry(Arc::clone(worker)).or_default()
    }

    /// The worker's own name, if it was introduced and is not gone.
    fn known(&self, worker: &str) -> Result<Arc<str>, PutError> {
        let found = self.records.get_key_value(worker);
        let found = found.filter(|(_, record)| record.is_there());
        found
            .map(|(worker, _)| Arc::clone(worker))
            .ok_or_else(|| PutError::NotFound {
                worker: worker.to_owned(),
            })
    }
}

impl WorkerRecord {
    /// The new version and what changed; `None` when the text says the same as before.
    fn set(&mut self, place: &PutTarget<'_>, body: String) -> Option<(u64, Vec<Change>)> {
        let Some(known) = self.text_mut(place.part, place.name.map(AsRef::as_ref)) else {
            let changes = vec![Change {
                path: String::new(),
                value: Some(serde_json::from_str(&body).unwrap_or_default()),
            }];
            self.documents.push(StoredDocument {
                part: place.part,
                name: place.name.cloned(),
                text: Text {
                    body: body.into(),
                    version: 1,
                    created: place.now,
                    updated: place.now,
                },
            });
            return Some((1, changes));
        };
        if *known.body == *body {
            return None;
        }
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let changes = difference(&value(&known.body), &value(&body));
        if changes.is_empty() {
            return None;
        }
        known.body = body.into();
        known.version += 1;
        known.updated = place.now;
        Some((known.version, changes))
    }
}
