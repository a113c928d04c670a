//! What the answers to requests with an `Idempotency-Key` promise.

use super::fixtures::{Opened, SHARD, at, execution, idempotency, inserts};
use super::{Check, Subject, checks};
use crate::records::{Idempotency, Scope};
use crate::traits::{Error, Mutation, ShardId, Wanted};

/// What an `Idempotency-Key` relies on.
pub const IDEMPOTENCY: &[Check] = checks![
    an_answer_is_kept_with_what_it_answers_or_not_at_all,
    an_answer_takes_the_place_of_one_under_the_same_scope,
    what_another_node_has_answered_is_not_answered_again,
    answers_come_in_the_order_of_their_expiry,
    a_deleted_answer_is_gone_and_may_be_deleted_again,
];

fn find(store: &mut Opened, scopes: &[Scope]) -> Result<Vec<Idempotency>, Error> {
    let wanted = Wanted {
        idempotency: scopes.to_vec(),
        ..Wanted::default()
    };
    Ok(store.lane.load(&wanted)?.idempotency)
}

fn an_answer_is_kept_with_what_it_answers_or_not_at_all(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, kept, lost) = (execution(1), idempotency(1, 5), idempotency(2, 5));
    let mut mutations = inserts(&[&one]);
    mutations.push(Mutation::PutIdempotency(kept.clone()));
    store.commit(&mutations)?;
    // The execution is there already, so nothing of this commit is written.
    store.refuse(&[
        Mutation::PutIdempotency(lost.clone()),
        Mutation::InsertExecution(one.clone()),
    ]);
    let mut store = store.reopen(subject)?;
    assert_eq!(find(&mut store, &[kept.scope, lost.scope])?, [kept]);
    assert_eq!(store.load(&[&one])?.executions.len(), 1);
    Ok(())
}

fn an_answer_takes_the_place_of_one_under_the_same_scope(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let first = idempotency(1, 5);
    let second = Idempotency {
        digest: [9; 32],
        answer: b"{\"second\":true}".to_vec(),
        expires_at: at(50),
        ..first.clone()
    };
    store.commit(&[Mutation::PutIdempotency(first.clone())])?;
    store.commit(&[Mutation::PutIdempotency(second.clone())])?;
    assert_eq!(find(&mut store, &[first.scope])?, std::slice::from_ref(&second));
    assert_eq!(store.lane.first_to_expire(SHARD, 9)?, [(at(50), second.scope)]);
    Ok(())
}

fn what_another_node_has_answered_is_not_answered_again(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, first) = (execution(1), idempotency(1, 5));
    let second = Idempotency {
        answer: b"{\"second\":true}".to_vec(),
        expires_at: at(50),
        ..first.clone()
    };
    store.commit(&[Mutation::InsertIdempotency(first.clone())])?;
    let mut mutations = inserts(&[&one]);
    mutations.push(Mutation::InsertIdempotency(second));
    let refused = store.commit(&mutations);
    assert!(matches!(refused, Err(Error::Answered)), "{refused:?}");
    assert_eq!(find(&mut store, &[first.scope])?, std::slice::from_ref(&first));
    assert_eq!(
        store.load(&[&one])?.executions.len(),
        0,
        "nothing of the commit was written"
    );
    store.commit(&[Mutation::DeleteIdempotency(first.scope)])?;
    store.commit(&[Mutation::InsertIdempotency(first.clone())])?;
    assert_eq!(store.lane.first_to_expire(SHARD, 9)?, [(at(5), first.scope)]);
    Ok(())
}

fn answers_come_in_the_order_of_their_expiry(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut kept = [(1, 30), (2, 10), (3, 20), (4, 10)].map(|(number, expiry)| idempotency(number, expiry));
    store.commit(&kept.clone().map(Mutation::PutIdempotency))?;
    kept.sort_by_key(|record| (record.expires_at, record.scope));
    let expected: Vec<_> = kept.iter().map(|record| (record.expires_at, record.scope)).collect();
    assert_eq!(store.lane.first_to_expire(SHARD, 9)?, expected);
    assert_eq!(store.lane.first_to_expire(SHARD, 2)?, expected[..2]);
    assert_eq!(store.lane.first_to_expire(ShardId(7), 9)?, []);
    Ok(())
}

fn a_deleted_answer_is_gone_and_may_be_deleted_again(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (gone, stays) = (idempotency(1, 5), idempotency(2, 6));
    store.commit(&[
        Mutation::PutIdempotency(gone.clone()),
        Mutation::PutIdempotency(stays.clone()),
    ])?;
    for _ in 0..2 {
        store.commit(&[Mutation::DeleteIdempotency(gone.scope)])?;
        assert_eq!(
            find(&mut store, &[gone.scope, stays.scope])?,
            std::slice::from_ref(&stays)
        );
        assert_eq!(store.lane.first_to_expire(SHARD, 9)?, [(at(6), stays.scope)]);
    }
    Ok(())
}
