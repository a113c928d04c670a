//! What a kill switch holds: the actions that wait for it, and the attempts that run in its scope.

use sprag_core::action::Status;
use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};
use sprag_core::time::Timestamp;
use sprag_store::traits::{Reader, SCAN_MAX, Search};
use sprag_store::{Error, Page, ReadKind, records};
use sprag_wire::{HeldBySwitch, SwitchedAction, SwitchedActions};

use super::handle::ReadHandle;
use crate::queue::control::Scope;
use crate::requests::Refusal;

/// Actions that are counted.
const COUNTED_MAX: usize = 10_000;
/// Actions that are shown.
const SHOWN_MAX: usize = 20;

/// What a switch over this scope holds. One that is off holds what was due when it was released.
pub(crate) async fn held(
    handle: &ReadHandle,
    scope: Scope,
    released_at: Option<Timestamp>,
) -> Result<HeldBySwitch, Refusal> {
    let read = move |reader: &dyn Reader| {
        let queued = match released_at {
            Some(at) => waits_for(&scope, at),
            None => scope.condition(Status::Queued),
        };
        Ok(HeldBySwitch {
            queued: switched(reader, queued)?,
            running: switched(reader, scope.condition(Status::Running))?,
        })
    };
    handle.query(ReadKind::Scan, read).await
}

/// What the queued actions meet that wait for the release of a switch over this scope.
pub(crate) fn waits_for(scope: &Scope, released_at: Timestamp) -> Condition {
    let due = Condition::Is(Comparison {
        field: Field::RunAt,
        relation: Relation::LessOrEqual,
        constants: vec![Constant::Number(released_at.as_millis())],
    });
    scope.condition(Status::Queued).and(due)
}

fn switched(reader: &dyn Reader, condition: Condition) -> Result<SwitchedActions, Error> {
    let counted = reader.count_actions(&condition, COUNTED_MAX)?;
    let found = reader.find_actions(&Search {
        condition,
        page: Page::first(SHOWN_MAX),
        scan: SCAN_MAX,
    })?;
    Ok(SwitchedActions {
        total: counted.count,
        more: counted.more,
        first: found.rows.into_iter().map(shown).collect(),
    })
}

fn shown(row: records::Action) -> SwitchedAction {
    SwitchedAction {
        id: row.id,
        execution_id: row.execution,
        machine: row.machine,
        action_id: row.action_id,
        kind: row.kind,
        run_at: row.run_at,
    }
}
