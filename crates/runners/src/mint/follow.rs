//! Following a claim until the chain has spoken.
//!
//! Errors of the node end nothing here: what was sent is sent, and there is nothing better to do with the attempt's
//! time than to look again.

use std::time::Duration;

use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use tokio::time::{Instant, sleep_until};

use super::Stop;
use super::accounts::Hold;
use super::attempt::{Mint, Mode};
use super::claim::Claim;
use super::node::{At, Receipt};
use super::refusal::Meaning;
use super::rpc::Error;
use crate::registry::failpoint;

/// Between two looks: often at first, since a quick chain is done soon.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A claim being followed.
pub(super) struct FollowedClaim {
    pub(super) claim: Claim,
    /// The nonce in this process's memory; none while another attempt holds it.
    pub(super) hold: Option<Hold>,
    /// When something was last sent with a new fee.
    pub(super) sent_at: Instant,
    /// How often nonces before this one were filled.
    pub(super) fills: u32,
    /// The last thing that went wrong, and has not gone right since.
    pub(super) trouble: Option<Failure>,
}

impl FollowedClaim {
    /// A claim that is followed from now on.
    pub(super) fn of(claim: Claim, hold: Option<Hold>) -> Self {
        Self {
            claim,
            hold,
            sent_at: Instant::now(),
            fills: 0,
            trouble: None,
        }
    }
}

/// How a claim ends.
pub(super) enum FollowEnd {
    /// One of its transactions is confirmed.
    Mined(Receipt),
    /// One of its transactions is confirmed, and changed nothing.
    Reverted(Receipt),
    /// Its nonce was used by another transaction, for good.
    Lost,
}

/// What a look at the chain shows.
pub(super) enum Seen {
    /// A transaction of the claim, confirmed.
    Confirmed(Receipt),
    /// Something that more blocks will make certain.
    Unsettled(String),
    /// The nonce is used by another, for good.
    Lost,
    /// The nonce is not used yet.
    Waiting(Waiting),
}

/// A nonce that is not used yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The nonce that must be used before, if it is not this one's turn.
    pub(super) behind: Option<u64>,
    /// Whether the node has the newest transaction.
    pub(super) known: bool,
}

