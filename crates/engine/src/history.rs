//! History as callers see it: states by their paths, in the words of the version that decided at the time.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::machine::{Machine, StateIndex};
use sprag_core::time::Timestamp;
use sprag_store::records::HistoryEntry;
use sprag_store::traits::Reader;
use sprag_store::{Error, Page};

use crate::aggregate::Head;
use crate::convert::{self, Entry};
use crate::lane::damaged;

/// Entries that are read at once when somebody looks for a later move. A snapshot ends the search, so it is bounded.
const PAGE: usize = 1_000;

/// A history entry as callers see it.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryView {
    /// Dense, from 1.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub entry: Value,
}

/// Where compiled versions come from.
type Versions<'a> = dyn Fn(u32) -> Result<Arc<Machine>, Error> + 'a;

/// A page of the history of the execution that `head` is of.
pub(crate) fn page(
    reader: &dyn Reader,
    head: &Head,
    wanted: &Page<u64>,
    versions: &Versions<'_>,
) -> Result<Vec<HistoryView>, Error> {
    let rows = reader.history(head.id, wanted)?.rows;
    let entries: Vec<Entry> = rows
        .iter()
        .map(convert::entry_from)
        .collect::<Result<_, _>>()
        .map_err(|error| damaged(&error))?;
    let mut version = match rows.last() {
        Some(last) => version_after(reader, head, last.sequence)?,
        None => head.version,
    };
    let mut views = Vec::with_capacity(rows.len());
    // From the end, because a move says which version decided before it.
    for (row, entry) in rows.iter().zip(&entries).rev() {
        let machine = versions(version)?;
        views.push(view(row, entry, &machine)?);
        if let Entry::Migrated { from, .. } = entry {
            version = *from;
        }
    }
    views.reverse();
    Ok(views)
}

/// The version that decided right after an entry: what the next move or snapshot says, else the present one.
fn version_after(reader: &dyn Reader, head: &Head, sequence: u64) -> Result<u32, Error> {
    if !head.migrated {
        return Ok(head.version);
    }
    let mut after = sequence;
    while after < head.sequence {
        let rows = reader.history(head.id, &Page::new(Some(after), PAGE))?.rows;
        let Some(last) = rows.last() else { break };
        after = last.sequence;
        for row in rows.iter().filter(|row| tells_version(row)) {
            match convert::entry_from(row).map_err(|error| damaged(&error))? {
                Entry::Migrated { from, .. } => return Ok(from),
                Entry::Snapshot(snapshot) => return Ok(snapshot.version()),
                _ => {}
            }
        }
    }
    Ok(head.version)
}

/// Whether an entry may say which version decides. Most do not, and need not be parsed to know it.
fn tells_version(row: &HistoryEntry) -> bool {
    let tags = [&br#"{"kind":"migrated""#[..], br#"{"kind":"snapshot""#];
    tags.iter().any(|tag| row.body.starts_with(tag))
}

fn view(row: &HistoryEntry, entry: &Entry, machine: &Machine) -> Result<HistoryView, Error> {
    let mut value = serde_json::to_value(entry).map_err(|error| Error::Corrupt {
        detail: error.to_string(),
    })?;
    match entry {
        Entry::Step { microsteps, .. } => {
            let named = microsteps.iter().map(|microstep| {
                json!({
                    "event": microstep.event,
                    "exited": paths(&microstep.exited, machine),
                    "entered": paths(&microstep.entered, machine),
                })
            });
            value["microsteps"] = named.collect();
        }
        Entry::Migrated { .. } => name_states(&mut value["moved"], machine),
        Entry::Snapshot(_) => name_states(&mut value["place"], machine),
        _ => {}
    }
    Ok(HistoryView {
        sequence: row.sequence,
        at: row.at,
        entry: value,
    })
}

fn paths<'m>(states: &[StateIndex], machine: &'m Machine) -> Vec<&'m str> {
    states
        .iter()
        .filter(|state| state.position() < machine.states.len())
        .map(|&state| machine.display_path(state))
        .collect()
}

/// Names the states of a place: the active ones, those of its visits, and those it remembers.
fn name_states(place: &mut Value, machine: &Machine) {
    name_all(&mut place["active"], machine);
    for visit in place["visits"].as_array_mut().into_iter().flatten() {
        name_all(&mut visit["state"], machine);
        let entered_at = visit.as_object_mut().and_then(|visit| visit.shift_remove("entered_at"));
        let entered_at = entered_at
            .and_then(|millis| millis.as_i64())
            .map(Timestamp::from_millis);
        visit["enteredAt"] = json!(entered_at);
    }
    name_all(&mut place["history"], machine);
}

/// Replaces every index in a value by the path of its state.
fn name_all(value: &mut Value, machine: &Machine) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| name_all(item, machine)),
        Value::Number(number) => {
            let position = number.as_u64().and_then(|number| usize::try_from(number).ok());
            let state = position.and_then(StateIndex::from_position);
            if let Some(state) = state.filter(|state| state.position() < machine.states.len()) {
                *value = Value::from(machine.display_path(state));
            }
        }
        _ => {}
    }
}
