//! Nodes, their leases, and the shards they own.
//!
//! Time is the database's at the moment of the statement, never a node's. Rows are locked in one order: nodes by id, then
//! shards by id. A claim holds the row of whomever it takes a shard from, so a lease that is being renewed is waited for
//! and then counts; and it holds the shard's row, so a commit that is under way lands before the epoch rises or not at all.

use sprag_core::ids::NodeId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Id, bound, column, instant, number};
use super::link::Link;
use super::session::Session;
use crate::nodes::{Beat, Claimed, GONE_KEPT_MILLIS, Node, Nodes, Shard, View};
use crate::traits::{Error, Fence, ShardId};

const BEAT: &str = "\
    WITH proposed AS (INSERT INTO node_token (token) VALUES ($5) ON CONFLICT DO NOTHING), \
    at AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) \
    INSERT INTO node (id, advertise, version, joined_at, lease_until, is_leaving, place) \
    SELECT $1::uuid, $2::text, $3::text, now, now + $4::bigint, $6::boolean, $7::text FROM at \
    ON CONFLICT (id) DO UPDATE SET advertise = excluded.advertise, version = excluded.version, place = excluded.place, \
    lease_until = excluded.lease_until, is_leaving = excluded.is_leaving";

/// Before a node joins: the node that was in its place is gone. Those that joined are left alone.
const OUST: &str = "\
    WITH at AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now), \
    there AS MATERIALIZED (SELECT id FROM node WHERE place = $2 AND id <> $1 AND NOT is_leaving \
    AND NOT EXISTS (SELECT FROM node AS known WHERE known.id = $1) ORDER BY id FOR UPDATE) \
    UPDATE node SET lease_until = least(node.lease_until, at.now) FROM at, there WHERE node.id = there.id";

/// Those that are being claimed from belong to another node.
const FORGET: &str = "\
    DELETE FROM node WHERE id IN (SELECT id FROM node WHERE \
    lease_until + $1::bigint <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
    AND NOT EXISTS (SELECT FROM shard WHERE shard.owner = node.id) ORDER BY id FOR UPDATE SKIP LOCKED)";

/// What follows is as of one instant.
const LOOK: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const SHOWN: &str = "SELECT token, (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM node_token";

const NODES: &str = "SELECT id, advertise, version, joined_at, lease_until, is_leaving FROM node ORDER BY id";

const SHARDS: &str = "SELECT id, owner, epoch FROM shard ORDER BY id";

const HOLD_OWNERS: &str = "\
    SELECT id FROM node WHERE id = $1 OR id IN (SELECT owner FROM shard WHERE shard.id = ANY($2)) ORDER BY id FOR UPDATE";

/// An owner counts as gone only if it is held (`$3`) and its lease is over, or if it is not there at all.
const TAKE: &str = "\
    WITH at AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now), \
    free AS MATERIALIZED (SELECT shard.id, shard.owner FROM shard WHERE shard.id = ANY($2) \
    AND (shard.owner = $1 OR NOT EXISTS (SELECT FROM node, at WHERE node.id = shard.owner \
    AND (node.lease_until > at.now OR node.id <> ALL($3)))) \
    AND EXISTS (SELECT FROM node, at WHERE node.id = $1 AND node.lease_until > at.now) \
    ORDER BY shard.id FOR UPDATE OF shard) \
    UPDATE shard SET owner = $1, epoch = shard.epoch + 1 FROM free \
    LEFT JOIN node AS former ON former.id = free.owner AND former.id <> $1 WHERE shard.id = free.id \
    RETURNING shard.id, shard.epoch, former.id, former.advertise, former.version, former.joined_at, \
    former.lease_until, former.is_leaving";

const RELEASE: &str = "\
    WITH given AS MATERIALIZED (SELECT shard.id FROM shard JOIN unnest($2::integer[], $3::bigint[]) AS fence (id, epoch) \
    ON fence.id = shard.id AND fence.epoch = shard.epoch WHERE shard.owner = $1 ORDER BY shard.id FOR UPDATE OF shard) \
    UPDATE shard SET owner = NULL FROM given WHERE shard.id = given.id";

const LEAVE: &str = "DELETE FROM node WHERE id = $1";

const RELEASE_ALL: &str = "\
    WITH given AS MATERIALIZED (SELECT id FROM shard WHERE owner = $1 ORDER BY id FOR UPDATE) \
    UPDATE shard SET owner = NULL FROM given WHERE shard.id = given.id";

/// One node's way to the others.
pub struct Members {
    link: Link,
}

impl Members {
    pub(super) fn new(link: Link) -> Self {
        Self { link }
    }
}

