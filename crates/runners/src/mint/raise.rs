//! Offering more: for a claim that is stuck, and for whatever blocks its way.

use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::Failure;
use tokio::time::Instant;

use super::Stop;
use super::amount;
use super::attempt::Mint;
use super::claim::SIGNED_MAX;
use super::follow::{FollowedClaim, congestion};
use super::node::At;
use super::options::Unclaimed;
use super::wallet::{Fees, Order};
use crate::registry::failpoint;

/// What an empty transfer takes.
const TRANSFER_GAS: u64 = 21_000;
/// Fillers are not offered more than so many eighths on top: a chain that wants more is not in order.
const FILLS_MAX: u32 = 32;

impl Mint<'_> {
    /// Signs the plan's call for the same nonce with higher fees, stores it, sends it.
    pub(super) async fn raise(&self, held: &mut FollowedClaim) -> Result<(), Stop> {
        let Some(newest) = held.claim.newest() else {
            return Ok(());
        };
        let (old, edited) = (newest.fees(), newest.call != self.plan.call());
        let gas_limit = if edited { self.gas().await? } else { newest.gas_limit };
        let suggested = match self.suggested().await {
            Ok(suggested) => suggested.unwrap_or(old),
            Err(error) => {
                held.trouble = Some(error.failure());
                return Ok(());
            }
        };
        let fees = old.raised().or_higher(suggested).under(self.plan.fee_max());
        if !takes_the_place_of(fees, old) || held.claim.transactions.len() >= SIGNED_MAX {
            held.trouble = Some(too_low(old, self.plan.fee_max()));
            return Ok(());
        }
        let permit = self.permit().await?;
        let mut claim = held.claim.clone();
        claim.transactions.push(self.sign(claim.nonce, gas_limit, fees)?);
        self.store(&claim).await?;
        held.claim = claim;
        failpoint::reach("mint-raise-stored");
        tracing::info!(action = %self.attempt.action, nonce = held.claim.nonce, fee = amount::shown(fees.max), "transaction stuck, fee raised");
        held.trouble = None;
        self.send_again(held).await?;
        drop(permit);
        failpoint::reach("mint-raise-sent");
        held.sent_at = Instant::now();
        Ok(())
    }

    /// Fills the nonce that this claim waits for, if no attempt is there to use it.
    pub(super) async fn clear(&self, held: &mut FollowedClaim, nonce: u64) -> Result<(), Stop> {
        let why = format!("it waits behind nonce {nonce} of the same signer");
        held.trouble = Some(congestion(&why));
        if self.account.is_held(nonce) || held.fills >= FILLS_MAX {
            return Ok(());
        }
        let _permit = self.permit().await?;
        let from = held.claim.from;
        let counts = (
            self.node.count(from, At::Latest).await,
            self.node.count(from, At::Pending).await,
        );
        let (Ok(latest), Ok(pending)) = counts else {
            return Ok(());
        };
        // It may have been used, or taken by a mint that began meanwhile.
        if latest != nonce || self.account.is_held(nonce) {
            return Ok(());
        }
        let patience = self.plan.network.pace.bump_after * 2;
        let occupied = pending > nonce;
        if occupied && (self.plan.signer.1.unclaimed == Unclaimed::Wait || held.sent_at.elapsed() < patience) {
            return Ok(());
        }
        if let Ok(Some(suggested)) = self.suggested().await {
            let fees = (0..held.fills).fold(suggested, |fees, _| fees.raised());
            self.fill(held, nonce, fees.under(self.plan.network.pace.fee_max))
                .await?;
        }
        Ok(())
    }

    /// Sends an empty transfer of the account to itself. It mints nothing, so it needs no claim.
    async fn fill(&self, held: &mut FollowedClaim, nonce: u64, fees: Fees) -> Result<(), Stop> {
        let order = Order {
            chain_id: self.chain_id,
            nonce,
            gas_limit: TRANSFER_GAS,
            fees,
            to: held.claim.from,
            value: alloy_primitives::U256::ZERO,
            data: Vec::new(),
        };
        let Ok(made) = self.wallet.sign(order) else {
            return Ok(());
        };
        held.fills += 1;
        match self.node.send(&made.raw).await {
            Ok(()) => {
                tracing::warn!(nonce, hash = %made.hash, "unused nonce filled with an empty transfer");
                held.sent_at = Instant::now();
            }
            Err(error) => held.trouble = Some(error.failure()),
        }
        Ok(())
    }
}

/// Whether nodes let a transaction with these fees take the place of one with those.
fn takes_the_place_of(new: Fees, old: Fees) -> bool {
    let enough = |new: u128, old: u128| new > old && new - old >= old / 10;
    enough(new.max, old.max) && enough(new.tip, old.tip)
}

fn too_low(offered: Fees, ceiling: Option<u128>) -> Failure {
    let offered = amount::shown(offered.max);
    let message = match ceiling {
        Some(ceiling) => format!(
            "a fee of {offered} is too low, and the limit is {}",
            amount::shown(ceiling)
        ),
        None => format!("a fee of {offered} is too low, and Sprag cannot raise it again"),
    };
    let error = ActionError::new(kind::GAS_PRICE_TOO_LOW, message)
        .with_fix("raise `gasPrice` or leave it at `auto`, and raise the chain's `maxFeePerGas` if it has one");
    Failure::new(error)
}
