//! Executions by their active states.
//!
//! Stores keep active states by number, and what a number means depends on the version of the machine. So the store finds the
//! executions that meet the rest of a filter, and the states are compared here: of a bounded number of rows a page, newest
//! first. A page may be short, or empty, and still not be the last.

use sprag_core::filter::{Condition, Field, FieldValue, Row};
use sprag_core::ids::ExecutionId;
use sprag_core::machine::{Machine, StateSet};
use sprag_store::Error;
use sprag_store::records::Execution;
use sprag_store::traits::{Reader, SCAN_MAX, Search};
use sprag_store::{Page, Paged};

use super::handle::ReadHandle;
use crate::decide::convert;
use crate::lane::damaged;
use crate::read::open::completed;
use crate::read::view::ExecutionView;

/// Executions whose states one page looks at.
const ROWS_MAX: usize = 1_000;
/// Of which so many are read at a time.
const ROWS_AT_ONCE: usize = 100;

/// An execution with the paths of its active states.
struct Standing<'r> {
    row: &'r Execution,
    states: Vec<String>,
}

impl Row for Standing<'_> {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::State => FieldValue::Texts(&self.states),
            other => self.row.value(other),
        }
    }
}

/// Executions that meet a condition which names active states, as `show` keeps them. The page ends before the first one
/// that `show` has no room for.
pub(crate) fn find_by_state<T>(
    handle: &ReadHandle,
    reader: &dyn Reader,
    search: &Search<ExecutionId>,
    mut show: impl FnMut(ExecutionView) -> Option<T>,
) -> Result<Paged<T, ExecutionId>, Error> {
    let mut rows = Vec::new();
    let mut before = search.page.after;
    let mut passed = search.page.after;
    for _ in 0..ROWS_MAX / ROWS_AT_ONCE {
        let page = reader.find_executions(&Search {
            condition: search.condition.without(Field::State),
            page: Page::new(before, ROWS_AT_ONCE),
            scan: SCAN_MAX,
        })?;
        for row in page.rows {
            let id = row.id;
            if let Some(view) = standing(handle, reader, row, &search.condition)? {
                let Some(shown) = show(view) else {
                    return Ok(Paged { rows, next: passed });
                };
                rows.push(shown);
            }
            passed = Some(id);
            if rows.len() == search.page.limit.rows {
                return Ok(Paged { rows, next: passed });
            }
        }
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    Ok(Paged { rows, next: before })
}

/// The execution, if it meets the condition.
fn standing(
    handle: &ReadHandle,
    reader: &dyn Reader,
    row: Execution,
    condition: &Condition,
) -> Result<Option<ExecutionView>, Error> {
    let aggregate = convert::execution_of(row.clone()).map_err(|error| damaged(&error))?;
    let machine = handle.compiled(reader, &aggregate)?;
    let paths = paths(&aggregate.execution.active, &machine);
    if !(condition.holds(&Standing {
        row: &row,
        states: paths,
    })) {
        return Ok(None);
    }
    let aggregate = completed(reader, row)?;
    Ok(Some(handle.shown(&aggregate, &machine)))
}

/// The paths of active states, those around them included, sorted.
pub(crate) fn paths(active: &StateSet, machine: &Machine) -> Vec<String> {
    let paths = active.iter().map(|state| machine.state(state).path.clone());
    let mut paths: Vec<String> = paths.filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths
}