impl Mint<'_> {
    /// Looks and pushes until the claim has ended, or the time.
    pub(super) async fn follow(&self, held: &mut FollowedClaim) -> Result<FollowEnd, Stop> {
        let mut pause = PAUSE_MIN;
        loop {
            match self.look(&held.claim).await {
                Ok(Seen::Confirmed(receipt)) => {
                    failpoint::reach("mint-confirmed");
                    return Ok(if receipt.succeeded {
                        FollowEnd::Mined(receipt)
                    } else {
                        FollowEnd::Reverted(receipt)
                    });
                }
                Ok(Seen::Lost) => return Ok(FollowEnd::Lost),
                Ok(Seen::Unsettled(why)) => held.trouble = Some(congestion(&why)),
                Ok(Seen::Waiting(waiting)) => {
                    held.trouble = None;
                    self.push(held, waiting).await?;
                }
                Err(error) => held.trouble = Some(error.failure()),
            }
            self.pause(held, pause).await?;
            pause = (pause * 3 / 2).min(PAUSE_MAX);
        }
    }

    async fn look(&self, claim: &Claim) -> Result<Seen, Error> {
        for signed in claim.transactions.iter().rev() {
            if let Some(receipt) = self.node.receipt(signed.hash).await? {
                failpoint::reach("mint-mined");
                return self.confirmed(receipt).await;
            }
        }
        let count = self.node.count(claim.from, At::Latest).await?;
        if count > claim.nonce {
            return self.whose(claim).await;
        }
        let known = match claim.newest() {
            Some(signed) => self.node.knows(signed.hash).await?,
            None => true,
        };
        Ok(Seen::Waiting(Waiting {
            behind: (count < claim.nonce).then_some(count),
            known,
        }))
    }

    async fn confirmed(&self, receipt: Receipt) -> Result<Seen, Error> {
        let wanted = self.plan.network.pace.confirmations;
        let depth = depth(self.node.head().await?, receipt.block);
        if depth >= wanted {
            return Ok(Seen::Confirmed(receipt));
        }
        let why = format!(
            "transaction `{}` is in block {} with {depth} of {wanted} confirmations",
            receipt.hash, receipt.block
        );
        Ok(Seen::Unsettled(why))
    }

    /// Does what helps a claim that waits: sends again, offers more, clears the way.
    async fn push(&self, held: &mut FollowedClaim, waiting: Waiting) -> Result<(), Stop> {
        if held.hold.is_none() {
            held.hold = self.account.hold(held.claim.nonce);
        }
        if held.hold.is_none() {
            let why = format!(
                "nonce {} is used by another action, which is not mined yet",
                held.claim.nonce
            );
            held.trouble = Some(congestion(&why));
            return Ok(());
        }
        let may_sign = self.mode == Mode::Mint && self.is_own(held.claim.from);
        let edited = held
            .claim
            .newest()
            .is_some_and(|signed| signed.call != self.plan.call());
        if may_sign && edited {
            return self.raise(held).await;
        }
        if !waiting.known {
            self.send_again(held).await?;
        }
        let too_low = held
            .trouble
            .as_ref()
            .is_some_and(|trouble| trouble.error.kind == kind::GAS_PRICE_TOO_LOW);
        let stuck = held.sent_at.elapsed() >= self.plan.network.pace.bump_after;
        match waiting.behind {
            _ if !may_sign => Ok(()),
            None if stuck || too_low => self.raise(held).await,
            Some(nonce) if stuck => self.clear(held, nonce).await,
            _ => Ok(()),
        }
    }

    /// Sends the newest transaction as it was signed.
    pub(super) async fn send_again(&self, held: &mut FollowedClaim) -> Result<(), Stop> {
        let Some(signed) = held.claim.newest() else {
            return Ok(());
        };
        match self.node.send(&signed.raw).await {
            Ok(()) => {}
            Err(Error::Transport(failure)) => held.trouble = Some(failure),
            Err(Error::Node(refusal)) => match refusal.meaning() {
                Meaning::Known => {}
                // A person must act before this can continue; what was sent before may still be mined.
                Meaning::Funds => return Err(Box::new(Outcome::Unknown(self.explained(&refusal)))),
                _ => held.trouble = Some(self.explained(&refusal)),
            },
        }
        Ok(())
    }

    async fn pause(&self, held: &FollowedClaim, pause: Duration) -> Result<(), Stop> {
        let until = (Instant::now() + pause).min(self.node.deadline());
        let cancelled = tokio::select! {
            biased;
            () = self.attempt.control.cancelled() => true,
            () = sleep_until(until) => false,
        };
        if cancelled {
            let message = format!("cancelled, but {} may still be mined", names(&held.claim));
            return Err(Box::new(Outcome::unknown(kind::TIMEOUT, message)));
        }
        if Instant::now() >= self.node.deadline() {
            return Err(Box::new(Outcome::Unknown(self.late(held))));
        }
        Ok(())
    }

    /// The time is over; the next attempt continues from the same claim.
    fn late(&self, held: &FollowedClaim) -> Failure {
        let mut failure = held
            .trouble
            .clone()
            .unwrap_or_else(|| congestion("the transaction is not in a block yet"));
        failure.error.message = format!(
            "{} did not end within {} ms: {}",
            names(&held.claim),
            self.attempt.timeout.as_millis(),
            failure.error.message
        );
        failure
    }
}

/// The blocks that hold a transaction or follow the one that does.
pub(super) fn depth(head: u64, block: u64) -> u64 {
    (head + 1).saturating_sub(block)
}

/// A failure that may pass with time.
pub(super) fn congestion(why: &str) -> Failure {
    let error = ActionError::new(kind::NETWORK_CONGESTION, why)
        .with_fix("retry: it continues where it stopped; raise the action's `timeout` or the chain's `maxFeePerGas` if it happens often");
    Failure::new(error)
}

fn names(claim: &Claim) -> String {
    let hash = claim.newest().map(|signed| signed.hash.to_string()).unwrap_or_default();
    format!("transaction `{hash}` (nonce {})", claim.nonce)
}
