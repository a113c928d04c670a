//! The lane's share of limits across nodes: attempts that run in shards of other nodes are read from the store.
//!
//! A lane that becomes the owner of keys reads what runs under them everywhere before it grants anything. Later it reads
//! again wherever an attempt runs that no node accounts for, and whenever a node is gone.

use std::collections::BTreeSet;

use sprag_core::action::LimitUse;
use sprag_core::ids::{ActionId, AttemptId, NodeId};
use sprag_store::{Error, ShardId, Wanted};

use super::loader::{Loader, damaged_error};
use crate::decide::convert;
use crate::limits::demand;

/// Actions that are read at once.
const PAGE: usize = 500;

impl Loader<'_> {
    /// Reads what runs elsewhere, where it may not be as it was.
    pub(super) fn refresh_limits(&mut self, owners: &BTreeSet<NodeId>, looked: u64) -> Result<(), Error> {
        let shared = &mut self.known.queue.permits.shared;
        if shared.drop_gone(owners, looked) {
            shared.go_blind();
        }
        let shards: BTreeSet<ShardId> = if shared.is_blind() {
            (0..self.shards.shards()).map(ShardId).collect()
        } else {
            shared.orphaned()
        };
        let mut running = Vec::new();
        // What runs in shards of this node is known, and no orphan.
        for &shard in shards.iter().filter(|shard| !self.shards.has(**shard)) {
            let found = self.all_running(shard)?;
            let actions: Vec<ActionId> = found.into_iter().map(|found| found.action).collect();
            for page in actions.chunks(PAGE) {
                running.extend(self.limits_of(page)?);
            }
        }
        demand::found(&mut self.known.queue, &shards, &running);
        Ok(())
    }

    /// The running attempts of these actions, each with its limits.
    fn limits_of(&mut self, actions: &[ActionId]) -> Result<Vec<(AttemptId, Vec<LimitUse>)>, Error> {
        let found = self.store.load(&Wanted {
            actions: actions.to_vec(),
            ..Wanted::default()
        })?;
        let mut running = Vec::new();
        for row in found.actions {
            let action = convert::action_from(row).map_err(|error| damaged_error(&error))?;
            running.extend(action.current().map(|current| (current.id, action.body.limits.clone())));
        }
        Ok(running)
    }
}
