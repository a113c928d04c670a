//! What commits promise: all or nothing, fenced, constrained.

use super::fixtures::{
    DEAD, Opened, SHARD, action, at, entry, execution, idempotency, input, inserts, keyed, receipt, timer, version,
};
use super::{Check, Subject, checks};
use crate::page::Page;
use crate::records::{Action, Execution, ExecutionStatus, ProcessRun, TimerKey};
use crate::traits::{Error, Fence, LoadedExecution, Mutation, ShardId, Variables, Wanted};

/// What a lane relies on.
pub const LANE: &[Check] = checks![
    an_execution_is_loaded_with_all_that_is_open_about_it,
    what_is_not_there_is_left_out,
    a_commit_that_fails_in_the_middle_leaves_nothing,
    a_broken_fence_writes_nothing,
    every_acquisition_raises_the_epoch,
    a_key_is_unique_among_open_executions_only,
    a_key_changes_hands_within_one_commit,
    a_history_is_dense,
    a_record_that_is_there_is_not_inserted_again,
    a_record_that_is_missing_is_not_updated,
    an_update_cannot_change_what_a_record_is,
];

fn an_execution_is_loaded_with_all_that_is_open_about_it(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (keyed(1, "k"), execution(2));
    let mut actions: Vec<_> = (0..9).map(|number| action(&one, 10 + number)).collect();
    for (action, status) in actions.iter_mut().zip(0..) {
        action.status = status;
    }
    let foreign = action(&other, 30);
    let timers = [
        timer(&one, 1, 0, 5),
        timer(&one, 1, TimerKey::SCHEDULES, 4),
        timer(&one, 2, 0, 3),
    ];
    let inputs = [input(&one, 3), input(&one, 7)];
    let mut mutations = inserts(&[&one, &other]);
    mutations.extend(
        actions
            .iter()
            .rev()
            .chain([&foreign])
            .cloned()
            .map(Mutation::InsertAction),
    );
    mutations.extend(
        timers
            .iter()
            .rev()
            .cloned()
            .chain([timer(&other, 1, 0, 1)])
            .map(Mutation::PutTimer),
    );
    mutations.extend(
        inputs
            .iter()
            .rev()
            .cloned()
            .chain([input(&other, 1)])
            .map(Mutation::InsertInbox),
    );
    store.commit(&mutations)?;

    let expected = LoadedExecution {
        execution: one.clone(),
        actions: actions.iter().take(4).cloned().collect(),
        timers: timers.to_vec(),
        inbox: inputs.to_vec(),
    };
    assert_eq!(store.load(&[&one])?.executions, [expected]);

    let wanted = Wanted {
        keys: vec![("order".to_owned(), "k".to_owned())],
        actions: actions.iter().map(|action| action.id).collect(),
        ..Wanted::default()
    };
    let loaded = store.lane.load(&wanted)?;
    assert_eq!(loaded.keys, [(("order".to_owned(), "k".to_owned()), one.id)]);
    assert_eq!(loaded.actions, actions, "ended actions are found by id too");
    Ok(())
}

fn what_is_not_there_is_left_out(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (here, gone) = (keyed(1, "here"), execution(2));
    store.commit(&inserts(&[&here]))?;
    let wanted = Wanted {
        executions: vec![gone.id, here.id],
        keys: vec![
            ("order".to_owned(), "gone".to_owned()),
            ("other".to_owned(), "here".to_owned()),
        ],
        actions: vec![action(&gone, 3).id],
        receipts: vec![(here.id, "m".to_owned())],
        newest: vec!["order".to_owned()],
        versions: vec![("order".to_owned(), 1)],
        version_by_digest: vec![("order".to_owned(), version("order", 1).digest)],
        idempotency: vec![idempotency(1, 5).scope],
        ..Wanted::default()
    };
    let loaded = store.lane.load(&wanted)?;
    assert_eq!(loaded.executions.len(), 1);
    assert!(loaded.keys.is_empty() && loaded.actions.is_empty());
    assert!(loaded.receipts.is_empty() && loaded.newest.is_empty() && loaded.idempotency.is_empty());
    assert!(loaded.versions.is_empty() && loaded.version_by_digest.is_empty());
    assert_eq!(store.lane.machine_version("order", 1)?, None);
    Ok(())
}