impl Nodes for Members {
    fn heartbeat(&mut self, beat: &Beat) -> Result<View, Error> {
        let Beat {
            node,
            advertise,
            version,
            place,
            lease_millis,
            token,
            is_leaving,
        } = beat;
        let (id, lease) = (Id::from(*node), bound(*lease_millis));
        self.link.ask(&async |session| {
            session.rows(OUST, &[&id, place]).await?;
            let values: [&(dyn ToSql + Sync); 7] = [&id, advertise, version, &lease, token, is_leaving, place];
            session.rows(BEAT, &values).await?;
            session.rows(FORGET, &[&bound(GONE_KEPT_MILLIS)]).await?;
            whole(session, LOOK, look(session)).await
        })
    }

    fn claim(&mut self, node: NodeId, shards: &[ShardId]) -> Result<Vec<Claimed>, Error> {
        let wanted: Vec<i32> = shards.iter().filter_map(|shard| i32::try_from(shard.0).ok()).collect();
        self.link
            .ask(&async |session| whole(session, "BEGIN", take(session, node, &wanted)).await)
    }

    fn release(&mut self, node: NodeId, fences: &[Fence]) -> Result<(), Error> {
        let number = |fence: &Fence| i32::try_from(fence.shard.0).unwrap_or(i32::MAX);
        let numbers: Vec<i32> = fences.iter().map(number).collect();
        let epochs: Vec<i64> = fences.iter().map(|fence| bound(fence.epoch)).collect();
        self.link.ask(&async |session| {
            session.rows(RELEASE, &[&Id::from(node), &numbers, &epochs]).await?;
            Ok(())
        })
    }

    fn leave(&mut self, node: NodeId) -> Result<(), Error> {
        self.link.ask(&async |session| {
            let leave = async {
                session.rows(LEAVE, &[&Id::from(node)]).await?;
                session.rows(RELEASE_ALL, &[&Id::from(node)]).await?;
                Ok(())
            };
            whole(session, "BEGIN", leave).await
        })
    }
}

/// Does something as one transaction.
async fn whole<T>(session: &Session, begin: &str, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    session.run(begin).await?;
    let done = work.await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    session.run(end).await?;
    done
}

async fn look(session: &Session) -> Result<View, Error> {
    let shown = session
        .first(SHOWN, &[], |row| Ok((column::<String>(row, 0)?, instant(row, 1)?)))
        .await?;
    let (token, now) = shown.ok_or_else(|| missing("token of the nodes"))?;
    Ok(View {
        now,
        token,
        nodes: session.all(NODES, &[], |row| read_node(row, 0)).await?,
        shards: session.all(SHARDS, &[], read_shard).await?,
    })
}

async fn take(session: &Session, node: NodeId, wanted: &[i32]) -> Result<Vec<Claimed>, Error> {
    let id = Id::from(node);
    let held: Vec<Id> = session.all(HOLD_OWNERS, &[&id, &wanted], |row| column(row, 0)).await?;
    let mut claimed = session.all(TAKE, &[&id, &wanted, &held], read_claimed).await?;
    claimed.sort_unstable_by_key(|claimed| claimed.fence.shard);
    Ok(claimed)
}

fn read_claimed(row: &Row) -> Result<Claimed, Error> {
    let former = match column::<Option<Id>>(row, 2)? {
        Some(_) => Some(read_node(row, 2)?),
        None => None,
    };
    let fence = Fence {
        shard: ShardId(number::<i32, u32>(row, 0)?),
        epoch: number::<i64, u64>(row, 1)?,
    };
    Ok(Claimed { fence, former })
}

/// A node whose columns begin at a position.
fn read_node(row: &Row, first: usize) -> Result<Node, Error> {
    Ok(Node {
        id: column(row, first).map(|Id(bytes)| NodeId::from_bytes(bytes))?,
        advertise: column(row, first + 1)?,
        version: column(row, first + 2)?,
        joined_at: instant(row, first + 3)?,
        lease_until: instant(row, first + 4)?,
        is_leaving: column(row, first + 5)?,
    })
}

fn read_shard(row: &Row) -> Result<Shard, Error> {
    Ok(Shard {
        id: ShardId(number::<i32, u32>(row, 0)?),
        owner: column::<Option<Id>>(row, 1)?.map(|Id(bytes)| NodeId::from_bytes(bytes)),
        epoch: number::<i64, u64>(row, 2)?,
    })
}

fn missing(what: &str) -> Error {
    Error::Failed {
        detail: format!("the database gave no {what}"),
    }
}
