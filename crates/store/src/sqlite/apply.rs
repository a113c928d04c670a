//! A commit's mutations, applied in order.
//!
//! Neighbours that write to one table share statements: nothing stands between them, so their order is kept.

use rusqlite::Connection;

use super::errors::classify;
use super::history::HistoryEnds;
use super::{
    actions, audit, catalog, executions, facts, history, idempotency, inbox, jobs, lives, machines, plans, receipts,
    retention, timers,
};
use crate::records::Execution;
use crate::records::checks;
use crate::traits::{Error, Mutation, Variables};

/// Applies all of them, or says why not: then the transaction must be rolled back and `ends` forgotten.
pub(super) fn all(connection: &Connection, ends: &mut HistoryEnds, mutations: &[Mutation]) -> Result<(), Error> {
    for run in mutations.chunk_by(share_statements) {
        run.iter().try_for_each(checks::check)?;
        match run {
            [Mutation::ExpectNewest { machine, version }] => machines::expect_newest(connection, machine, *version)?,
            [Mutation::InsertIdempotency(record)] => idempotency::insert(connection, record)?,
            run => apply(connection, ends, run).map_err(|problem| classify(&problem))?,
        }
    }
    Ok(())
}

fn share_statements(one: &Mutation, next: &Mutation) -> bool {
    matches!(
        (one, next),
        (Mutation::InsertExecution(_), Mutation::InsertExecution(_))
            | (Mutation::AppendHistory(_), Mutation::AppendHistory(_))
            | (Mutation::InsertAction(_), Mutation::InsertAction(_))
            | (Mutation::UpdateExecution { .. }, Mutation::UpdateExecution { .. })
            | (Mutation::UpdateAction(_), Mutation::UpdateAction(_))
    )
}

/// The records of a run of one kind.
macro_rules! records {
    ($run:expr, $kind:path) => {
        &$run
            .iter()
            .filter_map(|mutation| match mutation {
                $kind(record) => Some(record),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
}

fn updated(run: &[Mutation]) -> Vec<(&Execution, Variables)> {
    let executions = run.iter().filter_map(|mutation| match mutation {
        Mutation::UpdateExecution { execution, variables } => Some((execution, *variables)),
        _ => None,
    });
    executions.collect()
}

fn apply(connection: &Connection, ends: &mut HistoryEnds, run: &[Mutation]) -> rusqlite::Result<()> {
    match run {
        [Mutation::InsertExecution(_), ..] => executions::insert(connection, records!(run, Mutation::InsertExecution)),
        [Mutation::AppendHistory(_), ..] => history::append(connection, ends, records!(run, Mutation::AppendHistory)),
        [Mutation::InsertAction(_), ..] => actions::insert(connection, records!(run, Mutation::InsertAction)),
        [Mutation::UpdateAction(_), ..] => actions::update(connection, records!(run, Mutation::UpdateAction)),
        [Mutation::UpdateExecution { .. }, ..] => executions::update(connection, &updated(run)),
        others => others.iter().try_for_each(|mutation| one(connection, ends, mutation)),
    }
}

fn one(connection: &Connection, ends: &mut HistoryEnds, mutation: &Mutation) -> rusqlite::Result<()> {
    match mutation {
        Mutation::InsertMachineVersion(record) => machines::insert(connection, record),
        // `all` has applied them.
        Mutation::ExpectNewest { .. } | Mutation::InsertIdempotency(_) => Ok(()),
        Mutation::InsertExecution(record) => executions::insert(connection, &[record]),
        Mutation::UpdateExecution { execution, variables } => {
            executions::update(connection, &[(execution, *variables)])
        }
        Mutation::AppendHistory(record) => history::append(connection, ends, &[record]),
        Mutation::InsertAction(record) => actions::insert(connection, &[record]),
        Mutation::UpdateAction(record) => actions::update(connection, &[record]),
        Mutation::PutTimer(record) => timers::put(connection, record),
        Mutation::DeleteTimer(key) => timers::delete(connection, *key),
        Mutation::InsertInbox(record) => inbox::insert(connection, record),
        Mutation::DeleteInbox { execution, position } => inbox::delete(connection, *execution, *position),
        Mutation::InsertReceipt(record) => receipts::insert(connection, record),
        Mutation::DeleteReceipt { execution, message } => receipts::delete(connection, *execution, message),
        Mutation::PutIdempotency(record) => idempotency::put(connection, record),
        Mutation::DeleteIdempotency(scope) => idempotency::delete(connection, *scope),
        Mutation::PutRun(record) => lives::put(connection, record),
        Mutation::PutFact(record) => facts::put(connection, record),
        Mutation::DeleteFact { kind, key } => facts::delete(connection, *kind, key),
        Mutation::DeleteExecution(id) => {
            ends.forget();
            retention::delete(connection, *id)
        }
        Mutation::PutJob(record) => jobs::put(connection, record),
        Mutation::InsertJobItem(record) => jobs::insert_item(connection, record),
        Mutation::DeleteJobItems { job, up_to } => jobs::delete_items(connection, *job, *up_to),
        Mutation::DeleteJob(id) => jobs::delete(connection, *id),
        Mutation::InsertAudit(record) => audit::insert(connection, record),
        Mutation::InsertCatalogVersion(record) => catalog::insert(connection, record),
        Mutation::PutPlan(record) => plans::put(connection, record),
    }
}
