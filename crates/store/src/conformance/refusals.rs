//! Rows that a store refuses among commits that wait behind each other: only the commit that holds the row fails.
//!
//! A store may send a commit before it knows what became of the one before. Then a refusal may cost those that were sent
//! behind it their turn, but never their rows: sent again as they are, they are written.

use super::fixtures::{CommitQueue, Opened, execution, keyed};
use super::lane::{one_of_each, refusals};
use super::{Check, Subject, checks};
use crate::traits::{Commit, Error, Mutation};

/// What holds of refused rows in a queue of commits.
pub const REFUSALS: &[Check] = checks![
    a_refused_row_fails_its_commit_alone_wherever_it_waits,
    several_refused_rows_in_a_queue_fail_their_own_commits_alone,
];

/// So many commits wait in a queue.
const WAITING: u64 = 5;

/// A queue of commits, each with an execution of its own. Those at `bad` hold a row beside it that the store refuses.
fn queue(store: &Opened, first: u64, bad: &[u64], refusal: &Mutation) -> CommitQueue {
    let commit = |place| {
        let mut mutations = vec![Mutation::InsertExecution(execution(first + place))];
        mutations.extend(bad.contains(&place).then(|| refusal.clone()));
        Commit {
            fences: vec![store.fence],
            mutations,
        }
    };
    CommitQueue::new((0..WAITING).map(commit))
}

/// Commits a queue and asserts that those at `bad` are refused, and that all others are written in the end.
fn fails_alone(store: &mut Opened, first: u64, bad: &[u64], refusal: &Mutation) -> Result<(), Error> {
    let mut line = queue(store, first, bad, refusal);
    store.lane.commit_all(&mut line);
    assert_eq!(line.told.len() as u64, WAITING, "{:?}", line.told);
    let (mut is_behind_refusal, mut behind) = (false, 0);
    for (place, told) in (0..WAITING).zip(&line.told) {
        let new = execution(first + place);
        let is_written = store.reader.execution(new.id)?.is_some();
        assert_eq!(told.is_ok(), is_written, "{place}: {told:?}");
        if bad.contains(&place) {
            // One that was sent behind another refusal hears of that one, and is refused when it is sent again.
            assert!(is_behind_refusal || is_refused(told), "{place}: {told:?}");
            store.refuse(&[Mutation::InsertExecution(new), refusal.clone()]);
        } else if !is_written {
            assert!(is_behind_refusal, "{place} failed on another's account: {told:?}");
            store.commit(&[Mutation::InsertExecution(new)])?;
            behind += 1;
        }
        is_behind_refusal = told.is_err();
    }
    assert!(
        behind <= bad.len(),
        "a refusal costs one other its turn at most: {:?}",
        line.told
    );
    Ok(())
}

fn is_refused(told: &Result<(), Error>) -> bool {
    matches!(told, Err(Error::Refused { .. }))
}

fn a_refused_row_fails_its_commit_alone_wherever_it_waits(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = keyed(1, "k");
    store.commit(&one_of_each(&one))?;
    let mut first = 1_000;
    for refusal in refusals(&one) {
        for bad in 0..WAITING {
            fails_alone(&mut store, first, &[bad], &refusal)?;
            first += WAITING;
        }
    }
    Ok(())
}

fn several_refused_rows_in_a_queue_fail_their_own_commits_alone(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = keyed(1, "k");
    store.commit(&one_of_each(&one))?;
    let mut first = 1_000;
    for refusal in refusals(&one) {
        for bad in [&[0, 1][..], &[1, 3], &[2, 3, 4], &[0, 1, 2, 3, 4]] {
            fails_alone(&mut store, first, bad, &refusal)?;
            first += WAITING;
        }
    }
    Ok(())
}
