//! Commits that are sent before the one before them is answered.

use sprag_tests::Postgres;

use super::outages::{LOSE_ANSWER, LOSE_REQUEST, PASS, Wire};
use super::{Database, options};
use crate::conformance::fixtures::{CommitQueue, SHARD, execution};
use crate::postgres::{Store, open};
use crate::traits::{Commit, CommitStore, Error, Fence, Mutation, Reader};

/// Each commit is a new execution with this number: a number that comes twice is refused.
fn line(fence: Fence, executions: impl IntoIterator<Item = u64>) -> CommitQueue {
    CommitQueue::new(executions.into_iter().map(|number| Commit {
        fences: vec![fence],
        mutations: vec![Mutation::InsertExecution(execution(number))],
    }))
}

fn stored(store: &Store, numbers: impl IntoIterator<Item = u64>) -> Result<Vec<u64>, Error> {
    let reader = store.readers.get();
    let mut found = Vec::new();
    for number in numbers {
        found.extend(reader.execution(execution(number).id)?.map(|_| number));
    }
    Ok(found)
}

#[test]
fn the_next_is_sent_before_the_one_before_is_answered() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let mut store = Database::new().store();
    let fence = store.writer.acquire(SHARD)?;
    let mut line = line(fence, 0..20);
    store.writer.commit_all(&mut line);
    assert!(
        line.told.len() == 20 && line.told.iter().all(Result::is_ok),
        "{:?}",
        line.told
    );
    assert_eq!(line.under_way_max, 2);
    assert_eq!(stored(&store, 0..20)?, (0..20).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn what_was_sent_behind_a_commit_that_is_refused_is_not_written() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let mut store = Database::new().store();
    let fence = store.writer.acquire(SHARD)?;
    let mut line = line(fence, [0, 0, 1, 2]);
    store.writer.commit_all(&mut line);
    let [Ok(()), Err(Error::Refused { .. }), behind, Ok(())] = line.told.as_slice() else {
        panic!("{:?}", line.told);
    };
    // On a slow machine the refusal comes back before the next is sent, which then follows nothing that failed.
    let written: &[u64] = if behind.is_ok() { &[0, 1, 2] } else { &[0, 2] };
    assert_eq!(stored(&store, 0..3)?, written);
    Ok(())
}

#[test]
fn each_lands_once_wherever_the_connection_is_cut() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let (wire, url) = Wire::to_database();
    let mut store = open(&options(&url, 1)).unwrap();
    let fence = store.writer.acquire(SHARD)?;
    for (first, mood) in [
        (0, LOSE_REQUEST),
        (10, LOSE_ANSWER),
        (20, LOSE_ANSWER),
        (30, LOSE_REQUEST),
    ] {
        let mut line = line(fence, first..first + 10);
        wire.is_now(mood);
        store.writer.commit_all(&mut line);
        assert_eq!(wire.mood(), PASS, "the wire was cut");
        assert!(
            line.told.len() == 10 && line.told.iter().all(Result::is_ok),
            "{:?}",
            line.told
        );
    }
    assert_eq!(stored(&store, 0..40)?, (0..40).collect::<Vec<_>>());
    Ok(())
}

/// Rows that the server itself refuses, whatever is checked before: a tag of an old definition may be too long for an index.
#[test]
fn a_row_that_the_server_cannot_index_is_refused_for_good() -> Result<(), Error> {
    if !Postgres::is_installed() {
        return Ok(());
    }
    let mut store = Database::new().store();
    let fence = store.writer.acquire(SHARD)?;
    let mut line = line(fence, 0..4);
    let mut drawn = 1;
    let letter = |_| {
        drawn = sprag_core::ids::scatter(drawn);
        char::from(b'!' + u8::try_from(drawn % 90).unwrap_or(0))
    };
    let tag: String = (0..20_000).map(letter).collect();
    for mutation in &mut line.waiting[1].mutations {
        if let Mutation::InsertExecution(execution) = mutation {
            execution.tags = vec![tag.clone()];
        }
    }
    store.writer.commit_all(&mut line);
    let [Ok(()), Err(Error::Refused { .. }), behind, Ok(())] = line.told.as_slice() else {
        panic!("{:?}", line.told);
    };
    // Whether it was sent before the refusal came back is a matter of time.
    let written: &[u64] = if behind.is_ok() { &[0, 2, 3] } else { &[0, 3] };
    assert_eq!(stored(&store, 0..4)?, written);
    Ok(())
}
