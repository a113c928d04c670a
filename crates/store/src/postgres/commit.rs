//! Mutations as few statements.
//!
//! Mutations apply in order. Those of one kind go into one statement where their order cannot matter: a mutation joins the
//! newest statement of its kind unless something that came after that statement touched the same record, or the statement
//! itself did.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::{Discriminant, discriminant};

use super::session::Call;
use super::{actions, control, executions, history, idempotency, inbox, jobs, machines, receipts, retention, timers};
use crate::traits::{Error, Mutation};

/// Mutations of one kind, to be applied at once.
type Group<'a> = Vec<&'a Mutation>;

/// The statements that apply the mutations, in order.
pub(super) fn calls(mutations: &[Mutation], shards: u32) -> Result<Vec<Call<'_>>, Error> {
    let mut calls = Vec::new();
    for group in grouped(mutations) {
        add_calls(&mut calls, &group, shards)?;
    }
    Ok(calls)
}

/// The mutations in groups of one kind each, such that the groups in their order do what the mutations do in theirs.
fn grouped(mutations: &[Mutation]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut newest: HashMap<Discriminant<Mutation>, usize> = HashMap::new();
    let mut touched: HashMap<u64, usize> = HashMap::new();
    for mutation in mutations {
        let kind = discriminant(mutation);
        let Touch { records, stays } = Touch::of(mutation);
        // It must come after every group that touched one of its records.
        let last = records.iter().flatten().filter_map(|record| touched.get(record)).max();
        let is_barrier = matches!(mutation, Mutation::DeleteExecution(_));
        let joins = newest.get(&kind).copied().filter(|&group| match last {
            _ if is_barrier => group + 1 == groups.len(),
            None => true,
            Some(&last) => last < group || (last == group && stays),
        });
        let group = joins.unwrap_or(groups.len());
        match groups.get_mut(group) {
            Some(known) => known.push(mutation),
            None => groups.push(vec![mutation]),
        }
        if is_barrier {
            // It touches whatever belongs to the execution: it comes after all before it, and all that follows after it.
            newest.clear();
        }
        newest.insert(kind, group);
        for record in records.into_iter().flatten() {
            touched.insert(record, group);
        }
    }
    groups
}

/// What a mutation reads or writes, as hashes: two that meet by chance cost a statement, nothing else.
struct Touch {
    records: [Option<u64>; 2],
    /// Whether several of its kind may touch one record in one statement.
    stays: bool,
}

impl Touch {
    fn of(mutation: &Mutation) -> Self {
        let one = |record: u64| Self {
            records: [Some(record), None],
            stays: false,
        };
        let stays = |record: u64| Self {
            stays: true,
            ..one(record)
        };
        match mutation {
            Mutation::InsertMachineVersion(version) => Self {
                records: [
                    Some(hash(("machine", &version.machine, version.version))),
                    Some(hash(("newest", &version.machine))),
                ],
                stays: true,
            },
            Mutation::ExpectNewest { machine, .. } => stays(hash(("newest", machine))),
            Mutation::InsertExecution(execution) | Mutation::UpdateExecution { execution, .. } => Self {
                records: [
                    Some(hash(("execution", execution.id))),
                    // A key changes hands within a commit.
                    execution.key.as_ref().map(|key| hash(("key", &execution.machine, key))),
                ],
                stays: false,
            },
            // A history grows within one statement.
            Mutation::AppendHistory(entry) => stays(hash(("history", entry.execution))),
            Mutation::InsertAction(action) | Mutation::UpdateAction(action) => one(hash(("action", action.id))),
            Mutation::PutTimer(timer) => one(hash(("timer", timer.key))),
            Mutation::DeleteTimer(key) => stays(hash(("timer", key))),
            Mutation::InsertInbox(entry) => one(hash(("inbox", entry.execution, entry.position))),
            Mutation::DeleteInbox { execution, position } => stays(hash(("inbox", execution, position))),
            Mutation::InsertReceipt(receipt) => one(hash(("receipt", receipt.execution, &receipt.message))),
            Mutation::DeleteReceipt { execution, message } => stays(hash(("receipt", execution, message))),
            Mutation::PutIdempotency(record) => one(hash(("idempotency", record.scope))),
            Mutation::DeleteIdempotency(scope) => stays(hash(("idempotency", scope))),
            Mutation::PutLife(life) => one(hash(("life", life.started_at))),
            Mutation::PutFact(fact) => one(hash(("fact", fact.kind as u8, &fact.key))),
            Mutation::DeleteFact { kind, key } => stays(hash(("fact", *kind as u8, key))),
            Mutation::DeleteExecution(id) => one(hash(("execution", id))),
            Mutation::PutJob(job) => one(hash(("job", job.id))),
            Mutation::DeleteJob(id) => stays(hash(("job", id))),
            Mutation::InsertJobItem(item) => stays(hash(("items", item.job))),
            Mutation::DeleteJobItems { job, .. } => stays(hash(("items", job))),
        }
    }
}

/// The same for the same record in every process.
fn hash(record: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    record.hash(&mut hasher);
    hasher.finish()
}

