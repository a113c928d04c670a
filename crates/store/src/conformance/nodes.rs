//! What nodes on one database may rely on: leases by the database's time, shards with one owner, epochs that only rise.

use std::collections::{BTreeMap, BTreeSet};

use sprag_core::ids::{NodeId, Slot, scatter};
use sprag_core::time::Timestamp;

use super::fixtures::{execution, inserts};
use crate::assignment::assign;
use crate::nodes::{Beat, Nodes, View};
use crate::page::Page;
use crate::traits::{Error, Fence, LaneStore, ShardId, shard_of};

/// Shards that a store under test has.
pub(super) const SHARDS: u32 = 16;
/// How long leases last here, in milliseconds: longer than a check takes on a busy machine.
const LEASE_MILLIS: u64 = 60_000;

/// A store under test with sixteen shards, all free, on which several nodes meet.
pub trait Crowd {
    /// One node's way to the others.
    fn nodes(&self) -> Box<dyn Nodes>;

    /// One node's way to the records.
    fn lane(&self) -> Box<dyn LaneStore>;

    /// So many milliseconds of the database's time go by.
    fn pass(&self, millis: u64);
}

/// One thing that must hold.
#[derive(Clone, Copy, Debug)]
pub struct CrowdCheck {
    /// A sentence, in snake case.
    pub name: &'static str,
    /// Panics or errs unless it holds.
    pub run: fn(&dyn Crowd) -> Result<(), Error>,
}

macro_rules! crowd_checks {
    ($($name:ident),+ $(,)?) => { &[$(CrowdCheck { name: stringify!($name), run: $name }),+] };
}

/// What members rely on.
pub const NODES: &[CrowdCheck] = crowd_checks![
    a_node_joins_by_its_first_heartbeat_and_all_see_the_same,
    the_first_token_counts_for_all,
    a_lease_runs_out_by_the_databases_time,
    a_shard_of_a_live_node_cannot_be_taken,
    a_shard_of_a_dead_node_is_taken_with_a_higher_epoch_and_its_old_fence_is_void,
    what_is_released_is_free_and_what_is_not_ones_own_is_not_released,
    a_node_whose_lease_ran_out_takes_nothing,
    whoever_leaves_gives_up_everything_at_once,
    whoever_is_about_to_leave_keeps_its_lease_and_nothing_is_due_to_it,
    a_node_that_joins_where_another_was_has_taken_its_place,
    an_address_that_another_node_gives_too_takes_nothing_from_it,
    a_commit_is_judged_by_the_fences_it_carries_and_no_others,
    a_question_about_a_shard_is_answered_from_that_shard,
    however_stale_what_nodes_believe_no_shard_ever_has_two_owners,
];

/// Runs every check on a store of its own.
pub fn run_crowd<C: Crowd>(checks: &[CrowdCheck], make: impl Fn() -> C) -> Result<(), Error> {
    for check in checks {
        println!("{}", check.name);
        (check.run)(&make())?;
    }
    Ok(())
}

fn id(number: u64) -> NodeId {
    NodeId::compose(Timestamp::from_millis(1), Slot(0), number)
}

fn beat(number: u64) -> Beat {
    Beat {
        node: id(number),
        advertise: format!("http://10.0.0.{number}:7400"),
        version: "0.1.0".to_owned(),
        place: Some(format!("place {number}")),
        lease_millis: LEASE_MILLIS,
        token: format!("token {number}"),
        is_leaving: false,
    }
}

fn shards(numbers: &[u32]) -> Vec<ShardId> {
    numbers.iter().map(|number| ShardId(*number)).collect()
}

fn owners(view: &View) -> Vec<Option<NodeId>> {
    view.shards.iter().map(|shard| shard.owner).collect()
}

fn a_node_joins_by_its_first_heartbeat_and_all_see_the_same(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    let alone = nodes.heartbeat(&beat(1))?;
    assert_eq!(alone.nodes.len(), 1);
    assert_eq!(alone.shards.len(), usize::try_from(SHARDS).unwrap_or(0));
    assert!(
        alone
            .shards
            .iter()
            .zip(0..)
            .all(|(shard, number)| shard.id == ShardId(number))
    );
    assert!(alone.shards.iter().all(|shard| shard.owner.is_none()));
    let both = crowd.nodes().heartbeat(&beat(2))?;
    assert_eq!(both.live().map(|node| node.id).collect::<Vec<_>>(), [id(1), id(2)]);
    let again = nodes.heartbeat(&Beat {
        advertise: "http://elsewhere:1".to_owned(),
        ..beat(1)
    })?;
    let first = &again.nodes[0];
    assert_eq!(first.advertise, "http://elsewhere:1");
    assert_eq!(first.version, "0.1.0");
    assert_eq!(first.joined_at, alone.nodes[0].joined_at);
    assert!(first.is_alive(again.now) && first.lease_until <= again.now.plus(LEASE_MILLIS));
    assert!(first.lease_until >= alone.nodes[0].lease_until);
    Ok(())
}

