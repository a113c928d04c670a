//! `blockchain_mint`: a call of a contract on an EVM chain, made once.
//!
//! # The protocol
//!
//! The only durable things are the chain and one checkpoint for each action: its [claim](claim::Claim), a nonce with
//! every transaction that was ever signed for it.
//!
//! 1. *Begin.* The call is estimated (a call that reverts ends here, with its reason) and the account must be able to pay.
//! 2. *Choose and sign*, under the signer's permit (one for each account and chain in this process): the first nonce
//!    from the chain's pending count on that no running attempt of this process holds.
//! 3. *Store.* The claim is committed with the attempt. Only then is anything
//! 4. *sent*; the permit ends here.
//! 5. *Follow*, until one of the claim's transactions has its confirmations. What a node forgot is sent again, as it
//!    was signed. What is not mined in time gets a higher fee: signed for the same nonce, stored in the claim, then sent.
//!
//! An attempt that finds a claim (after a crash, a timeout, a retry of a dead letter) continues at 5.
//!
//! # Why it can never mint twice
//!
//! - Nothing is sent before it is in the claim, so an action without a claim has sent nothing.
//! - All transactions of a claim have one nonce of one account, so the chain takes one of them at most.
//! - A claim is given up for another nonce only when the chain itself says that none of its transactions can ever
//!   succeed: one of them is confirmed *and reverted*, or *another's transaction with its
//!   nonce* is found in a confirmed block (see [`whose`]; missing receipts and counts prove nothing, since nodes lag).
//! - An edited configuration takes over the claim: its call is signed for the same nonce, so it takes the place of the
//!   old one or is refused because the old one was mined.
//!
//! This holds without any agreement on who may use which nonce: two actions, two processes or a stranger with the
//! same key may choose the same nonce; the chain takes one, and the others find their nonce used up by another and
//! choose again. The permit and the memory of held nonces only keep that rare.
//!
//! # No mint stays stuck
//!
//! A nonce can be left behind: its action died before its transaction was sent, or a node dropped it. While it is next,
//! every later one waits. The next mint takes the chain's pending count, which is that nonce. If no mint comes, the one that
//! waits behind it fills it with an empty transfer to the account itself, once it has been stuck for a while and no
//! running attempt holds it. A transaction that is in the pool, blocks, and belongs to no running attempt is replaced the
//! same way, later, unless the signer says `unclaimed = "wait"`. An action whose nonce was filled chooses again.

mod abi;
mod accounts;
mod amount;
mod attempt;
mod claim;
mod config;
mod follow;
mod node;
mod options;
mod raise;
mod refusal;
mod rpc;
mod token;
mod wallet;
mod whose;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome, Probe};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};
use sprag_core::text::redact::Redactor;
use tokio::time::Instant;

use crate::http::{self, Client};
use crate::registry::config::{is_within, refused};
use crate::secrets::{Filled, SecretError, Secrets, Text};
use accounts::Accounts;
use attempt::{Mint, Mode};
use config::{Plan, RpcEndpoint};
use node::Node;
use options::World;
use rpc::Rpc;
use sprag_core::document::Stage;
use wallet::Wallet;

pub use options::{ChainOptions, ContractOptions, Options, OptionsError, SignerOptions};

/// Where a secret may appear. Everything else of a call is public once it is sent.
const SECRETS: [&str; 1] = ["/contractAddress"];

const TYPE: &str = "blockchain_mint";
/// How long a probe looks. It sends again what was stored, so that a crash is over soon; the rest is for a retry.
const PROBE_MAX: Duration = Duration::from_secs(30);

/// How a runner that ends early says so.
type Stop = Box<Outcome>;

/// Runs `blockchain_mint` actions.
pub struct BlockchainMint {
    world: World,
    secrets: Arc<Secrets>,
    accounts: Accounts,
    /// For nodes that a definition names.
    guarded: Client,
    /// For nodes that the operator names.
    trusted: Client,
}

impl BlockchainMint {
    /// A runner that knows what the configuration says. `trusted` reaches the operator's own nodes. The error is the
    /// first of what [`BlockchainMint::check`] finds.
    pub fn new(
        options: &Options,
        secrets: Arc<Secrets>,
        guarded: Client,
        trusted: Client,
    ) -> Result<Self, OptionsError> {
        let (world, errors) = World::new(options);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        Ok(Self {
            world,
            secrets,
            accounts: Accounts::default(),
            guarded,
            trusted,
        })
    }

    /// Everything wrong with the options.
    pub fn check(options: &Options) -> Vec<OptionsError> {
        World::new(options).1
    }

    /// Names become things: the node, the key, the account.
    async fn prepare<'a>(&'a self, attempt: Attempt<'a>, mode: Mode) -> Result<Mint<'a>, Stop> {
        let plan = config::read(attempt.config, Stage::Rendered, &self.world)
            .map_err(|problems| Box::new(refused(&problems)))?;
        let time = match mode {
            Mode::Mint => attempt.timeout,
            Mode::Ask => attempt.timeout.min(PROBE_MAX),
        };
        let deadline = Instant::now() + time;
        let key = self.fill(&plan.signer.1.key).await?;
        let (rpc, mut secrets) = self.rpc(&plan).await?;
        secrets.extend(key.secrets);
        let redactor = Redactor::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let wallet = Wallet::parse(&key.text).map_err(|error| {
            let message = format!("signer `{}`: {error}", plan.signer.0);
            Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
        })?;
        let node = Node::new(rpc, deadline);
        let chain_id = match node.chain_id().await {
            Ok(found) => found,
            Err(error) => return Err(Box::new(Outcome::NotDone(error.failure()).masked(&redactor))),
        };
        check_chain(&plan, chain_id)?;
        let account = self.accounts.of(chain_id, wallet.address());
        Ok(Mint {
            attempt,
            plan,
            wallet,
            node,
            chain_id,
            account,
            mode,
            redactor,
        })
    }

