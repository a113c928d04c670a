//! What only the writer's own connection shows: its settings, its log, a store that turned read-only.

use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::conformance::fixtures::{entry, execution};
use crate::records::{Execution, HistoryEntry};
use crate::sqlite::{Options, Store, open};
use crate::traits::Variables;

/// Large enough that a hundred of them make a log worth copying back.
const BODY: usize = 200_000;

fn store(directory: &TempDir) -> Store {
    open(&Options {
        path: directory.path().join("sprag.db"),
    })
    .unwrap()
}

fn large_entry(sequence: u64) -> Mutation {
    let entry = entry(&execution(1), sequence);
    Mutation::AppendHistory(HistoryEntry {
        body: vec![b'x'; BODY],
        ..entry
    })
}

fn setting(connection: &Connection, name: &str) -> String {
    let value: rusqlite::types::Value = connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
    match value {
        rusqlite::types::Value::Text(text) => text,
        other => format!("{other:?}"),
    }
}

#[test]
fn the_settings_that_promises_rest_on_are_in_force() {
    let directory = tempfile::tempdir().unwrap();
    let Store { writer, .. } = store(&directory);
    assert_eq!(setting(&writer.connection, "journal_mode"), "wal");
    assert_eq!(setting(&writer.connection, "synchronous"), "Integer(2)");
    assert_eq!(setting(&writer.connection, "foreign_keys"), "Integer(0)");
    assert_eq!(setting(&writer.connection, "trusted_schema"), "Integer(0)");
    assert_eq!(setting(&writer.connection, "journal_size_limit"), "Integer(67108864)");
    assert_eq!(setting(&writer.connection, "page_size"), "Integer(4096)");
}

#[test]
fn a_store_that_turned_read_only_says_so_and_works_once_it_can_be_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let Store { mut writer, .. } = store(&directory);
    writer.connection.pragma_update(None, "query_only", true).unwrap();
    assert!(matches!(writer.commit(&[], &[large_entry(1)]), Err(Error::ReadOnly)));
    assert!(matches!(writer.acquire(ShardId(0)), Err(Error::ReadOnly)));
    writer.connection.pragma_update(None, "query_only", false).unwrap();
    writer.commit(&[], &[large_entry(1)]).unwrap();
}

#[test]
fn the_log_is_copied_back_once_it_is_long() {
    let directory = tempfile::tempdir().unwrap();
    let Store { mut writer, .. } = store(&directory);
    for sequence in 1..=1_000 {
        writer.commit(&[], &[large_entry(sequence)]).unwrap();
    }
    let log = std::fs::metadata(directory.path().join("sprag.db-wal")).unwrap().len();
    let bound = u64::from(CHECKPOINT_PAGES) * 4_200;
    assert!(log < bound, "200 MB were written, the log has {log} bytes");
}

#[test]
fn more_histories_than_are_remembered_may_grow_in_one_commit() {
    let directory = tempfile::tempdir().unwrap();
    let Store { mut writer, .. } = store(&directory);
    let entries = |sequence| {
        (1..=5_000).map(move |number| {
            let entry = entry(&execution(number), sequence);
            Mutation::AppendHistory(entry)
        })
    };
    let two_each: Vec<Mutation> = entries(1).chain(entries(2)).collect();
    writer.commit(&[], &two_each).unwrap();
    writer.commit(&[], &entries(3).collect::<Vec<_>>()).unwrap();
    let gap = Mutation::AppendHistory(entry(&execution(1), 5));
    assert!(matches!(writer.commit(&[], &[gap]), Err(Error::Refused { .. })));
}

#[test]
fn a_reader_that_does_not_move_on_holds_up_one_commit_and_not_each() {
    let directory = tempfile::tempdir().unwrap();
    let Store { mut writer, .. } = store(&directory);
    writer.connection.busy_timeout(Duration::ZERO).unwrap();
    writer.restart_at = CHECKPOINT_PAGES;
    writer.commit(&[], &[large_entry(1)]).unwrap();

    let reader = Connection::open(directory.path().join("sprag.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM history").unwrap();
    let mut sequence = 1;
    while writer.restart_at == CHECKPOINT_PAGES {
        sequence += 1;
        writer.commit(&[], &[large_entry(sequence)]).unwrap();
    }
    assert!(
        writer.restart_at > LOG_PAGES_MAX,
        "the next commits do not wait for the same reader"
    );

    reader.execute_batch("COMMIT").unwrap();
    for sequence in sequence + 1..=sequence + 4 {
        writer.commit(&[], &[large_entry(sequence)]).unwrap();
    }
    let pages = writer.condition.log_pages();
    assert!(pages < CHECKPOINT_PAGES, "the log began again, it has {pages} pages");
}

#[test]
fn a_log_that_waited_for_its_readers_begins_again() {
    let directory = tempfile::tempdir().unwrap();
    let Store { mut writer, .. } = store(&directory);
    writer.restart_at = CHECKPOINT_PAGES;
    for sequence in 1..=400 {
        writer.commit(&[], &[large_entry(sequence)]).unwrap();
    }
    assert_eq!(writer.restart_at, LOG_PAGES_MAX);
}

#[test]
fn variables_that_became_small_leave_no_row_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let Store { mut writer, .. } = store(&directory);
    let large = Execution {
        variables: vec![b'v'; 3_000],
        ..execution(1)
    };
    let rows = |writer: &Writer| -> i64 {
        writer
            .connection
            .query_row("SELECT count(*) FROM execution_variables", [], |row| row.get(0))
            .unwrap()
    };
    writer.commit(&[], &[Mutation::InsertExecution(large)]).unwrap();
    assert_eq!(rows(&writer), 1);
    let small = Mutation::UpdateExecution {
        execution: execution(1),
        variables: Variables::Changed,
    };
    writer.commit(&[], &[small]).unwrap();
    assert_eq!(rows(&writer), 0);
}
