//! The schema, step by step. A step never changes once it is merged; `SQLite`'s have the same numbers and names.

use super::columns::{column, number};
use super::open_error::OpenError;
use super::session::Session;
use crate::traits::Error;

pub(super) struct Migration {
    pub(super) version: u32,
    pub(super) name: &'static str,
    sql: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal $file:literal),+ $(,)?) => {
        &[$(Migration { version: $version, name: $name, sql: include_str!(concat!($file, ".sql")) }),+]
    };
}

pub(super) const MIGRATIONS: &[Migration] = migrations![
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

/// One node at a time: `SPRG`, as a number. An index of a large table may take longer than any statement of a lane.
pub(super) const BEGIN: &str = "\
    BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(1397772871)";

const IS_OURS: &str = "SELECT to_regclass('schema_migration') IS NOT NULL";

/// Those that a move into the database leaves until it ends are no other program's.
pub(super) const TABLES: &str = "\
    SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('transfer', 'transfer_table')";

/// Whether a move into the database has begun and not ended.
const IS_UNFINISHED: &str = "SELECT to_regclass('transfer') IS NOT NULL";

/// What the user lacks: since version 15, only a database's owner may make tables in `public`.
const LACKS: &str = "\
    SELECT current_user::text, coalesce(current_schema()::text, '(none)'), current_database()::text \
    WHERE coalesce(NOT has_schema_privilege(current_schema(), 'CREATE'), true)";

const CREATE: &str = "CREATE TABLE schema_migration (version integer NOT NULL PRIMARY KEY, name text NOT NULL)";

const RECORDED: &str = "SELECT version, name FROM schema_migration ORDER BY version";

const RECORD: &str = "INSERT INTO schema_migration (version, name) VALUES ($1, $2)";

/// Brings the database to the newest schema, and gives it `shards` shards if it has none; how many it has. Either all
/// missing steps are taken or none; of several nodes that start at once, one takes them.
pub(super) async fn migrate(session: &Session, address: &str, shards: u32) -> Result<u32, OpenError> {
    let failed = |problem| OpenError::from_store(address, problem);
    session.run(BEGIN).await.map_err(failed)?;
    let done = if is_unfinished(session).await.map_err(failed)? {
        Err(OpenError::Unfinished {
            address: address.to_owned(),
        })
    } else {
        steps(session, address, shards).await
    };
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    session.run(end).await.map_err(failed)?;
    done
}

/// Whether half of a database is in this one.
pub(super) async fn is_unfinished(session: &Session) -> Result<bool, Error> {
    let found = session.first(IS_UNFINISHED, &[], |row| column(row, 0)).await?;
    Ok(found == Some(true))
}

/// Takes the missing steps, in a transaction that the caller began.
pub(super) async fn steps(session: &Session, address: &str, shards: u32) -> Result<u32, OpenError> {
    let failed = |problem| OpenError::from_store(address, problem);
    claim(session, address).await?;
    let recorded = session
        .all(RECORDED, &[], |row| {
            Ok((number::<i32, u32>(row, 0)?, column::<String>(row, 1)?))
        })
        .await
        .map_err(failed)?;
    let taken = check(&recorded, address)?;
    for Migration { version, name, sql } in MIGRATIONS.iter().skip(taken) {
        session.run(sql).await.map_err(failed)?;
        let version = i32::try_from(*version).unwrap_or(i32::MAX);
        session.rows(RECORD, &[&version, name]).await.map_err(failed)?;
    }
    super::shards::ensure(session, shards).await.map_err(failed)
}

/// Makes the table of steps in an empty schema; refuses a schema of another program.
async fn claim(session: &Session, address: &str) -> Result<(), OpenError> {
    let failed = |problem: Error| OpenError::from_store(address, problem);
    let is_ours = session
        .first(IS_OURS, &[], |row| column::<bool>(row, 0))
        .await
        .map_err(failed)?;
    if is_ours == Some(true) {
        return Ok(());
    }
    let tables = session
        .first(TABLES, &[], |row| column::<i64>(row, 0))
        .await
        .map_err(failed)?;
    if tables != Some(0) {
        return Err(OpenError::ForeignDatabase {
            address: address.to_owned(),
        });
    }
    may_create(session, address).await?;
    session.run(CREATE).await.map_err(failed)
}

/// Refuses a user that may not make tables, before one is tried.
pub(super) async fn may_create(session: &Session, address: &str) -> Result<(), OpenError> {
    let lacks = session
        .first(LACKS, &[], |row| {
            Ok((column(row, 0)?, column(row, 1)?, column(row, 2)?))
        })
        .await
        .map_err(|problem| OpenError::from_store(address, problem))?;
    match lacks {
        None => Ok(()),
        Some((user, schema, database)) => Err(OpenError::Rights {
            address: address.to_owned(),
            user,
            schema,
            database,
        }),
    }
}

/// How many of the known steps are recorded. What is recorded must be a beginning of what is known.
fn check(recorded: &[(u32, String)], address: &str) -> Result<usize, OpenError> {
    let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
    if let Some(&(found, _)) = recorded.last()
        && found > known
    {
        return Err(OpenError::NewerDatabase {
            address: address.to_owned(),
            found,
            known,
        });
    }
    let same = recorded
        .iter()
        .zip(MIGRATIONS)
        .all(|((version, name), known)| *version == known.version && name == known.name);
    if same {
        Ok(recorded.len())
    } else {
        Err(OpenError::ForeignDatabase {
            address: address.to_owned(),
        })
    }
}
