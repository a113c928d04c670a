//! Limits across nodes, decided: what another node is allowed, and what this one was (see [`crate::homes`]).

use sprag_core::action::Action;
use sprag_store::Fence;
use sprag_store::traits::shard_of;

use crate::command::{Answer, Reply};
use crate::homes::{Allowed, Heard, Statement, home_of};
use crate::lane::{Lane, elsewhere};

impl Lane {
    /// Another node says what it has and wants. It hears the answer once this batch is durable, so whatever ended here to
    /// make room has ended.
    pub(super) fn allow(&mut self, said: &Statement) -> Reply {
        let home = shard_of(home_of(&said.limit.key), self.owned.shards());
        let Some(fence) = self.owned.fence(home).filter(|_| !self.dispatcher.is_me(said.node)) else {
            // What this node said to the home before it became the home itself is nothing to count.
            return Err(elsewhere(home));
        };
        let micros = self.micros();
        let mut said = said.clone();
        if self.has_lost() {
            // What runs in shards of this node is not known yet.
            said.wants = 0;
        }
        let allowed = self.dispatcher.allow(&said, self.now, micros);
        Ok(Answer::Allowed(Allowed {
            most: allowed.most,
            shard: fence.shard.0,
            epoch: fence.epoch,
            is_wanted: allowed.is_wanted,
            again_millis: allowed.again_millis,
        }))
    }

    /// The home of a limit answered, or could not be asked.
    pub(super) fn heard(&mut self, heard: &Heard) {
        self.dispatcher.heard(heard, self.now);
    }

    /// What a commit carries that begins an attempt of this action; none if its limits are not allowed any more.
    pub(super) fn home_fences(&self, action: &Action) -> Option<Vec<Fence>> {
        self.dispatcher.home_fences(action, |shard| self.owned.fence(shard))
    }
}
