//! What was written is read back, value for value.

use super::fixtures::{
    DEAD, Opened, action, at, entry, execution, idempotency, input, inserts, keyed, receipt, timer, version,
};
use super::{Check, Subject, checks};
use crate::page::Page;
use crate::records::{Execution, ExecutionStatus, MachineVersion, ProcessRun, Receipt, Timer, TimerKey};
use crate::traits::{Error, Mutation, Variables, Wanted};

/// What every caller relies on.
pub const VALUES: &[Check] = checks![
    an_update_writes_the_whole_record,
    variables_of_any_size_are_kept,
    unchanged_variables_are_not_written,
    what_is_deleted_is_gone_and_deleting_it_again_changes_nothing,
    a_timer_put_again_moves,
    bytes_are_kept_as_they_are,
    numbers_are_kept_up_to_the_greatest,
    numbers_too_great_are_refused,
    versions_of_a_machine_are_kept_apart,
    a_version_is_found_by_its_digest_the_highest_first,
    what_was_decided_on_an_old_version_is_not_written,
    the_last_life_is_the_newest,
    a_reopened_store_holds_the_same,
];

fn an_update_writes_the_whole_record(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut one = keyed(1, "k");
    one.tags = vec![
        "red".to_owned(),
        "\"quoted\", [and] \u{1f980}".to_owned(),
        String::new(),
    ];
    let mut send = action(&one, 2);
    send.tags = vec!["blue".to_owned()];
    store.commit(&[
        Mutation::InsertExecution(one.clone()),
        Mutation::InsertAction(send.clone()),
    ])?;
    one.version = 7;
    one.status = ExecutionStatus::Failed;
    one.sequence = 8;
    one.updated_at = at(9);
    one.body = b"changed".to_vec();
    one.variables = b"changed too".to_vec();
    "email".clone_into(&mut send.kind);
    send.status = DEAD;
    "email:x".clone_into(&mut send.line);
    send.priority = 255;
    send.run_at = at(10);
    send.error_kind = Some("timeout".to_owned());
    send.body = b"changed".to_vec();
    store.commit(&[
        Mutation::UpdateExecution {
            execution: one.clone(),
            variables: Variables::Changed,
        },
        Mutation::UpdateAction(send.clone()),
    ])?;
    assert_eq!(store.reader.execution(one.id)?, Some(one.clone()));
    assert_eq!(store.reader.action(send.id)?, Some(send.clone()));
    send.error_kind = None;
    store.commit(&[
        Mutation::UpdateExecution {
            execution: one.clone(),
            variables: Variables::Changed,
        },
        Mutation::UpdateAction(send.clone()),
    ])?;
    assert_eq!(store.reader.execution(one.id)?, Some(one));
    assert_eq!(store.reader.action(send.id)?, Some(send));
    Ok(())
}

/// Sizes around every bound that a backend might have.
const SIZES: [usize; 9] = [0, 1, 2_047, 2_048, 2_049, 5_000, 300_000, 2_048, 20];

fn variables_of_any_size_are_kept(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut moving = execution(1);
    store.commit(&inserts(&[&moving]))?;
    for (size, number) in SIZES.into_iter().zip(2..) {
        let fresh = Execution {
            variables: vec![b'f'; size],
            ..execution(number)
        };
        moving.variables = vec![b'm'; size];
        store.commit(&[
            Mutation::InsertExecution(fresh.clone()),
            Mutation::UpdateExecution {
                execution: moving.clone(),
                variables: Variables::Changed,
            },
        ])?;
        let loaded = store.load(&[&fresh, &moving])?.executions;
        let loaded: Vec<_> = loaded.into_iter().map(|loaded| loaded.execution).collect();
        assert_eq!(loaded, [fresh.clone(), moving.clone()], "size {size}");
        assert_eq!(store.reader.execution(fresh.id)?, Some(fresh), "size {size}");
    }
    Ok(())
}

fn unchanged_variables_are_not_written(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let small = execution(1);
    let large = Execution {
        variables: vec![b'l'; 9_000],
        ..execution(2)
    };
    store.commit(&inserts(&[&small, &large]))?;
    for stored in [small, large] {
        for size in [0, 9_000] {
            let execution = Execution {
                variables: vec![b'x'; size],
                sequence: 2,
                ..stored.clone()
            };
            store.commit(&[Mutation::UpdateExecution {
                execution,
                variables: Variables::Unchanged,
            }])?;
            assert_eq!(
                store.reader.execution(stored.id)?,
                Some(Execution {
                    sequence: 2,
                    ..stored.clone()
                })
            );
        }
    }
    Ok(())
}

