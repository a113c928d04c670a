//! A restored database: held before a server opens it, with a list of the effects that may happen twice.
//!
//! A backup ends at an instant. Open actions may have run since, and the restored database does not know: attempts under
//! way, attempts with an unknown outcome, and everything that was due later. So the first thing in a restored database
//! is a switch over everything. Its tokens and approvals count no more, and the audit says so.

use serde::{Deserialize, Serialize};
use sprag_core::action::{Action, Status, Verdict};
use sprag_core::document::json::hex;
use sprag_core::ids::{Mint, Slot, SwitchId};
use sprag_core::integrity::audit::{Decision, Head, Verb};
use sprag_core::operation::WorkflowStatus;
use sprag_core::operation::approval::{Policy, Refusal};
use sprag_core::time::Timestamp;
use sprag_store::home::CONTROL;
use sprag_store::records::{Fact, FactKind};
use sprag_store::traits::{OpenAction, PlanQuery};
use sprag_store::{Error, Fence, LaneReads, LaneStore, Mutation, Page, ShardId, Wanted};
use sprag_wire::{Because, RestoreReport, RestoredEffect};

use crate::decide::plans::PlanState;
use crate::decide::{believed, convert};
use crate::lane::damaged;
use crate::queue::control::{DRAIN_DEFAULT, Mode, Scope, Switch, body, fact};
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

/// When and by whom a restored database is held.
#[derive(Clone, Copy, Debug)]
pub struct Hold<'a> {
    /// When.
    pub now: Timestamp,
    /// What makes its ids unique.
    pub entropy: u64,
    /// Who restores.
    pub by: &'a str,
    /// How many shards the store has.
    pub shards: u32,
    /// How long approvers have to decide about plans again.
    pub approval: &'a Policy,
}

/// Holds a restored database, before anybody opens it, and lists what may repeat. No token of it counts any more, nor does any
/// approval: some were revoked after the backup.
///
/// All of it is one commit: a database that has the report has the switch.
pub fn hold(store: &mut dyn LaneStore, hold: Hold<'_>) -> Result<RestoreReport, Error> {
    let Hold {
        now,
        entropy,
        by,
        shards,
        approval: _,
    } = hold;
    let switch = switch(hold, Mint::new(now, entropy).switch(Slot(0)));
    let (total, effects) = effects(store, shards)?;
    let report = RestoreReport {
        restored_at: now,
        taken_at: taken_at(store)?,
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
    let tokens = revoked(store, now, by)?;
    let plans = unapproved(store, hold)?;
    mutations.push(entry(store, hold, &switch, (tokens.len(), plans.len()))?);
    mutations.extend(tokens.into_iter().chain(plans));
    let mut touched: Vec<ShardId> = mutations.iter().filter_map(|mutation| mutation.home(shards)).collect();
    touched.push(CONTROL);
    touched.sort_unstable();
    touched.dedup();
    let fences: Result<Vec<Fence>, Error> = touched.into_iter().map(|shard| store.acquire(shard)).collect();
    store.commit(&fences?, &mutations)?;
    Ok(report)
}

fn switch(Hold { now, by, .. }: Hold<'_>, id: SwitchId) -> Switch {
    Switch {
        id,
        scope: Scope::All,
        mode: Mode::Hold,
        reason: "restored from a backup: effects after it may repeat".to_owned(),
        by: by.to_owned(),
        since: now,
        expires_at: None,
        swept: false,
        rate: DRAIN_DEFAULT,
        release: None,
    }
}

/// What the audit says of a restore. Its chain continues from the head that the backup has, so heads that were exported later
/// show that the chain was rolled back.
fn entry(
    store: &mut dyn LaneReads,
    Hold { now, by, .. }: Hold<'_>,
    switch: &Switch,
    (tokens, plans): (usize, usize),
) -> Result<Mutation, Error> {
    let heads = store.audit_heads()?;
    let named = heads
        .iter()
        .map(|head| format!("shard {}: entry {}, {}", head.shard, head.sequence, hex(&head.hash)));
    let before = named.collect::<Vec<_>>().join("; ");
    let decision = Decision {
        principal: by.to_owned(),
        verb: Verb::Restore.word().to_owned(),
        target: "store".to_owned(),
        before: Some(before),
        after: Some(format!(
            "held by {}, {tokens} tokens revoked, {plans} plans without approval",
            switch.id
        )),
        ..Decision::default()
    };
    let own = heads.into_iter().find(|head| head.shard == CONTROL.0);
    let head = own.unwrap_or_else(|| Head::beginning(CONTROL.0));
    Ok(Mutation::InsertAudit(head.link(now, decision.storable())))
}

/// Revokes the approvals of every plan that needs approval and has not ended. For plans that run or wait, `decideWithin` starts
/// again, however old the backup is.
fn unapproved(store: &mut dyn LaneReads, hold: Hold<'_>) -> Result<Vec<Mutation>, Error> {
    let mut changed = Vec::new();
    for status in [
        WorkflowStatus::Pending,
        WorkflowStatus::AwaitingApproval,
        WorkflowStatus::InProgress,
        WorkflowStatus::Failed,
    ] {
        let mut query = PlanQuery {
            status: Some(status),
            page: Page::first(PAGE),
            ..PlanQuery::default()
        };
        loop {
            let found = store.find_plans(&query)?;
            for row in found.rows {
                let mut plan = PlanState::read(row).map_err(|error| Error::Corrupt {
                    detail: error.to_string(),
                })?;
                if ask_again(&mut plan, hold) {
                    changed.push(Mutation::PutPlan(plan.row()));
                }
            }
            query.page.after = found.next;
            if query.page.after.is_none() {
                break;
            }
        }
    }
    Ok(changed)
}

/// Whether the plan changed.
fn ask_again(plan: &mut PlanState, Hold { now, by, approval, .. }: Hold<'_>) -> bool {
    let is_approved = !plan.decided.decisions.given.is_empty();
    if is_approved {
        let comment = "restored from a backup";
        plan.decided.decisions.revoked = Some(Refusal {
            by: by.to_owned(),
            at: now,
            comment: Some(comment.to_owned()),
        });
        plan.note("revoked", by, comment, now);
    }
    let waits = plan.status == WorkflowStatus::AwaitingApproval;
    // A failed plan stays failed until an approver approves it and an operator resumes it.
    if waits || (is_approved && plan.status == WorkflowStatus::InProgress) {
        plan.ask_for_approval(approval, now);
    }
    is_approved || waits
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

fn effects(store: &mut dyn LaneReads, shards: u32) -> Result<(u64, Vec<RestoredEffect>), Error> {
    let mut listed = Vec::new();
    let mut total = 0;
    let parts = ORDER
        .into_iter()
        .flat_map(|status| (0..shards).map(move |shard| (status, ShardId(shard))));
    for (status, shard) in parts {
        let mut after = None;
        loop {
            let page = store.open(shard, status.number(), &Page::new(after, PAGE))?.rows;
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
