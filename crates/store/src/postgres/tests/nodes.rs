//! Nodes on a real database: the suite, and what only a server with several connections can show.

use std::sync::Barrier;
use std::thread;

use sprag_core::ids::{NodeId, Slot};
use sprag_core::time::Timestamp;
use sprag_tests::Postgres;

use super::super::Store;
use super::Database;
use crate::conformance::fixtures::{execution, inserts};
use crate::conformance::{Crowd, NODES, run_crowd};
use crate::nodes::{Beat, Claimed, Nodes};
use crate::traits::{CommitStore, Error, Fence, LaneStore, ShardId};

const SHARDS: u32 = 16;

impl Crowd for Database {
    fn nodes(&self) -> Box<dyn Nodes> {
        Box::new(self.store().members)
    }

    fn lane(&self) -> Box<dyn LaneStore> {
        Box::new(self.store().writer)
    }

    /// A real database cannot be told what time it is: everything that was before is moved back instead.
    fn pass(&self, millis: u64) {
        let sql = format!("UPDATE node SET joined_at = joined_at - {millis}, lease_until = lease_until - {millis}");
        Postgres::shared().sql(&self.name(), &sql);
    }
}

#[test]
fn it_passes_the_suite_of_nodes() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    run_crowd(NODES, || Database::with_shards(SHARDS))
}

fn id(number: u64) -> NodeId {
    NodeId::compose(Timestamp::from_millis(1), Slot(0), number)
}

fn beat(number: u64, lease_millis: u64) -> Beat {
    Beat {
        node: id(number),
        advertise: format!("http://127.0.0.1:{number}"),
        version: "1".to_owned(),
        place: None,
        lease_millis,
        token: format!("token {number}"),
        is_leaving: false,
    }
}

fn all() -> Vec<ShardId> {
    (0..SHARDS).map(ShardId).collect()
}

fn fences(claimed: &[Claimed]) -> Vec<Fence> {
    claimed.iter().map(|claimed| claimed.fence).collect()
}

/// Writes something that a lease has run out: nobody waits for it.
fn end_lease(database: &Database, node: NodeId) {
    let id = u128::from_be_bytes(node.to_bytes());
    let sql = format!("UPDATE node SET lease_until = 0 WHERE id = '{id:032x}'");
    Postgres::shared().sql(&database.name(), &sql);
}

#[test]
fn of_many_that_claim_at_once_each_shard_has_one_owner_and_one_epoch() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let mut gone = database.store().members;
    for round in 0..10_u64 {
        // Sometimes the shards are free, sometimes a dead node's.
        gone.heartbeat(&beat(1, 60_000))?;
        let before = if round % 2 == 0 {
            gone.claim(id(1), &all())?
        } else {
            Vec::new()
        };
        end_lease(&database, id(1));
        let barrier = Barrier::new(6);
        let taken: Vec<Vec<Claimed>> = thread::scope(|scope| {
            let racers: Vec<_> = (2..8_u64)
                .map(|racer| {
                    let (mut nodes, barrier) = (database.store().members, &barrier);
                    scope.spawn(move || -> Result<_, Error> {
                        nodes.heartbeat(&beat(racer, 60_000))?;
                        barrier.wait();
                        nodes.claim(id(racer), &all())
                    })
                })
                .collect();
            racers
                .into_iter()
                .map(|racer| racer.join().unwrap())
                .collect::<Result<_, _>>()
        })?;
        let mut given: Vec<Fence> = taken.iter().flat_map(|claimed| fences(claimed)).collect();
        given.sort_unstable_by_key(|fence| fence.shard);
        let shards: Vec<ShardId> = given.iter().map(|fence| fence.shard).collect();
        assert_eq!(shards, all(), "round {round}: each is given once");
        for (old, new) in fences(&before).iter().zip(&given) {
            assert_eq!(new.epoch, old.epoch + 1, "round {round}");
        }
        for racer in 2..8 {
            gone.leave(id(racer))?;
        }
    }
    Ok(())
}