fn what_is_deleted_is_gone_and_deleting_it_again_changes_nothing(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    let (gone, kept) = (timer(&one, 1, 0, 5), timer(&one, 1, 1, 5));
    store.commit(&[
        Mutation::InsertExecution(one.clone()),
        Mutation::PutTimer(gone.clone()),
        Mutation::PutTimer(kept.clone()),
        Mutation::InsertInbox(input(&one, 1)),
        Mutation::InsertInbox(input(&one, 2)),
        Mutation::InsertReceipt(receipt(&one, "gone")),
        Mutation::InsertReceipt(receipt(&one, "kept")),
    ])?;
    for _ in 0..2 {
        store.commit(&[
            Mutation::DeleteTimer(gone.key),
            Mutation::DeleteInbox {
                execution: one.id,
                position: 1,
            },
            Mutation::DeleteReceipt {
                execution: one.id,
                message: "gone".to_owned(),
            },
        ])?;
        let loaded = store.load(&[&one])?.executions;
        assert_eq!(
            loaded.iter().flat_map(|loaded| &loaded.timers).collect::<Vec<_>>(),
            [&kept]
        );
        assert_eq!(
            loaded.iter().flat_map(|loaded| &loaded.inbox).collect::<Vec<_>>(),
            [&input(&one, 2)]
        );
        assert_eq!(store.reader.inbox_length(one.id)?, 1);
        let receipts = vec![(one.id, "gone".to_owned()), (one.id, "kept".to_owned())];
        let loaded = store.lane.load(&Wanted {
            receipts,
            ..Wanted::default()
        })?;
        assert_eq!(loaded.receipts, [receipt(&one, "kept")]);
    }
    store.commit(&[
        Mutation::InsertInbox(input(&one, 1)),
        Mutation::InsertReceipt(receipt(&one, "gone")),
        Mutation::PutTimer(gone),
    ])
}

fn a_timer_put_again_moves(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    let first = timer(&one, 1, TimerKey::SCHEDULES, 5);
    let moved = Timer {
        due_at: at(50),
        schedule: Some("report".to_owned()),
        ..first.clone()
    };
    store.commit(&[Mutation::PutTimer(first)])?;
    store.commit(&[Mutation::PutTimer(moved.clone())])?;
    assert_eq!(store.reader.timers(one.id)?, [moved]);
    Ok(())
}

fn bytes_are_kept_as_they_are(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let bytes: Vec<u8> = (0..=u8::MAX).chain([0, 0]).collect();
    for (bytes, number) in [Vec::new(), bytes, vec![0; 100_000]].into_iter().zip(1_u64..) {
        let mut one = Execution {
            body: bytes.clone(),
            variables: bytes.clone(),
            ..execution(number)
        };
        one.tags = vec!["t".to_owned(); 50];
        let mut send = action(&one, 100 + number);
        send.body.clone_from(&bytes);
        let (mut first, mut waiting, mut order) = (entry(&one, 1), input(&one, 1), version("order", 1));
        order.version = u32::try_from(number).unwrap_or(0);
        first.body.clone_from(&bytes);
        waiting.body.clone_from(&bytes);
        order.definition.clone_from(&bytes);
        let answered = Receipt {
            answer: bytes.clone(),
            ..receipt(&one, "m")
        };
        store.commit(&[
            Mutation::InsertMachineVersion(order.clone()),
            Mutation::InsertExecution(one.clone()),
            Mutation::AppendHistory(first.clone()),
            Mutation::InsertAction(send.clone()),
            Mutation::InsertInbox(waiting.clone()),
            Mutation::InsertReceipt(answered.clone()),
        ])?;
        let loaded = store.load(&[&one])?.executions;
        assert_eq!(
            loaded.iter().map(|loaded| &loaded.execution).collect::<Vec<_>>(),
            [&one]
        );
        assert_eq!(
            loaded.iter().flat_map(|loaded| &loaded.actions).collect::<Vec<_>>(),
            [&send]
        );
        assert_eq!(
            loaded.iter().flat_map(|loaded| &loaded.inbox).collect::<Vec<_>>(),
            [&waiting]
        );
        assert_eq!(store.reader.history(one.id, &Page::first(2))?.rows, [first]);
        assert_eq!(store.lane.machine_version("order", order.version)?, Some(order));
        let receipts = vec![(one.id, "m".to_owned())];
        assert_eq!(
            store
                .lane
                .load(&Wanted {
                    receipts,
                    ..Wanted::default()
                })?
                .receipts,
            [answered]
        );
    }
    Ok(())
}