/// Each of these is refused by a store that holds what [`one_of_each`] inserts.
pub(super) fn refusals(one: &Execution) -> Vec<Mutation> {
    let missing = execution(99);
    vec![
        Mutation::InsertMachineVersion(version("order", 1)),
        Mutation::InsertExecution(one.clone()),
        Mutation::InsertExecution(keyed(98, "k")),
        Mutation::UpdateExecution {
            execution: missing.clone(),
            variables: Variables::Changed,
        },
        Mutation::AppendHistory(entry(one, 1)),
        Mutation::AppendHistory(entry(one, 3)),
        Mutation::InsertAction(action(one, 10)),
        Mutation::UpdateAction(action(&missing, 97)),
        Mutation::InsertInbox(input(one, 1)),
        Mutation::InsertReceipt(receipt(one, "m")),
    ]
}

/// A record of every kind about one execution.
pub(super) fn one_of_each(one: &Execution) -> Vec<Mutation> {
    vec![
        Mutation::InsertMachineVersion(version("order", 1)),
        Mutation::InsertExecution(one.clone()),
        Mutation::AppendHistory(entry(one, 1)),
        Mutation::InsertAction(action(one, 10)),
        Mutation::PutTimer(timer(one, 1, 0, 5)),
        Mutation::InsertInbox(input(one, 1)),
        Mutation::InsertReceipt(receipt(one, "m")),
        Mutation::PutRun(ProcessRun {
            started_at: at(1),
            seen_at: at(2),
        }),
    ]
}

/// Legal changes to all that [`one_of_each`] inserts, and a new execution. None of them is the reason why `refusal` is
/// refused.
fn legal_before(refusal: &Mutation, one: &Execution, new: &Execution) -> Vec<Mutation> {
    let large = Execution {
        variables: vec![b'v'; 5_000],
        status: ExecutionStatus::Paused,
        ..one.clone()
    };
    let mut legal = vec![
        Mutation::InsertMachineVersion(version("order", 2)),
        Mutation::InsertExecution(new.clone()),
        Mutation::UpdateExecution {
            execution: large,
            variables: Variables::Changed,
        },
        Mutation::AppendHistory(entry(one, 2)),
        Mutation::UpdateAction(Action {
            status: DEAD,
            ..action(one, 10)
        }),
        Mutation::PutTimer(timer(one, 1, 0, 9)),
        Mutation::DeleteInbox {
            execution: one.id,
            position: 1,
        },
        Mutation::InsertInbox(input(one, 2)),
        Mutation::DeleteReceipt {
            execution: one.id,
            message: "m".to_owned(),
        },
        Mutation::PutRun(ProcessRun {
            started_at: at(1),
            seen_at: at(50),
        }),
    ];
    legal.retain(|mutation| {
        !matches!(
            (mutation, refusal),
            (Mutation::AppendHistory(_), Mutation::AppendHistory(_))
                | (Mutation::DeleteInbox { .. }, Mutation::InsertInbox(_))
                | (Mutation::DeleteReceipt { .. }, Mutation::InsertReceipt(_))
        )
    });
    legal
}