/// The records of a group, which has one kind only.
macro_rules! records {
    ($group:expr, $pattern:pat => $record:expr) => {
        $group
            .iter()
            .filter_map(|mutation| match mutation {
                $pattern => Some($record),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
}

fn add_calls<'a>(calls: &mut Vec<Call<'a>>, group: &Group<'a>, shards: u32) -> Result<(), Error> {
    let Some(first) = group.first() else { return Ok(()) };
    match first {
        Mutation::InsertMachineVersion(_) => {
            calls.push(machines::insert(
                &records!(group, Mutation::InsertMachineVersion(record) => record),
            ));
        }
        Mutation::ExpectNewest { .. } => {
            calls.push(machines::expect_newest(
                &records!(group, Mutation::ExpectNewest { machine, version } => (machine.as_str(), *version)),
            ));
        }
        Mutation::InsertExecution(_) => {
            let records = records!(group, Mutation::InsertExecution(record) => record);
            calls.push(executions::insert(&records, shards));
            calls.extend(executions::insert_tags(&records));
        }
        Mutation::UpdateExecution { .. } => calls.push(executions::update(
            &records!(group, Mutation::UpdateExecution { execution, variables } => (execution, *variables)),
        )),
        Mutation::AppendHistory(_) => {
            calls.push(history::append(
                &records!(group, Mutation::AppendHistory(record) => record),
            ));
        }
        Mutation::InsertAction(_) => {
            let records = records!(group, Mutation::InsertAction(record) => record);
            calls.push(actions::insert(&records, shards));
            calls.extend(actions::insert_tags(&records));
        }
        Mutation::UpdateAction(_) => {
            calls.push(actions::update(
                &records!(group, Mutation::UpdateAction(record) => record),
            ));
        }
        Mutation::PutTimer(_) => {
            calls.push(timers::put(
                &records!(group, Mutation::PutTimer(record) => record),
                shards,
            ));
        }
        Mutation::DeleteTimer(_) => {
            calls.push(timers::delete(&records!(group, Mutation::DeleteTimer(key) => *key)));
        }
        Mutation::DeleteExecution(_) => {
            calls.extend(retention::delete(
                &records!(group, Mutation::DeleteExecution(id) => *id),
            ));
        }
        Mutation::InsertInbox(_)
        | Mutation::DeleteInbox { .. }
        | Mutation::InsertReceipt(_)
        | Mutation::DeleteReceipt { .. }
        | Mutation::PutIdempotency(_)
        | Mutation::DeleteIdempotency(_)
        | Mutation::PutLife(_)
        | Mutation::PutFact(_)
        | Mutation::DeleteFact { .. }
        | Mutation::PutJob(_)
        | Mutation::InsertJobItem(_)
        | Mutation::DeleteJobItems { .. }
        | Mutation::DeleteJob(_) => calls.push(rare(group, shards)?),
    }
    Ok(())
}

/// What is not written on the way of every execution.
fn rare<'a>(group: &Group<'a>, shards: u32) -> Result<Call<'a>, Error> {
    Ok(match group.first() {
        Some(Mutation::InsertInbox(_)) => inbox::insert(&records!(group, Mutation::InsertInbox(record) => record)),
        Some(Mutation::DeleteInbox { .. }) => {
            inbox::delete(&records!(group, Mutation::DeleteInbox { execution, position } => (*execution, *position)))
        }
        Some(Mutation::InsertReceipt(_)) => {
            receipts::insert(&records!(group, Mutation::InsertReceipt(record) => record))
        }
        Some(Mutation::DeleteReceipt { .. }) => receipts::delete(
            &records!(group, Mutation::DeleteReceipt { execution, message } => (*execution, message.as_str())),
        ),
        Some(Mutation::PutIdempotency(_)) => {
            idempotency::put(&records!(group, Mutation::PutIdempotency(record) => record), shards)
        }
        Some(Mutation::DeleteIdempotency(_)) => {
            idempotency::delete(&records!(group, Mutation::DeleteIdempotency(scope) => *scope))
        }
        Some(Mutation::PutLife(_)) => control::put_lives(&records!(group, Mutation::PutLife(record) => record)),
        Some(Mutation::PutFact(_)) => control::put_facts(&records!(group, Mutation::PutFact(record) => record)),
        Some(Mutation::DeleteFact { .. }) => {
            control::delete_facts(&records!(group, Mutation::DeleteFact { kind, key } => (*kind, key.as_str())))
        }
        Some(Mutation::PutJob(_)) => jobs::put(&records!(group, Mutation::PutJob(record) => record)),
        Some(Mutation::InsertJobItem(_)) => {
            jobs::insert_items(&records!(group, Mutation::InsertJobItem(record) => record))
        }
        Some(Mutation::DeleteJobItems { .. }) => {
            jobs::delete_items(&records!(group, Mutation::DeleteJobItems { job, up_to } => (*job, *up_to)))
        }
        Some(Mutation::DeleteJob(_)) => jobs::delete(&records!(group, Mutation::DeleteJob(id) => *id)),
        _ => {
            return Err(Error::Failed {
                detail: "a mutation that no statement applies".to_owned(),
            });
        }
    })
}

#[cfg(test)]
mod tests;
