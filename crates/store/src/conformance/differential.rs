//! Two stores, one stream of random mutations: they must accept, refuse and answer alike.

use std::fmt::Debug;

use super::Subject;
use super::fixtures::{Opened, SHARD, at};
use super::random::{Random, everything};
use crate::records::FactKind;
use crate::traits::{Error, Fence, LaneStore, Mutation, OpenAction, SCAN_MAX};

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
    let wanted = everything();
    same(&left.load(&wanted)?, &right.load(&wanted)?, place, &"load");
    same(&left.last_run()?, &right.last_run()?, place, &"last life");
    same(&left.queues(SHARD)?, &right.queues(SHARD)?, place, &"lines");

    let (line, page) = (random.line(), random.page(Random::ready_key));
    let ready = (left.ready(SHARD, &line, &page)?, right.ready(SHARD, &line, &page)?);
    same(&ready.0, &ready.1, place, &(line, page));

    let (until, page) = (random.due(), random.page(|random| (random.due(), random.timer_key())));
    same(
        &left.due_timers(SHARD, until, &page)?,
        &right.due_timers(SHARD, until, &page)?,
        place,
        &(until, page),
    );
    let (until, page) = (random.due(), random.page(|random| (random.due(), random.action_id())));
    same(
        &left.due_actions(SHARD, until, &page)?,
        &right.due_actions(SHARD, until, &page)?,
        place,
        &(until, page),
    );

    let page = random.page(Random::action_id);
    same(
        &left.running(SHARD, &page)?,
        &right.running(SHARD, &page)?,
        place,
        &page,
    );
    let page = random.page(Random::execution_id);
    same(
        &left.deferred(SHARD, &page)?,
        &right.deferred(SHARD, &page)?,
        place,
        &page,
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
    let status = random.byte(4);
    let page = random.page(|random| OpenAction {
        execution: random.execution_id(),
        action: random.action_id(),
    });
    same(
        &left.open(SHARD, status, &page)?,
        &right.open(SHARD, status, &page)?,
        place,
        &(status, page),
    );
    let (before, page) = (at(random.below(1_000)), random.page(Random::execution_id));
    same(
        &left.aged(SHARD, before, &page)?,
        &right.aged(SHARD, before, &page)?,
        place,
        &(before, page),
    );
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
    let page = random.page(Random::machine);
    same(&left.machines(&page)?, &right.machines(&page)?, place, &page);
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

    let (id, page) = (random.execution_id(), random.page(|random| random.below(10)));
    same(&left.execution(id)?, &right.execution(id)?, place, &id);
    same(
        &left.history(id, &page)?,
        &right.history(id, &page)?,
        place,
        &(id, page),
    );
    same(&left.timers(id)?, &right.timers(id)?, place, &id);
    same(&left.inbox_length(id)?, &right.inbox_length(id)?, place, &id);
    Ok(())
}

#[track_caller]
fn same<T: PartialEq + Debug>(left: &T, right: &T, place: &str, asked: &dyn Debug) {
    assert_eq!(left, right, "{place}: {asked:?}");
}