const GREATEST: u64 = i64::MAX.unsigned_abs();

fn numbers_are_kept_up_to_the_greatest(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = Execution {
        sequence: GREATEST,
        version: u32::MAX,
        ..execution(1)
    };
    let last = timer(&one, GREATEST, u16::MAX, 1);
    let positions = [0, u64::from(u32::MAX) + 1, GREATEST];
    store.commit(&[
        Mutation::InsertMachineVersion(version("order", u32::MAX)),
        Mutation::InsertExecution(one.clone()),
        Mutation::PutTimer(last.clone()),
    ])?;
    store.commit(&positions.map(|position| Mutation::InsertInbox(input(&one, position))))?;
    let loaded = store.load(&[&one])?.executions;
    assert_eq!(
        loaded.iter().map(|loaded| &loaded.execution).collect::<Vec<_>>(),
        [&one]
    );
    assert_eq!(
        loaded.iter().flat_map(|loaded| &loaded.timers).collect::<Vec<_>>(),
        [&last]
    );
    let stored: Vec<u64> = loaded
        .iter()
        .flat_map(|loaded| &loaded.inbox)
        .map(|input| input.position)
        .collect();
    assert_eq!(stored, positions);
    assert_eq!(
        store
            .reader
            .history(one.id, &Page::new(Some(u64::MAX), usize::MAX))?
            .rows,
        []
    );
    store.commit(&[
        Mutation::DeleteTimer(last.key),
        Mutation::DeleteInbox {
            execution: one.id,
            position: GREATEST,
        },
    ])?;
    assert_eq!(store.reader.inbox_length(one.id)?, 2);
    assert_eq!(store.reader.timers(one.id)?, []);
    Ok(())
}

fn numbers_too_great_are_refused(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    for number in [GREATEST + 1, u64::MAX] {
        store.refuse(&inserts(&[&Execution {
            sequence: number,
            ..one.clone()
        }]));
        store.refuse(&[Mutation::AppendHistory(entry(&one, number))]);
        store.refuse(&[Mutation::PutTimer(timer(&one, number, 0, 1))]);
        store.refuse(&[Mutation::InsertInbox(input(&one, number))]);
    }
    Ok(())
}

fn versions_of_a_machine_are_kept_apart(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let versions = [
        version("order", 2),
        version("order", 10),
        version("order", 1),
        version("refund", 1),
    ];
    store.commit(&versions.clone().map(Mutation::InsertMachineVersion))?;
    for version in versions {
        assert_eq!(
            store.lane.machine_version(&version.machine, version.version)?,
            Some(version.clone())
        );
        assert_eq!(
            store.reader.machine(&version.machine, Some(version.version))?,
            Some(version)
        );
    }
    assert_eq!(store.reader.machine("order", None)?, Some(version("order", 10)));
    assert_eq!(store.reader.machine("order", Some(3))?, None);
    assert_eq!(store.reader.machine("orde", None)?, None);
    assert_eq!(
        store.reader.machines(&Page::first(100))?.rows,
        [version("order", 10), version("refund", 1)]
    );
    let newest = vec!["refund".to_owned(), "none".to_owned(), "order".to_owned()];
    let loaded = store.lane.load(&Wanted {
        newest,
        ..Wanted::default()
    })?;
    assert_eq!(loaded.newest, [("refund".to_owned(), 1), ("order".to_owned(), 10)]);
    // In the order in which they are wanted, as often as they are wanted, and the rest is left out.
    let numbers = [("refund", 1), ("order", 3), ("order", 10), ("none", 1), ("refund", 1)];
    let loaded = store.lane.load(&Wanted {
        versions: numbers.map(|(machine, number)| (machine.to_owned(), number)).to_vec(),
        ..Wanted::default()
    })?;
    assert_eq!(
        loaded.versions,
        [version("refund", 1), version("order", 10), version("refund", 1)]
    );
    Ok(())
}

