//! One attempt at a mint: begin or continue, follow, say how it ended.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use serde_json::{Map, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Done, Failure, Outcome, Probe, ResultEvent};
use sprag_core::action::runner::Attempt;
use sprag_core::text::redact::Redactor;
use tokio::sync::MutexGuard;
use tokio::time::timeout_at;

use super::accounts::{Account, Hold};
use super::claim::{Claim, Signed};
use super::config::Plan;
use super::follow::{FollowEnd, FollowedClaim};
use super::node::{At, Call, Node, Receipt};
use super::refusal::Meaning;
use super::rpc::{Error, Refusal};
use super::wallet::{Fees, Order, Wallet};
use super::whose::OLD;
use super::{Stop, abi, amount, token};
use crate::registry::failpoint;

/// What an attempt is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// To mint.
    Mint,
    /// To find out whether an earlier one did. It sends again what was stored, and signs nothing.
    Ask,
}

/// An attempt with everything it needs.
pub(super) struct Mint<'a> {
    pub(super) attempt: Attempt<'a>,
    pub(super) plan: Plan,
    pub(super) wallet: Wallet,
    pub(super) node: Node,
    pub(super) chain_id: u64,
    pub(super) account: Arc<Account>,
    pub(super) mode: Mode,
    pub(super) redactor: Redactor,
}

