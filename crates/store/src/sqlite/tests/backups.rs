//! Copies of a file that is being written, and putting them in the place of another.

use std::io::Read as _;
use std::path::Path;

use super::super::{Existing, OpenError, Options, Restore, RestoreError, Store, open, restore};
use super::File;
use crate::conformance::fixtures::{SHARD, entry, execution, inserts};
use crate::page::Page;
use crate::records::{Fact, FactKind};
use crate::traits::{CommitStore as _, ExecutionQuery, LaneReads as _, Mutation, Reader as _, Readers as _};

pub(super) fn mark() -> Fact {
    Fact {
        kind: FactKind::Mark,
        key: "backup".to_owned(),
        body: b"{}".to_vec(),
    }
}

/// Executions with one history entry each.
fn batch(numbers: std::ops::Range<u64>) -> Vec<Mutation> {
    numbers
        .flat_map(|number| {
            let one = execution(number);
            let mut mutations = inserts(&[&one]);
            mutations.push(Mutation::AppendHistory(entry(&one, 1)));
            mutations
        })
        .collect()
}

fn count(store: &Store) -> usize {
    let all = ExecutionQuery::default();
    store.readers.get().executions(&all).unwrap().rows.len()
}

/// Writes the copy of `store` to `path`.
fn save(store: &Store, path: &Path) {
    let mut bytes = Vec::new();
    store
        .readers
        .snapshot(&mark())
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn restored(from: &Path, to: &Path, existing: Existing) -> Result<(), RestoreError> {
    restore(&Restore { from, to, existing })?.finish()
}

#[test]
fn a_copy_is_of_one_instant_while_the_writer_goes_on() {
    let file = File::new();
    let mut store = file.store();
    let fence = store.writer.acquire(SHARD).unwrap();
    store.writer.commit(&[fence], &batch(0..2_000)).unwrap();
    let readers = store.readers.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let copying = std::thread::spawn(move || {
        let files: Vec<_> = (0..5).map(|_| readers.snapshot(&mark()).unwrap()).collect();
        sender.send(()).unwrap();
        files
    });
    let mut next = 2_000;
    while receiver.try_recv().is_err() {
        store.writer.commit(&[fence], &batch(next..next + 10)).unwrap();
        next += 10;
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, mut copy) in copying.join().unwrap().into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.db"));
        let mut bytes = Vec::new();
        copy.read_to_end(&mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let store = open(&Options { path }).unwrap();
        let executions = count(&store);
        assert!(
            executions >= 2_000 && (executions - 2_000).is_multiple_of(10),
            "{executions}"
        );
        let newest = execution(executions as u64 - 1);
        assert_eq!(
            store
                .readers
                .get()
                .history(newest.id, &Page::first(9))
                .unwrap()
                .rows
                .len(),
            1
        );
        let found = store.readers.get().fact(FactKind::Mark, "backup").unwrap();
        assert_eq!(found, Some(mark()));
    }
}

#[test]
fn a_copy_leaves_no_file_beside_the_database() {
    let file = File::new();
    let store = file.store();
    let copy = store.readers.snapshot(&mark()).unwrap();
    let names = std::fs::read_dir(file.path().parent().unwrap()).unwrap();
    let left = names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().contains("-backup"));
    assert_eq!(left.count(), 0);
    assert!(copy.metadata().unwrap().len() > 0, "it can be read all the same");
}

#[test]
fn a_restored_file_holds_what_the_copy_held_and_what_was_added() {
    let (file, target) = (File::new(), File::new());
    let mut store = file.store();
    let fence = store.writer.acquire(SHARD).unwrap();
    store.writer.commit(&[fence], &batch(0..10)).unwrap();
    let backup = target.path().with_extension("backup");
    save(&store, &backup);
    let mut restoring = restore(&Restore {
        from: &backup,
        to: &target.path(),
        existing: Existing::Refuse,
    })
    .unwrap();
    assert!(!target.path().exists(), "nothing is there before it is complete");
    let lane = restoring.lane().unwrap();
    let fence = lane.acquire(SHARD).unwrap();
    lane.commit(
        &[fence],
        &[Mutation::PutFact(Fact {
            kind: FactKind::Switch,
            ..mark()
        })],
    )
    .unwrap();
    restoring.finish().unwrap();
    let mut store = target.store();
    assert_eq!(count(&store), 10);
    assert_eq!(store.writer.facts(FactKind::Switch).unwrap().len(), 1);
}

#[test]
fn a_database_that_is_there_stays_unless_it_is_to_be_replaced() {
    let (file, target) = (File::new(), File::new());
    let mut store = target.store();
    let fence = store.writer.acquire(SHARD).unwrap();
    store.writer.commit(&[fence], &batch(0..3)).unwrap();
    drop(store);
    let backup = target.path().with_extension("backup");
    save(&file.store(), &backup);
    let refused = restored(&backup, &target.path(), Existing::Refuse).unwrap_err();
    assert_eq!(refused.code(), "store-exists");
    assert_eq!(count(&target.store()), 3);
    restored(&backup, &target.path(), Existing::Replace).unwrap();
    assert_eq!(count(&target.store()), 0);
}

