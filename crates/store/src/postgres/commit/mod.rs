//! Mutations as few statements.
//!
//! Mutations apply in order. Those whose order cannot matter go into one statement: a mutation joins the first stage after all that
//! touched one of its records. A batch of everyday work is one stage.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::{Discriminant, discriminant};

use super::part::StatementPart;
use super::{
    actions, audit, catalog, control, executions, history, idempotency, inbox, jobs, machines, plans, receipts,
    retention, timers,
};
use crate::traits::{Error, Mutation};

/// Mutations of one kind, to be applied at once.
type Group<'a> = Vec<&'a Mutation>;

/// Groups that can be applied side by side, each of another kind.
type Stage<'a> = Vec<Group<'a>>;

/// What applies the mutations, stage by stage; the fence comes first.
pub(super) fn stages<'a>(
    fence: StatementPart<'a>,
    mutations: &'a [Mutation],
    shards: u32,
) -> Result<Vec<Vec<StatementPart<'a>>>, Error> {
    let groups = staged(mutations);
    let parts = groups.iter().map(|stage| parts(stage, shards));
    let mut stages = parts.collect::<Result<Vec<_>, Error>>()?;
    match stages.first_mut() {
        Some(first) => first.insert(0, fence),
        None => stages.push(vec![fence]),
    }
    Ok(stages)
}

/// The mutations in stages that, one after the other, do what the mutations do in their order.
fn staged(mutations: &[Mutation]) -> Vec<Stage<'_>> {
    let mut stages: Vec<Stage<'_>> = Vec::new();
    let mut touched: HashMap<u64, (usize, Discriminant<Mutation>)> = HashMap::new();
    // What follows a deletion of everything about an execution comes after it, whatever it touches.
    let mut first = 0;
    for mutation in mutations {
        let kind = discriminant(mutation);
        let Touch { records, stays } = Touch::of(mutation);
        let last = records.iter().flatten().filter_map(|record| touched.get(record));
        let free = last.map(|&(stage, of)| if stays && of == kind { stage } else { stage + 1 });
        let mut stage = free.max().unwrap_or(0).max(first);
        if matches!(mutation, Mutation::DeleteExecution(_)) {
            stage = after_all(&stages, kind);
            first = stage + 1;
        }
        if stage >= stages.len() {
            stages.resize_with(stage + 1, Vec::new);
        }
        add(&mut stages[stage], kind, mutation);
        for record in records.into_iter().flatten() {
            touched.insert(record, (stage, kind));
        }
    }
    stages
}

/// The stage for a mutation that touches more than is known: after all others, beside its like.
fn after_all(stages: &[Stage<'_>], kind: Discriminant<Mutation>) -> usize {
    let is_alike = |stage: &Stage<'_>| stage.iter().flatten().all(|known| discriminant(*known) == kind);
    match stages.last() {
        Some(last) if is_alike(last) => stages.len() - 1,
        _ => stages.len(),
    }
}

fn add<'a>(stage: &mut Stage<'a>, kind: Discriminant<Mutation>, mutation: &'a Mutation) {
    let is_of = |group: &&mut Group<'a>| group.first().is_some_and(|first| discriminant(*first) == kind);
    match stage.iter_mut().find(is_of) {
        Some(group) => group.push(mutation),
        None => stage.push(vec![mutation]),
    }
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
            Mutation::PutIdempotency(record) | Mutation::InsertIdempotency(record) => {
                one(hash(("idempotency", record.scope)))
            }
            Mutation::DeleteIdempotency(scope) => stays(hash(("idempotency", scope))),
            Mutation::PutRun(life) => one(hash(("life", life.started_at))),
            Mutation::PutFact(fact) => one(hash(("fact", fact.kind as u8, &fact.key))),
            Mutation::DeleteFact { kind, key } => stays(hash(("fact", *kind as u8, key))),
            Mutation::DeleteExecution(id) => one(hash(("execution", id))),
            Mutation::PutJob(job) => one(hash(("job", job.id))),
            Mutation::DeleteJob(id) => stays(hash(("job", id))),
            Mutation::InsertAudit(entry) => stays(hash(("audit", entry.shard, entry.sequence))),
            Mutation::InsertJobItem(item) => stays(hash(("items", item.job))),
            Mutation::DeleteJobItems { job, .. } => stays(hash(("items", job))),
            Mutation::InsertCatalogVersion(version) => {
                one(hash(("catalog", version.kind as u8, &version.name, version.version)))
            }
            Mutation::PutPlan(plan) => one(hash(("plan", plan.id))),
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

fn parts<'a>(stage: &Stage<'a>, shards: u32) -> Result<Vec<StatementPart<'a>>, Error> {
    let mut parts = Vec::new();
    for group in stage {
        add_group(&mut parts, group, shards)?;
    }
    Ok(parts)
}

