//! History as the API shows it: states by their paths in the version that decided at the time.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sprag_core::machine::{Machine, Message, Microstep, StateIndex};
use sprag_core::time::Timestamp;
use sprag_store::records::HistoryEntry;
use sprag_store::traits::Reader;
use sprag_store::{Error, Page};
use sprag_wire::{self as wire, What};

use crate::decide::convert::{self, Entry, Moved, Snapshot};
use crate::decide::state::Head;
use crate::lane::damaged;

/// Entries that are read at once to find a later move. A snapshot ends the search, so it is bounded.
const PAGE: usize = 1_000;

/// Where compiled versions come from.
type Versions<'a> = dyn Fn(u32) -> Result<Arc<Machine>, Error> + 'a;

/// A page of the history of the execution that `head` is of.
pub(crate) fn page(
    reader: &dyn Reader,
    head: &Head,
    wanted: &Page<u64>,
    versions: &Versions<'_>,
) -> Result<Vec<wire::HistoryEntry>, Error> {
    let rows = reader.history(head.id, wanted)?.rows;
    shown(reader, head, &rows, versions)
}

/// A page of the history backwards: newest first.
pub(crate) fn page_back(
    reader: &dyn Reader,
    head: &Head,
    wanted: &Page<u64>,
    versions: &Versions<'_>,
) -> Result<Vec<wire::HistoryEntry>, Error> {
    let mut rows = reader.history_back(head.id, wanted)?.rows;
    rows.reverse();
    let mut entries = shown(reader, head, &rows, versions)?;
    entries.reverse();
    Ok(entries)
}

/// Entries that follow each other, oldest first.
fn shown(
    reader: &dyn Reader,
    head: &Head,
    rows: &[HistoryEntry],
    versions: &Versions<'_>,
) -> Result<Vec<wire::HistoryEntry>, Error> {
    let entries: Vec<Entry> = rows
        .iter()
        .map(convert::entry_from)
        .collect::<Result<_, _>>()
        .map_err(|error| damaged(&error))?;
    let mut version = match rows.last() {
        Some(last) => version_after(reader, head, last.sequence)?,
        None => head.version,
    };
    let mut shown = Vec::with_capacity(rows.len());
    // From the end, because a move says which version decided before it.
    for (row, entry) in rows.iter().zip(entries).rev() {
        let machine = versions(version)?;
        if let Entry::Migrated { from, .. } = &entry {
            version = *from;
        }
        shown.push(wire::HistoryEntry {
            sequence: row.sequence,
            at: row.at,
            what: what(entry, &machine)?,
        });
    }
    shown.reverse();
    Ok(shown)
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

/// What an entry says, with states by their paths.
fn what(entry: Entry, machine: &Machine) -> Result<What, Error> {
    Ok(match entry {
        Entry::Step {
            cause,
            handled,
            microsteps,
            variables,
            given,
        } => What::Step {
            cause: cause.into(),
            handled,
            microsteps: microsteps.into_iter().map(|step| microstep(step, machine)).collect(),
            variables,
            given,
        },
        Entry::Refused { cause, error } => What::Refused {
            cause: cause.into(),
            error,
        },
        Entry::Stuck { cause, error } => What::Stuck {
            cause: cause.into(),
            error,
        },
        Entry::Snapshot(snapshot) => snapshotted(*snapshot, machine)?,
        Entry::Migrated { from, to, moved } => What::Migrated {
            from,
            to,
            moved: named(&moved, machine)?,
        },
        Entry::Plain(what) => what,
    })
}

fn snapshotted(snapshot: Snapshot, machine: &Machine) -> Result<What, Error> {
    let Snapshot {
        place,
        triggered,
        variables,
        results,
        message,
    } = snapshot;
    let members = |Message { id, kind, payload }| {
        Map::from_iter([
            ("id".to_owned(), Value::String(id)),
            ("type".to_owned(), Value::String(kind)),
            ("payload".to_owned(), payload),
        ])
    };
    Ok(What::Snapshot {
        place: named(&place, machine)?,
        triggered,
        variables,
        results,
        message: message.map(members),
    })
}

fn microstep(step: Microstep, machine: &Machine) -> wire::Microstep {
    let Microstep { event, exited, entered } = step;
    wire::Microstep {
        event,
        exited: paths(&exited, machine),
        entered: paths(&entered, machine),
    }
}

fn paths(states: &[StateIndex], machine: &Machine) -> Vec<String> {
    states
        .iter()
        .filter(|state| state.position() < machine.states.len())
        .map(|&state| machine.display_path(state).to_owned())
        .collect()
}

/// The active states, visits and remembered states of an execution, each by its path.
fn named(place: &Moved, machine: &Machine) -> Result<Map<String, Value>, Error> {
    let corrupt = |detail: String| Error::Corrupt { detail };
    let mut place = serde_json::to_value(place).map_err(|error| corrupt(error.to_string()))?;
    name_states(&mut place, machine);
    match place {
        Value::Object(members) => Ok(members),
        other => Err(corrupt(format!("`{other}` is not where an execution is"))),
    }
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

#[cfg(test)]
mod tests {
    use sprag_core::document::source::Format;
    use sprag_core::ids::ExecutionId;
    use sprag_core::machine::{DefinitionLimits, LoadOptions, load_text};

    use super::*;

    const MACHINE: &str = "
        id: m
        initial: a
        states:
          a: { on: { GO: b } }
          b: { type: final }
    ";

    /// An entry as it is stored, and in the next line as the API shows it.
    const GOLDEN: &str = include_str!("golden/history.jsonl");

    #[test]
    fn every_kind_of_entry_is_shown_as_it_always_was() {
        let options = LoadOptions {
            limits: DefinitionLimits::default(),
            runners: &(),
        };
        let machine = load_text(MACHINE, Format::Yaml, &options).machine.unwrap();
        let lines: Vec<&str> = GOLDEN.lines().collect();
        assert!(lines.len() > 20 && lines.len().is_multiple_of(2));
        for pair in lines.chunks(2) {
            let row = HistoryEntry {
                execution: ExecutionId::from_bytes([1; 16]),
                sequence: 1,
                at: Timestamp::from_millis(0),
                body: pair[0].as_bytes().to_vec(),
            };
            let shown = wire::HistoryEntry {
                sequence: row.sequence,
                at: row.at,
                what: what(convert::entry_from(&row).unwrap(), &machine).unwrap(),
            };
            assert_eq!(serde_json::to_string(&shown).unwrap(), pair[1]);
            assert_eq!(serde_json::from_str::<wire::HistoryEntry>(pair[1]).unwrap(), shown);
        }
    }
}
