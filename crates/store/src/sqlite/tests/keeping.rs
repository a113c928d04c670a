//! What becomes of the files of an open store: its log, copies of it, and names that lead elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::super::backup::beside;
use super::super::{Options, Store, Writer, open, open_without_log};
use super::File;
use crate::conformance::fixtures::{entry, execution};
use crate::page::Page;
use crate::traits::{CommitStore, Error, Mutation, Reader, Readers as _};

const ENTRIES: u64 = 50;

fn append(sequence: u64) -> Mutation {
    Mutation::AppendHistory(entry(&execution(1), sequence))
}

/// An open store with history in it.
fn filled(file: &File) -> Store {
    let mut store = file.store();
    for sequence in 1..=ENTRIES {
        store.writer.commit(&[], &[append(sequence)]).unwrap();
    }
    store
}

fn at(path: &Path) -> Options {
    Options { path: path.to_owned() }
}

fn entries(store: &Store) -> usize {
    let reader = store.readers.get();
    reader.history(execution(1).id, &Page::first(1_000)).unwrap().rows.len()
}

/// A copy of these files of the database, under another name.
fn copied(file: &File, endings: &[&str]) -> PathBuf {
    let copy = file.directory.path().join("copy.db");
    for ending in endings {
        fs::copy(beside(&file.path(), ending), beside(&copy, ending)).unwrap();
    }
    copy
}

/// Why the writer acknowledges nothing more. The keeper looks twice a second.
fn gone(writer: &mut Writer) -> String {
    for _ in 0..200 {
        match writer.check() {
            Err(Error::Gone { detail }) => {
                assert!(matches!(
                    writer.commit(&[], &[append(ENTRIES + 1)]),
                    Err(Error::Gone { .. })
                ));
                return detail;
            }
            Err(other) => panic!("{other}"),
            Ok(()) => std::thread::sleep(Duration::from_millis(25)),
        }
    }
    panic!("nothing was noticed");
}

#[test]
fn a_closed_store_is_one_file_with_everything_in_it() {
    let file = File::new();
    drop(filled(&file));
    assert!(!beside(&file.path(), "-wal").exists(), "the log is gone");
    assert!(!beside(&file.path(), "-shm").exists());
    let copy = copied(&file, &[""]);
    assert_eq!(entries(&open(&at(&copy)).unwrap()), 50);
}

#[test]
fn a_writer_that_ends_before_the_readers_leaves_nothing_in_the_log() {
    let file = File::new();
    let Store { writer, readers } = filled(&file);
    drop(writer);
    assert_eq!(fs::metadata(beside(&file.path(), "-wal")).unwrap().len(), 0);
    let copy = copied(&file, &[""]);
    assert_eq!(entries(&open(&at(&copy)).unwrap()), 50);
    drop(readers);
    assert!(!beside(&file.path(), "-wal").exists());
}

#[test]
fn a_copy_without_its_log_is_refused_unless_somebody_insists() {
    let file = File::new();
    let _store = filled(&file);
    let copy = copied(&file, &[""]);
    let error = open(&at(&copy)).unwrap_err();
    assert_eq!(error.code(), "log-missing");
    let text = error.to_string();
    assert!(text.contains("copy.db-wal") && text.contains("?log=lost"), "{text}");
    drop(open_without_log(&at(&copy)).unwrap());
    assert!(open(&at(&copy)).is_ok(), "it has a log of its own again");
}

#[test]
fn a_copy_with_its_log_is_opened_and_so_is_one_that_another_program_merged() {
    let file = File::new();
    let _store = filled(&file);
    let copy = copied(&file, &["", "-wal"]);
    let merged = file.directory.path().join("merged.db");
    for ending in ["", "-wal"] {
        fs::copy(beside(&copy, ending), beside(&merged, ending)).unwrap();
    }
    let other = Connection::open(&merged).unwrap();
    let _: i64 = other
        .query_row("SELECT count(*) FROM history", [], |row| row.get(0))
        .unwrap();
    drop(other);
    assert!(!beside(&merged, "-wal").exists(), "the other program merged it");
    for path in [copy, merged] {
        assert_eq!(entries(&open(&at(&path)).unwrap()), 50);
    }
}