fn a_version_is_found_by_its_digest_the_highest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let again = MachineVersion {
        digest: version("order", 1).digest,
        ..version("order", 3)
    };
    let versions = [version("order", 1), version("order", 2), version("refund", 4)];
    store.commit(&versions.map(Mutation::InsertMachineVersion))?;
    let digest = |number| version("order", number).digest;
    assert_eq!(store.lane.version_with_digest("order", &digest(1))?, Some(1));
    store.commit(&[Mutation::InsertMachineVersion(again)])?;
    assert_eq!(store.lane.version_with_digest("order", &digest(1))?, Some(3));
    assert_eq!(store.lane.version_with_digest("order", &digest(2))?, Some(2));
    assert_eq!(store.lane.version_with_digest("order", &digest(4))?, None);
    assert_eq!(store.lane.version_with_digest("orde", &digest(1))?, None);
    let wanted = [("order", 2), ("order", 4), ("order", 1), ("orde", 1)];
    let loaded = store.lane.load(&Wanted {
        version_by_digest: wanted
            .map(|(machine, number)| (machine.to_owned(), digest(number)))
            .to_vec(),
        ..Wanted::default()
    })?;
    assert_eq!(
        loaded.version_by_digest,
        [
            (("order".to_owned(), digest(2)), 2),
            (("order".to_owned(), digest(1)), 3)
        ]
    );
    Ok(())
}

fn what_was_decided_on_an_old_version_is_not_written(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let expect = |version: u32| Mutation::ExpectNewest {
        machine: "order".to_owned(),
        version,
    };
    let insert = |number: u32| Mutation::InsertMachineVersion(version("order", number));
    let one = execution(1);
    // A machine that is not there has no newer version; one that a commit adds itself counts from its place on.
    store.commit(&[expect(1), insert(1), expect(1), insert(2), expect(2)])?;
    store.commit(&[expect(2), expect(u32::MAX)])?;
    for outdated in [
        vec![expect(1), Mutation::InsertExecution(one.clone())],
        vec![Mutation::InsertExecution(one.clone()), expect(2), insert(3), expect(2)],
    ] {
        let refused = store.commit(&outdated);
        assert!(
            matches!(&refused, Err(Error::Outdated { machine }) if machine == "order"),
            "{refused:?}"
        );
    }
    assert_eq!(store.reader.execution(one.id)?, None);
    assert_eq!(store.reader.machine("order", None)?, Some(version("order", 2)));
    Ok(())
}

fn the_last_life_is_the_newest(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    assert_eq!(store.lane.last_run()?, None);
    let life = |started: u64, seen: u64| ProcessRun {
        started_at: at(started),
        seen_at: at(seen),
    };
    for (put, last) in [
        (life(5, 6), life(5, 6)),
        (life(1, 9), life(5, 6)),
        (life(5, 8), life(5, 8)),
        (life(7, 7), life(7, 7)),
    ] {
        store.commit(&[Mutation::PutRun(put)])?;
        assert_eq!(store.lane.last_run()?, Some(last));
    }
    Ok(())
}

fn a_reopened_store_holds_the_same(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = Execution {
        variables: vec![b'v'; 10_000],
        ..keyed(1, "k")
    };
    store.commit(&[
        Mutation::InsertMachineVersion(version("order", 1)),
        Mutation::InsertExecution(one.clone()),
        Mutation::AppendHistory(entry(&one, 1)),
        Mutation::InsertAction(action(&one, 2)),
        Mutation::PutTimer(timer(&one, 1, 0, 5)),
        Mutation::InsertInbox(input(&one, 1)),
        Mutation::InsertReceipt(receipt(&one, "m")),
        Mutation::PutIdempotency(idempotency(1, 5)),
        Mutation::PutRun(ProcessRun {
            started_at: at(1),
            seen_at: at(2),
        }),
    ])?;
    let wanted = Wanted {
        executions: vec![one.id],
        keys: vec![("order".to_owned(), "k".to_owned())],
        actions: vec![action(&one, 2).id],
        receipts: vec![(one.id, "m".to_owned())],
        newest: vec!["order".to_owned()],
        versions: vec![("order".to_owned(), 1)],
        version_by_digest: vec![("order".to_owned(), version("order", 1).digest)],
        idempotency: vec![idempotency(1, 5).scope],
        ..Wanted::default()
    };
    let before = store.lane.load(&wanted)?;
    let mut store = store.reopen(subject)?;
    assert_eq!(store.lane.load(&wanted)?, before);
    assert_eq!(
        before.executions.len() + before.keys.len() + before.actions.len() + before.receipts.len(),
        4
    );
    assert_eq!(before.idempotency, [idempotency(1, 5)]);
    assert_eq!(store.reader.history(one.id, &Page::first(9))?.rows, [entry(&one, 1)]);
    assert_eq!(
        store.lane.last_run()?,
        Some(ProcessRun {
            started_at: at(1),
            seen_at: at(2)
        })
    );
    store.refuse(&inserts(&[&keyed(2, "k")]));
    store.commit(&[Mutation::AppendHistory(entry(&one, 2))])
}