    async fn fill(&self, text: &Text) -> Result<Filled, Stop> {
        text.fill(&self.secrets).await.map_err(|error| {
            let kind = match error {
                SecretError::Unreadable { .. } | SecretError::Unavailable { .. } => kind::TEMPORARY_FAILURE,
                _ => kind::INVALID_CONFIGURATION,
            };
            Box::new(Outcome::not_done(kind, error.to_string()))
        })
    }

    async fn rpc(&self, plan: &Plan) -> Result<(Rpc, BTreeMap<String, String>), Stop> {
        match &plan.network.rpc {
            RpcEndpoint::Written(url) => Ok((Rpc::new(self.guarded.clone(), url.clone()), BTreeMap::new())),
            RpcEndpoint::Configured(text) => {
                let filled = self.fill(text).await?;
                let url = http::url(&filled.text).map_err(|error| {
                    let message = format!("`[chains.{}] rpc`: {error}", plan.network.name);
                    Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
                })?;
                Ok((Rpc::new(self.trusted.clone(), url), filled.secrets))
            }
        }
    }

    async fn ask(&self, attempt: Attempt<'_>) -> Probe {
        match self.prepare(attempt, Mode::Ask).await {
            Ok(mint) => mint.ask().await,
            Err(_) => Probe::Unclear,
        }
    }
}

impl Runner for BlockchainMint {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::check(config, &self.world)
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        is_within(pointer, &SECRETS)
    }

    fn permissions(&self, _kind: &str, config: &Value) -> Vec<Permission> {
        let text = |key: &str| config.get(key).and_then(Value::as_str);
        let contract = text("contract").and_then(|name| self.world.contracts.get(name));
        let chain = contract.map_or(text("network"), |contract| Some(contract.chain.as_str()));
        let object = match contract {
            Some(contract) => Some(contract.address.to_string()),
            None => text("contractAddress").map(str::to_owned),
        };
        let permission = |scope: &str, object: String| Permission {
            scope: scope.to_owned(),
            object,
        };
        let mut permissions = Vec::new();
        if let (Some(chain), Some(object)) = (chain, object) {
            permissions.push(permission("chain", format!("{chain}: {object}")));
        }
        let signer = text("signer").or_else(|| contract.and_then(|contract| contract.signer.as_deref()));
        let signer = signer.or_else(|| match self.world.signers.len() {
            1 => self.world.signers.keys().next().map(String::as_str),
            _ => None,
        });
        let key = signer.and_then(|name| self.world.signers.get(name)?.key.sole_secret());
        permissions.extend(key.map(|name| permission("secret", name.to_owned())));
        permissions
    }

    fn destination(&self, _kind: &str, config: &Value) -> Option<String> {
        let text = |key: &str| config.get(key).and_then(Value::as_str);
        let contract = text("contract").and_then(|name| self.world.contracts.get(name));
        let network = contract.map_or(text("network"), |contract| Some(contract.chain.as_str()))?;
        match self.world.chains.get(network) {
            Some(chain) => crate::webhook::destination(chain.rpc.plain()?),
            None => crate::webhook::destination(network),
        }
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let mint = match self.prepare(attempt, Mode::Mint).await {
                Ok(mint) => mint,
                // What an earlier attempt sent may be anywhere, whatever keeps this one from looking.
                Err(stop) => return unknown_after(attempt, *stop),
            };
            let outcome = mint.run().await.map_or_else(|stop| *stop, Outcome::Done);
            outcome.masked(&mint.redactor)
        })
    }

    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        if attempt.checkpoint.is_none() {
            // Nothing is sent before it is stored.
            return Some(Box::pin(std::future::ready(Probe::DidNotHappen)));
        }
        Some(Box::pin(self.ask(attempt)))
    }
}

fn check_chain(plan: &Plan, found: u64) -> Result<(), Stop> {
    let network = &plan.network;
    match network.chain_id {
        Some(wanted) if wanted != found => {
            let message = format!(
                "the node of `{}` is on chain {found}, not on chain {wanted}",
                network.name
            );
            let fix = format!(
                "fix `[chains.{}]`: `rpc` leads to another chain than `chainId` says",
                network.name
            );
            let error = ActionError::new(kind::INVALID_CONFIGURATION, message).with_fix(fix);
            Err(Box::new(Outcome::NotDone(Failure::new(error))))
        }
        _ => Ok(()),
    }
}

/// With a claim, "not done" is more than an attempt that could not even look may say.
fn unknown_after(attempt: Attempt<'_>, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::NotDone(failure) if attempt.checkpoint.is_some() => Outcome::Unknown(failure),
        other => other,
    }
}