#[test]
fn a_lease_that_is_renewed_while_somebody_claims_is_respected() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let (mut owner, mut other) = (database.store().members, database.store().members);
    let (mut taken, mut kept) = (0, 0);
    for round in 0..60 {
        owner.leave(id(2))?;
        other.heartbeat(&beat(2, 60_000))?;
        owner.heartbeat(&beat(1, 60_000))?;
        owner.claim(id(1), &all())?;
        end_lease(&database, id(1));
        let barrier = Barrier::new(2);
        let (view, claimed) = thread::scope(|scope| {
            let renewing = scope.spawn(|| {
                barrier.wait();
                owner.heartbeat(&beat(1, 60_000))
            });
            barrier.wait();
            let claimed = other.claim(id(2), &all());
            (renewing.join().unwrap(), claimed)
        });
        let (view, claimed) = (view?, claimed?);
        let held = view.shards.iter().filter(|shard| shard.owner == Some(id(1))).count();
        assert!(
            claimed.len() == all().len() || claimed.is_empty(),
            "round {round}: all of them or none"
        );
        if claimed.is_empty() {
            kept += 1;
            assert_eq!(held, all().len(), "round {round}");
        } else {
            taken += 1;
            // Whoever renewed first may not have seen it yet; its next look shows it.
            let next = owner.heartbeat(&beat(1, 60_000))?;
            assert!(
                next.shards.iter().all(|shard| shard.owner == Some(id(2))),
                "round {round}"
            );
        }
    }
    println!("{taken} were taken, {kept} were renewed in time");
    Ok(())
}

#[test]
fn a_takeover_waits_for_a_commit_that_is_under_way_and_fences_the_next() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let Store {
        mut writer,
        mut members,
        ..
    } = database.store();
    members.heartbeat(&beat(1, 60_000))?;
    let old = fences(&members.claim(id(1), &all())?);
    let mut other = database.store().members;
    other.heartbeat(&beat(2, 60_000))?;
    let landed = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut landed: u64 = 0;
            loop {
                match writer.commit(&old, &inserts(&[&execution(1_000 + landed)])) {
                    Ok(()) => landed += 1,
                    Err(Error::FenceBroken { .. }) => return Ok(landed),
                    Err(error) => return Err(error),
                }
            }
        });
        end_lease(&database, id(1));
        let taken = other.claim(id(2), &all());
        let stored = database.count("execution");
        let landed = writing.join().unwrap();
        taken.and_then(|taken| {
            assert_eq!(taken.len(), all().len());
            Ok((landed?, stored))
        })
    })?;
    assert_eq!(
        landed.0, landed.1,
        "nothing landed after the takeover that was not confirmed before it"
    );
    assert_eq!(database.count("execution"), landed.0, "and nothing later");
    Ok(())
}

#[test]
fn a_lease_runs_out_by_itself_and_not_before() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let (mut owner, mut other) = (database.store().members, database.store().members);
    owner.heartbeat(&beat(1, 300))?;
    let lease = owner.heartbeat(&beat(1, 300))?.nodes[0].lease_until;
    owner.claim(id(1), &all())?;
    let former = loop {
        other.heartbeat(&beat(2, 60_000))?;
        if let Some(taken) = other.claim(id(2), &all())?.pop() {
            break taken.former;
        }
    };
    // On a machine that is so busy that the owner could claim nothing in time, nobody had them before.
    assert!(former.is_none_or(|former| former.id == id(1) && former.lease_until == lease));
    assert!(other.heartbeat(&beat(2, 60_000))?.now >= lease);
    Ok(())
}

#[test]
fn time_is_the_databases() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let mut members = database.store().members;
    let said = |sql: &str| -> i64 { Postgres::shared().sql(&database.name(), sql).parse().unwrap() };
    let before = said("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    let view = members.heartbeat(&beat(1, 5_000))?;
    let after = said("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    assert!((before..=after).contains(&view.now.as_millis()));
    let lease = said("SELECT lease_until FROM node") - 5_000;
    assert!((before..=view.now.as_millis()).contains(&lease));
    Ok(())
}

#[test]
fn what_a_lost_connection_asked_is_asked_again() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let mut members = database.store().members;
    members.heartbeat(&beat(1, 60_000))?;
    let first = fences(&members.claim(id(1), &all())?);
    database.cut();
    let view = members.heartbeat(&beat(1, 60_000))?;
    assert!(view.shards.iter().all(|shard| shard.owner == Some(id(1))));
    database.cut();
    let again = fences(&members.claim(id(1), &all())?);
    assert!(first.iter().zip(&again).all(|(old, new)| new.epoch > old.epoch));
    database.cut();
    members.leave(id(1))?;
    assert_eq!(database.count("node"), 0);
    Ok(())
}
