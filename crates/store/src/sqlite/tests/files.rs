//! Opening files: good, bad, foreign and damaged ones.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::super::{Existing, OpenError, Options, Restore, Store, open, restore};
use super::File;
use crate::conformance::fixtures::{entry, execution};
use crate::page::Page;
use crate::traits::{CommitStore, Error, Mutation, Reader};

fn refusal(path: &Path) -> OpenError {
    let error = open(&Options { path: path.to_owned() }).unwrap_err();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(name), "`{error}` names the file");
    error
}

fn write_entries(file: &File, count: u64) {
    let Store { mut writer, .. } = file.store();
    let append = |sequence| Mutation::AppendHistory(entry(&execution(1), sequence));
    writer
        .commit(&[], &(1..=count).map(append).collect::<Vec<_>>())
        .unwrap();
}

#[test]
fn the_directory_must_exist() {
    let file = File::new();
    let path = file.directory.path().join("missing").join("sprag.db");
    assert_eq!(refusal(&path).code(), "directory-missing");
    assert!(!path.parent().unwrap().exists(), "only the file is created");
}

#[test]
fn a_path_that_is_a_directory_is_refused() {
    let file = File::new();
    fs::create_dir(file.path()).unwrap();
    let error = refusal(&file.path());
    assert_eq!(error.code(), "store-is-directory");
    assert!(error.to_string().contains("name a file in it"), "{error}");
    let left: Vec<_> = fs::read_dir(file.directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside it");
}

#[test]
fn a_second_opening_is_refused_as_long_as_anything_of_the_first_lives() {
    let file = File::new();
    let Store { writer, readers } = file.store();
    assert_eq!(refusal(&file.path()).code(), "store-locked");
    drop(writer);
    let reader = readers.get();
    drop(readers);
    assert_eq!(refusal(&file.path()).code(), "store-locked");
    drop(reader);
    file.store();
}

#[cfg(unix)]
#[test]
fn another_name_of_the_same_file_leads_to_the_same_lock() {
    let file = File::new();
    let _store = file.store();
    let link = file.directory.path().join("link.db");
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    let error = open(&Options { path: link }).unwrap_err();
    assert_eq!(error.code(), "store-locked");
}

#[test]
fn a_database_of_a_newer_program_is_refused_and_left_as_it_is() {
    let file = File::new();
    write_entries(&file, 1);
    let connection = Connection::open(file.path()).unwrap();
    connection
        .execute("INSERT INTO schema_migration VALUES (999, 'future')", [])
        .unwrap();
    drop(connection);
    let error = refusal(&file.path());
    assert_eq!(error.code(), "newer-database");
    assert!(matches!(error, OpenError::NewerDatabase { found: 999, .. }));
    let connection = Connection::open(file.path()).unwrap();
    connection
        .execute("DELETE FROM schema_migration WHERE version = 999", [])
        .unwrap();
    drop(connection);
    assert_eq!(
        file.store()
            .readers
            .get()
            .history(execution(1).id, &Page::first(9))
            .unwrap()
            .rows
            .len(),
        1
    );
}

#[test]
fn the_schema_records_its_steps_by_number_and_name() {
    let file = File::new();
    drop(file.store());
    drop(file.store());
    let connection = Connection::open(file.path()).unwrap();
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let mut statement = connection
        .prepare("SELECT version, name FROM schema_migration")
        .unwrap();
    let steps: Vec<(u32, String)> = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
    let expected = [
        (1, "heart"),
        (2, "idempotency"),
        (3, "jobs"),
        (4, "control"),
        (5, "search"),
        (6, "history"),
        (7, "names"),
        (8, "dead_letters"),
        (9, "nodes"),
        (10, "room"),
        (11, "place"),
        (12, "commits"),
        (13, "audit"),
        (14, "operations"),
        (15, "lookup"),
    ];
    assert_eq!(steps, expected.map(|(number, name)| (number, name.to_owned())));
}

#[test]
fn a_schema_with_another_history_is_refused() {
    let file = File::new();
    drop(file.store());
    let connection = Connection::open(file.path()).unwrap();
    connection
        .execute("UPDATE schema_migration SET name = 'other'", [])
        .unwrap();
    drop(connection);
    assert_eq!(refusal(&file.path()).code(), "foreign-database");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_is() {
    let file = File::new();
    let connection = Connection::open(file.path()).unwrap();
    connection.execute_batch("CREATE TABLE theirs (id)").unwrap();
    drop(connection);
    assert_eq!(refusal(&file.path()).code(), "foreign-database");
    let connection = Connection::open(file.path()).unwrap();
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let file = File::new();
    let text = "notes, not a database\n".repeat(500);
    fs::write(file.path(), &text).unwrap();
    assert_eq!(refusal(&file.path()).code(), "corrupt");
    assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let file = File::new();
    fs::write(file.path(), "").unwrap();
    write_entries(&file, 1);
}

/// Overwrites the file from `offset` on.
fn damage(path: &Path, offset: usize, bytes: usize) {
    let mut content = fs::read(path).unwrap();
    content[offset..offset + bytes].fill(0xa5);
    fs::write(path, content).unwrap();
}

#[test]
fn a_damaged_page_is_reported_to_who_reads_it_and_the_rest_is_still_read() {
    let file = File::new();
    write_entries(&file, 2_000);
    let size = usize::try_from(fs::metadata(file.path()).unwrap().len()).unwrap();
    damage(&file.path(), size / 4 * 3 / 4_096 * 4_096, 3 * 4_096);
    let Store { mut writer, readers } = file.store();
    let id = execution(1).id;
    let result = readers.get().history(id, &Page::first(2_000));
    assert!(matches!(result, Err(Error::Corrupt { .. })), "{result:?}");
    assert_eq!(readers.get().history(id, &Page::first(10)).unwrap().rows.len(), 10);
    assert_eq!(readers.get().machines(&Page::first(10)).unwrap().rows, []);
    writer.acquire(crate::ShardId(0)).unwrap();
}

#[test]
fn a_damaged_schema_is_refused() {
    let file = File::new();
    write_entries(&file, 1);
    damage(&file.path(), 100, 3_900);
    assert_eq!(refusal(&file.path()).code(), "corrupt");
}

#[test]
fn a_lock_leaves_nothing_where_no_database_was_made() {
    let (file, other) = (File::new(), File::new());
    fs::write(other.path(), "no backup ".repeat(500)).unwrap();
    let failed = restore(&Restore {
        from: &other.path(),
        to: &file.path(),
        existing: Existing::Refuse,
    });
    assert!(failed.is_err());
    let left: Vec<_> = fs::read_dir(file.directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    drop(file.store());
    assert!(file.path().exists());
    file.store();
}
