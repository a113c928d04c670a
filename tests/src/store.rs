//! What products of tests remember in: a file, or with `SPRAG_TEST_STORE=postgres` a database that stands for it.
//!
//! Every test runs on both unless it says that it is about files, and why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::postgres::Postgres;
use crate::product::binary;

/// The variable that says on what products run: `postgres`, or files where it is not set.
const STORE: &str = "SPRAG_TEST_STORE";

/// The databases of this process, by the file each stands for.
static DATABASES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// The store that a path stands for: a file there, or a database that is the path's for as long as this process lives.
pub fn url(path: &Path) -> String {
    if !is_postgres() {
        return format!("sqlite:{}", path.display());
    }
    let mut databases = databases();
    let database = databases.entry(path.to_owned());
    database.or_insert_with(|| Postgres::shared().database()).clone()
}

/// Whether products run on files. A test that is about them asks first, and is left out elsewhere, saying so.
pub fn is_file(why: &str) -> bool {
    if is_postgres() {
        println!("left out on PostgreSQL: {why}");
    }
    !is_postgres()
}

/// Copies a store that nobody has open: a file with its log, or the database that stands for it.
pub fn copy(from: &Path, to: &Path) {
    if is_postgres() {
        let copied = Postgres::shared().copy(name(&url(from)));
        databases().insert(to.to_owned(), copied);
        return;
    }
    let log = |path: &Path| path.with_extension("db-wal");
    for (from, to) in [(from.to_owned(), to.to_owned()), (log(from), log(to))] {
        // A log that was folded back into its file is gone.
        if from.exists() {
            std::fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
    }
}

/// How large a store is on disk: its file, or the database that stands for it.
pub fn bytes(path: &Path) -> u64 {
    if is_postgres() {
        let size = Postgres::shared().sql(name(&url(path)), "SELECT pg_database_size(current_database())");
        return size.parse().unwrap_or_else(|error| panic!("{size}: {error}"));
    }
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Moves a file into the database that stands for it, where products run on one.
pub fn adopt(path: &Path) {
    if is_postgres() {
        let moved = Command::new(binary("sprag"))
            .arg("migrate")
            .arg(format!("sqlite:{}", path.display()))
            .arg(url(path))
            .status();
        assert!(
            moved.is_ok_and(|status| status.success()),
            "{} was not moved",
            path.display()
        );
    }
}

/// Everything that stores in a folder hold, by name: files as they are, databases as the text of their rows.
pub fn kept(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.flatten().map(|entry| entry.path());
    let mut kept: Vec<(String, Vec<u8>)> = files
        .filter(|path| path.is_file())
        .filter_map(|path| Some((path.display().to_string(), std::fs::read(&path).ok()?)))
        .collect();
    for url in databases()
        .iter()
        .filter(|(path, _)| path.starts_with(folder))
        .map(|(_, url)| url)
    {
        kept.push((url.clone(), Postgres::shared().rows(name(url)).into_bytes()));
    }
    assert!(!kept.is_empty(), "nothing is stored in {}", folder.display());
    kept
}

/// The name of a database.
fn name(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}

fn is_postgres() -> bool {
    std::env::var_os(STORE).is_some_and(|store| store == "postgres")
}

fn databases() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    DATABASES.lock().unwrap_or_else(PoisonError::into_inner)
}
