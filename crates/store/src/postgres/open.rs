//! Opening a database.
//!
//! In this order: a connection, a server that can be trusted, the schema brought up to date by one node at a time, the
//! number of shards as the database has it. Nothing is written before the server was looked at.

use std::sync::Arc;

use super::address::Address;
use super::link::{Link, Role, Target};
use super::migrations;
use super::nodes::Members;
use super::open_error::OpenError;
use super::reader::Pool;
use super::server;
use super::tls;
use super::writer::Writer;

/// How many shards a new database has, unless the operator wants another number.
pub const SHARDS: u32 = 64;

/// How many it may have.
pub const SHARDS_MAX: u32 = 4_096;

/// Which database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where it is.
    pub address: Address,
    /// How many shards it gets if it is new; one that exists keeps those it has.
    pub shards: u32,
}

/// An open database.
pub struct Store {
    /// For the lane.
    pub writer: Writer,
    /// For everybody else.
    pub readers: Pool,
    /// For the node among others.
    pub members: Members,
    /// How many shards the database has.
    pub shards: u32,
}

/// Opens the database, bringing its schema up to date where needed.
pub fn open(options: &Options) -> Result<Store, OpenError> {
    // On a thread of its own: the caller may be on a thread of another runtime, which must not block.
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| open_here(options));
        opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn open_here(options: &Options) -> Result<Store, OpenError> {
    let Options { address, shards } = options;
    if !(1..=SHARDS_MAX).contains(shards) {
        return Err(OpenError::Shards {
            shards: *shards,
            most: SHARDS_MAX,
        });
    }
    let target = Arc::new(target(address)?);
    let shown = address.to_string();
    let failed = |problem| OpenError::from_store(&shown, problem);
    // Not a lane yet: without a schema there is no row to take.
    let mut link = Link::new(Arc::clone(&target), Role::Opening).map_err(failed)?;
    let reason = link
        .ask(&async |session| server::unsuitable(session, address.allows_unsafe).await)
        .map_err(failed)?;
    if let Some(reason) = reason {
        return Err(OpenError::Unsuitable { address: shown, reason });
    }
    let shards = link
        .ask(&async |session| Ok(migrations::migrate(session, &shown, *shards).await))
        .map_err(failed)??;
    let mut lane = Link::new(Arc::clone(&target), Role::Lane).map_err(failed)?;
    lane.connect().map_err(failed)?;
    Ok(Store {
        writer: Writer::new(lane, shards),
        readers: Pool::new(&target).map_err(failed)?,
        members: Members::new(Link::new(target, Role::Member).map_err(failed)?),
        shards,
    })
}

pub(super) fn target(address: &Address) -> Result<Target, OpenError> {
    let tls = if address.is_encrypted() {
        let connector = tls::connector(address.authorities.as_deref());
        Some(connector.map_err(|detail| OpenError::Authorities { detail })?)
    } else {
        None
    };
    Ok(Target {
        config: address.config.clone(),
        tls,
        allows_unsafe: address.allows_unsafe,
    })
}
