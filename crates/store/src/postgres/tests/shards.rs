//! Many shards in one database: each has its own work, and one owner.

use sprag_core::ids::{ExecutionId, Slot};
use sprag_tests::Postgres;

use super::super::{SHARDS, Writer};
use super::Database;
use crate::conformance::fixtures::{QUEUED, RUNNING, SCHEDULED, action, at, execution, idempotency, timer};
use crate::page::Page;
use crate::records::{Action, Execution, Idempotency, Scope};
use crate::traits::{CommitStore, Error, Fence, LaneReads, Mutation, OpenAction, ShardId, shard_of};

/// An execution in the slot.
fn at_slot(number: u64, slot: Slot) -> Execution {
    Execution {
        id: ExecutionId::compose(at(number), slot, number),
        ..execution(number)
    }
}

/// Something of every kind for an execution.
fn work(execution: &Execution, number: u64) -> Vec<Mutation> {
    let kinds = [QUEUED, RUNNING, SCHEDULED].into_iter().zip(0..);
    let actions = kinds.map(|(status, step)| Action {
        status,
        line: format!("line{}", number % 3),
        ..action(execution, 10_000 + number * 10 + step)
    });
    let kept = Idempotency {
        scope: Scope::new(execution.id.slot(), [7; 32]),
        ..idempotency(number, number)
    };
    [
        Mutation::InsertExecution(execution.clone()),
        Mutation::PutTimer(timer(execution, 1, 0, number)),
        Mutation::PutIdempotency(kept),
    ]
    .into_iter()
    .chain(actions.map(Mutation::InsertAction))
    .collect()
}

#[test]
fn each_shard_has_its_own_work_and_all_have_all_of_it() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(SHARDS);
    let mut lane = database.store().writer;
    let executions: Vec<Execution> = (0..200_u64)
        .map(|number| at_slot(number, Slot(u16::try_from(number * 331 % 65_536).unwrap())))
        .collect();
    let fences: Vec<Fence> = (0..SHARDS)
        .map(|shard| lane.acquire(ShardId(shard)))
        .collect::<Result<_, _>>()?;
    let mutations: Vec<Mutation> = executions
        .iter()
        .zip(0..)
        .flat_map(|(one, number)| work(one, number))
        .collect();
    lane.commit(&fences, &mutations)?;
    let mut found = [0; 7];
    for shard in (0..SHARDS).map(ShardId) {
        for (count, more) in found.iter_mut().zip(counts(&mut lane, shard)?) {
            *count += more;
        }
    }
    assert_eq!(found, [200; 7]);
    assert_eq!(
        lane.queues(ShardId(SHARDS))?,
        Vec::<String>::new(),
        "beyond the last there is none"
    );
    Ok(())
}

/// What a shard has: ready, timers, due, running, open, old, answers. Each belongs to it.
fn counts(lane: &mut Writer, shard: ShardId) -> Result<[usize; 7], Error> {
    let is_here = |id: ExecutionId| assert_eq!(shard_of(id.slot(), SHARDS), shard);
    let mut ready = 0;
    for line in lane.queues(shard)? {
        let found = lane.ready(shard, &line, &Page::first(999))?.rows;
        for found in &found {
            is_here(found.execution);
        }
        ready += found.len();
    }
    let timers = lane.due_timers(shard, at(999), &Page::first(999))?.rows;
    for timer in &timers {
        is_here(timer.key.execution);
    }
    let due = lane.due_actions(shard, at(99_999), &Page::first(999))?.rows;
    for due in &due {
        is_here(due.execution);
    }
    let running = lane.running(shard, &Page::first(999))?.rows;
    for found in &running {
        is_here(found.execution);
    }
    let open = lane.open(shard, RUNNING, &Page::first(999))?.rows;
    for OpenAction { execution, .. } in &open {
        is_here(*execution);
    }
    let aged = lane.aged(shard, at(999), &Page::first(999))?.rows;
    for aged in &aged {
        is_here(aged.execution);
    }
    let kept = lane.first_to_expire(shard, 999)?;
    Ok([
        ready,
        timers.len(),
        due.len(),
        running.len(),
        open.len(),
        aged.len(),
        kept.len(),
    ])
}

#[test]
fn a_shard_that_was_taken_over_is_written_by_its_new_owner_alone() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(4);
    let (mut old, mut new) = (database.store().writer, database.store().writer);
    let fences: Vec<Fence> = (0..4)
        .map(|shard| old.acquire(ShardId(shard)))
        .collect::<Result<_, _>>()?;
    let taken = new.acquire(ShardId(2))?;
    let one = execution(1);
    let insert = [Mutation::InsertExecution(one.clone())];
    let result = old.commit(&fences, &insert);
    assert!(
        matches!(result, Err(Error::FenceBroken { shard: ShardId(2) })),
        "{result:?}"
    );
    let kept: Vec<Fence> = fences.into_iter().filter(|fence| fence.shard != ShardId(2)).collect();
    old.commit(&kept, &insert)?;
    new.commit(&[taken], &[Mutation::InsertExecution(execution(2))])
}

#[test]
fn lanes_that_share_a_database_commit_beside_each_other() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let database = Database::with_shards(4);
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..3_u64)
            .map(|lane| {
                let mut writer = database.store().writer;
                scope.spawn(move || -> Result<(), Error> {
                    let own = writer.acquire(ShardId(u32::try_from(lane).unwrap()))?;
                    // The home of a limit is another's: its epoch is looked at, not raised.
                    let home = Fence {
                        shard: ShardId(3),
                        epoch: 0,
                    };
                    for number in 0..40 {
                        let one = execution(1_000 * lane + number);
                        writer.commit(&[own, home], &[Mutation::InsertExecution(one)])?;
                    }
                    Ok(())
                })
            })
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().unwrap())
    })
}
