//! The mark that each commit of a lane leaves, and the fences it holds.
//!
//! A connection that is lost while a commit is under way leaves open whether it landed. The lane's row answers that: every
//! commit writes its number there, and a new connection raises the row's `session` before it reads the number. An old
//! transaction that has the row is waited for; one that comes later finds another session, and ends without a trace.

use tokio_postgres::Row;

use super::columns::{Id, column};
use super::errors::SUPERSEDED;
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::traits::{Error, Fence};

/// What every commit begins with. The rows of the shards stay locked until it ends, so that no node takes one over
/// meanwhile; the lane's mark goes along, which saves a statement. Shards come in the order of their numbers. A commit that was
/// sent before it was known what became of the one before is refused if that one did not land.
pub(super) const FENCE: Text = Text {
    rows: None,
    with: "\
    held AS MATERIALIZED (SELECT epoch FROM shard WHERE id = ANY($1::integer[]) ORDER BY id FOR SHARE), \
    marked AS (UPDATE lane SET number = $5, seen_at = now() \
    WHERE id = $3 AND session = $4 AND number = $5::bigint - 1 RETURNING 1)",
    refusals: "\
    WHEN coalesce((SELECT array_agg(epoch) FROM held), '{}') <> $2::bigint[] THEN sprag_refuse_fence($1, $2) \
    WHEN NOT EXISTS (SELECT 1 FROM marked) \
    THEN sprag_refuse('SPR03', 'another connection of this lane took over, or the commit before was not written') ",
};

const CLAIM: &str = "\
    INSERT INTO lane (id) VALUES (coalesce($1, gen_random_uuid())) \
    ON CONFLICT (id) DO UPDATE SET session = lane.session + 1, seen_at = now() RETURNING id, session, number";

/// Lanes that wrote nothing for a day are those of processes long gone.
const FORGET: &str = "DELETE FROM lane WHERE seen_at < now() - interval '1 day'";

/// The place of a lane's commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommitMark {
    id: Id,
    session: i64,
    /// Of the newest commit that landed.
    pub(super) number: i64,
}

impl CommitMark {
    /// The mark of the commit after the newest.
    pub(super) fn next(self) -> Self {
        Self {
            number: self.number + 1,
            ..self
        }
    }
}

/// Takes the lane's row for this connection, a new one for a new lane, and says which commit of it landed last.
pub(super) async fn claim(session: &Session, before: Option<CommitMark>) -> Result<CommitMark, Error> {
    if before.is_none() {
        session.rows(FORGET, &[]).await?;
    }
    let id = before.map(|mark| mark.id);
    let claimed = session.first(CLAIM, &[&id], read).await?;
    claimed.ok_or_else(|| Error::Failed {
        detail: "the lane got no row".to_owned(),
    })
}

fn read(row: &Row) -> Result<CommitMark, Error> {
    Ok(CommitMark {
        id: column(row, 0)?,
        session: column(row, 1)?,
        number: column(row, 2)?,
    })
}

/// The first part of a commit.
pub(super) fn fence<'a>(fences: &[Fence], mark: CommitMark) -> Result<StatementPart<'a>, Error> {
    debug_assert!(FENCE.refusals.contains(SUPERSEDED));
    let mut held = Vec::with_capacity(fences.len());
    for &Fence { shard, epoch } in fences {
        // What does not fit its column is held by no lane.
        let (Ok(id), Ok(epoch)) = (i32::try_from(shard.0), i64::try_from(epoch)) else {
            return Err(Error::FenceBroken { shard });
        };
        held.push((id, epoch));
    }
    held.sort_unstable();
    held.dedup();
    let CommitMark { id, session, number } = mark;
    let values = vec![
        list(&held, |(id, _)| *id),
        list(&held, |(_, epoch)| *epoch),
        Box::new(id) as _,
        Box::new(session) as _,
        Box::new(number) as _,
    ];
    Ok(StatementPart::new(FENCE, values))
}
