//! Executions together with what is open of them: timers and actions.
//!
//! What is read of each execution is bounded, so that one with very many open actions can be shown too. A list reads the
//! open work of several executions at once: one question for each would cost more than the page itself.

use std::collections::HashMap;
use std::sync::Arc;

use sprag_core::ids::ExecutionId;
use sprag_store::traits::OpenWork;
use sprag_store::{Error, PageLimit, Reader, records};

use crate::decide::convert;
use crate::decide::state::ExecutionState;
use crate::lane::damaged;

/// Open actions of an execution that are read, per status.
const OPEN_MAX: PageLimit = PageLimit {
    rows: 100,
    bytes: 512 * 1024,
};
/// Executions whose open work is read at once. Few enough for memory, however much is open of each.
const TOGETHER_MAX: usize = 16;

/// One execution with its open work.
pub(crate) fn whole(reader: &dyn Reader, id: ExecutionId) -> Result<Option<ExecutionState>, Error> {
    let found = reader.execution_with_work(id, OPEN_MAX)?;
    found.map(|(row, work)| with_work(without_work(row)?, work)).transpose()
}

/// An execution that was read already, with its open work.
pub(crate) fn completed(reader: &dyn Reader, row: records::Execution) -> Result<ExecutionState, Error> {
    let work = if row.status.is_open() {
        reader.open_work(&[row.id], OPEN_MAX)?
    } else {
        OpenWork::default()
    };
    with_work(without_work(row)?, work)
}

/// Shows executions with their open work in order, until `show` has no room for one. A damaged one is shown as `repair`
/// makes it.
pub(crate) fn each_whole<T>(
    reader: &dyn Reader,
    rows: &[records::Execution],
    repair: impl Fn(&records::Execution, String) -> Result<ExecutionState, Error>,
    mut show: impl FnMut(ExecutionState) -> Result<Option<T>, Error>,
) -> Result<Vec<T>, Error> {
    let mut kept = Vec::with_capacity(rows.len());
    for rows in rows.chunks(TOGETHER_MAX) {
        let open = rows.iter().filter(|row| row.status.is_open());
        let open: Vec<ExecutionId> = open.map(|row| row.id).collect();
        let mut works = works(reader, &open)?;
        for row in rows {
            let work = works.remove(&row.id).unwrap_or_default();
            let state = match without_work(row.clone()).and_then(|state| with_work(state, work)) {
                Err(Error::Unreadable { detail }) => repair(row, detail)?,
                state => state?,
            };
            match show(state)? {
                Some(shown) => kept.push(shown),
                None => return Ok(kept),
            }
        }
    }
    Ok(kept)
}

/// The open actions of an execution, up to a bound.
pub(crate) fn open_actions(reader: &dyn Reader, id: ExecutionId) -> Result<Vec<records::Action>, Error> {
    Ok(reader.open_work(&[id], OPEN_MAX)?.actions)
}

fn works(reader: &dyn Reader, ids: &[ExecutionId]) -> Result<HashMap<ExecutionId, OpenWork>, Error> {
    let mut works: HashMap<ExecutionId, OpenWork> = HashMap::new();
    if ids.is_empty() {
        return Ok(works);
    }
    let OpenWork { timers, actions } = reader.open_work(ids, OPEN_MAX)?;
    for timer in timers {
        works.entry(timer.key.execution).or_default().timers.push(timer);
    }
    for action in actions {
        works.entry(action.execution).or_default().actions.push(action);
    }
    Ok(works)
}

fn without_work(row: records::Execution) -> Result<ExecutionState, Error> {
    convert::execution_of(row).map_err(|error| damaged(&error))
}

fn with_work(mut state: ExecutionState, work: OpenWork) -> Result<ExecutionState, Error> {
    for timer in work.timers {
        state.timers.insert((timer.key.visit, timer.key.index), timer);
    }
    for row in work.actions {
        let action = convert::action_from(row).map_err(|error| damaged(&error))?;
        state.actions.insert(action.id, Arc::new(action));
    }
    Ok(state)
}
