//! Replay: `step` over the stored causes must lead to the stored state.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::ids::ExecutionId;
use sprag_core::machine::{Effect, Execution, Facts, Input, Limits, Machine, step};
use sprag_store::traits::Reader;
use sprag_store::{Error, Page, records};
use sprag_wire::Replayed;

use crate::decide::convert::{self, Entry, Snapshot};
use crate::decide::state::ExecutionState;
use crate::engine::options::SNAPSHOT_EVERY;

/// Entries read at once.
const PAGE: usize = 500;

/// Where compiled machine versions come from.
pub(crate) type Versions<'a> = dyn Fn(&str, u32) -> Result<Arc<Machine>, Error> + 'a;

/// Takes every macrostep of an execution again, with machine versions read from the store.
pub fn replay_stored(reader: &dyn Reader, id: ExecutionId) -> Result<Option<Replayed>, Error> {
    let Some(row) = reader.execution(id)? else {
        return Ok(None);
    };
    // Asked for every entry, compiled once.
    let known: RefCell<BTreeMap<u32, Arc<Machine>>> = RefCell::default();
    let machine = |name: &str, version: u32| {
        if let Some(compiled) = known.borrow().get(&version) {
            return Ok(Arc::clone(compiled));
        }
        let stored = reader.machine(name, Some(version))?;
        let stored = stored.ok_or_else(|| Error::Corrupt {
            detail: format!("machine `{name}` {version} is gone"),
        })?;
        let compiled = crate::decide::compile(&stored.definition)
            .map(Arc::new)
            .map_err(|detail| Error::Corrupt { detail })?;
        known.borrow_mut().insert(version, Arc::clone(&compiled));
        Ok(compiled)
    };
    replay(reader, row, &machine).map(Some)
}

/// Takes every macrostep of an execution again.
pub(crate) fn replay(reader: &dyn Reader, row: records::Execution, machine: &Versions<'_>) -> Result<Replayed, Error> {
    let stored = convert::execution_of(row).map_err(|error| crate::lane::damaged(&error))?;
    let mut walk = Walk::begin(reader, &stored, machine)?;
    while let Some(passed) = walk.next()? {
        if let Some(difference) = passed.difference {
            return Ok(Replayed {
                steps: walk.replay.steps,
                agrees: false,
                difference: Some(difference),
            });
        }
    }
    let difference = walk.replay.compare(&stored);
    Ok(Replayed {
        steps: walk.replay.steps,
        agrees: difference.is_none(),
        difference,
    })
}

/// A way through the history of an execution, entry by entry, from its newest snapshot or its beginning.
pub(crate) struct Walk<'a> {
    reader: &'a dyn Reader,
    stored: &'a ExecutionState,
    machine: &'a Versions<'a>,
    /// Where the execution was at this point.
    pub(crate) replay: Replay,
    page: std::vec::IntoIter<records::HistoryEntry>,
    /// The entry that was taken last, or is begun from; 0 before the first.
    pub(crate) after: u64,
}

/// An entry that was taken again.
pub(crate) struct Passed {
    /// As it is stored.
    pub(crate) row: records::HistoryEntry,
    /// What it says.
    pub(crate) entry: Entry,
    /// How what came out differs from what is stored, if it does.
    pub(crate) difference: Option<String>,
}

impl<'a> Walk<'a> {
    /// At the beginning of what has to be taken again.
    pub(crate) fn begin(
        reader: &'a dyn Reader,
        stored: &'a ExecutionState,
        machine: &'a Versions<'a>,
    ) -> Result<Self, Error> {
        Self::begin_before(reader, stored, machine, stored.head.sequence)
    }

    /// At the newest snapshot up to an entry, or at the beginning.
    pub(crate) fn begin_before(
        reader: &'a dyn Reader,
        stored: &'a ExecutionState,
        machine: &'a Versions<'a>,
        sequence: u64,
    ) -> Result<Self, Error> {
        let (replay, after) = match newest_snapshot(reader, stored, sequence)? {
            Some((sequence, snapshot)) => (Replay::from_snapshot(stored, snapshot), sequence),
            None => (Replay::from_start(first_version(reader, stored)?), 0),
        };
        Ok(Self {
            reader,
            stored,
            machine,
            replay,
            page: Vec::new().into_iter(),
            after,
        })
    }

    /// Takes the next entry again; none where the history ends.
    pub(crate) fn next(&mut self) -> Result<Option<Passed>, Error> {
        if self.page.len() == 0 {
            self.page = self
                .reader
                .history(self.stored.head.id, &Page::new(Some(self.after), PAGE))?
                .rows
                .into_iter();
        }
        let Some(row) = self.page.next() else { return Ok(None) };
        self.after = row.sequence;
        let entry = convert::entry_from(&row).map_err(|error| crate::lane::damaged(&error))?;
        let difference = self.replay.take(self.stored, &row, &entry, self.machine)?;
        Ok(Some(Passed { row, entry, difference }))
    }
}

