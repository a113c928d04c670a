//! An execution as it was after one of its history entries.
//!
//! Sprag steps through the causes again from the newest snapshot up to that entry, so the cost is bounded by the entries
//! between two snapshots, however long the history is.

use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::ids::ExecutionId;
use sprag_core::machine::{Execution, Machine};
use sprag_store::traits::Reader;
use sprag_store::{Error, Page, ReadKind, records};
use sprag_wire::{ExecutionAt, VariableChange};

use super::handle::ReadHandle;
use super::lists::history_page;
use super::lookup::LookupHandle;
use super::replay::Walk;
use super::states::paths;
use crate::decide::convert;
use crate::lane::damaged;
use crate::requests::Refusal;

impl LookupHandle<'_> {
    /// An execution after an entry of its history; the newest sequence where there is no such entry.
    pub async fn execution_at(&self, id: ExecutionId, sequence: u64) -> Result<Result<ExecutionAt, u64>, Refusal> {
        let read = self.0.read();
        read.of_execution(ReadKind::Scan, id, move |handle, reader, row| {
            if sequence == 0 || sequence > row.sequence {
                return Ok(Err(row.sequence));
            }
            state_at(handle, reader, row, sequence).map(Ok)
        })
        .await
    }
}

fn state_at(
    handle: &ReadHandle,
    reader: &dyn Reader,
    row: records::Execution,
    sequence: u64,
) -> Result<ExecutionAt, Error> {
    let stored = convert::execution_of(row.clone()).map_err(|error| damaged(&error))?;
    let versions = |machine: &str, version| handle.version(reader, machine, version);
    let mut walk = Walk::begin_before(reader, &stored, &versions, sequence)?;
    let mut before = variables(walk.replay.execution.as_ref());
    while walk.after < sequence {
        before = variables(walk.replay.execution.as_ref());
        let passed = walk.next()?;
        let difference = match passed {
            None => Some("the history ends before it should".to_owned()),
            Some(passed) => passed.difference,
        };
        if let Some(detail) = difference {
            return Err(Error::Unreadable { detail });
        }
    }
    let page = Page::new(Some(sequence - 1), 1);
    let entry = history_page(handle, reader, row, &page)?.into_iter().next();
    let entry = entry.ok_or_else(|| Error::Unreadable {
        detail: format!("entry {sequence} of execution `{}` is gone", stored.head.id),
    })?;
    let (after, version) = (walk.replay.execution.as_ref(), walk.replay.version);
    let machine = versions(&stored.head.machine, version)?;
    let of_states = |shown: fn(&Execution, &Machine) -> Vec<String>| {
        after.map_or_else(Vec::new, |execution| shown(execution, &machine))
    };
    let now = variables(after);
    Ok(ExecutionAt {
        id: stored.head.id,
        machine: stored.head.machine.to_string(),
        version,
        newest: stored.head.sequence,
        entry,
        configuration: of_states(|execution, machine| machine.configuration(&execution.active)),
        active: of_states(|execution, machine| paths(&execution.active, machine)),
        changes: changes(&before, &now),
        variables: Map::clone(&now),
    })
}

fn variables(execution: Option<&Execution>) -> Arc<Map<String, Value>> {
    execution
        .map(|execution| Arc::clone(&execution.variables))
        .unwrap_or_default()
}

/// The variables that differ, by name.
fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<VariableChange> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differ
        .map(|name| VariableChange {
            name: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect()
}
