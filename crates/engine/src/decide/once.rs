//! Commands with an idempotency key: decided once, then answered from what was kept.
//!
//! The answer is written in the same commit as what it answers. Of two commands with one key in one batch the first
//! acts and the other gets its answer.

use sprag_store::records::{Idempotency as Kept, Scope};
use sprag_store::{Error, Mutation, ShardId};

use crate::command::{Answer, Command, Reply};
use crate::idempotency::{Idempotency, KEPT_MILLIS, Repeats, is_kept, restored, reused, stored};
use crate::lane::Lane;

/// Expired answers that one batch deletes.
const EXPIRED_MAX: usize = 256;
/// How long expired answers may gather before somebody looks, in milliseconds.
pub(crate) const EXPIRY_EVERY_MILLIS: u64 = 60_000;

impl Lane {
    /// Decides on the command, unless one with its key was answered before; `replies` are those of the batch so far.
    pub(crate) fn decide_once(&mut self, command: &Command, replies: &[Reply]) -> Result<Reply, Error> {
        let Some(Idempotency { scope, digest, repeats }) = command.idempotency else {
            return self.decide(&command.request, None);
        };
        if let Some(&(known, position)) = self.batch.answered.get(&scope) {
            return Ok(match replies.get(position) {
                // What the first one is told may still change within the batch: see `keep_answers`.
                Some(first) if known == digest => Ok(replayed(first.clone())),
                _ => Err(reused()),
            });
        }
        if let Some(kept) = self.kept_answer(scope, repeats) {
            return Ok(if kept.digest == digest {
                Ok(replayed(restored(&kept.answer)))
            } else {
                Err(reused())
            });
        }
        let reply = self.decide(&command.request, Some(scope.slot()))?;
        if is_kept(&reply, repeats) {
            self.batch.answered.insert(scope, (digest, replies.len()));
        }
        Ok(reply)
    }

    /// The answer that is stored and counts.
    fn kept_answer(&self, scope: Scope, repeats: Repeats) -> Option<&Kept> {
        let found = self.loaded.idempotency.iter().find(|kept| kept.scope == scope);
        let is_doubtful = self.control.clock.jump(self.now).is_some();
        found.filter(|kept| repeats == Repeats::Anywhere || kept.expires_at > self.now || is_doubtful)
    }

    /// Writes the answers of the batch, now that they are final, and gives them to whoever asked the same.
    pub(crate) fn keep_answers(&mut self, commands: &[Command], replies: &mut [Reply]) {
        if self.batch.answered.is_empty() {
            return;
        }
        let expires_at = self.now.plus(KEPT_MILLIS);
        for (position, command) in commands.iter().enumerate() {
            let Some(Idempotency { scope, digest, repeats }) = command.idempotency else {
                continue;
            };
            let Some(&(known, first)) = self.batch.answered.get(&scope) else {
                continue;
            };
            if first == position {
                let answer = replies.get(position).and_then(stored);
                let kept = answer.map(|answer| Kept {
                    scope,
                    digest,
                    answer,
                    expires_at,
                });
                self.batch.log.extend(kept.map(|kept| match repeats {
                    Repeats::AtTarget => Mutation::PutIdempotency(kept),
                    Repeats::Anywhere => Mutation::InsertIdempotency(kept),
                }));
            } else if known == digest
                && let Some(answer) = replies.get(first).cloned()
                && let Some(reply) = replies.get_mut(position)
            {
                *reply = Ok(replayed(answer));
            }
        }
        self.expiry_due = self.expiry_due.min(expires_at);
    }

    /// Deletes a few of the answers that expired. A batch that finds more of them leaves the rest to the next.
    pub(crate) fn delete_expired(&mut self) -> Result<(), Error> {
        if self.now < self.expiry_due {
            return Ok(());
        }
        if self.control.clock.jump(self.now).is_some() {
            self.expiry_due = self.now.plus(EXPIRY_EVERY_MILLIS);
            return Ok(());
        }
        let mut first = Vec::new();
        let shards: Vec<ShardId> = self.owned.all().collect();
        for shard in shards {
            first.extend(self.store.get()?.first_to_expire(shard, EXPIRED_MAX)?);
        }
        let is_full = first.len() >= EXPIRED_MAX;
        let next = first
            .iter()
            .map(|(expiry, _)| *expiry)
            .filter(|expiry| *expiry > self.now)
            .min();
        let expired = first.into_iter().filter(|(expiry, _)| *expiry <= self.now);
        self.batch
            .log
            .extend(expired.map(|(_, scope)| Mutation::DeleteIdempotency(scope)));
        self.expiry_due = match next {
            Some(next) => next.max(self.now.plus(EXPIRY_EVERY_MILLIS)),
            None if is_full => self.now,
            // Other nodes may add answers to webhook calls in the meantime.
            None if self.is_shared => self.now.plus(KEPT_MILLIS),
            None => sprag_core::time::Timestamp::MAX,
        };
        Ok(())
    }
}

fn replayed(reply: Reply) -> Answer {
    Answer::Replayed(Box::new(reply))
}