/// Asserts that the store holds what [`one_of_each`] inserts.
fn assert_only_one_of_each(store: &mut Opened, one: &Execution, new: &Execution) -> Result<(), Error> {
    let expected = LoadedExecution {
        execution: one.clone(),
        actions: vec![action(one, 10)],
        timers: vec![timer(one, 1, 0, 5)],
        inbox: vec![input(one, 1)],
    };
    assert_eq!(store.load(&[one, new])?.executions, [expected]);
    assert_eq!(store.reader.machine("order", None)?, Some(version("order", 1)));
    assert_eq!(store.reader.history(one.id, &Page::first(9))?.rows, [entry(one, 1)]);
    let receipts = vec![(one.id, "m".to_owned()), (one.id, "after".to_owned())];
    let loaded = store.lane.load(&Wanted {
        receipts,
        ..Wanted::default()
    })?;
    assert_eq!(loaded.receipts, [receipt(one, "m")]);
    assert_eq!(
        store.lane.last_run()?,
        Some(ProcessRun {
            started_at: at(1),
            seen_at: at(2)
        })
    );
    Ok(())
}

fn a_commit_that_fails_in_the_middle_leaves_nothing(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, new) = (keyed(1, "k"), execution(2));
    store.commit(&one_of_each(&one))?;
    for refusal in refusals(&one) {
        let mut mutations = legal_before(&refusal, &one, &new);
        mutations.push(refusal);
        mutations.push(Mutation::InsertReceipt(receipt(&one, "after")));
        store.refuse(&mutations);
        assert_only_one_of_each(&mut store, &one, &new)?;
    }
    let legal = legal_before(&Mutation::PutTimer(timer(&one, 1, 0, 9)), &one, &new);
    store.commit(&legal)
}

fn a_broken_fence_writes_nothing(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    let Fence { epoch, .. } = store.fence;
    let elsewhere = Fence {
        shard: ShardId(u32::MAX),
        epoch,
    };
    let ahead = Fence {
        shard: SHARD,
        epoch: epoch + 1,
    };
    let beyond = Fence {
        shard: SHARD,
        epoch: u64::MAX,
    };
    let fences = [
        vec![ahead],
        vec![beyond],
        vec![store.fence, elsewhere],
        vec![elsewhere, store.fence],
    ];
    for fences in fences {
        let broken = fences
            .iter()
            .find(|fence| **fence != store.fence)
            .map(|fence| fence.shard);
        let result = store.lane.commit(&fences, &inserts(&[&one]));
        assert!(
            matches!(result, Err(Error::FenceBroken { shard }) if Some(shard) == broken),
            "{result:?}"
        );
    }
    let old = store.fence;
    let new = store.lane.acquire(SHARD)?;
    let result = store.lane.commit(&[old], &inserts(&[&one]));
    assert!(matches!(result, Err(Error::FenceBroken { shard: SHARD })), "{result:?}");
    assert!(store.load(&[&one])?.executions.is_empty());
    store.lane.commit(&[new, new], &inserts(&[&one]))?;
    assert_eq!(store.load(&[&one])?.executions.len(), 1);
    Ok(())
}

fn every_acquisition_raises_the_epoch(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let first = store.fence.epoch;
    let second = store.lane.acquire(SHARD)?.epoch;
    assert!(second > first);
    let store = store.reopen(subject)?;
    assert!(
        store.fence.epoch > second,
        "a new owner outlives a crash of the old one"
    );
    Ok(())
}

fn a_key_is_unique_among_open_executions_only(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (first, second) = (keyed(1, "k"), keyed(2, "k"));
    let elsewhere = Execution {
        machine: "refund".to_owned(),
        ..keyed(3, "k")
    };
    store.commit(&inserts(&[&first, &elsewhere, &execution(4), &execution(5)]))?;
    for status in ExecutionStatus::ALL.into_iter().filter(|status| status.is_open()) {
        let execution = Execution {
            status,
            ..first.clone()
        };
        store.commit(&[Mutation::UpdateExecution {
            execution,
            variables: Variables::Unchanged,
        }])?;
        store.refuse(&inserts(&[&second]));
        assert_eq!(store.reader.execution_by_key("order", "k")?, Some(first.id));
    }
    let closed = Execution {
        status: ExecutionStatus::Completed,
        ..first.clone()
    };
    store.commit(&[Mutation::UpdateExecution {
        execution: closed,
        variables: Variables::Unchanged,
    }])?;
    assert_eq!(store.reader.execution_by_key("order", "k")?, None);
    store.commit(&inserts(&[&second]))?;
    assert_eq!(store.reader.execution_by_key("order", "k")?, Some(second.id));
    assert_eq!(store.reader.execution_by_key("refund", "k")?, Some(elsewhere.id));
    store.refuse(&[Mutation::UpdateExecution {
        execution: first,
        variables: Variables::Unchanged,
    }]);
    Ok(())
}

