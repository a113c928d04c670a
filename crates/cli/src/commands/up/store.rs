//! The store of a server: opened, or refused with one clear line.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_store::traits::Readers;
use sprag_store::{LaneStore, Nodes, postgres, sqlite};

use crate::config::StoreAddress;
use crate::failure::Failure;

/// The variable that chooses a failpoint, in builds that have them.
const FAILPOINT: &str = "SPRAG_FAILPOINT";

/// An open store.
pub(in crate::commands) struct Opened {
    /// For the lane.
    pub(in crate::commands) lane: Box<dyn LaneStore>,
    /// For everybody else.
    pub(super) readers: Arc<dyn Readers>,
    /// Engine time.
    pub(in crate::commands) clock: Arc<System>,
    /// How many shards it has.
    pub(in crate::commands) shards: u32,
    /// The way to other nodes on the same store, where there may be any.
    pub(super) nodes: Option<Box<dyn Nodes>>,
}

/// Opens the store. A database that is new is divided into so many shards.
pub(in crate::commands) fn open(address: &StoreAddress, shards: u32) -> Result<Opened, Failure> {
    match address {
        StoreAddress::Sqlite(path) => open_file(path, sqlite::open),
        StoreAddress::MovedSqlite(path) => open_file(path, sqlite::open_moved),
        StoreAddress::SqliteWithoutLog(path) => open_file(path, sqlite::open_without_log),
        StoreAddress::Postgres(address) => open_database(address, shards),
    }
}

fn open_file(
    path: &Path,
    open: fn(&sqlite::Options) -> Result<sqlite::Store, sqlite::OpenError>,
) -> Result<Opened, Failure> {
    let options = sqlite::Options { path: path.to_owned() };
    let sqlite::Store { writer, readers } = open(&options).map_err(|error| not_opened(&error, error.code()))?;
    Ok(Opened {
        lane: lane(writer)?,
        readers: Arc::new(readers),
        clock: clock(),
        shards: 1,
        nodes: None,
    })
}

fn open_database(address: &postgres::Address, shards: u32) -> Result<Opened, Failure> {
    let options = postgres::Options {
        address: address.clone(),
        shards,
    };
    let postgres::Store {
        writer,
        readers,
        members,
        shards,
    } = postgres::open(&options).map_err(|error| not_opened(&error, error.code()))?;
    Ok(Opened {
        lane: lane(writer)?,
        readers: Arc::new(readers),
        // The first heartbeat sets it to the database's time.
        clock: clock(),
        shards,
        nodes: Some(Box::new(members)),
    })
}

/// The machine's clock. The lane compares it with what is stored.
fn clock() -> Arc<System> {
    Arc::new(System::start(Timestamp::default()))
}

fn not_opened(error: &dyn Error, code: &str) -> Failure {
    let failure = Failure::new(error.to_string()).code(code);
    match error.source() {
        Some(cause) => failure.note(format!("cause: {cause}")),
        None => failure,
    }
}

#[cfg(feature = "failpoints")]
fn lane(writer: impl LaneStore + 'static) -> Result<Box<dyn LaneStore>, Failure> {
    use sprag_store::Hooked;
    use sprag_store::failpoint::Dying;
    let Ok(text) = std::env::var(FAILPOINT) else {
        return Ok(Box::new(writer));
    };
    // Some are between the steps of a runner, not at the store.
    if sprag_runners::registry::failpoint::choose(&text) {
        return Ok(Box::new(writer));
    }
    let failpoint = text
        .parse()
        .map_err(|error| Failure::invalid(format!("{FAILPOINT}: {error}")))?;
    Ok(Box::new(Hooked::new(writer, Dying::at(failpoint))))
}

/// A test that counts on dying must not pass because nothing dies.
#[cfg(not(feature = "failpoints"))]
fn lane(writer: impl LaneStore + 'static) -> Result<Box<dyn LaneStore>, Failure> {
    match std::env::var_os(FAILPOINT) {
        None => Ok(Box::new(writer)),
        Some(_) => Err(Failure::invalid(format!(
            "{FAILPOINT} is set, and this build has no failpoints"
        ))),
    }
}