fn add_group<'a>(parts: &mut Vec<StatementPart<'a>>, group: &Group<'a>, shards: u32) -> Result<(), Error> {
    let Some(first) = group.first() else { return Ok(()) };
    match first {
        Mutation::InsertMachineVersion(_) => {
            parts.push(machines::insert(
                &records!(group, Mutation::InsertMachineVersion(record) => record),
            ));
        }
        Mutation::ExpectNewest { .. } => {
            parts.push(machines::expect_newest(
                &records!(group, Mutation::ExpectNewest { machine, version } => (machine.as_str(), *version)),
            ));
        }
        Mutation::InsertExecution(_) => {
            let records = records!(group, Mutation::InsertExecution(record) => record);
            parts.push(executions::insert(&records, shards));
            parts.extend(executions::insert_tags(&records));
        }
        Mutation::UpdateExecution { .. } => parts.push(executions::update(
            &records!(group, Mutation::UpdateExecution { execution, variables } => (execution, *variables)),
            shards,
        )),
        Mutation::AppendHistory(_) => {
            parts.push(history::append(
                &records!(group, Mutation::AppendHistory(record) => record),
            ));
        }
        Mutation::InsertAction(_) => {
            let records = records!(group, Mutation::InsertAction(record) => record);
            parts.push(actions::insert(&records, shards));
            parts.extend(actions::insert_tags(&records));
        }
        Mutation::UpdateAction(_) => {
            parts.push(actions::update(
                &records!(group, Mutation::UpdateAction(record) => record),
                shards,
            ));
        }
        Mutation::PutTimer(_) => {
            parts.push(timers::put(
                &records!(group, Mutation::PutTimer(record) => record),
                shards,
            ));
        }
        Mutation::DeleteTimer(_) => parts.push(timers::delete(&records!(group, Mutation::DeleteTimer(key) => *key))),
        Mutation::DeleteExecution(_) => {
            parts.push(retention::delete(
                &records!(group, Mutation::DeleteExecution(id) => *id),
            ));
        }
        Mutation::InsertInbox(_)
        | Mutation::DeleteInbox { .. }
        | Mutation::InsertReceipt(_)
        | Mutation::DeleteReceipt { .. }
        | Mutation::PutIdempotency(_)
        | Mutation::InsertIdempotency(_)
        | Mutation::DeleteIdempotency(_)
        | Mutation::PutRun(_)
        | Mutation::PutFact(_)
        | Mutation::DeleteFact { .. }
        | Mutation::PutJob(_)
        | Mutation::InsertJobItem(_)
        | Mutation::DeleteJobItems { .. }
        | Mutation::DeleteJob(_)
        | Mutation::InsertAudit(_)
        | Mutation::InsertCatalogVersion(_)
        | Mutation::PutPlan(_) => parts.push(rare(group, shards)?),
    }
    Ok(())
}

/// What is not written on the way of every execution.
fn rare<'a>(group: &Group<'a>, shards: u32) -> Result<StatementPart<'a>, Error> {
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
        Some(Mutation::InsertIdempotency(_)) => {
            idempotency::insert(&records!(group, Mutation::InsertIdempotency(record) => record), shards)
        }
        Some(Mutation::DeleteIdempotency(_)) => {
            idempotency::delete(&records!(group, Mutation::DeleteIdempotency(scope) => *scope))
        }
        Some(Mutation::PutRun(_)) => control::put_lives(&records!(group, Mutation::PutRun(record) => record)),
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
        Some(Mutation::InsertAudit(_)) => audit::insert(&records!(group, Mutation::InsertAudit(record) => record)),
        Some(Mutation::InsertCatalogVersion(_)) => {
            catalog::insert(&records!(group, Mutation::InsertCatalogVersion(record) => record))
        }
        Some(Mutation::PutPlan(_)) => plans::put(&records!(group, Mutation::PutPlan(record) => record), shards),
        _ => {
            return Err(Error::Failed {
                detail: "a mutation that no statement applies".to_owned(),
            });
        }
    })
}

#[cfg(test)]
mod tests;