fn the_first_token_counts_for_all(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    assert_eq!(nodes.heartbeat(&beat(1))?.token, "token 1");
    assert_eq!(nodes.heartbeat(&beat(2))?.token, "token 1");
    nodes.leave(id(1))?;
    assert_eq!(nodes.heartbeat(&beat(2))?.token, "token 1");
    assert!(
        !format!("{:?}", nodes.heartbeat(&beat(2))?).contains("token 1"),
        "a secret is not shown"
    );
    Ok(())
}

fn a_lease_runs_out_by_the_databases_time(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    crowd.pass(LEASE_MILLIS + 1);
    let view = nodes.heartbeat(&beat(2))?;
    assert_eq!(view.live().map(|node| node.id).collect::<Vec<_>>(), [id(2)]);
    assert_eq!(view.nodes.len(), 2, "whoever is gone stays listed for a while");
    let view = nodes.heartbeat(&beat(1))?;
    assert_eq!(view.live().count(), 2, "one that was only slow is counted on again");
    Ok(())
}

fn a_shard_of_a_live_node_cannot_be_taken(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    nodes.heartbeat(&beat(2))?;
    let first = nodes.claim(id(1), &shards(&[3, 4]))?;
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|claimed| claimed.former.is_none()));
    let second = nodes.claim(id(2), &shards(&[4, 5]))?;
    assert_eq!(
        second.iter().map(|claimed| claimed.fence.shard).collect::<Vec<_>>(),
        shards(&[5])
    );
    let again = nodes.claim(id(1), &shards(&[3]))?;
    assert!(again[0].fence.epoch > first[0].fence.epoch, "one's own is taken anew");
    assert!(
        nodes.claim(id(1), &shards(&[SHARDS]))?.is_empty(),
        "there is no such shard"
    );
    Ok(())
}

fn a_shard_of_a_dead_node_is_taken_with_a_higher_epoch_and_its_old_fence_is_void(
    crowd: &dyn Crowd,
) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    let all: Vec<ShardId> = (0..SHARDS).map(ShardId).collect();
    let old: Vec<Fence> = nodes
        .claim(id(1), &all)?
        .into_iter()
        .map(|claimed| claimed.fence)
        .collect();
    let written = inserts(&[&execution(1)]);
    crowd.lane().commit(&old, &written)?;
    crowd.pass(LEASE_MILLIS + 1);
    nodes.heartbeat(&beat(2))?;
    let taken = nodes.claim(id(2), &shards(&[7]))?;
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].former.as_ref().map(|former| former.id), Some(id(1)));
    assert!(taken[0].fence.epoch > old[7].epoch);
    let refused = crowd.lane().commit(&old, &inserts(&[&execution(2)]));
    assert!(
        matches!(refused, Err(Error::FenceBroken { shard: ShardId(7) })),
        "{refused:?}"
    );
    crowd.lane().commit(&[taken[0].fence], &inserts(&[&execution(3)]))?;
    nodes.heartbeat(&beat(1))?;
    assert!(
        nodes.claim(id(1), &shards(&[7]))?.is_empty(),
        "whoever comes back finds it taken"
    );
    Ok(())
}

fn what_is_released_is_free_and_what_is_not_ones_own_is_not_released(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    nodes.heartbeat(&beat(2))?;
    let held = nodes.claim(id(1), &shards(&[0, 1, 2]))?;
    let fences: Vec<Fence> = held.iter().map(|claimed| claimed.fence).collect();
    nodes.release(id(2), &fences[..1])?;
    nodes.release(
        id(1),
        &[Fence {
            epoch: fences[1].epoch + 1,
            ..fences[1]
        }],
    )?;
    nodes.release(id(1), &fences[2..])?;
    let view = nodes.heartbeat(&beat(2))?;
    assert_eq!(owners(&view)[..3], [Some(id(1)), Some(id(1)), None]);
    let taken = nodes.claim(id(2), &shards(&[2]))?;
    assert!(taken[0].former.is_none(), "it was handed over, not lost");
    assert!(taken[0].fence.epoch > fences[2].epoch);
    Ok(())
}

