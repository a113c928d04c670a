//! Whose transaction used a nonce. The one place where a claim may be given up, so it takes nothing for granted.
//!
//! Neither a missing receipt nor a count proves anything: one node may be behind another, and a node that is just taking
//! in a block may count a transaction before it shows it. So the block is looked for in which the account's count passed
//! the nonce, and in it the very transaction that used the nonce. Only when that is found, confirmed, and is none of ours,
//! the nonce is another's: then the chain can take none of ours any more.

use alloy_primitives::B256;

use super::attempt::Mint;
use super::claim::Claim;
use super::follow::{Seen, depth};
use super::node::At;
use super::refusal::Meaning;
use super::rpc::Error;

/// Nodes that keep no old states keep those of 128 blocks. A receipt that is missing under so many is not late.
pub(super) const OLD: u64 = 64;

impl Mint<'_> {
    /// Called when the nonce is used up and none of the claim's transactions has a receipt.
    pub(super) async fn whose(&self, claim: &Claim) -> Result<Seen, Error> {
        let unsettled = || Seen::Unsettled(format!("nonce {} was used in a block that is still young", claim.nonce));
        let head = self.node.head().await?;
        if !self.is_used(claim, head).await? {
            return Ok(unsettled());
        }
        let block = match self.block_of_use(claim, head).await {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(unsettled()),
            Err(Error::Node(refusal)) if refusal.meaning() == Meaning::Pruned => {
                return self.whose_of_old(claim, head).await;
            }
            Err(error) => return Err(error),
        };
        let deep = depth(head, block) >= self.plan.network.pace.confirmations;
        match self.user(claim, block).await? {
            Some(hash) if deep && claim.find(hash).is_none() => Ok(Seen::Lost),
            _ => Ok(unsettled()),
        }
    }

    /// The transaction in the block that used the claim's nonce, if it is there.
    async fn user(&self, claim: &Claim, block: u64) -> Result<Option<B256>, Error> {
        for hash in self.node.block_hashes(block).await? {
            if self.node.sender(hash).await? == Some((claim.from, claim.nonce)) {
                return Ok(Some(hash));
            }
        }
        Ok(None)
    }

    async fn is_used(&self, claim: &Claim, block: u64) -> Result<bool, Error> {
        Ok(self.node.count(claim.from, At::Number(block)).await? > claim.nonce)
    }

    /// The first block after which the nonce was used, between the claim's own and `head`. None if it was used before
    /// the claim's own block, which is only so while the chain is changing its mind.
    async fn block_of_use(&self, claim: &Claim, head: u64) -> Result<Option<u64>, Error> {
        let (mut free, mut used) = (claim.block, head);
        if free >= used || self.is_used(claim, free).await? {
            return Ok(None);
        }
        while used - free > 1 {
            let middle = free + (used - free) / 2;
            if self.is_used(claim, middle).await? {
                used = middle;
            } else {
                free = middle;
            }
        }
        Ok(Some(used))
    }

    /// The node has forgotten the blocks in question: long ago, then, and no receipt.
    async fn whose_of_old(&self, claim: &Claim, head: u64) -> Result<Seen, Error> {
        if head > OLD && self.is_used(claim, head - OLD).await? {
            return Ok(Seen::Lost);
        }
        Ok(Seen::Unsettled(format!(
            "the node no longer knows the block in which nonce {} was used",
            claim.nonce
        )))
    }
}
