//! The one shard of a file and its epoch.

use rusqlite::{Connection, params};

use super::columns::row;
use super::errors::classify;
use crate::traits::{Error, Fence, ShardId};

/// The shard that holds everything.
pub(super) const ONLY: ShardId = ShardId(0);

pub(super) const EPOCH: &str = "SELECT epoch FROM shard WHERE id = ?1";

pub(super) const RAISE: &str = "UPDATE shard SET epoch = epoch + 1 WHERE id = ?1 RETURNING epoch";

/// Fails on the first fence that is broken.
pub(super) fn check(connection: &Connection, fences: &[Fence]) -> Result<(), Error> {
    for &Fence { shard, epoch } in fences {
        let current: Option<u64> =
            row(connection, EPOCH, params![shard.0], |row| row.get(0)).map_err(|problem| classify(&problem))?;
        if current != Some(epoch) {
            return Err(Error::FenceBroken { shard });
        }
    }
    Ok(())
}

/// Raises the epoch of a shard.
pub(super) fn acquire(connection: &Connection, shard: ShardId) -> Result<Fence, Error> {
    let raised = row(connection, RAISE, params![shard.0], |row| row.get(0)).map_err(|problem| classify(&problem))?;
    match raised {
        Some(epoch) => Ok(Fence { shard, epoch }),
        None => Err(Error::Refused {
            detail: format!("there is no shard {}", shard.0),
        }),
    }
}
