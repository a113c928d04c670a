//! Requests with an idempotency key: replied once, then answered from what is stored.
//!
//! The answer is written in the commit of what it answers. If a batch has several requests with one key, the first acts
//! and the others get its answer.

use sprag_store::Mutation;
use sprag_store::records::{Idempotency as StoredAnswer, Scope};

use super::idempotency::{Idempotency, KEPT_MILLIS, Repeats, decode, encode, is_stored, reused};
use super::{Replied, Request};
use crate::decide::Decider;

/// Decides the request, unless a request with its key was answered before.
pub(super) fn decide<R: Request>(request: &R, once: Idempotency, decider: &mut Decider<'_>) -> Replied<R::Answer> {
    let Idempotency { scope, digest, repeats } = once;
    if let Some((known, _)) = decider.batch.answered.get(&scope) {
        return Replied {
            // The answer of the first request is final at the end of the batch: see `take_stored`.
            answer: Err(reused()),
            replayed: *known == digest,
        };
    }
    if let Some(stored) = stored_answer(decider, scope, repeats) {
        return if stored.digest == digest {
            Replied {
                answer: decode(&stored.answer),
                replayed: true,
            }
        } else {
            Replied::now(Err(reused()))
        };
    }
    decider.slot = Some(scope.slot());
    let answer = request.decide(decider);
    decider.slot = None;
    if is_stored(&answer, repeats) {
        decider.batch.answered.insert(scope, (digest, None));
    }
    Replied::now(answer)
}

/// The stored answer that counts.
fn stored_answer<'a>(decider: &'a Decider<'_>, scope: Scope, repeats: Repeats) -> Option<&'a StoredAnswer> {
    let found = decider.known.found.answers.get(&scope)?.as_ref();
    let is_doubtful = decider.known.control.clock.jump(decider.now()).is_some();
    found.filter(|stored| repeats == Repeats::Anywhere || stored.expires_at > decider.now() || is_doubtful)
}

/// Writes the answer of the first request under a key, now that it is final.
pub(super) fn store<A: super::Answer>(once: Idempotency, replied: &Replied<A>, decider: &mut Decider<'_>) {
    let Idempotency { scope, digest, repeats } = once;
    let expires_at = decider.now().plus(KEPT_MILLIS);
    let batch = &mut *decider.batch;
    let Some((_, answer)) = batch.answered.get_mut(&scope) else {
        return;
    };
    if replied.replayed || answer.is_some() {
        return;
    }
    *answer = encode(&replied.answer);
    let stored = answer.clone().map(|answer| StoredAnswer {
        scope,
        digest,
        answer,
        expires_at,
    });
    batch.log.extend(stored.map(|stored| match repeats {
        Repeats::AtTarget => Mutation::PutIdempotency(stored),
        Repeats::Anywhere => Mutation::InsertIdempotency(stored),
    }));
    batch.answers_expire = Some(batch.answers_expire.map_or(expires_at, |known| known.min(expires_at)));
}

/// Gives the answer of the first request under a key to the others of the batch.
pub(super) fn take_stored<A: super::Answer>(once: Idempotency, replied: &mut Replied<A>, decider: &Decider<'_>) {
    if replied.replayed
        && let Some((digest, Some(answer))) = decider.batch.answered.get(&once.scope)
        && *digest == once.digest
    {
        replied.answer = decode(answer);
    }
}
