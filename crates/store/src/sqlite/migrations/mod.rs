//! The schema, step by step. A step never changes once it is merged; `PostgreSQL`'s have the same numbers and names.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::moved;
use super::open_error::OpenError;

/// The mark in the file's header that says whose database it is: `SPRG`.
const APPLICATION_ID: i32 = 0x5350_5247;

/// Bytes of a database's header.
pub const HEADER_BYTES: usize = 100;

/// What every `SQLite` database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where the header has the mark.
const MARK_OFFSET: usize = 68;

/// Whether the first bytes of a file are those of a database of Sprag.
pub fn is_backup(header: &[u8]) -> bool {
    let mark = header.get(MARK_OFFSET..MARK_OFFSET + 4);
    header.len() >= HEADER_BYTES && header.starts_with(MAGIC) && mark == Some(&APPLICATION_ID.to_be_bytes())
}

/// One step of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Its number, from 1, without gaps.
    pub version: u32,
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub sql: &'static str,
}

/// A schema, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The mark in the file's header.
    pub application_id: i32,
    /// Its steps, in order.
    pub migrations: &'static [Migration],
}

/// The engine's.
const ENGINE: Schema = Schema {
    application_id: APPLICATION_ID,
    migrations: MIGRATIONS,
};

macro_rules! migrations {
    ($($version:literal $name:literal $file:literal),+ $(,)?) => {
        &[$(Migration { version: $version, name: $name, sql: include_str!(concat!($file, ".sql")) }),+]
    };
}

const MIGRATIONS: &[Migration] = migrations![
    1 "heart" "0001_heart",
    2 "idempotency" "0002_idempotency",
    3 "jobs" "0003_jobs",
    4 "control" "0004_control",
    5 "search" "0005_search",
    6 "history" "0006_history",
    7 "names" "0007_names",
    8 "dead_letters" "0008_dead_letters",
    9 "nodes" "0009_nodes",
    10 "room" "0010_room",
    11 "place" "0011_place",
    12 "commits" "0012_commits",
    13 "audit" "0013_audit",
    14 "operations" "0014_operations",
    15 "lookup" "0015_lookup",
];

const CREATE: &str = "\
    CREATE TABLE IF NOT EXISTS schema_migration (version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT";

const RECORDED: &str = "SELECT version, name FROM schema_migration ORDER BY version";

const RECORD: &str = "INSERT INTO schema_migration (version, name) VALUES (?1, ?2)";

/// The planner's own statistics change nothing.
const OBJECTS: &str = "\
    SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'";

/// Brings the engine's database to the newest schema. Either all missing steps are taken or none.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    migrate_to(connection, path, &ENGINE)
}

/// Brings a database to the newest step of `schema`. Either all missing steps are taken or none.
pub(super) fn migrate_to(connection: &mut Connection, path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let sqlite = |problem| OpenError::from_sqlite(path, problem);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    claim(&transaction, path, schema)?;
    let recorded = recorded(&transaction).map_err(sqlite)?;
    let taken = check(&recorded, path, schema)?;
    for Migration { version, name, sql } in schema.migrations.iter().skip(taken) {
        transaction.execute_batch(sql).map_err(sqlite)?;
        transaction.execute(RECORD, params![version, name]).map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

/// Compares the schema of a database with what its recorded steps make. Nothing is written, so no foreign trigger runs. Says
/// what is there that should not be, or is not there.
pub(super) fn compare(connection: &Connection, path: &Path) -> Result<Vec<String>, OpenError> {
    let sqlite = |problem| OpenError::from_sqlite(path, problem);
    let taken = check(&recorded(connection).map_err(sqlite)?, path, &ENGINE)?;
    let found = objects(connection).map_err(sqlite)?;
    let is_moved = found.iter().any(|object| object.name == moved::TABLE);
    let expected = made(taken, is_moved).map_err(sqlite)?;
    let surplus = found
        .difference(&expected)
        .map(|object| format!("{object} is not Sprag's"));
    let missing = expected.difference(&found).filter(|object| {
        let is_same = |other: &&Object| (&other.kind, &other.name) == (&object.kind, &object.name);
        !found.iter().any(|other| is_same(&other))
    });
    Ok(surplus
        .chain(missing.map(|object| format!("{object} is missing")))
        .collect())
}

/// What a database has whose first steps were taken.
fn made(taken: usize, is_moved: bool) -> rusqlite::Result<BTreeSet<Object>> {
    let reference = Connection::open_in_memory()?;
    reference.execute_batch(CREATE)?;
    for Migration { sql, .. } in MIGRATIONS.iter().take(taken) {
        reference.execute_batch(sql)?;
    }
    if is_moved {
        reference.execute_batch(moved::CREATE)?;
    }
    objects(&reference)
}

/// One object of a schema.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: Option<String>,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

fn objects(connection: &Connection) -> rusqlite::Result<BTreeSet<Object>> {
    let mut statement = connection.prepare(OBJECTS)?;
    let rows = statement.query_map([], |row| {
        Ok(Object {
            kind: row.get(0)?,
            name: row.get(1)?,
            table: row.get(2)?,
            sql: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// Whether the file's header says that it is a database of Sprag.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let owner: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(owner == APPLICATION_ID)
}

/// Marks an empty database as the schema's; refuses one of another program.
fn claim(connection: &Connection, path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let sqlite = |problem| OpenError::from_sqlite(path, problem);
    let owner: i32 = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .map_err(sqlite)?;
    if owner == schema.application_id {
        return Ok(());
    }
    let objects: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(sqlite)?;
    if owner != 0 || objects != 0 {
        return Err(OpenError::ForeignDatabase { path: path.to_owned() });
    }
    connection
        .pragma_update(None, "application_id", schema.application_id)
        .map_err(sqlite)?;
    connection.execute_batch(CREATE).map_err(sqlite)
}

/// The numbers and names of all steps.
#[cfg(test)]
pub(crate) fn known() -> Vec<(u32, &'static str)> {
    MIGRATIONS.iter().map(|known| (known.version, known.name)).collect()
}

fn recorded(connection: &Connection) -> rusqlite::Result<Vec<(u32, String)>> {
    connection
        .prepare(RECORDED)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// How many of the known steps are recorded. What is recorded must be a beginning of what is known.
fn check(recorded: &[(u32, String)], path: &Path, schema: &Schema) -> Result<usize, OpenError> {
    let known = schema.migrations.last().map_or(0, |migration| migration.version);
    if let Some(&(found, _)) = recorded.last()
        && found > known
    {
        return Err(OpenError::NewerDatabase {
            path: path.to_owned(),
            found,
            known,
        });
    }
    let same = recorded
        .iter()
        .zip(schema.migrations)
        .all(|((version, name), known)| *version == known.version && name == known.name);
    if same {
        Ok(recorded.len())
    } else {
        Err(OpenError::ForeignDatabase { path: path.to_owned() })
    }
}