/// Where a replay is.
pub(crate) struct Replay {
    /// The execution; none before its first entry.
    pub(crate) execution: Option<Execution>,
    /// The version that decides.
    pub(crate) version: u32,
    /// What the last step asked of the engine.
    pub(crate) effects: Vec<Effect>,
    steps: u64,
}

impl Replay {
    fn from_start(version: u32) -> Self {
        Self {
            execution: None,
            version,
            effects: Vec::new(),
            steps: 0,
        }
    }

    fn from_snapshot(stored: &ExecutionState, snapshot: Snapshot) -> Self {
        let version = snapshot.version();
        let mut execution = begin(stored, version, Map::new());
        snapshot.put_into(&mut execution);
        Self {
            execution: Some(execution),
            version,
            effects: Vec::new(),
            steps: 0,
        }
    }

    fn take(
        &mut self,
        stored: &ExecutionState,
        row: &records::HistoryEntry,
        entry: &Entry,
        machine: &Versions<'_>,
    ) -> Result<Option<String>, Error> {
        match entry {
            Entry::Step {
                cause,
                handled,
                microsteps,
                given,
                variables: _,
            } => {
                let compiled = machine(&stored.head.machine, self.version)?;
                let at = self
                    .execution
                    .take()
                    .unwrap_or_else(|| begin(stored, self.version, given.clone()));
                let input = Input {
                    now: row.at,
                    cause: cause.clone(),
                    limits: Limits::default(),
                };
                match step(&compiled, &at, &input) {
                    Ok(step) if step.handled == *handled && step.microsteps == *microsteps => {
                        self.execution = Some(step.execution);
                        self.effects = step.effects;
                        self.steps += 1;
                        Ok(None)
                    }
                    Ok(_) => Ok(Some(format!("entry {} took other transitions", row.sequence))),
                    Err(error) => Ok(Some(format!("entry {}: {error}", row.sequence))),
                }
            }
            Entry::Migrated { to, moved, .. } => {
                // The move is not a step: from here on the other version decides, from the states it was moved to.
                self.version = *to;
                let Some(execution) = self.execution.as_mut() else {
                    return Ok(None);
                };
                moved.clone().put_into(execution);
                Ok(None)
            }
            Entry::Snapshot(_) | Entry::Refused { .. } | Entry::Stuck { .. } | Entry::Plain(_) => Ok(None),
        }
    }

    fn compare(&self, stored: &ExecutionState) -> Option<String> {
        let Some(replayed) = &self.execution else {
            return Some("there is no step to replay".to_owned());
        };
        let (mine, theirs) = (replayed, &stored.execution);
        if mine.active != theirs.active {
            return Some("other states are active".to_owned());
        }
        if mine.variables != theirs.variables {
            return Some("variables have other values".to_owned());
        }
        if mine.visits != theirs.visits || mine.history != theirs.history {
            return Some("visits or history differ".to_owned());
        }
        (mine.results != theirs.results).then(|| "results differ".to_owned())
    }
}

/// The newest snapshot up to an entry. Each follows an entry whose sequence is a multiple of [`SNAPSHOT_EVERY`].
fn newest_snapshot(
    reader: &dyn Reader,
    stored: &ExecutionState,
    sequence: u64,
) -> Result<Option<(u64, Snapshot)>, Error> {
    let before = sequence.saturating_sub(1) / SNAPSHOT_EVERY * SNAPSHOT_EVERY;
    if before == 0 {
        return Ok(None);
    }
    let page = reader.history(stored.head.id, &Page::new(Some(before), 1))?.rows;
    Ok(page.first().and_then(|row| match convert::entry_from(row) {
        Ok(Entry::Snapshot(snapshot)) => Some((row.sequence, *snapshot)),
        _ => None,
    }))
}

/// The version an execution started with: the one its first migration left, or the present one.
fn first_version(reader: &dyn Reader, stored: &ExecutionState) -> Result<u32, Error> {
    if !stored.head.migrated {
        return Ok(stored.head.version);
    }
    let mut after = 0;
    loop {
        let page = reader.history(stored.head.id, &Page::new(Some(after), PAGE))?.rows;
        for row in &page {
            after = row.sequence;
            if let Ok(Entry::Migrated { from, .. }) = convert::entry_from(row) {
                return Ok(from);
            }
        }
        if page.is_empty() {
            return Ok(stored.head.version);
        }
    }
}

/// An execution before its first step.
pub(crate) fn begin(stored: &ExecutionState, version: u32, variables: Map<String, Value>) -> Execution {
    let head = &stored.head;
    let facts = Facts {
        id: head.id,
        key: head.key.clone(),
        version,
        created_at: head.created_at,
    };
    Execution::new(facts, variables)
}
