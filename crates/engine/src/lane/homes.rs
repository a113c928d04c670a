//! The lane's share of limits across nodes: what runs in shards of others is read from the store.
//!
//! A lane that becomes the home of keys reads what runs under them everywhere before it allows anything. Later it looks
//! again wherever an attempt runs that no node accounts for, and whenever a node is gone.

use std::collections::BTreeSet;

use sprag_core::action::LimitUse;
use sprag_core::ids::{ActionId, AttemptId, NodeId};
use sprag_store::{Error, ShardId, Wanted};

use super::tick::{Lane, damaged};
use crate::convert;

/// Actions that are read at once.
const PAGE: usize = 500;

impl Lane {
    /// Looks at what runs elsewhere, where it may not be as it was thought to be.
    pub(super) fn look_at_homes(&mut self, owners: &BTreeSet<NodeId>, looked: u64) -> Result<(), Error> {
        if self.dispatcher.drop_gone(owners, looked) {
            self.dispatcher.go_blind();
        }
        let look_at: BTreeSet<ShardId> = if self.dispatcher.is_blind() {
            (0..self.owned.shards()).map(ShardId).collect()
        } else {
            self.dispatcher.orphaned()
        };
        let mut running = Vec::new();
        // What runs in shards of this node is known, and no orphan.
        let foreign: Vec<ShardId> = look_at
            .iter()
            .copied()
            .filter(|shard| !self.owned.has(*shard))
            .collect();
        for shard in foreign {
            let found = self.all_running(shard)?;
            let actions: Vec<ActionId> = found.into_iter().map(|found| found.action).collect();
            for page in actions.chunks(PAGE) {
                running.extend(self.limits_of(page)?);
            }
        }
        self.dispatcher.found(&look_at, &running);
        Ok(())
    }

    /// The attempts under way of these actions, each with its limits.
    fn limits_of(&mut self, actions: &[ActionId]) -> Result<Vec<(AttemptId, Vec<LimitUse>)>, Error> {
        let found = self.store.get()?.load(&Wanted {
            actions: actions.to_vec(),
            ..Wanted::default()
        })?;
        let mut running = Vec::new();
        for row in found.actions {
            let action = convert::action_from(row).map_err(|error| damaged(&error))?;
            running.extend(action.current().map(|current| (current.id, action.body.limits.clone())));
        }
        Ok(running)
    }

    /// Whether something that a former owner left running has not been looked at.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Microseconds that never jump.
    pub(crate) fn micros(&self) -> u64 {
        self.clock.micros()
    }
}
