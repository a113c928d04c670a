//! Two stores, one stream of random mutations: they must accept, refuse and answer alike.

use std::fmt::Debug;

use super::Subject;
use super::fixtures::{Opened, SHARD, at};
use super::random::Random;
use crate::page::Most;
use crate::records::FactKind;
use crate::traits::{AgedPage, Error, Fence, LaneStore, Mutation, OpenAction, SCAN_MAX};

/// The most mutations in one commit.
const MUTATIONS_MAX: u64 = 6;

/// How often the stores were asked, and how they answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Commits that were written.
    pub written: usize,
    /// Commits that were refused.
    pub refused: usize,
}

/// Commits the same random mutations to both stores and compares all that can be asked of them after each commit.
/// Panics where they differ. The caller should look at the answers: a stream that is always refused proves nothing.
pub fn differential(seed: u64, commits: usize, left: &dyn Subject, right: &dyn Subject) -> Result<Answers, Error> {
    let mut random = Random::new(seed);
    let mut stores = (Opened::new(left)?, Opened::new(right)?);
    let mut answers = Answers::default();
    for number in 0..commits {
        let place = format!("seed {seed}, commit {number}");
        if random.once_in(40) {
            stores = (stores.0.reopen(left)?, stores.1.reopen(right)?);
        }
        match commit(&mut random, &mut stores.0, &mut stores.1, &place)? {
            Outcome::Written => answers.written += 1,
            Outcome::Refused => answers.refused += 1,
            Outcome::FenceBroken => {}
        }
        compare_lanes(&mut random, &mut stores.0, &mut stores.1, &place)?;
        compare_readers(&mut random, &stores.0, &stores.1, &place)?;
    }
    Ok(answers)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Written,
    Refused,
    FenceBroken,
}

fn commit(random: &mut Random, left: &mut Opened, right: &mut Opened, place: &str) -> Result<Outcome, Error> {
    let count = 1 + random.below(MUTATIONS_MAX);
    let mutations: Vec<Mutation> = (0..count)
        .map(|_| random.mutation(left.reader.as_ref()))
        .collect::<Result<_, _>>()?;
    let stale = u64::from(random.once_in(30));
    let mut outcomes = Vec::new();
    for store in [left, right] {
        let fence = Fence {
            epoch: store.fence.epoch - stale,
            ..store.fence
        };
        outcomes.push(match store.lane.commit(&[fence], &mutations) {
            Ok(()) => Outcome::Written,
            Err(Error::Refused { .. }) => Outcome::Refused,
            Err(Error::FenceBroken { .. }) => Outcome::FenceBroken,
            Err(problem) => return Err(problem),
        });
    }
    same(&outcomes[0], &outcomes[1], place, &mutations);
    Ok(outcomes[0])
}

fn compare_lanes(random: &mut Random, left: &mut Opened, right: &mut Opened, place: &str) -> Result<(), Error> {
    let (left, right) = (&mut left.lane, &mut right.lane);
    let wanted = Random::everything();
    same(&left.load(&wanted)?, &right.load(&wanted)?, place, &"load");
    same(&left.last_life()?, &right.last_life()?, place, &"last life");
    same(&left.lines(SHARD)?, &right.lines(SHARD)?, place, &"lines");

    let (line, after, limit) = (random.line(), random.ready_key(), random.limit());
    let ready = (
        left.ready(SHARD, &line, after.as_ref(), limit)?,
        right.ready(SHARD, &line, after.as_ref(), limit)?,
    );
    same(&ready.0, &ready.1, place, &(line, after, limit));

    let window = random.window(Random::timer_key);
    same(
        &left.due_timers(SHARD, &window)?,
        &right.due_timers(SHARD, &window)?,
        place,
        &window,
    );
    let window = random.window(Random::action_id);
    same(
        &left.due_actions(SHARD, &window)?,
        &right.due_actions(SHARD, &window)?,
        place,
        &window,
    );

    let (after, limit) = (random.action_id(), random.limit());
    same(
        &left.running(SHARD, Some(after), limit)?,
        &right.running(SHARD, Some(after), limit)?,
        place,
        &after,
    );
    let (after, limit) = (random.execution_id(), random.limit());
    same(
        &left.deferred(SHARD, Some(after), limit)?,
        &right.deferred(SHARD, Some(after), limit)?,
        place,
        &after,
    );
    compare_chores(random, left.as_mut(), right.as_mut(), place)
}

/// What the lane asks for its work of its own.
fn compare_chores(
    random: &mut Random,
    left: &mut dyn LaneStore,
    right: &mut dyn LaneStore,
    place: &str,
) -> Result<(), Error> {
    for kind in FactKind::ALL {
        same(&left.facts(kind)?, &right.facts(kind)?, place, &kind);
    }
    let (status, limit) = (random.byte(4), random.limit());
    let after = Some(OpenAction {
        execution: random.execution_id(),
        action: random.action_id(),
    });
    same(
        &left.open(SHARD, status, after, limit)?,
        &right.open(SHARD, status, after, limit)?,
        place,
        &(status, after),
    );
    let page = AgedPage {
        before: at(random.below(1_000)),
        after: Some(random.execution_id()).filter(|_| random.once_in(2)),
        limit,
    };
    same(&left.aged(SHARD, &page)?, &right.aged(SHARD, &page)?, place, &page);
    let limit = random.limit();
    same(
        &left.first_to_expire(SHARD, limit)?,
        &right.first_to_expire(SHARD, limit)?,
        place,
        &limit,
    );
    Ok(())
}

fn compare_readers(random: &mut Random, left: &Opened, right: &Opened, place: &str) -> Result<(), Error> {
    let (left, right) = (&left.reader, &right.reader);
    same(
        &left.machines(None, 100)?,
        &right.machines(None, 100)?,
        place,
        &"machines",
    );
    let query = random.execution_query();
    same(&left.executions(&query)?, &right.executions(&query)?, place, &query);
    let query = random.action_query();
    same(&left.actions(&query)?, &right.actions(&query)?, place, &query);
    let search = random.execution_search();
    let found = (left.find_executions(&search)?, right.find_executions(&search)?);
    same(&found.0, &found.1, place, &search);
    let search = random.action_search();
    let found = (left.find_actions(&search)?, right.find_actions(&search)?);
    same(&found.0, &found.1, place, &search);
    let counted = (
        left.count_actions(&search.condition, SCAN_MAX)?,
        right.count_actions(&search.condition, SCAN_MAX)?,
    );
    same(&counted.0, &counted.1, place, &search.condition);

    let (id, after, limit) = (random.execution_id(), random.below(10), random.limit());
    same(&left.execution(id)?, &right.execution(id)?, place, &id);
    same(
        &left.history(id, after, Most::rows(limit))?,
        &right.history(id, after, Most::rows(limit))?,
        place,
        &(id, after, limit),
    );
    same(&left.timers(id)?, &right.timers(id)?, place, &id);
    same(&left.inbox_length(id)?, &right.inbox_length(id)?, place, &id);
    Ok(())
}

#[track_caller]
fn same<T: PartialEq + Debug>(left: &T, right: &T, place: &str, asked: &dyn Debug) {
    assert_eq!(left, right, "{place}: {asked:?}");
}
