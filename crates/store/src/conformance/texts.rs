//! Texts: kept as they are, refused where some backend could not hold them, and never in the way of others.

use sprag_core::action::Status;
use sprag_core::text::{INDEXED_BYTES_MAX, LINE_BYTES_MAX};

use super::fixtures::{DEAD, Opened, action, execution, inserts, keyed, noise, receipt, timer, version};
use super::{Check, Subject, checks};
use crate::records::{Execution, Fact, FactKind, Timer};
use crate::traits::{ActionQuery, Error, ExecutionQuery, Mutation, Wanted};

/// What every caller relies on.
pub const TEXTS: &[Check] = checks![
    texts_are_kept_as_they_are,
    a_nul_in_a_text_is_refused,
    a_text_too_long_for_an_index_is_refused,
    a_text_that_cannot_be_stored_is_not_found_and_hides_nothing,
];

fn texts_are_kept_as_they_are(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let texts = [
        "",
        " ",
        "1",
        "null",
        "'; DROP TABLE x; --",
        "%_\\",
        "a\u{301}\u{e1}\u{1f980}",
        "line\nbreak\u{1}",
    ];
    for (text, number) in texts.into_iter().zip(1_u64..) {
        let text = text.to_owned();
        let one = Execution {
            machine: text.clone(),
            tags: vec![text.clone()],
            ..keyed(number, &text)
        };
        let mut send = action(&one, 100 + number);
        (send.action_id, send.kind, send.line) = (text.clone(), text.clone(), text.clone());
        (send.error_kind, send.tags) = (Some(text.clone()), vec![text.clone(), text.clone()]);
        let nightly = Timer {
            schedule: Some(text.clone()),
            ..timer(&one, 1, 0, 1)
        };
        store.commit(&[
            Mutation::InsertMachineVersion(version(&text, 1)),
            Mutation::InsertExecution(one.clone()),
            Mutation::InsertAction(send.clone()),
            Mutation::PutTimer(nightly.clone()),
            Mutation::InsertReceipt(receipt(&one, &text)),
        ])?;
        assert_eq!(store.reader.machine(&text, None)?, Some(version(&text, 1)));
        assert_eq!(store.reader.execution(one.id)?, Some(one.clone()));
        assert_eq!(store.reader.execution_by_key(&text, &text)?, Some(one.id));
        assert_eq!(store.reader.action(send.id)?, Some(send));
        assert_eq!(store.reader.timers(one.id)?, [nightly]);
        let receipts = vec![(one.id, text.clone())];
        let loaded = store.lane.load(&Wanted {
            receipts,
            ..Wanted::default()
        })?;
        assert_eq!(loaded.receipts, [receipt(&one, &text)]);
    }
    Ok(())
}

fn a_nul_in_a_text_is_refused(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let nul = "a\0b".to_owned();
    let one = execution(1);
    let send = action(&one, 2);
    store.refuse(&[Mutation::InsertMachineVersion(version(&nul, 1))]);
    store.refuse(&inserts(&[&keyed(1, &nul)]));
    store.refuse(&inserts(&[&Execution {
        machine: nul.clone(),
        ..one.clone()
    }]));
    store.refuse(&inserts(&[&Execution {
        tags: vec![nul.clone()],
        ..one.clone()
    }]));
    let mut actions = vec![send; 6];
    actions[0].machine.clone_from(&nul);
    actions[1].action_id.clone_from(&nul);
    actions[2].kind.clone_from(&nul);
    actions[3].line.clone_from(&nul);
    actions[4].error_kind = Some(nul.clone());
    actions[5].tags = vec![nul.clone()];
    for action in actions {
        store.refuse(&[Mutation::InsertAction(action)]);
    }
    store.refuse(&[Mutation::PutTimer(Timer {
        schedule: Some(nul.clone()),
        ..timer(&one, 1, 0, 1)
    })]);
    store.refuse(&[Mutation::InsertReceipt(receipt(&one, &nul))]);
    Ok(())
}

