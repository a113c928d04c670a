//! The store of a server: opened, or refused with one clear line.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use sprag_core::time::Timestamp;
use sprag_store::traits::Readers;
use sprag_store::{LaneStore, postgres, sqlite};

use crate::config::StoreAddress;
use crate::failure::Failure;

/// The variable that chooses a failpoint, in builds that have them.
const FAILPOINT: &str = "SPRAG_FAILPOINT";

/// How many shards a database gets. A server has one lane, which owns one shard.
pub(crate) const SHARDS: u32 = 1;

/// An open store.
pub(in crate::commands) struct Opened {
    /// For the lane.
    pub(super) lane: Box<dyn LaneStore>,
    /// For everybody else.
    pub(super) readers: Arc<dyn Readers>,
    /// The latest instant the store knows: engine time starts no earlier.
    pub(in crate::commands) latest: Timestamp,
}

/// Opens the store.
pub(in crate::commands) fn open(address: &StoreAddress) -> Result<Opened, Failure> {
    match address {
        StoreAddress::Sqlite(path) => open_file(path),
        StoreAddress::Postgres(address) => open_database(address),
    }
}

fn open_file(path: &Path) -> Result<Opened, Failure> {
    let options = sqlite::Options { path: path.to_owned() };
    let sqlite::Store { writer, readers } = sqlite::open(&options).map_err(|error| not_opened(&error, error.code()))?;
    opened(writer, Arc::new(readers))
}

fn open_database(address: &postgres::Address) -> Result<Opened, Failure> {
    let options = postgres::Options {
        address: address.clone(),
        shards: SHARDS,
    };
    let postgres::Store {
        writer,
        readers,
        shards,
    } = postgres::open(&options).map_err(|error| not_opened(&error, error.code()))?;
    if shards != SHARDS {
        return Err(Failure::new(format!(
            "`{address}` has {shards} shards, and this server would serve one of them; name another database"
        )));
    }
    opened(writer, Arc::new(readers))
}

fn opened(mut writer: impl LaneStore + 'static, readers: Arc<dyn Readers>) -> Result<Opened, Failure> {
    let life = writer.last_life().map_err(|error| Failure::new(error.to_string()))?;
    let latest = life.map(|life| life.seen_at.max(life.started_at)).unwrap_or_default();
    Ok(Opened {
        lane: lane(writer)?,
        readers,
        latest,
    })
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
    use sprag_store::failpoint::Failing;
    let Ok(text) = std::env::var(FAILPOINT) else {
        return Ok(Box::new(writer));
    };
    // Some are between the steps of a runner, not at the store.
    if sprag_runners::failpoint::choose(&text) {
        return Ok(Box::new(writer));
    }
    let failpoint = text
        .parse()
        .map_err(|error| Failure::invalid(format!("{FAILPOINT}: {error}")))?;
    Ok(Box::new(Failing::new(writer, failpoint)))
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
