//! The mark that each commit of a lane leaves, and the fences it holds.
//!
//! A connection that is lost while a commit is under way leaves open whether it landed. The lane's row answers that: every
//! commit writes its number there, and a new connection raises the row's `session` before it reads the number. An old
//! transaction that has the row is waited for; one that comes later finds another session, and ends without a trace.

use tokio_postgres::Row;

use super::columns::{Id, column};
use super::errors::{FENCE_BROKEN, SUPERSEDED};
use super::session::{Call, Session};
use crate::traits::{Error, Fence};

/// What every commit begins with. The rows of the shards stay locked until it ends, so that nobody takes one over
/// meanwhile; the lane's mark goes along, which saves a statement.
pub(super) const FENCE: &str = "\
    WITH held AS MATERIALIZED (SELECT id, epoch FROM shard WHERE id = ANY($1::integer[]) ORDER BY id FOR SHARE), \
    broken AS (SELECT fence.id FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY AS fence (id, epoch, position) \
    LEFT JOIN held ON held.id = fence.id WHERE held.epoch IS DISTINCT FROM fence.epoch ORDER BY position LIMIT 1), \
    marked AS (UPDATE lane SET number = $5, seen_at = now() WHERE id = $3 AND session = $4 RETURNING 1) \
    SELECT CASE WHEN EXISTS (SELECT 1 FROM broken) THEN sprag_refuse('SPR02', (SELECT id FROM broken)::text) \
    WHEN NOT EXISTS (SELECT 1 FROM marked) THEN sprag_refuse('SPR03', 'another connection of this lane took over') \
    ELSE 0 END";

const CLAIM: &str = "\
    INSERT INTO lane (id) VALUES (coalesce($1, gen_random_uuid())) \
    ON CONFLICT (id) DO UPDATE SET session = lane.session + 1, seen_at = now() RETURNING id, session, number";

/// Lanes that wrote nothing for a day are those of processes long gone.
const FORGET: &str = "DELETE FROM lane WHERE seen_at < now() - interval '1 day'";

/// The place of a lane's commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    id: Id,
    session: i64,
    /// Of the newest commit that landed.
    pub(super) number: i64,
}

impl Mark {
    /// The mark of the commit after the newest.
    pub(super) fn next(self) -> Self {
        Self {
            number: self.number + 1,
            ..self
        }
    }
}

/// Takes the lane's row for this connection, a new one for a new lane, and says which commit of it landed last.
pub(super) async fn claim(session: &Session, before: Option<Mark>) -> Result<Mark, Error> {
    if before.is_none() {
        session.rows(FORGET, &[]).await?;
    }
    let id = before.map(|mark| mark.id);
    let claimed = session.first(CLAIM, &[&id], read).await?;
    claimed.ok_or_else(|| Error::Failed {
        detail: "the lane got no row".to_owned(),
    })
}

fn read(row: &Row) -> Result<Mark, Error> {
    Ok(Mark {
        id: column(row, 0)?,
        session: column(row, 1)?,
        number: column(row, 2)?,
    })
}

/// The first statement of a commit.
pub(super) fn fence<'a>(fences: &[Fence], mark: Mark) -> Result<Call<'a>, Error> {
    debug_assert!(FENCE.contains(FENCE_BROKEN) && FENCE.contains(SUPERSEDED));
    let mut shards = Vec::with_capacity(fences.len());
    let mut epochs = Vec::with_capacity(fences.len());
    for &Fence { shard, epoch } in fences {
        // What does not fit its column is held by nobody.
        let (Ok(id), Ok(epoch)) = (i32::try_from(shard.0), i64::try_from(epoch)) else {
            return Err(Error::FenceBroken { shard });
        };
        shards.push(id);
        epochs.push(epoch);
    }
    let Mark { id, session, number } = mark;
    let values = vec![
        Box::new(shards) as _,
        Box::new(epochs) as _,
        Box::new(id) as _,
        Box::new(session) as _,
        Box::new(number) as _,
    ];
    Ok(Call::new(FENCE, values))
}
