//! Moves of real files to a real server: what arrives, what happens when one is killed, what is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sprag_core::time::Timestamp;
use sprag_tests::Postgres;
use sprag_tests::wait::until;

use super::{MoveSummary, Phase, Transfer, TransferError, transfer};
use crate::conformance::fixtures::{Opened, action, entry, execution, idempotency, noise, version};
use crate::conformance::{Subject, differential};
use crate::postgres::{self, Address, Options, Store};
use crate::records::Action;
use crate::sqlite;
use crate::sqlite::tests::File;
use crate::traits::{LaneStore, Mutation, Reader};

const GUARD: Duration = Duration::from_mins(1);
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A database of its own on the cluster of this process.
struct Database {
    url: String,
    shards: u32,
}

impl Database {
    fn new(shards: u32) -> Self {
        let url = Postgres::shared().database();
        Self { url, shards }
    }

    fn address(&self) -> Address {
        self.url.parse().unwrap()
    }

    fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap()
    }

    fn sql(&self, statement: &str) -> String {
        Postgres::shared().sql(self.name(), statement)
    }

    fn store(&self) -> Result<Store, postgres::OpenError> {
        postgres::open(&Options {
            address: self.address(),
            shards: self.shards,
        })
    }

    /// All rows of all tables but those of the lanes, in an order that does not depend on how they came.
    fn rows(&self) -> Vec<String> {
        let tables = self.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'lane'");
        let mut rows = Vec::new();
        for table in tables.lines() {
            let found = self.sql(&format!("SELECT ({table}.*)::text FROM {table}"));
            rows.extend(found.lines().map(|row| format!("{table} {row}")));
        }
        rows.sort();
        rows
    }

    /// Moves a file. A program that another test starts holds for a moment what this process has open, its locks too.
    fn take(&self, file: &File, watch: &mut dyn FnMut(super::MoveProgress<'_>)) -> Result<MoveSummary, TransferError> {
        until("the file's lock to be free", GUARD, || {
            match self.take_at_once(file, watch) {
                Err(problem) if problem.code() == "store-locked" => None,
                result => Some(result),
            }
        })
    }

    fn take_at_once(
        &self,
        file: &File,
        watch: &mut dyn FnMut(super::MoveProgress<'_>),
    ) -> Result<MoveSummary, TransferError> {
        let move_all = Transfer {
            from: &file.path(),
            to: &self.address(),
            shards: self.shards,
            now: NOW,
        };
        transfer(&move_all, watch)
    }

    fn refuses(&self, file: &File) -> TransferError {
        self.take(file, &mut |_| {}).unwrap_err()
    }
}

impl Subject for Database {
    fn open(&self) -> (Box<dyn LaneStore>, Box<dyn Reader>) {
        let Store { writer, readers, .. } = self.store().unwrap();
        (Box::new(writer), Box::new(readers.get()))
    }
}

/// A file with more than a page of histories, and something besides.
fn long() -> File {
    let file = File::new();
    let mut store = Opened::new(&file).unwrap();
    let one = execution(1);
    store.commit(&[Mutation::InsertExecution(one.clone())]).unwrap();
    let entries: Vec<Mutation> = (1..=2_500)
        .map(|sequence| Mutation::AppendHistory(entry(&one, sequence)))
        .collect();
    store.commit(&entries).unwrap();
    store
        .commit(&[
            Mutation::InsertMachineVersion(version("order", 1)),
            Mutation::PutIdempotency(idempotency(40_000, 9)),
        ])
        .unwrap();
    file
}

#[test]
fn what_was_moved_is_what_would_be_there_had_it_been_written_there() {
    if !Postgres::is_installed() {
        return;
    }
    for seed in 11..=13 {
        let (file, written) = (File::new(), Database::new(1));
        let answers = differential(seed, 120, &file, &written).unwrap();
        assert!(answers.written > 40, "{answers:?}");
        let moved = Database::new(1);
        let said = moved.take(&file, &mut |_| {}).unwrap();
        assert_eq!(moved.rows(), written.rows(), "seed {seed}");
        let rows: u64 = said.tables.iter().map(|table| table.rows).sum();
        assert!(rows > 50 && said.resumed == 0, "{said:?}");
        assert!(said.tables.iter().all(|table| table.digest.len() == 64));
    }
}

#[test]
fn rows_find_their_shard() {
    if !Postgres::is_installed() {
        return;
    }
    let (file, written) = (File::new(), Database::new(1));
    differential(21, 60, &file, &written).unwrap();
    let moved = Database::new(64);
    moved.take(&file, &mut |_| {}).unwrap();
    let shards = moved.sql("SELECT count(*), min(epoch) = max(epoch) FROM shard");
    assert_eq!(shards, "64|t");
    // The slot of an execution is in the seventh and eighth byte of its id.
    let wrong = "SELECT count(*) FROM execution WHERE shard <> \
        (('x' || substr(replace(id::text, '-', ''), 13, 4))::bit(16)::integer * 64) >> 16";
    assert_eq!(moved.sql(wrong), "0");
    assert_ne!(moved.sql("SELECT count(DISTINCT shard) FROM execution"), "1");
}

#[test]
fn a_move_that_was_killed_at_any_page_goes_on_where_it_was() {
    if !Postgres::is_installed() {
        return;
    }
    let file = long();
    let whole = Database::new(1);
    let mut pages = Vec::new();
    let said = whole
        .take(&file, &mut |step| pages.push((step.phase, step.rows)))
        .unwrap();
    let copied = pages.iter().filter(|(phase, _)| *phase == Phase::Copying).count();
    assert!(copied >= 5 && pages.len() == 2 * copied + 1, "{pages:?}");
    // The file of a move that ended may be moved once more, elsewhere; its mark is no part of it.
    let killed = Database::new(1);
    let (mut is_whole, mut was_releasing) = (false, false);
    for page in 1..=2 * copied + 1 {
        let mut seen = 0;
        let died = catch_unwind(AssertUnwindSafe(|| {
            killed.take(&file, &mut |step| {
                seen += 1;
                was_releasing |= step.phase == Phase::Releasing && seen == page;
                // Each time a page later than before.
                assert!(seen < page, "as kill -9 would");
            })
        }));
        if let Ok(result) = died {
            let again = result.unwrap();
            assert_eq!((&again.tables, again.resumed > 0), (&said.tables, true));
            is_whole = true;
            break;
        }
        assert!(matches!(killed.store(), Err(postgres::OpenError::Unfinished { .. })));
    }
    assert!(is_whole && was_releasing);
    assert_eq!(killed.rows(), whole.rows());
    killed.store().unwrap();
}

#[test]
fn what_is_not_empty_in_use_or_another_file_s_is_refused() {
    if !Postgres::is_installed() {
        return;
    }
    let file = long();
    let used = Database::new(1);
    let store = used.store().unwrap();
    assert!(matches!(used.refuses(&file), TransferError::InUse { .. }));
    drop(store);
    let gone =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'sprag'";
    until("the server's sessions to end", GUARD, || {
        (used.sql(gone) == "0").then_some(())
    });
    assert!(matches!(used.refuses(&file), TransferError::NotEmpty { .. }));

    let half = Database::new(1);
    let died = catch_unwind(AssertUnwindSafe(|| {
        half.take(&file, &mut |_| panic!("as kill -9 would"))
    }));
    assert!(died.is_err());
    assert!(matches!(
        half.refuses(&long_with_another_life()),
        TransferError::Mismatch { .. }
    ));
    // Whoever used the file since made another of it.
    drop(Opened::new(&file).unwrap());
    assert!(matches!(half.refuses(&file), TransferError::Mismatch { .. }));
}

fn long_with_another_life() -> File {
    let file = long();
    drop(Opened::new(&file).unwrap());
    file
}

#[test]
fn a_file_that_is_open_or_missing_is_refused_and_a_row_that_changed_is_found() {
    if !Postgres::is_installed() {
        return;
    }
    let (file, database) = (long(), Database::new(1));
    let open = Opened::new(&file).unwrap();
    let locked = database.take_at_once(&file, &mut |_| {}).unwrap_err();
    assert_eq!(locked.code(), "store-locked");
    drop(open);
    assert_eq!(database.refuses(&File::new()).code(), "store-missing");
    let changed = database.take(&file, &mut |step| {
        if step.phase == Phase::Copying && step.rows == step.all {
            database.sql("UPDATE history SET body = 'x' WHERE sequence = 1500");
        }
    });
    let problem = changed.unwrap_err();
    assert!(
        matches!(&problem, TransferError::Differs { table, key } if table == "history" && key.ends_with("1500")),
        "{problem}"
    );
    assert!(
        matches!(database.store(), Err(postgres::OpenError::Unfinished { .. })),
        "it is not taken for whole"
    );
}

/// A file in which an action has a name, or a tag, of a time in which they had no bounds.
fn old(change: impl Fn(&mut Action)) -> File {
    let file = File::new();
    let mut store = Opened::new(&file).unwrap();
    let one = execution(1);
    let mut sent = action(&one, 2);
    sent.body = br#"{"version":7}"#.to_vec();
    change(&mut sent);
    store
        .commit(&[Mutation::InsertExecution(one), Mutation::InsertAction(sent)])
        .unwrap();
    file
}

#[test]
fn what_no_database_keeps_is_named_with_its_machine_version_and_field() {
    if !Postgres::is_installed() {
        return;
    }
    let files = [
        ("action_id", old(|action| action.action_id = noise(3_000))),
        ("tag", old(|action| action.tags = vec![noise(3_000)])),
    ];
    for (field, file) in files {
        let (database, mut said) = (Database::new(1), String::new());
        let problem = database.refuses(&file);
        said.push_str(&problem.to_string());
        assert_eq!(problem.code(), "migration-unfit", "{said}");
        for part in [
            "of machine `order`, version 7",
            &format!("`{field}`"),
            "3000 bytes",
            "act_",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        drop(Opened::new(&file).unwrap());
    }
    // Long, but within what an index of the database holds.
    let fits = old(|action| action.action_id = noise(2_000));
    let database = Database::new(1);
    database.take(&fits, &mut |_| {}).unwrap();
    assert_eq!(database.sql("SELECT length(action_id) FROM action"), "2000");
}

#[test]
fn no_server_starts_on_a_file_that_was_moved_unless_somebody_insists() {
    if !Postgres::is_installed() {
        return;
    }
    let (file, database) = (long(), Database::new(1));
    let options = sqlite::Options { path: file.path() };
    let died = catch_unwind(AssertUnwindSafe(|| {
        database.take(&file, &mut |step| {
            assert!(step.phase != Phase::Releasing, "as kill -9 would");
        })
    }));
    assert!(died.is_err());
    assert!(matches!(database.store(), Err(postgres::OpenError::Unfinished { .. })));
    let refused = sqlite::open(&options).unwrap_err();
    let sqlite::OpenError::Moved { to, at, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!((to, *at), (&database.address().to_string(), NOW));
    assert!(refused.to_string().contains("?moved=allow"), "{refused}");

    database.take(&file, &mut |_| {}).unwrap();
    database.store().unwrap();
    assert_eq!(
        database.refuses(&file).code(),
        "store-moved",
        "there is nothing left to do"
    );
    assert_eq!(sqlite::open(&options).unwrap_err().code(), "store-moved");
    drop(sqlite::open_moved(&options).unwrap());
    assert_eq!(sqlite::open(&options).unwrap_err().code(), "store-moved", "each time");
}

#[test]
fn a_file_that_was_moved_is_restored_as_one_that_was_not() {
    if !Postgres::is_installed() {
        return;
    }
    let (file, database, new) = (long(), Database::new(1), File::new());
    database.take(&file, &mut |_| {}).unwrap();
    let restore = sqlite::Restore {
        from: &file.path(),
        to: &new.path(),
        existing: sqlite::Existing::Refuse,
    };
    sqlite::restore(&restore).unwrap().finish().unwrap();
    drop(sqlite::open(&sqlite::Options { path: new.path() }).unwrap());
    assert_eq!(
        sqlite::open(&sqlite::Options { path: file.path() }).unwrap_err().code(),
        "store-moved"
    );
}
