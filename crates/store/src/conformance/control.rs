//! Facts of the control shard, open actions by status, and executions that grow old.

use super::fixtures::{
    DEAD, Opened, QUEUED, RUNNING, SHARD, SUCCEEDED, action, at, entry, execution, input, inserts, pages, receipt,
    timer,
};
use super::{Check, Subject, checks};
use crate::page::Page;
use crate::records::{Action, Execution, ExecutionStatus, Fact, FactKind};
use crate::traits::{Aged, Error, Mutation, OpenAction, Wanted};

/// What every backend must do for operators.
pub const CONTROL: &[Check] = checks![
    a_fact_is_true_until_it_is_deleted,
    facts_are_kept_apart_by_kind_and_listed_by_key,
    open_actions_are_paged_by_status,
    old_executions_are_walked_in_order_and_say_whether_they_may_go,
    a_deleted_execution_leaves_nothing_behind,
    an_execution_that_is_open_or_missing_is_not_deleted,
    the_key_of_a_deleted_execution_stays_with_its_holder,
];

fn fact(kind: FactKind, key: &str, body: &str) -> Fact {
    Fact {
        kind,
        key: key.to_owned(),
        body: body.as_bytes().to_vec(),
    }
}

fn closed(number: u64) -> Execution {
    Execution {
        status: ExecutionStatus::Completed,
        ..execution(number)
    }
}

fn a_fact_is_true_until_it_is_deleted(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, two) = (fact(FactKind::Limit, "crm", "1"), fact(FactKind::Limit, "crm", "2"));
    store.commit(&[Mutation::PutFact(one.clone())])?;
    assert_eq!(store.reader.fact(FactKind::Limit, "crm")?, Some(one));
    store.commit(&[Mutation::PutFact(two.clone())])?;
    let mut store = store.reopen(subject)?;
    assert_eq!(store.lane.facts(FactKind::Limit)?, [two]);
    let delete = Mutation::DeleteFact {
        kind: FactKind::Limit,
        key: "crm".to_owned(),
    };
    store.commit(std::slice::from_ref(&delete))?;
    store.commit(&[delete])?;
    assert_eq!(store.reader.fact(FactKind::Limit, "crm")?, None);
    store.refuse(&[Mutation::PutFact(fact(FactKind::Limit, "a\0b", ""))]);
    Ok(())
}

fn facts_are_kept_apart_by_kind_and_listed_by_key(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let facts = [
        fact(FactKind::Switch, "b", "1"),
        fact(FactKind::Switch, "a", "2"),
        fact(FactKind::Mark, "a", "3"),
        fact(FactKind::Token, "a", "4"),
    ];
    store.commit(&facts.clone().map(Mutation::PutFact))?;
    let [b, a, mark, token] = facts;
    assert_eq!(store.lane.facts(FactKind::Switch)?, [a, b]);
    assert_eq!(store.lane.facts(FactKind::Mark)?, [mark]);
    assert_eq!(store.lane.facts(FactKind::Token)?, std::slice::from_ref(&token));
    assert_eq!(store.reader.fact(FactKind::Token, "a")?, Some(token));
    assert_eq!(store.lane.facts(FactKind::Restored)?, []);
    Ok(())
}

fn open_actions_are_paged_by_status(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    let with = |number, status| Action {
        status,
        ..action(&one, number)
    };
    let queued: Vec<Action> = (10..17).map(|number| with(number, QUEUED)).collect();
    let others = [with(20, RUNNING), with(21, SUCCEEDED), with(22, DEAD)];
    let mut all = inserts(&[&one]);
    all.extend(queued.iter().chain(&others).cloned().map(Mutation::InsertAction));
    store.commit(&all)?;
    let found = pages(3, |page| store.lane.open(SHARD, QUEUED, page))?;
    let expected: Vec<_> = queued
        .iter()
        .map(|action| OpenAction {
            execution: one.id,
            action: action.id,
        })
        .collect();
    assert_eq!(found, expected);
    Ok(())
}

fn aged(store: &mut Opened, before: u64) -> Result<Vec<Aged>, Error> {
    pages(2, |page| store.lane.aged(SHARD, at(before), page))
}

