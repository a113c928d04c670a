//! Where a record lives: in the shard of its slot, in the control shard, or in none.
//!
//! A commit carries the fences of the shards that its mutations live in, no more and no fewer.

use sprag_core::ids::Slot;

use crate::traits::{Mutation, ShardId, shard_of};

/// The shard of definitions, switches, limits and jobs: the one that holds the first slot.
pub const CONTROL: ShardId = ShardId(0);

impl Mutation {
    /// The shard that this writes to, when there are `shards` of them. A sign of life is in none: it is its process's
    /// own. Nor is what writes nothing.
    pub fn home(&self, shards: u32) -> Option<ShardId> {
        if let Self::InsertAudit(entry) = self {
            return Some(ShardId(entry.shard));
        }
        self.slot().map(|slot| shard_of(slot, shards))
    }

    fn slot(&self) -> Option<Slot> {
        Some(match self {
            Self::InsertExecution(execution) | Self::UpdateExecution { execution, .. } => execution.id.slot(),
            Self::AppendHistory(entry) => entry.execution.slot(),
            Self::InsertAction(action) | Self::UpdateAction(action) => action.execution.slot(),
            Self::PutTimer(timer) => timer.key.execution.slot(),
            Self::DeleteTimer(key) => key.execution.slot(),
            Self::InsertInbox(entry) => entry.execution.slot(),
            Self::DeleteInbox { execution, .. } | Self::DeleteReceipt { execution, .. } => execution.slot(),
            Self::InsertReceipt(receipt) => receipt.execution.slot(),
            Self::PutIdempotency(kept) => kept.scope.slot(),
            Self::DeleteIdempotency(scope) => scope.slot(),
            Self::DeleteExecution(id) => id.slot(),
            Self::PutPlan(plan) => plan.id.slot(),
            Self::InsertMachineVersion(_)
            | Self::InsertCatalogVersion(_)
            | Self::PutFact(_)
            | Self::DeleteFact { .. }
            | Self::PutJob(_)
            | Self::InsertJobItem(_)
            | Self::DeleteJobItems { .. }
            | Self::DeleteJob(_) => Slot::default(),
            // Whichever node takes a webhook call may write its answer: the record itself is the fence.
            // An entry of the audit names its shard.
            Self::PutRun(_) | Self::ExpectNewest { .. } | Self::InsertIdempotency(_) | Self::InsertAudit(_) => {
                return None;
            }
        })
    }
}