#[test]
fn a_log_of_the_old_database_is_not_read_as_that_of_the_new_one() {
    let (file, target) = (File::new(), File::new());
    let mut store = target.store();
    let fence = store.writer.acquire(SHARD).unwrap();
    store.writer.commit(&[fence], &batch(0..3)).unwrap();
    // A process that was killed leaves its log.
    let log = target.path().with_file_name("sprag.db-wal");
    let kept = std::fs::read(&log).unwrap();
    drop(store);
    std::fs::write(&log, kept).unwrap();
    let backup = target.path().with_extension("backup");
    save(&file.store(), &backup);
    restored(&backup, &target.path(), Existing::Replace).unwrap();
    assert_eq!(count(&target.store()), 0);
}

#[test]
fn a_store_that_is_open_is_not_restored() {
    let (file, target) = (File::new(), File::new());
    let backup = target.path().with_extension("backup");
    save(&file.store(), &backup);
    let _running = target.store();
    let refused = restored(&backup, &target.path(), Existing::Replace).unwrap_err();
    assert!(
        matches!(refused, RestoreError::Open(OpenError::Locked { .. })),
        "{refused}"
    );
}

#[test]
fn what_is_no_backup_changes_nothing() {
    let (file, target) = (File::new(), File::new());
    let store = file.store();
    let folder = target.path().parent().unwrap().to_owned();
    let damaged = folder.join("damaged.db");
    save(&store, &damaged);
    let mut bytes = std::fs::read(&damaged).unwrap();
    for byte in bytes.iter_mut().skip(4_096).step_by(7) {
        *byte ^= 0x55;
    }
    std::fs::write(&damaged, bytes).unwrap();
    let foreign = folder.join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let empty = folder.join("empty.db");
    std::fs::write(&empty, b"").unwrap();
    let text = folder.join("text.db");
    std::fs::write(&text, "not a database at all".repeat(500)).unwrap();
    for (from, code) in [
        (damaged, "corrupt"),
        (foreign, "foreign-database"),
        (empty, "foreign-database"),
        (text, "corrupt"),
        (folder.join("nothing.db"), "backup-missing"),
    ] {
        let refused = restored(&from, &target.path(), Existing::Replace).unwrap_err();
        assert_eq!(refused.code(), code, "{}: {refused}", from.display());
        assert!(!target.path().exists());
    }
    let itself = restored(&file.path(), &file.path(), Existing::Replace).unwrap_err();
    assert_eq!(itself.code(), "backup-is-store");
}

/// A backup with `sql` done to it.
fn changed(folder: &Path, store: &Store, sql: &str) -> std::path::PathBuf {
    let path = folder.join("changed.db");
    save(store, &path);
    rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

#[test]
fn a_backup_whose_schema_is_not_exactly_ours_is_refused_before_anything_runs() {
    let (file, target) = (File::new(), File::new());
    let store = file.store();
    let folder = target.path().parent().unwrap().to_owned();
    for (sql, named) in [
        (
            "CREATE TRIGGER free AFTER INSERT ON fact BEGIN DELETE FROM fact WHERE kind = 0; END",
            "trigger `free`",
        ),
        ("CREATE VIEW seen AS SELECT * FROM fact", "view `seen`"),
        ("CREATE TABLE notes (a)", "table `notes`"),
        ("CREATE INDEX extra ON fact (body)", "index `extra`"),
        ("ALTER TABLE fact ADD COLUMN more TEXT", "table `fact`"),
        ("DROP TABLE life", "table `life` is missing"),
        (
            "CREATE TABLE moved (id INTEGER, place TEXT, moved_at INTEGER)",
            "table `moved`",
        ),
    ] {
        let from = changed(&folder, &store, sql);
        let refused = restored(&from, &target.path(), Existing::Replace).unwrap_err();
        assert_eq!(refused.code(), "foreign-schema", "{sql}: {refused}");
        assert!(refused.to_string().contains(named), "{refused}");
        assert!(!target.path().exists());
    }
    let analyzed = changed(&folder, &store, "ANALYZE");
    restored(&analyzed, &target.path(), Existing::Replace).unwrap();
}

#[test]
fn the_header_says_whether_a_file_is_a_backup() {
    use super::super::{HEADER_BYTES, is_backup};
    let file = File::new();
    let store = file.store();
    let path = file.directory.path().join("copy.db");
    save(&store, &path);
    let bytes = std::fs::read(&path).unwrap();
    assert!(is_backup(&bytes));
    assert!(!is_backup(&bytes[..HEADER_BYTES - 1]), "cut off");
    let mut foreign = bytes[..HEADER_BYTES].to_vec();
    foreign[68] ^= 1;
    assert!(!is_backup(&foreign), "another program's");
    assert!(!is_backup(&[b'x'; 200]));
}

#[cfg(unix)]
#[test]
fn copies_and_restored_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (file, target) = (File::new(), File::new());
    let store = file.store();
    let copy = store.readers.snapshot(&mark()).unwrap();
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let path = file.directory.path().join("copy.db");
    save(&store, &path);
    restored(&path, &target.path(), Existing::Refuse).unwrap();
    assert_eq!(
        std::fs::metadata(target.path()).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