#[test]
fn a_long_log_that_was_copied_back_leaves_the_mark_too() {
    let file = File::new();
    let mut store = filled(&file);
    let large = |sequence| {
        let mut record = entry(&execution(2), sequence);
        record.body = vec![b'x'; 4 * 1024 * 1024];
        Mutation::AppendHistory(record)
    };
    for sequence in 1..=40 {
        store.writer.commit(&[], &[large(sequence)]).unwrap();
    }
    assert!(
        fs::metadata(file.path()).unwrap().len() > 32 * 1024 * 1024,
        "the writer copied it"
    );
    let copy = copied(&file, &[""]);
    assert_eq!(open(&at(&copy)).unwrap_err().code(), "log-missing");
}

#[cfg(unix)]
#[test]
fn nothing_is_acknowledged_into_a_file_that_lost_its_name() {
    for ending in ["", "-wal", "-shm"] {
        let file = File::new();
        let Store { mut writer, readers } = filled(&file);
        fs::remove_file(beside(&file.path(), ending)).unwrap();
        let told = gone(&mut writer);
        assert!(told.contains("was deleted or renamed"), "{told}");
        assert!(
            readers.snapshot(&super::backups::mark()).is_err(),
            "no copy is made by name"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_store_that_took_the_place_of_another_keeps_its_log() {
    let file = File::new();
    let Store { mut writer, readers } = filled(&file);
    for ending in ["", "-wal", "-shm"] {
        fs::rename(
            beside(&file.path(), ending),
            beside(&file.path(), &format!("{ending}-old")),
        )
        .unwrap();
        fs::write(beside(&file.path(), ending), "somebody else's").unwrap();
    }
    let told = gone(&mut writer);
    assert!(told.contains("was replaced"), "{told}");
    drop((writer, readers));
    for ending in ["", "-wal", "-shm"] {
        assert_eq!(fs::read(beside(&file.path(), ending)).unwrap(), b"somebody else's");
    }
}

#[cfg(unix)]
#[test]
fn a_second_name_is_refused_at_the_start_and_noticed_later() {
    let file = File::new();
    let Store { mut writer, readers } = filled(&file);
    let link = file.directory.path().join("link.db");
    fs::hard_link(file.path(), &link).unwrap();
    assert_eq!(open(&at(&link)).unwrap_err().code(), "store-linked");
    let told = gone(&mut writer);
    assert!(told.contains("has 2 names"), "{told}");
    drop((writer, readers));
    assert_eq!(open(&at(&file.path())).unwrap_err().code(), "store-linked");
    fs::remove_file(&link).unwrap();
    assert_eq!(entries(&file.store()), 50, "what was acknowledged is there");
}

/// A file that is mounted twice has two paths and one inode; a link that was removed again leaves no trace either.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_another_process_has_open_is_locked_under_every_name() {
    let file = File::new();
    drop(filled(&file));
    let other = fs::File::open(file.path()).unwrap();
    other.lock().unwrap();
    assert_eq!(open(&at(&file.path())).unwrap_err().code(), "store-locked");
    drop(other);
    assert_eq!(entries(&file.store()), 50);
}

#[test]
fn a_log_that_a_reader_holds_is_measured_until_it_lets_go() {
    let file = File::new();
    let Store { mut writer, readers } = filled(&file);
    let reader = Connection::open(file.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM history").unwrap();
    let large = |sequence| {
        let mut record = entry(&execution(2), sequence);
        record.body = vec![b'x'; 4 * 1024 * 1024];
        Mutation::AppendHistory(record)
    };
    for sequence in 1..=20 {
        writer.commit(&[], &[large(sequence)]).unwrap();
    }
    assert!(readers.held_bytes() > 60 * 1024 * 1024, "{}", readers.held_bytes());
    reader.execute_batch("COMMIT").unwrap();
    for sequence in 21..=24 {
        writer.commit(&[], &[large(sequence)]).unwrap();
    }
    assert_eq!(readers.held_bytes(), 0);
}
