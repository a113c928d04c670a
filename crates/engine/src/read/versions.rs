//! The versions of a machine, and how its open executions stand.

use std::collections::BTreeMap;

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};
use sprag_core::ids::ExecutionId;
use sprag_store::page::continued;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{Reader, SCAN_MAX, Search};
use sprag_store::{Error, Page, Paged, ReadKind};
use sprag_wire::{Count, MachineCounts, MachineSummary, StateCount, VersionCount};

use super::handle::ReadHandle;
use super::lookup::LookupHandle;
use super::{machines, states};
use crate::decide::convert;
use crate::engine::near::no_machine;
use crate::lane::damaged;
use crate::requests::Refusal;

/// Open executions of a machine are counted up to here.
const COUNTED_MAX: u64 = 10_000;
/// Executions that are read at once.
const ROWS_AT_ONCE: usize = 200;
/// Pages of executions that are looked at: each holds few of the machine where others have many more.
const PAGES_MAX: usize = 100;

impl LookupHandle<'_> {
    /// The versions of a machine, newest first, before a version.
    pub async fn machine_versions<T: Send + 'static>(
        &self,
        name: String,
        before: Option<u32>,
        limit: usize,
        mut show: impl FnMut(MachineSummary) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, u32>, Refusal> {
        let read = self.0.read();
        let found = read
            .query(ReadKind::Scan, move |reader| {
                if reader.machine(&name, None)?.is_none() {
                    return Ok(Err(no_machine(&name)));
                }
                let found = reader.machine_versions(&name, &Page::new(before, limit))?;
                let versions: Vec<u32> = found.rows.iter().map(|row| row.version).collect();
                let mut rows = Vec::with_capacity(found.rows.len());
                for row in found.rows {
                    let Some(shown) = show(machines::shown(row)?.0) else {
                        break;
                    };
                    rows.push(shown);
                }
                Ok(Ok(Paged {
                    next: continued(&versions, &rows, found.next),
                    rows,
                }))
            })
            .await?;
        read.suggesting(found).await
    }

    /// How the open executions of a machine stand, of the newest that are counted.
    pub async fn machine_counts(&self, name: String) -> Result<MachineCounts, Refusal> {
        let (read, handle) = (self.0.read(), self.0.read().clone());
        let found = read
            .query(ReadKind::Scan, move |reader| {
                if reader.machine(&name, None)?.is_none() {
                    return Ok(Err(no_machine(&name)));
                }
                count(&handle, reader, name).map(Ok)
            })
            .await?;
        read.suggesting(found).await
    }
}

fn open_of(machine: &str) -> Condition {
    let open = ExecutionStatus::ALL.into_iter().filter(|status| status.is_open());
    Condition::text(Field::Machine, machine.to_owned()).and(Condition::Is(Comparison {
        field: Field::Status,
        relation: Relation::In,
        constants: open.map(|status| Constant::Number(status as i64)).collect(),
    }))
}

fn count(handle: &ReadHandle, reader: &dyn Reader, name: String) -> Result<MachineCounts, Error> {
    let mut tally = Tally::default();
    let mut before: Option<ExecutionId> = None;
    for _ in 0..PAGES_MAX {
        let found = reader.find_executions(&Search {
            condition: open_of(&name),
            page: Page::new(before, ROWS_AT_ONCE),
            scan: SCAN_MAX,
        })?;
        for row in found.rows {
            let state = convert::execution_of(row).map_err(|error| damaged(&error))?;
            let machine = handle.compiled(reader, &state)?;
            let paths = states::paths(&state.execution.active, &machine);
            tally.add(state.head.version, state.head.status, paths);
        }
        before = found.next;
        if before.is_none() || tally.open >= COUNTED_MAX {
            break;
        }
    }
    Ok(tally.shown(name, before.is_some()))
}

#[derive(Default)]
struct Tally {
    open: u64,
    versions: BTreeMap<u32, [u64; 3]>,
    states: BTreeMap<(String, u32), u64>,
}

impl Tally {
    fn add(&mut self, version: u32, status: ExecutionStatus, paths: Vec<String>) {
        self.open += 1;
        let of_version = self.versions.entry(version).or_default();
        if let Some(count) = of_version.get_mut(status as usize) {
            *count += 1;
        }
        for path in paths {
            *self.states.entry((path, version)).or_default() += 1;
        }
    }

    fn shown(self, id: String, more: bool) -> MachineCounts {
        let versions = self.versions.into_iter().rev();
        let states = self.states.into_iter();
        MachineCounts {
            id,
            open: Count { count: self.open, more },
            versions: versions
                .map(|(version, [running, paused, failed])| VersionCount {
                    version,
                    running,
                    paused,
                    failed,
                })
                .collect(),
            states: states
                .map(|((state, version), count)| StateCount { state, version, count })
                .collect(),
        }
    }
}