fn a_node_whose_lease_ran_out_takes_nothing(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    assert!(nodes.claim(id(1), &shards(&[0]))?.is_empty(), "it never joined");
    nodes.heartbeat(&beat(1))?;
    crowd.pass(LEASE_MILLIS + 1);
    assert!(nodes.claim(id(1), &shards(&[0]))?.is_empty());
    Ok(())
}

fn whoever_leaves_gives_up_everything_at_once(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    let held = nodes.claim(id(1), &shards(&[0, 9]))?;
    nodes.leave(id(1))?;
    let view = nodes.heartbeat(&beat(2))?;
    assert_eq!(view.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [id(2)]);
    assert!(view.shards.iter().all(|shard| shard.owner.is_none()));
    let taken = nodes.claim(id(2), &shards(&[0, 9]))?;
    assert_eq!(taken.len(), held.len());
    nodes.leave(id(3))
}

fn whoever_is_about_to_leave_keeps_its_lease_and_nothing_is_due_to_it(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    nodes.claim(id(1), &shards(&[0, 9]))?;
    nodes.heartbeat(&beat(2))?;
    let view = nodes.heartbeat(&Beat {
        is_leaving: true,
        ..beat(1)
    })?;
    assert_eq!(view.live().map(|node| node.id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!(view.staying().map(|node| node.id).collect::<Vec<_>>(), [id(2)]);
    assert_eq!(view.owner(ShardId(9)).map(|owner| owner.id), Some(id(1)));
    assert!(nodes.claim(id(2), &shards(&[9]))?.is_empty(), "its lease runs");
    Ok(())
}

fn a_node_that_joins_where_another_was_has_taken_its_place(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    let there = |number, is_leaving| Beat {
        place: Some("one machine, one port".to_owned()),
        is_leaving,
        ..beat(number)
    };
    nodes.heartbeat(&there(1, false))?;
    nodes.claim(id(1), &shards(&[3]))?;
    nodes.heartbeat(&there(2, false))?;
    let taken = nodes.claim(id(2), &shards(&[3]))?;
    assert_eq!(taken[0].former.as_ref().map(|former| former.id), Some(id(1)));
    let view = nodes.heartbeat(&there(1, false))?;
    assert_eq!(
        view.live().count(),
        2,
        "one that was there all the same is counted on again"
    );
    // Only whoever joins takes a place; and one that is about to leave keeps what it has until it has ended it.
    nodes.heartbeat(&there(2, true))?;
    nodes.heartbeat(&there(3, false))?;
    assert!(nodes.claim(id(3), &shards(&[3]))?.is_empty());
    Ok(())
}

fn an_address_that_another_node_gives_too_takes_nothing_from_it(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    nodes.claim(id(1), &shards(&[3]))?;
    for (number, place) in [(2, Some("elsewhere".to_owned())), (3, None), (4, None)] {
        let claims_to_be_there = Beat {
            advertise: beat(1).advertise,
            place,
            ..beat(number)
        };
        nodes.heartbeat(&claims_to_be_there)?;
        assert!(nodes.claim(id(number), &shards(&[3]))?.is_empty(), "its lease runs");
    }
    Ok(())
}

fn a_commit_is_judged_by_the_fences_it_carries_and_no_others(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    nodes.heartbeat(&beat(2))?;
    let mine = nodes.claim(id(1), &shards(&[1]))?[0].fence;
    let lost = nodes.claim(id(1), &shards(&[2]))?[0].fence;
    nodes.release(id(1), &[lost])?;
    nodes.claim(id(2), &shards(&[2]))?;
    let mut lane = crowd.lane();
    let broken = lane.commit(&[mine, lost], &inserts(&[&execution(1)]));
    assert!(
        matches!(broken, Err(Error::FenceBroken { shard: ShardId(2) })),
        "{broken:?}"
    );
    lane.commit(&[mine], &inserts(&[&execution(1)]))
}

fn a_question_about_a_shard_is_answered_from_that_shard(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut nodes = crowd.nodes();
    nodes.heartbeat(&beat(1))?;
    let all: Vec<ShardId> = (0..SHARDS).map(ShardId).collect();
    let fences: Vec<Fence> = nodes
        .claim(id(1), &all)?
        .into_iter()
        .map(|claimed| claimed.fence)
        .collect();
    let executions: Vec<_> = (1..=40).map(execution).collect();
    let mut mutations = Vec::new();
    for (execution, number) in executions.iter().zip(100..) {
        mutations.extend(inserts(&[execution]));
        let mut queued = super::fixtures::action(execution, number);
        queued.status = super::fixtures::QUEUED;
        mutations.push(crate::Mutation::InsertAction(queued));
    }
    let mut lane = crowd.lane();
    lane.commit(&fences, &mutations)?;
    let mut found = 0;
    for shard in all {
        let lines = lane.queues(shard)?;
        for line in &lines {
            for ready in lane.ready(shard, line, &Page::first(1_000))?.rows {
                assert_eq!(shard_of(ready.execution.slot(), SHARDS), shard);
                found += 1;
            }
        }
    }
    assert_eq!(found, executions.len(), "each is in one shard");
    Ok(())
}

/// One node of the crowd, with what it believes.
struct Believer {
    beat: Beat,
    nodes: Box<dyn Nodes>,
    view: View,
    holds: BTreeMap<ShardId, u64>,
}

impl Believer {
    fn join(crowd: &dyn Crowd, number: u64) -> Result<Self, Error> {
        let (mut nodes, beat) = (crowd.nodes(), beat(number));
        let view = nodes.heartbeat(&beat)?;
        Ok(Self {
            beat,
            nodes,
            view,
            holds: BTreeMap::new(),
        })
    }

    fn look(&mut self) -> Result<(), Error> {
        self.view = self.nodes.heartbeat(&self.beat)?;
        let (me, shards) = (self.beat.node, &self.view.shards);
        let is_mine = |shard: &ShardId, epoch: &mut u64| {
            let mut known = shards.iter();
            known.any(|known| known.id == *shard && known.owner == Some(me) && known.epoch == *epoch)
        };
        self.holds.retain(is_mine);
        Ok(())
    }

    /// Does what the view it has, however old, says it should. Returns what it was given.
    fn act(&mut self) -> Result<Vec<Fence>, Error> {
        let live: Vec<NodeId> = self.view.live().map(|node| node.id).collect();
        let due = assign(&live, &owners(&self.view));
        let me = Some(self.beat.node);
        let (mut wanted, mut given_up) = (Vec::new(), Vec::new());
        for (shard, due) in self.view.shards.iter().zip(due) {
            if due == me && !self.holds.contains_key(&shard.id) {
                wanted.push(shard.id);
            } else if due != me
                && let Some(epoch) = self.holds.remove(&shard.id)
            {
                given_up.push(Fence { shard: shard.id, epoch });
            }
        }
        self.nodes.release(self.beat.node, &given_up)?;
        let claimed = self.nodes.claim(self.beat.node, &wanted)?;
        let fences: Vec<Fence> = claimed.into_iter().map(|claimed| claimed.fence).collect();
        self.holds.extend(fences.iter().map(|fence| (fence.shard, fence.epoch)));
        Ok(fences)
    }
}

/// Nodes join, stall past their lease, come back and die, each acting on a view of its own age.
fn however_stale_what_nodes_believe_no_shard_ever_has_two_owners(crowd: &dyn Crowd) -> Result<(), Error> {
    let mut crowd_of = vec![Believer::join(crowd, 1)?];
    let (mut given, mut next) = (BTreeSet::new(), 2);
    let mut draw = 7_u64;
    let mut below = |bound: usize| {
        draw = scatter(draw.wrapping_add(0x9e37_79b9_7f4a_7c15));
        usize::try_from(draw % u64::try_from(bound.max(1)).unwrap_or(1)).unwrap_or(0)
    };
    for _ in 0..600 {
        let who = below(crowd_of.len());
        match below(12) {
            0 if crowd_of.len() < 9 => {
                crowd_of.push(Believer::join(crowd, next)?);
                next += 1;
            }
            1 if crowd_of.len() > 2 => drop(crowd_of.swap_remove(who)),
            2 => crowd.pass(LEASE_MILLIS / 2),
            3..=6 => crowd_of[who].look()?,
            _ => {
                for fence in crowd_of[who].act()? {
                    assert!(given.insert((fence.shard, fence.epoch)), "{fence:?} was given twice");
                }
            }
        }
    }
    crowd.pass(LEASE_MILLIS + 1);
    for _ in 0..4 {
        for member in &mut crowd_of {
            member.look()?;
        }
        for member in &mut crowd_of {
            member.look()?;
            member.act()?;
        }
    }
    let mut all = BTreeSet::new();
    for member in &crowd_of {
        assert!(member.holds.keys().all(|shard| all.insert(*shard)), "two hold the same");
    }
    let counts = crowd_of.iter().map(|member| member.holds.len());
    assert_eq!(all.len(), usize::try_from(SHARDS).unwrap_or(0), "nothing is left over");
    assert!(
        counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0) <= 1,
        "evenly"
    );
    Ok(())
}