fn old_executions_are_walked_in_order_and_say_whether_they_may_go(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let late = Execution {
        updated_at: at(900),
        ..closed(3)
    };
    let (queued, dead, archived) = (closed(4), closed(5), closed(6));
    let all = [
        closed(1),
        execution(2),
        late,
        queued.clone(),
        dead.clone(),
        archived.clone(),
        closed(800),
    ];
    let mut mutations = inserts(&all.iter().collect::<Vec<_>>());
    for (execution, status) in [(&queued, QUEUED), (&dead, DEAD), (&archived, SUCCEEDED)] {
        mutations.push(Mutation::InsertAction(Action {
            status,
            ..action(execution, 50)
        }));
    }
    store.commit(&mutations)?;
    let found = aged(&mut store, 100)?;
    let ids: Vec<_> = found.iter().map(|aged| aged.execution).collect();
    let expected: Vec<_> = all[..6].iter().map(|execution| execution.id).collect();
    assert_eq!(ids, expected, "what began later cannot be old enough");
    let goes: Vec<_> = found.iter().map(|aged| aged.goes).collect();
    assert_eq!(goes, [true, false, false, false, false, true]);
    assert_eq!(found[0].entries, 1);
    assert_eq!(aged(&mut store, 900)?.iter().filter(|aged| aged.goes).count(), 4);
    Ok(())
}

fn a_deleted_execution_leaves_nothing_behind(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let large = vec![b'v'; 5_000];
    let (one, other) = (closed(1), closed(2));
    let mut mutations = Vec::new();
    for execution in [&one, &other] {
        let execution = Execution {
            variables: large.clone(),
            ..execution.clone()
        };
        mutations.extend([
            Mutation::InsertExecution(execution.clone()),
            Mutation::AppendHistory(entry(&execution, 1)),
            Mutation::AppendHistory(entry(&execution, 2)),
            Mutation::InsertAction(action(&execution, 10)),
            Mutation::PutTimer(timer(&execution, 1, 0, 5)),
            Mutation::InsertInbox(input(&execution, 1)),
            Mutation::InsertReceipt(receipt(&execution, "m")),
        ]);
    }
    store.commit(&mutations)?;
    let before = store.load(&[&other])?;
    store.commit(&[Mutation::DeleteExecution(one.id)])?;
    let mut store = store.reopen(subject)?;
    assert_eq!(store.load(&[&one, &other])?, before);
    assert_eq!(store.reader.history(one.id, &Page::first(9))?.rows, []);
    assert_eq!(store.reader.history(other.id, &Page::first(9))?.rows.len(), 2);
    assert_eq!(store.reader.timers(one.id)?, []);
    assert_eq!(store.reader.inbox_length(one.id)?, 0);
    let gone = Wanted {
        actions: vec![action(&one, 10).id],
        receipts: vec![(one.id, "m".to_owned())],
        ..Wanted::default()
    };
    let found = store.lane.load(&gone)?;
    assert_eq!((found.actions, found.receipts), (vec![], vec![]));
    // Its large variables went too: the same id may begin anew, with small ones.
    store.commit(&inserts(&[&execution(1)]))?;
    assert_eq!(store.load(&[&execution(1)])?.executions[0].execution, execution(1));
    Ok(())
}

fn an_execution_that_is_open_or_missing_is_not_deleted(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    store.commit(&inserts(&[&one]))?;
    store.refuse(&[Mutation::DeleteExecution(one.id)]);
    store.refuse(&[Mutation::DeleteExecution(execution(2).id)]);
    assert!(store.reader.execution(one.id)?.is_some());
    Ok(())
}

fn the_key_of_a_deleted_execution_stays_with_its_holder(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let keyed = |execution: Execution| Execution {
        key: Some("k".to_owned()),
        ..execution
    };
    let (old, new) = (keyed(closed(1)), keyed(execution(2)));
    store.commit(&inserts(&[&old, &new]))?;
    store.commit(&[Mutation::DeleteExecution(old.id)])?;
    assert_eq!(store.reader.execution_by_key("order", "k")?, Some(new.id));
    Ok(())
}