fn a_key_changes_hands_within_one_commit(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (first, second) = (keyed(1, "k"), keyed(2, "k"));
    store.commit(&inserts(&[&first]))?;
    let closed = Execution {
        status: ExecutionStatus::Cancelled,
        ..first
    };
    store.commit(&[
        Mutation::UpdateExecution {
            execution: closed,
            variables: Variables::Unchanged,
        },
        Mutation::InsertExecution(second.clone()),
    ])?;
    assert_eq!(store.reader.execution_by_key("order", "k")?, Some(second.id));
    Ok(())
}

fn a_history_is_dense(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (execution(1), execution(2));
    store.refuse(&[Mutation::AppendHistory(entry(&one, 0))]);
    store.refuse(&[Mutation::AppendHistory(entry(&one, 2))]);
    let append = |range: std::ops::RangeInclusive<u64>| -> Vec<Mutation> {
        range
            .map(|sequence| Mutation::AppendHistory(entry(&one, sequence)))
            .collect()
    };
    store.commit(&append(1..=3))?;
    store.refuse(&append(3..=3));
    store.refuse(&append(5..=5));
    store.refuse(&[Mutation::AppendHistory(entry(&other, 4))]);
    store.commit(&append(4..=4))?;
    let sequences: Vec<u64> = store
        .reader
        .history(one.id, &Page::first(9))?
        .rows
        .iter()
        .map(|entry| entry.sequence)
        .collect();
    assert_eq!(sequences, [1, 2, 3, 4]);
    Ok(())
}

fn a_record_that_is_there_is_not_inserted_again(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = keyed(1, "k");
    store.commit(&one_of_each(&one))?;
    for mutation in one_of_each(&one) {
        match mutation {
            Mutation::PutTimer(_) | Mutation::PutRun(_) => store.commit(&[mutation])?,
            _ => store.refuse(&[mutation]),
        }
    }
    Ok(())
}

fn a_record_that_is_missing_is_not_updated(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    store.refuse(&[Mutation::UpdateExecution {
        execution: one.clone(),
        variables: Variables::Unchanged,
    }]);
    store.refuse(&[Mutation::UpdateAction(action(&one, 2))]);
    store.commit(&[
        Mutation::InsertExecution(one.clone()),
        Mutation::UpdateExecution {
            execution: one,
            variables: Variables::Unchanged,
        },
    ])
}

fn an_update_cannot_change_what_a_record_is(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = keyed(1, "k");
    let send = action(&one, 2);
    store.commit(&[
        Mutation::InsertExecution(one.clone()),
        Mutation::InsertAction(send.clone()),
    ])?;
    let other = "other".to_owned();
    let executions = [
        Execution {
            machine: other.clone(),
            ..one.clone()
        },
        Execution {
            key: Some(other.clone()),
            ..one.clone()
        },
        Execution {
            key: None,
            ..one.clone()
        },
        Execution {
            created_at: at(9),
            ..one.clone()
        },
    ];
    for execution in executions {
        store.refuse(&[Mutation::UpdateExecution {
            execution,
            variables: Variables::Changed,
        }]);
    }
    let mut actions = [send.clone(), send.clone(), send.clone(), send];
    actions[0].execution = execution(9).id;
    actions[1].machine.clone_from(&other);
    actions[2].action_id = other;
    actions[3].created_at = at(9);
    for action in actions {
        store.refuse(&[Mutation::UpdateAction(action)]);
    }
    Ok(())
}
