//! `[chains.*]`, `[signers.*]` and `[contracts.*]`: the operator's word about where, who and what.
//!
//! Everything is checked when the server starts; private keys are named here and never held.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloy_json_abi::JsonAbi;
use alloy_primitives::Address;
use serde::Deserialize;
use serde_json::Value;
use sprag_core::document::source::nearest;

use super::{abi, amount};
use crate::http;
use crate::secrets::Text;

/// Blocks that hold the transaction or follow the one that does, before it counts.
const CONFIRMATIONS: u64 = 1;
/// No chain needs more.
pub(super) const CONFIRMATIONS_MAX: u64 = 1_000;
/// A transaction that is not mined after this is sent again with a higher fee.
const BUMP_AFTER_SECONDS: u64 = 30;
const BUMP_AFTER_SECONDS_MAX: u64 = 24 * 60 * 60;
/// The largest file with an ABI.
const ABI_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What the configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `[chains.*]`.
    pub chains: BTreeMap<String, ChainOptions>,
    /// `[signers.*]`.
    pub signers: BTreeMap<String, SignerOptions>,
    /// `[contracts.*]`.
    pub contracts: BTreeMap<String, ContractOptions>,
}

/// `[chains.base]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ChainOptions {
    /// The node's URL; it may name secrets.
    pub rpc: String,
    /// What the node must say it is.
    pub chain_id: Option<u64>,
    /// Blocks before a transaction counts.
    pub confirmations: Option<u64>,
    /// Seconds before the fee is raised.
    pub bump_after_seconds: Option<u64>,
    /// The most that is ever offered for a unit of gas.
    pub max_fee_per_gas: Option<String>,
}

/// `[signers.issuer]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct SignerOptions {
    /// The secret that holds the private key, as `{{secrets.NAME}}`.
    pub key: String,
    /// `replace` or `wait`: what becomes of a transaction that no running action claims and that blocks one.
    pub unclaimed: Option<String>,
}

/// `[contracts.certificates]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ContractOptions {
    /// The chain it is on.
    pub chain: String,
    /// Where it is.
    pub address: String,
    /// A file with its ABI, or the ABI itself as JSON.
    pub abi: String,
    /// Who signs calls of it, unless an action says.
    pub signer: Option<String>,
}

/// Why the options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`[{section}.{name}] {key}`: {detail}")]
pub struct OptionsError {
    /// `chains`, `signers` or `contracts`.
    pub section: &'static str,
    /// The name in that section.
    pub name: String,
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub detail: String,
    /// What would fix it.
    pub remedy: String,
}

/// The options, checked and ready to be used.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) chains: BTreeMap<String, Chain>,
    pub(super) signers: BTreeMap<String, Signer>,
    pub(super) contracts: BTreeMap<String, Contract>,
}

/// A chain of the configuration.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) rpc: Text,
    pub(super) id: Option<u64>,
    pub(super) pace: Pace,
}

/// How patient and how generous to be with a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) confirmations: u64,
    pub(super) bump_after: Duration,
    pub(super) fee_max: Option<u128>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            confirmations: CONFIRMATIONS,
            bump_after: Duration::from_secs(BUMP_AFTER_SECONDS),
            fee_max: None,
        }
    }
}

/// A signer of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signer {
    pub(super) key: Text,
    pub(super) unclaimed: Unclaimed,
}

/// What becomes of a pending transaction that no running action claims and that blocks one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclaimed {
    /// It is replaced: the key is used by this server alone, so its action is over.
    Replace,
    /// It is waited for: another process may use the key.
    Wait,
}

/// A contract of the configuration.
#[derive(Clone, Debug)]
pub(super) struct Contract {
    pub(super) chain: String,
    pub(super) address: Address,
    pub(super) abi: Arc<JsonAbi>,
    pub(super) signer: Option<String>,
}

impl World {
    /// What of the options can be used, and everything that is wrong with them.
    pub(super) fn new(options: &Options) -> (Self, Vec<OptionsError>) {
        let Options {
            chains,
            signers,
            contracts,
        } = options;
        let mut world = Self::default();
        let mut errors = Vec::new();
        for (name, chain) in chains {
            match chain_of(chain) {
                Ok(chain) => drop(world.chains.insert(name.clone(), chain)),
                Err(wrong) => errors.push(wrong.at("chains", name)),
            }
        }
        for (name, signer) in signers {
            match signer_of(signer) {
                Ok(signer) => drop(world.signers.insert(name.clone(), signer)),
                Err(wrong) => errors.push(wrong.at("signers", name)),
            }
        }
        for (name, contract) in contracts {
            match contract_of(contract, options) {
                Ok(contract) => drop(world.contracts.insert(name.clone(), contract)),
                Err(wrong) => errors.push(wrong.at("contracts", name)),
            }
        }
        (world, errors)
    }
}

/// One thing that is wrong with an entry.
struct Wrong {
    key: &'static str,
    detail: String,
    remedy: String,
}

