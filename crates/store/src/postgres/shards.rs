//! The shards and their epochs.

use super::columns::{column, number};
use super::session::Session;
use crate::traits::{Error, Fence, ShardId};

const RAISE: &str = "UPDATE shard SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch";

const COUNT: &str = "SELECT count(*) FROM shard";

const CREATE: &str = "INSERT INTO shard (id, epoch) SELECT id, 0 FROM generate_series(0, $1::integer - 1) AS id";

/// Where definitions, facts and jobs are at home.
pub(super) const CONTROL: ShardId = ShardId(0);

/// How many shards there are. A database that has none yet gets `wanted`.
pub(super) async fn ensure(session: &Session, wanted: u32) -> Result<u32, Error> {
    let stored = session.first(COUNT, &[], |row| number::<i64, u32>(row, 0)).await?;
    if let Some(stored) = stored.filter(|stored| *stored > 0) {
        return Ok(stored);
    }
    session
        .rows(CREATE, &[&i32::try_from(wanted).unwrap_or(i32::MAX)])
        .await?;
    Ok(wanted)
}

/// Raises the epoch of a shard.
pub(super) async fn acquire(session: &Session, shard: ShardId) -> Result<Fence, Error> {
    let raised = match id(shard) {
        Some(id) => session.first(RAISE, &[&id], |row| column::<i64>(row, 0)).await?,
        None => None,
    };
    match raised.and_then(|epoch| u64::try_from(epoch).ok()) {
        Some(epoch) => Ok(Fence { shard, epoch }),
        None => Err(Error::Refused {
            detail: format!("there is no shard {}", shard.0),
        }),
    }
}

fn id(shard: ShardId) -> Option<i32> {
    i32::try_from(shard.0).ok()
}