fn a_text_too_long_for_an_index_is_refused(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let longest = noise(INDEXED_BYTES_MAX);
    let one = Execution {
        machine: longest.clone(),
        ..keyed(1, &longest)
    };
    let mut send = action(&one, 2);
    send.status = DEAD;
    (send.machine, send.error_kind) = (longest.clone(), Some(longest.clone()));
    let mut waiting = action(&one, 3);
    (waiting.status, waiting.line) = (Status::Queued as u8, noise(LINE_BYTES_MAX));
    store.commit(&[
        Mutation::InsertMachineVersion(version(&longest, 1)),
        Mutation::InsertExecution(one.clone()),
        Mutation::InsertAction(send.clone()),
        Mutation::InsertAction(waiting.clone()),
        Mutation::InsertReceipt(receipt(&one, &longest)),
    ])?;
    let long = noise(INDEXED_BYTES_MAX + 1);
    store.refuse(&[Mutation::InsertMachineVersion(version(&long, 1))]);
    store.refuse(&inserts(&[&keyed(4, &long)]));
    store.refuse(&[Mutation::InsertReceipt(receipt(&one, &long))]);
    send.error_kind = Some(long.clone());
    store.refuse(&[Mutation::UpdateAction(send)]);
    waiting.line = noise(LINE_BYTES_MAX + 1);
    store.refuse(&[Mutation::UpdateAction(waiting)]);
    store.refuse(&[Mutation::PutFact(Fact {
        kind: FactKind::Limit,
        key: long,
        body: Vec::new(),
    })]);
    Ok(())
}

fn a_text_that_cannot_be_stored_is_not_found_and_hides_nothing(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (nul, one) = ("a\0b".to_owned(), keyed(1, "k"));
    store.commit(&[
        Mutation::InsertMachineVersion(version(&one.machine, 1)),
        Mutation::InsertExecution(one.clone()),
        Mutation::InsertReceipt(receipt(&one, "m")),
    ])?;
    let key = (one.machine.clone(), "k".to_owned());
    let loaded = store.lane.load(&Wanted {
        keys: vec![
            (nul.clone(), nul.clone()),
            key.clone(),
            (one.machine.clone(), nul.clone()),
        ],
        receipts: vec![(one.id, nul.clone()), (one.id, "m".to_owned())],
        newest: vec![nul.clone(), one.machine.clone()],
        versions: vec![(nul.clone(), 1), (one.machine.clone(), 1)],
        version_by_digest: vec![
            (nul.clone(), version(&nul, 1).digest),
            (one.machine.clone(), version(&one.machine, 1).digest),
        ],
        ..Wanted::default()
    })?;
    assert_eq!(loaded.keys, [(key, one.id)]);
    assert_eq!(loaded.receipts, [receipt(&one, "m")]);
    assert_eq!(loaded.newest, [(one.machine.clone(), 1)]);
    assert_eq!(loaded.versions, [version(&one.machine, 1)]);
    assert_eq!(loaded.version_by_digest.len(), 1);
    assert_eq!(store.lane.machine_version(&nul, 1)?, None);
    assert_eq!(store.reader.machine(&nul, None)?, None);
    assert_eq!(store.reader.machine(&nul, Some(1))?, None);
    assert_eq!(store.reader.execution_by_key(&one.machine, &nul)?, None);
    assert_eq!(store.reader.fact(FactKind::Limit, &nul)?, None);
    let by_key = ExecutionQuery {
        key: Some(nul.clone()),
        ..ExecutionQuery::default()
    };
    assert_eq!(store.reader.executions(&by_key)?.rows, []);
    let by_type = ActionQuery {
        kind: Some(nul),
        ..ActionQuery::default()
    };
    assert_eq!(store.reader.actions(&by_type)?.rows, []);
    Ok(())
}
