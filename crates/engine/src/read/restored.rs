//! A restored database: held before a server opens it, with a list of the effects that may happen twice.
//!
//! A backup ends at an instant. Open actions may have run since, and the restored database does not know: attempts under
//! way, attempts with an unknown outcome, and everything that was due later. So the first thing in a restored database
//! is a switch over everything.

use serde::{Deserialize, Serialize};
use sprag_core::action::{Action, Status, Verdict};
use sprag_core::ids::{Mint, Slot};
use sprag_core::time::Timestamp;
use sprag_store::records::{Fact, FactKind};
use sprag_store::traits::OpenAction;
use sprag_store::{Error, LaneReads, LaneStore, Mutation, Page, ShardId, Wanted};
use sprag_wire::{Because, RestoreReport, RestoredEffect};

use crate::decide::{believed, convert};
use crate::lane::damaged;
use crate::queue::control::{Mode, Scope, Switch, body, fact};
use crate::queue::tokens::Token;

/// Effects that are listed; all are counted.
const EFFECTS_MAX: usize = 10_000;
/// Actions that are read at once.
const PAGE: usize = 500;
/// The name of the mark that says when a backup was taken.
const BACKUP_MARK: &str = "backup";
/// The name of the report.
const REPORT: &str = "report";
/// The order in which open actions are listed: those whose effect may have begun already come first.
const ORDER: [Status; 4] = [Status::Running, Status::Retrying, Status::Queued, Status::Scheduled];

/// When a backup was taken, written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BackupMark {
    /// When.
    taken_at: Timestamp,
}

/// The mark of a backup taken at `taken_at`.
pub fn backup_mark(taken_at: Timestamp) -> Fact {
    fact(FactKind::Mark, BACKUP_MARK, &BackupMark { taken_at })
}

/// The report of a restored database, if it is one.
pub(crate) fn report(reader: &dyn sprag_store::Reader) -> Result<Option<RestoreReport>, Error> {
    let found = reader.fact(FactKind::Restored, REPORT)?;
    found.map(|fact| body(&fact)).transpose()
}

/// Holds a restored database, before anybody opens it, and lists what may repeat.
///
/// All of it is one commit: a database that has the report has the switch.
pub fn hold(store: &mut dyn LaneStore, now: Timestamp, entropy: u64, by: &str) -> Result<RestoreReport, Error> {
    let fence = store.acquire(ShardId(0))?;
    let taken_at = taken_at(store)?;
    let switch = Switch {
        id: Mint::new(now, entropy).switch(Slot(0)),
        scope: Scope::All,
        mode: Mode::Hold,
        reason: "restored from a backup: effects after it may repeat".to_owned(),
        by: by.to_owned(),
        since: now,
        expires_at: None,
        swept: false,
    };
    let (total, effects) = effects(store)?;
    let report = RestoreReport {
        restored_at: now,
        taken_at,
        switch: switch.id.to_string(),
        total,
        effects,
    };
    let mut mutations = vec![
        Mutation::PutFact(fact(FactKind::Switch, switch.id.to_string(), &switch)),
        Mutation::PutFact(fact(FactKind::Restored, REPORT, &report)),
        // An operator who restores a backup of last week knows that time has passed since.
        Mutation::PutFact(believed(now)),
    ];
    mutations.extend(revoked(store, now, by)?);
    store.commit(&[fence], &mutations)?;
    Ok(report)
}

/// No token of the backup counts any more: some were revoked after it was taken.
fn revoked(store: &mut dyn LaneReads, now: Timestamp, by: &str) -> Result<Vec<Mutation>, Error> {
    let mut revoked = Vec::new();
    for found in store.facts(FactKind::Token)? {
        let mut token: Token = body(&found)?;
        if token.view.revoked_at.is_none() {
            token.view.revoked_at = Some(now);
            token.view.revoked_by = Some(by.to_owned());
            revoked.push(Mutation::PutFact(fact(FactKind::Token, found.key, &token)));
        }
    }
    Ok(revoked)
}

/// When the backup was taken: its mark says so, or else the last sign of life in it.
fn taken_at(store: &mut dyn LaneReads) -> Result<Option<Timestamp>, Error> {
    let marks = store.facts(FactKind::Mark)?;
    if let Some(mark) = marks.iter().find(|mark| mark.key == BACKUP_MARK) {
        return body::<BackupMark>(mark).map(|mark| Some(mark.taken_at));
    }
    Ok(store.last_run()?.map(|life| life.seen_at))
}

fn effects(store: &mut dyn LaneReads) -> Result<(u64, Vec<RestoredEffect>), Error> {
    let mut listed = Vec::new();
    let mut total = 0;
    for status in ORDER {
        let mut after = None;
        loop {
            let page = store.open(ShardId(0), status.number(), &Page::new(after, PAGE))?.rows;
            total += u64::try_from(page.len()).unwrap_or(u64::MAX);
            after = page.last().copied();
            if listed.len() < EFFECTS_MAX {
                listed.extend(read(store, &page)?);
            }
            if page.len() < PAGE {
                break;
            }
        }
    }
    listed.truncate(EFFECTS_MAX);
    Ok((total, listed))
}

fn read(store: &mut dyn LaneReads, page: &[OpenAction]) -> Result<Vec<RestoredEffect>, Error> {
    let wanted = Wanted {
        actions: page.iter().map(|open| open.action).collect(),
        ..Wanted::default()
    };
    let rows = store.load(&wanted)?.actions.into_iter();
    let actions = rows.map(|row| convert::action_from(row).map_err(|error| damaged(&error)));
    actions.map(|action| action.map(|action| effect(&action))).collect()
}

fn effect(action: &Action) -> RestoredEffect {
    let last = action.body.attempts.last();
    let because = match action.status {
        Status::Running => Because::Running,
        _ if last.is_some_and(|attempt| attempt.outcome == Some(Verdict::Unknown)) => Because::InDoubt,
        _ => Because::Open,
    };
    RestoredEffect {
        id: action.id,
        execution_id: action.origin.execution,
        machine: action.origin.machine.clone(),
        action_id: action.action_id.clone(),
        kind: action.kind.clone(),
        status: action.status.into(),
        attempts: action.attempts_made(),
        because,
        idempotency_key: action.idempotency_key(),
        run_at: action.run_at,
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::ids::{ActionId, ExecutionId};
    use sprag_wire::ActionStatus;

    use super::*;

    #[test]
    fn a_report_is_stored_and_read_in_the_bytes_that_it_always_had() {
        let at = |millis: i64| Timestamp::from_millis(1_767_225_600_000 + millis);
        let effect = |status, because| RestoredEffect {
            id: ActionId::from_bytes([1; 16]),
            execution_id: ExecutionId::from_bytes([2; 16]),
            machine: "order".to_owned(),
            action_id: "charge".to_owned(),
            kind: "render".to_owned(),
            status,
            attempts: 2,
            because,
            idempotency_key: "k".to_owned(),
            run_at: at(1),
        };
        let report = RestoreReport {
            restored_at: at(5),
            taken_at: None,
            switch: "swi".to_owned(),
            total: 3,
            effects: vec![
                effect(ActionStatus::Retrying, Because::InDoubt),
                effect(ActionStatus::Running, Because::Running),
                effect(ActionStatus::Queued, Because::Open),
            ],
        };
        let bytes = include_str!("golden/report.json").trim_end();
        assert_eq!(serde_json::to_string(&report).unwrap(), bytes);
        assert_eq!(serde_json::from_str::<RestoreReport>(bytes).unwrap(), report);
    }
}
