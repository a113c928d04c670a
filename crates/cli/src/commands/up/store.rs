//! The store of a server: opened, or refused with one clear line.

use std::error::Error as _;

use sprag_core::time::Timestamp;
use sprag_store::LaneStore;
use sprag_store::sqlite::{self, OpenError, ReadPool, Writer};

use crate::config::StoreAddress;
use crate::failure::Failure;

/// The variable that chooses a failpoint, in builds that have them.
const FAILPOINT: &str = "SPRAG_FAILPOINT";

/// An open store.
pub(super) struct Opened {
    /// For the lane.
    pub(super) lane: Box<dyn LaneStore>,
    /// For everybody else.
    pub(super) readers: ReadPool,
    /// The latest instant the store knows: engine time starts no earlier.
    pub(super) latest: Timestamp,
}

/// Opens the store.
pub(super) fn open(address: &StoreAddress) -> Result<Opened, Failure> {
    let StoreAddress::Sqlite(path) = address;
    let sqlite::Store { mut writer, readers } =
        sqlite::open(&sqlite::Options { path: path.clone() }).map_err(|error| not_opened(&error))?;
    let life = writer.last_life().map_err(|error| Failure::new(error.to_string()))?;
    let latest = life.map(|life| life.seen_at.max(life.started_at)).unwrap_or_default();
    Ok(Opened {
        lane: lane(writer)?,
        readers,
        latest,
    })
}

fn not_opened(error: &OpenError) -> Failure {
    let failure = Failure::new(error.to_string()).code(error.code());
    match error.source() {
        Some(cause) => failure.note(format!("cause: {cause}")),
        None => failure,
    }
}

#[cfg(feature = "failpoints")]
fn lane(writer: Writer) -> Result<Box<dyn LaneStore>, Failure> {
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
fn lane(writer: Writer) -> Result<Box<dyn LaneStore>, Failure> {
    match std::env::var_os(FAILPOINT) {
        None => Ok(Box::new(writer)),
        Some(_) => Err(Failure::invalid(format!(
            "{FAILPOINT} is set, and this build has no failpoints"
        ))),
    }
}