impl Mint<'_> {
    /// Mints, unless an earlier attempt already did.
    pub(super) async fn run(&self) -> Result<Done, Stop> {
        let mut earlier = self.earlier()?;
        loop {
            let found = earlier.is_some();
            let mut held = match earlier.take() {
                Some(claim) => FollowedClaim::of(claim, None),
                None => self.begin().await?,
            };
            match self.follow(&mut held).await? {
                FollowEnd::Mined(receipt) => return self.mined(&held.claim, &receipt),
                // The nonce is used up and nothing was minted; an earlier attempt has said so, or died over it.
                FollowEnd::Reverted(_) if found => {}
                FollowEnd::Reverted(receipt) => return Err(self.reverted(&held.claim, &receipt).await),
                FollowEnd::Lost => {
                    let nonce = held.claim.nonce;
                    tracing::info!(action = %self.attempt.action, nonce, "nonce used by another transaction, choosing the next");
                }
            }
        }
    }

    /// Whether a transaction of the claim was mined, or never can be.
    pub(super) async fn ask(&self) -> Probe {
        let Ok(Some(claim)) = self.earlier() else {
            return Probe::Unclear;
        };
        let mut held = FollowedClaim::of(claim, None);
        match self.follow(&mut held).await {
            Ok(FollowEnd::Mined(receipt)) => match self.mined(&held.claim, &receipt) {
                Ok(done) => match Outcome::Done(done).masked(&self.redactor) {
                    Outcome::Done(done) => Probe::Happened(done),
                    _ => Probe::Unclear,
                },
                Err(_) => Probe::Unclear,
            },
            Ok(FollowEnd::Reverted(_) | FollowEnd::Lost) => Probe::DidNotHappen,
            Err(_) => Probe::Unclear,
        }
    }

    /// The claim of an earlier attempt.
    fn earlier(&self) -> Result<Option<Claim>, Stop> {
        let Some(value) = self.attempt.checkpoint else {
            return Ok(None);
        };
        let hopeless = |message: String, fix: &str| {
            Box::new(Outcome::Unknown(Failure {
                hopeless: true,
                ..Failure::new(ActionError::new(kind::CONFLICT, message).with_fix(fix))
            }))
        };
        let Some(claim) = Claim::read(value) else {
            let message = "the record of an earlier attempt cannot be read".to_owned();
            return Err(hopeless(
                message,
                "check whether the token was minted before you start another execution",
            ));
        };
        if claim.chain_id != self.chain_id {
            let hash = claim.newest().map(|signed| signed.hash.to_string()).unwrap_or_default();
            let message = format!(
                "an earlier attempt signed transaction `{hash}` for chain {}, and this is chain {}",
                claim.chain_id, self.chain_id
            );
            let fix = "check on that chain whether it was mined before you start another execution";
            return Err(hopeless(message, fix));
        }
        Ok(Some(claim))
    }

    /// Chooses a nonce, signs, stores, sends.
    async fn begin(&self) -> Result<FollowedClaim, Stop> {
        let gas_limit = self.gas().await?;
        let fees = self.fees().await?;
        self.check_balance(gas_limit, fees).await?;
        failpoint::reach("mint-begun");
        let permit = self.permit().await?;
        let from = self.wallet.address();
        // In this order: at this block the nonce was free, and the chain does not take so many blocks back.
        let block = self.node.head().await.map_err(not_done)?.saturating_sub(OLD);
        let pending = self.node.count(from, At::Pending).await.map_err(not_done)?;
        let nonce = self.account.hold_from(pending);
        let claim = Claim {
            chain_id: self.chain_id,
            from,
            nonce: nonce.number(),
            block,
            transactions: vec![self.sign(nonce.number(), gas_limit, fees)?],
        };
        failpoint::reach("mint-signed");
        self.store(&claim).await?;
        failpoint::reach("mint-stored");
        let sent = self.send_first(claim, nonce).await;
        drop(permit);
        failpoint::reach("mint-sent");
        sent
    }

    async fn send_first(&self, claim: Claim, nonce: Hold) -> Result<FollowedClaim, Stop> {
        let mut held = FollowedClaim::of(claim, Some(nonce));
        let sent = match held.claim.newest() {
            Some(signed) => self.node.send(&signed.raw).await,
            None => Ok(()),
        };
        match sent {
            Ok(()) => {}
            Err(Error::Transport(failure)) => held.trouble = Some(failure),
            Err(Error::Node(refusal)) => match refusal.meaning() {
                Meaning::Known | Meaning::NonceUsed | Meaning::Occupied => held.trouble = Some(refusal.failure()),
                // These words mean that the node did not take it, and no other node was asked.
                Meaning::FeeTooLow | Meaning::Funds | Meaning::Busy | Meaning::Unfit => {
                    return Err(Box::new(Outcome::NotDone(self.explained(&refusal))));
                }
                Meaning::Reverted | Meaning::Pruned | Meaning::Other => {
                    return Err(Box::new(Outcome::Unknown(self.explained(&refusal))));
                }
            },
        }
        Ok(held)
    }

    /// The permit to choose a nonce for this account.
    pub(super) async fn permit(&self) -> Result<MutexGuard<'_, ()>, Stop> {
        timeout_at(self.node.deadline(), self.account.permit())
            .await
            .map_err(|_| {
                let message = format!("signer `{}` was busy during the whole attempt", self.plan.signer.0);
                let error = ActionError::new(kind::NETWORK_CONGESTION, message)
                    .with_fix("raise the action's `timeout`, or spread the work over several signers");
                Box::new(Outcome::NotDone(Failure::new(error)))
            })
    }

    /// Signs the plan's call.
    pub(super) fn sign(&self, nonce: u64, gas_limit: u64, fees: Fees) -> Result<Signed, Stop> {
        let order = Order {
            chain_id: self.chain_id,
            nonce,
            gas_limit,
            fees,
            to: self.plan.contract,
            value: self.plan.value,
            data: self.plan.data.clone(),
        };
        let made = self
            .wallet
            .sign(order)
            .map_err(|error| Box::new(Outcome::not_done(kind::UNKNOWN_ERROR, error.to_string())))?;
        Ok(Signed {
            hash: made.hash,
            raw: made.raw,
            call: self.plan.call(),
            gas_limit,
            max_fee_per_gas: fees.max,
            max_priority_fee_per_gas: fees.tip,
        })
    }

    /// Commits the claim with the attempt.
    pub(super) async fn store(&self, claim: &Claim) -> Result<(), Stop> {
        let stored = self.attempt.control.checkpoint(claim.value()).await;
        stored.map_err(|error| Box::new(Outcome::unknown(kind::CONFLICT, error.to_string())))
    }

    /// The call, for questions about it.
    fn question(&self) -> Call {
        Call {
            from: self.wallet.address(),
            to: self.plan.contract,
            data: self.plan.data.clone(),
            value: self.plan.value,
        }
    }

    /// The gas limit. A call that would revert, or that the given limit is too low for, ends here.
    pub(super) async fn gas(&self) -> Result<u64, Stop> {
        let needed = match self.node.estimate(&self.question()).await {
            Ok(needed) => needed,
            Err(Error::Node(refusal)) => return Err(Box::new(Outcome::NotDone(self.explained(&refusal)))),
            Err(error) => return Err(not_done(error)),
        };
        match self.plan.gas_limit {
            // Other transactions may change what the call meets: a fifth more than it takes now.
            None => Ok(needed.saturating_add(needed / 5)),
            Some(given) if given >= needed => Ok(given),
            Some(given) => {
                let message = format!("the call takes {needed} units of gas, and `gasLimit` is {given}");
                let error = ActionError::new(kind::INVALID_CONFIGURATION, message)
                    .with_details(json!({"pointer": "/gasLimit", "needed": needed}))
                    .with_fix(format!("raise `gasLimit` above {needed}, or leave it at `auto`"));
                Err(Box::new(Outcome::NotDone(Failure::new(error))))
            }
        }
    }

    /// The fees to begin with.
    async fn fees(&self) -> Result<Fees, Stop> {
        let suggested = self.suggested().await.map_err(not_done)?;
        let Some(mut fees) = suggested else {
            let message = format!("chain {} has no base fee: it does not know EIP-1559", self.chain_id);
            return Err(Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message)));
        };
        if let Some(given) = self.plan.gas_price {
            fees.max = given;
        }
        Ok(fees.under(self.plan.fee_max()))
    }

    /// What the node suggests, with the tip that the configuration may give.
    pub(super) async fn suggested(&self) -> Result<Option<Fees>, Error> {
        let fees = self.node.fees().await?;
        Ok(fees.map(|fees| match self.plan.tip {
            Some(tip) => Fees {
                max: fees.max.saturating_sub(fees.tip).saturating_add(tip),
                tip,
            },
            None => fees,
        }))
    }

    async fn check_balance(&self, gas_limit: u64, fees: Fees) -> Result<(), Stop> {
        let balance = self.node.balance(self.wallet.address()).await.map_err(not_done)?;
        let needed = U256::from(gas_limit)
            .saturating_mul(U256::from(fees.max))
            .saturating_add(self.plan.value);
        if balance >= needed {
            return Ok(());
        }
        Err(Box::new(Outcome::NotDone(self.poor(Some((balance, needed))))))
    }

    /// The account cannot pay.
    fn poor(&self, amounts: Option<(U256, U256)>) -> Failure {
        let (name, address) = (&self.plan.signer.0, self.wallet.address());
        let mut details = Map::new();
        let mut message = format!("signer `{name}` cannot pay");
        if let Some((balance, needed)) = amounts {
            message = format!("signer `{name}` has {balance} wei, and the transaction may cost {needed} wei");
            details.insert("balanceWei".to_owned(), balance.to_string().into());
            details.insert("neededWei".to_owned(), needed.to_string().into());
        }
        let fix = format!("send coins to `{address}` on `{}`, then retry", self.plan.network.name);
        let error = ActionError::new(kind::CONFLICT, message)
            .with_code("insufficient_funds")
            .with_details(details.into())
            .with_fix(fix);
        Failure::new(error)
    }

    /// A node's no in the words of this action.
    pub(super) fn explained(&self, refusal: &Refusal) -> Failure {
        match refusal.meaning() {
            Meaning::Reverted => {
                let reason = abi::reason(&self.plan.abi, &refusal.returned());
                let reason = if refusal.returned().is_empty() {
                    refusal.message.clone()
                } else {
                    reason
                };
                revert(&reason)
            }
            Meaning::Funds => self.poor(None),
            _ => refusal.failure(),
        }
    }

    /// A transaction of ours is in a block, and changed nothing.
    async fn reverted(&self, claim: &Claim, receipt: &Receipt) -> Stop {
        let limit = claim.find(receipt.hash).map_or(u64::MAX, |signed| signed.gas_limit);
        let mut failure = if receipt.gas_used >= limit {
            out_of_gas(limit, self.plan.gas_limit)
        } else {
            self.reason_at(receipt.block).await
        };
        failure.error.code = Some("reverted".to_owned());
        if let Some(details) = failure
            .error
            .details
            .as_mut()
            .and_then(serde_json::Value::as_object_mut)
        {
            details.insert("transactionHash".to_owned(), json!(receipt.hash));
            details.insert("blockNumber".to_owned(), json!(receipt.block));
        }
        Box::new(Outcome::NotDone(failure))
    }

    /// Why the call reverted in that block: what it met is neither the state before the block nor the one after it, but
    /// one of them mostly says the same.
    async fn reason_at(&self, block: u64) -> Failure {
        for at in [block.saturating_sub(1), block] {
            if let Err(Error::Node(refusal)) = self.node.simulate(&self.question(), At::Number(at)).await
                && refusal.meaning() == Meaning::Reverted
            {
                return self.explained(&refusal);
            }
        }
        revert("for a reason that is gone")
    }

    /// A transaction of ours is in a block, and did what it should.
    fn mined(&self, claim: &Claim, receipt: &Receipt) -> Result<Done, Stop> {
        if claim
            .find(receipt.hash)
            .is_some_and(|signed| signed.call != self.plan.call())
        {
            let message = format!(
                "transaction `{}` of the configuration before it was edited was mined in block {}",
                receipt.hash, receipt.block
            );
            let error = ActionError::new(kind::CONFLICT, message)
                .with_details(json!({"transactionHash": receipt.hash, "blockNumber": receipt.block}))
                .with_fix("nothing was sent for the edited configuration: archive this, or start another execution");
            return Err(Box::new(Outcome::NotDone(Failure {
                hopeless: true,
                ..Failure::new(error)
            })));
        }
        let token = token::id(receipt, self.plan.contract);
        Ok(self.done(claim, receipt, token))
    }

    fn done(&self, claim: &Claim, receipt: &Receipt, token: Option<U256>) -> Done {
        let token = token.map(|id| id.to_string());
        let contract = &self.plan.contract_text;
        let payload = json!({
            "transactionHash": receipt.hash,
            "tokenId": token,
            "contract": contract,
            "actionId": self.attempt.action_id,
        });
        let fee = U256::from(receipt.gas_used).saturating_mul(U256::from(receipt.gas_price));
        let result = json!({
            "transactionHash": receipt.hash,
            "tokenId": token,
            "contract": contract,
            "network": self.plan.network.name,
            "chainId": claim.chain_id,
            "blockNumber": receipt.block,
            "from": claim.from,
            "nonce": claim.nonce,
            "gasUsed": receipt.gas_used,
            "feeWei": fee.to_string(),
        });
        let mut metadata = Map::new();
        metadata.insert("gasPrice".to_owned(), amount::shown(receipt.gas_price).into());
        metadata.insert("transactionsSigned".to_owned(), claim.transactions.len().into());
        Done {
            result,
            event: Some(ResultEvent {
                kind: "token_minted".to_owned(),
                payload,
            }),
            cost: None,
            metadata,
        }
    }

    /// The account that the claim is of.
    pub(super) fn is_own(&self, from: Address) -> bool {
        self.wallet.address() == from
    }
}

/// An estimate that was overtaken by what came before it is made afresh; a given limit stays what it is.
fn out_of_gas(limit: u64, given: Option<u64>) -> Failure {
    let message = format!("the transaction ran out of gas at {limit} units");
    let error = match given {
        Some(_) => {
            ActionError::new(kind::INVALID_CONFIGURATION, message).with_fix("raise `gasLimit`, or leave it at `auto`")
        }
        None => ActionError::new(kind::TEMPORARY_FAILURE, message).with_fix("retry: Sprag estimates the gas again"),
    };
    Failure::new(error)
}

fn revert(reason: &str) -> Failure {
    let error = ActionError::new(kind::CONFLICT, format!("the contract reverted: {reason}"))
        .with_code("reverted")
        .with_details(json!({"reason": reason}))
        .with_fix("fix the reason that the contract gives (its state, or the action's parameters), then retry");
    Failure::new(error)
}

/// Until something is sent, a node that does not answer means that nothing happened.
fn not_done(error: Error) -> Stop {
    Box::new(Outcome::NotDone(error.failure()))
}