impl Wrong {
    fn new(key: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            key,
            detail: detail.into(),
            remedy: remedy.into(),
        }
    }

    fn at(self, section: &'static str, name: &str) -> OptionsError {
        let Self { key, detail, remedy } = self;
        OptionsError {
            section,
            name: name.to_owned(),
            key,
            detail,
            remedy,
        }
    }
}

fn chain_of(options: &ChainOptions) -> Result<Chain, Wrong> {
    let ChainOptions {
        rpc,
        chain_id,
        confirmations,
        bump_after_seconds,
        max_fee_per_gas,
    } = options;
    let remedy =
        "write the node's URL, as in `https://mainnet.base.org` or `https://node.example/{{secrets.node_key}}`";
    let text = Text::parse(rpc).map_err(|error| Wrong::new("rpc", error.to_string(), remedy))?;
    http::url(&text.with("x")).map_err(|error| Wrong::new("rpc", error.to_string(), remedy))?;
    let fee_max = match max_fee_per_gas {
        None => None,
        Some(text) => Some(amount::price(&Value::from(text.as_str())).ok_or_else(|| {
            let detail = format!("`{text}` is not a price of gas");
            Wrong::new("maxFeePerGas", detail, format!("write {}", amount::EXPECTED))
        })?),
    };
    let confirmations = confirmations.unwrap_or(CONFIRMATIONS);
    if !(1..=CONFIRMATIONS_MAX).contains(&confirmations) {
        let detail = format!("`{confirmations}` is out of bounds");
        let remedy = format!("write a number from 1 to {CONFIRMATIONS_MAX}");
        return Err(Wrong::new("confirmations", detail, remedy));
    }
    let seconds = bump_after_seconds.unwrap_or(BUMP_AFTER_SECONDS);
    if !(1..=BUMP_AFTER_SECONDS_MAX).contains(&seconds) {
        let detail = format!("`{seconds}` is out of bounds");
        let remedy = format!("write a number from 1 to {BUMP_AFTER_SECONDS_MAX}");
        return Err(Wrong::new("bumpAfterSeconds", detail, remedy));
    }
    Ok(Chain {
        rpc: text,
        id: *chain_id,
        pace: Pace {
            confirmations,
            bump_after: Duration::from_secs(seconds),
            fee_max,
        },
    })
}

fn signer_of(options: &SignerOptions) -> Result<Signer, Wrong> {
    let SignerOptions { key, unclaimed } = options;
    let remedy = "name the secret that holds the private key, as in `key = \"{{secrets.issuer_key}}\"`";
    // A key that stands here in clear would be in every backup of the file: the text shows nothing of it.
    let text = Text::parse(key).map_err(|_| Wrong::new("key", "the text names no secret", remedy))?;
    if text.sole_secret().is_none() {
        return Err(Wrong::new(
            "key",
            "a private key is a secret, and must not be in a file",
            remedy,
        ));
    }
    let unclaimed = match unclaimed.as_deref() {
        None | Some("replace") => Unclaimed::Replace,
        Some("wait") => Unclaimed::Wait,
        Some(other) => {
            let detail = format!("`{other}` is not known");
            return Err(Wrong::new("unclaimed", detail, "write `replace` or `wait`"));
        }
    };
    Ok(Signer { key: text, unclaimed })
}

fn contract_of(options: &ContractOptions, all: &Options) -> Result<Contract, Wrong> {
    let ContractOptions {
        chain,
        address,
        abi,
        signer,
    } = options;
    known("chain", chain, all.chains.keys())?;
    if let Some(signer) = signer {
        known("signer", signer, all.signers.keys())?;
    }
    let address = abi::address(address).map_err(|(detail, remedy)| Wrong::new("address", detail, remedy))?;
    let remedy = "write the path of a JSON file with the contract's ABI, or the ABI itself";
    let json = if abi.trim_start().starts_with(['[', '{']) {
        abi.clone()
    } else {
        read_file(Path::new(abi)).map_err(|detail| Wrong::new("abi", detail, remedy))?
    };
    let value: Value =
        serde_json::from_str(&json).map_err(|error| Wrong::new("abi", format!("not JSON: {error}"), remedy))?;
    let abi = abi::read(&value).map_err(|detail| Wrong::new("abi", detail, remedy))?;
    Ok(Contract {
        chain: chain.clone(),
        address,
        abi: Arc::new(abi),
        signer: signer.clone(),
    })
}

fn known<'a>(key: &'static str, name: &str, names: impl Iterator<Item = &'a String> + Clone) -> Result<(), Wrong> {
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    let detail = format!("`[{key}s.{name}]` is not configured");
    let remedy = match nearest(name, names.map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("add `[{key}s.{name}]`"),
    };
    Err(Wrong::new(key, detail, remedy))
}

fn read_file(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be read: {error}", path.display());
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > ABI_BYTES_MAX {
        return Err(format!("`{}` is larger than {ABI_BYTES_MAX} bytes", path.display()));
    }
    std::fs::read_to_string(path).map_err(failed)
}
