//! The configuration of a `blockchain_mint` action, read against what `sprag.toml` knows.
//!
//! As written, everything that does not hang on a template is checked: names, addresses, the function, every
//! parameter, amounts. What is found here is what an attempt would have died of.

use std::sync::Arc;

use alloy_json_abi::{JsonAbi, StateMutability};
use alloy_primitives::{Address, B256, U256, keccak256};
use serde_json::Value;
use sprag_core::action::runner::ConfigProblem;
use sprag_core::document::source::{Place, nearest};
use url::Url;

use super::options::{CONFIRMATIONS_MAX, Chain, Contract, Pace, Signer, World};
use super::{abi, amount};
use crate::http;
use crate::registry::config;
use crate::secrets::Text;
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Stage, quoted};

const KEYS: [&str; 14] = [
    "blockchain",
    "network",
    "chainId",
    "contract",
    "contractAddress",
    "abi",
    "function",
    "parameters",
    "signer",
    "value",
    "gasLimit",
    "gasPrice",
    "maxPriorityFeePerGas",
    "confirmations",
];
/// Chains of other kinds have other runners.
const BLOCKCHAINS: [&str; 2] = ["ethereum", "evm"];
const AUTO: &str = "auto";
/// No block holds more.
const GAS_LIMIT_MAX: u64 = 1_000_000_000;

/// What to call, where, and who signs it.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) network: MintNetwork,
    pub(super) signer: (String, Signer),
    pub(super) contract: Address,
    /// The contract as the configuration writes it: if that is a secret, it is masked wherever it appears.
    pub(super) contract_text: String,
    pub(super) abi: Arc<JsonAbi>,
    pub(super) data: Vec<u8>,
    pub(super) value: U256,
    pub(super) gas_limit: Option<u64>,
    pub(super) gas_price: Option<u128>,
    pub(super) tip: Option<u128>,
}

impl Plan {
    /// A digest of what is called with what. Fees are no part of it.
    pub(super) fn call(&self) -> B256 {
        let mut bytes = self.contract.to_vec();
        bytes.extend(self.value.to_be_bytes::<32>());
        bytes.extend(&self.data);
        keccak256(bytes)
    }

    /// The most that is ever offered for a unit of gas.
    pub(super) fn fee_max(&self) -> Option<u128> {
        match (self.gas_price, self.network.pace.fee_max) {
            (Some(given), Some(chain)) => Some(given.min(chain)),
            (given, chain) => given.or(chain),
        }
    }
}

/// Where a call goes.
#[derive(Clone, Debug)]
pub(super) struct MintNetwork {
    pub(super) name: String,
    pub(super) rpc: RpcEndpoint,
    pub(super) chain_id: Option<u64>,
    pub(super) pace: Pace,
}

/// Whose word the node's address is.
#[derive(Clone, Debug)]
pub(super) enum RpcEndpoint {
    /// The operator's: it passes.
    Configured(Text),
    /// The definition's: it is guarded.
    Written(Url),
}

/// Everything wrong with the configuration as it is written.
pub(super) fn check(config: &Value, world: &World) -> Vec<ConfigProblem> {
    read(config, Stage::Written, world).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates leave `Err` with no problems.
pub(super) fn read(config: &Value, stage: Stage, world: &World) -> Result<Plan, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        Reading { world, object }.plan(reader)
    })
}

/// A configuration being read.
struct Reading<'a> {
    world: &'a World,
    object: &'a Spot<'a>,
}

/// A value that is still a template, or wrong and noted.
struct Unread;

/// What is known of the contract so far.
struct Target<'a> {
    network: Option<MintNetwork>,
    entry: Option<&'a Contract>,
    address: Option<(Address, String)>,
}

impl<'a> Reading<'a> {
    fn plan(&self, reader: &mut Reader) -> Option<Plan> {
        let object = self.object;
        reader.word(object, "blockchain", &BLOCKCHAINS);
        let target = self.target(reader);
        let abi = self.abi(reader, &target);
        let call = abi.as_ref().and_then(|abi| self.call(reader, abi));
        let signer = self.signer(reader, target.entry);
        let gas_limit = self.gas_limit(reader);
        let gas_price = self.price(reader, "gasPrice");
        let tip = self.price(reader, "maxPriorityFeePerGas");
        let value = self.value(reader);
        let confirmations = reader.whole(object, "confirmations", 0, CONFIRMATIONS_MAX);
        if confirmations == Some(0) {
            let detail = "`0` confirmations are not possible";
            reader.refuse_member(object, "confirmations", detail, "write 1 or more");
        }
        let mut network = target.network?;
        network.pace.confirmations = confirmations.unwrap_or(network.pace.confirmations);
        let (contract, contract_text) = target.address?;
        Some(Plan {
            network,
            signer: signer?,
            contract,
            contract_text,
            data: call?,
            abi: abi?,
            value: value?,
            gas_limit: gas_limit.ok()?,
            gas_price: gas_price.ok()?,
            tip: tip.ok()?,
        })
    }

    /// The contract and its chain, by name or by network and address.
    fn target(&self, reader: &mut Reader) -> Target<'a> {
        let object = self.object;
        let named = self.named_contract(reader);
        let entry = named.as_ref().ok().copied().flatten();
        let network = match entry {
            Some(contract) => self.network_of(reader, contract),
            None => self.network(reader, named.is_ok()),
        };
        let written = reader.text(object, "contractAddress");
        let address = match (written, entry) {
            (Some(text), _) if reader.is_open(text) => None,
            (Some(text), entry) => self.address(reader, text, entry),
            (None, Some(contract)) => Some((contract.address, contract.address.to_string())),
            (None, None) => {
                if named.is_ok() && !object.has("contractAddress") {
                    reader.refuse_member(object, "contractAddress", "`contract` and `contractAddress` are both missing",
                        "name a contract of `sprag.toml` under `contract`, or write the address under `contractAddress`",
                    );
                }
                None
            }
        };
        let entry = entry.or_else(|| {
            let (network, (address, _)) = (network.as_ref()?, address.as_ref()?);
            let mut contracts = self.world.contracts.values();
            contracts.find(|contract| contract.chain == network.name && contract.address == *address)
        });
        Target {
            network,
            entry,
            address,
        }
    }

    /// The contract under `contract`, if the key is given.
    fn named_contract(&self, reader: &mut Reader) -> Result<Option<&'a Contract>, Unread> {
        let object = self.object;
        if !object.has("contract") {
            return Ok(None);
        }
        let name = reader.text(object, "contract").filter(|name| !reader.is_open(name));
        let name = name.ok_or(Unread)?;
        let found = self.world.contracts.get(name);
        if found.is_none() {
            unknown(
                reader,
                &object.place_of("contract"),
                "contracts",
                name,
                self.world.contracts.keys(),
            );
        }
        found.map(Some).ok_or(Unread)
    }

    /// The chain of a named contract, which `network` may only repeat.
    fn network_of(&self, reader: &mut Reader, contract: &Contract) -> Option<MintNetwork> {
        let object = self.object;
        if let Some(text) = reader.text(object, "network").filter(|text| !reader.is_open(text))
            && text != contract.chain
        {
            let detail = format!("the contract is on `{}`, not on `{}`", contract.chain, shown(text));
            reader.refuse_member(
                object,
                "network",
                detail,
                "leave `network` out, or name another contract",
            );
        }
        let chain = self.world.chains.get(&contract.chain)?;
        Some(self.configured(reader, &contract.chain, chain))
    }

    fn network(&self, reader: &mut Reader, required: bool) -> Option<MintNetwork> {
        let object = self.object;
        if required {
            reader.require(
                object,
                "network",
                "`base`, a chain of `sprag.toml`, or the URL of a node",
            )?;
        }
        let text = reader.text(object, "network").filter(|text| !reader.is_open(text))?;
        if text.contains("://") {
            return match http::url(text) {
                Ok(url) => Some(MintNetwork {
                    name: url.host_str().unwrap_or_default().to_owned(),
                    rpc: RpcEndpoint::Written(url),
                    chain_id: self.chain_id(reader),
                    pace: Pace::default(),
                }),
                Err(error) => {
                    let remedy = "write the node's URL, as in `https://mainnet.base.org`";
                    reader.refuse_member(object, "network", error.to_string(), remedy);
                    None
                }
            };
        }
        let Some(chain) = self.world.chains.get(text) else {
            unknown(
                reader,
                &object.place_of("network"),
                "chains",
                text,
                self.world.chains.keys(),
            );
            return None;
        };
        Some(self.configured(reader, text, chain))
    }

    fn configured(&self, reader: &mut Reader, name: &str, chain: &Chain) -> MintNetwork {
        let chain_id = self.chain_id(reader);
        if let (Some(written), Some(known)) = (chain_id, chain.id)
            && written != known
        {
            let detail = format!("`[chains.{name}]` is chain {known}, not {written}");
            reader.refuse_member(
                self.object,
                "chainId",
                detail,
                "leave `chainId` out, or name another network",
            );
        }
        MintNetwork {
            name: name.to_owned(),
            rpc: RpcEndpoint::Configured(chain.rpc.clone()),
            chain_id: chain_id.or(chain.id),
            pace: chain.pace,
        }
    }

    fn chain_id(&self, reader: &mut Reader) -> Option<u64> {
        reader.whole(self.object, "chainId", 0, u64::MAX)
    }

    fn address(&self, reader: &mut Reader, text: &str, entry: Option<&Contract>) -> Option<(Address, String)> {
        let place = self.object.place_of("contractAddress");
        match abi::address(text) {
            Ok(address) if entry.is_some_and(|entry| entry.address != address) => {
                let detail = "the address is not that of the named contract";
                reader.refuse(&place, detail, "leave `contractAddress` out, or name another contract");
                None
            }
            Ok(address) => Some((address, text.to_owned())),
            Err((detail, remedy)) => {
                reader.refuse(&place, detail, remedy);
                None
            }
        }
    }

    /// The ABI: written here, or that of the configured contract.
    fn abi(&self, reader: &mut Reader, target: &Target<'_>) -> Option<Arc<JsonAbi>> {
        let object = self.object;
        if let Some(value) = object.value_of("abi") {
            if value.as_str().is_some_and(|text| reader.is_open(text)) {
                return None;
            }
            return match abi::read(value) {
                Ok(abi) => Some(Arc::new(abi)),
                Err(detail) => {
                    let remedy = "write the compiler's `abi` list, or signatures such as \
                                  `function mint(address to, string tokenURI)`";
                    reader.refuse_member(object, "abi", detail, remedy);
                    None
                }
            };
        }
        if let Some(entry) = target.entry {
            return Some(Arc::clone(&entry.abi));
        }
        let network = target.network.as_ref()?;
        let name = &network.name;
        let on_chain = self.world.contracts.values().any(|contract| contract.chain == *name);
        // An address that is still to be rendered may yet be one of the contracts on this chain.
        if target.address.is_some() || (!on_chain && object.has("contractAddress")) {
            let detail = format!("no ABI is known for this contract on `{name}`");
            let remedy = format!(
                "add `abi` here, or `[contracts.NAME]` with `chain = \"{name}\"`, `address` and `abi` to `sprag.toml`"
            );
            reader.refuse_member(object, "contractAddress", detail, remedy);
        }
        None
    }

    /// The call's data.
    fn call(&self, reader: &mut Reader, abi: &JsonAbi) -> Option<Vec<u8>> {
        let object = self.object;
        let text = reader.required_text(object, "function", "`mint`")?;
        if reader.is_open(text) {
            return None;
        }
        let function = abi::function(reader, object, abi, text)?;
        if matches!(function.state_mutability, StateMutability::View | StateMutability::Pure) {
            let detail = format!(
                "`{}` only reads: a transaction would change nothing",
                function.signature()
            );
            reader.refuse_member(object, "function", detail, "name a function that changes the contract");
        }
        if object.has("value") && function.state_mutability != StateMutability::Payable {
            let detail = format!("`{}` takes no coins", function.signature());
            reader.refuse_member(object, "value", detail, "leave `value` out");
        }
        abi::encode(reader, object, function)
    }

    /// Who signs: as written, as the contract says, or the only one there is.
    fn signer(&self, reader: &mut Reader, entry: Option<&Contract>) -> Option<(String, Signer)> {
        let object = self.object;
        let signers = &self.world.signers;
        let names: Vec<&str> = signers.keys().map(String::as_str).collect();
        let name = match (
            reader.text(object, "signer"),
            entry.and_then(|entry| entry.signer.as_deref()),
        ) {
            (Some(name), _) if reader.is_open(name) => return None,
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => match names.as_slice() {
                [only] => only,
                [] => {
                    let remedy = "add `[signers.issuer]` with `key = \"{{secrets.issuer_key}}\"` to `sprag.toml`";
                    reader.refuse_member(object, "signer", "no signer is configured", remedy);
                    return None;
                }
                several => {
                    let detail = "several signers are configured, and none is named";
                    reader.refuse_member(
                        object,
                        "signer",
                        detail,
                        format!("write one of {}", quoted(several.iter().copied())),
                    );
                    return None;
                }
            },
        };
        let Some(signer) = signers.get(name) else {
            unknown(reader, &object.place_of("signer"), "signers", name, signers.keys());
            return None;
        };
        Some((name.to_owned(), signer.clone()))
    }

    /// `gasLimit`; none means that the node is asked.
    fn gas_limit(&self, reader: &mut Reader) -> Result<Option<u64>, Unread> {
        let object = self.object;
        match object.value_of("gasLimit") {
            None => Ok(None),
            Some(Value::String(text)) if text == AUTO => Ok(None),
            Some(Value::String(text)) if !reader.is_open(text) => {
                let number = text.parse().ok().filter(|gas| (1..=GAS_LIMIT_MAX).contains(gas));
                if number.is_none() {
                    self.wrong(reader, "gasLimit", "`auto` or a whole number of units of gas");
                }
                number.map(Some).ok_or(Unread)
            }
            Some(_) => reader
                .whole(object, "gasLimit", 0, GAS_LIMIT_MAX)
                .map(Some)
                .ok_or(Unread),
        }
    }

    /// A price of gas; none means that the node is asked.
    fn price(&self, reader: &mut Reader, key: &'static str) -> Result<Option<u128>, Unread> {
        let value = match self.object.value_of(key) {
            None => return Ok(None),
            Some(Value::String(text)) if text == AUTO => return Ok(None),
            Some(Value::String(text)) if reader.is_open(text) => return Err(Unread),
            Some(value) => value,
        };
        let price = amount::price(value).filter(|price| *price > 0);
        if price.is_none() {
            self.wrong(reader, key, &format!("`auto`, or {}", amount::EXPECTED));
        }
        price.map(Some).ok_or(Unread)
    }

    fn value(&self, reader: &mut Reader) -> Option<U256> {
        let value = match self.object.value_of("value") {
            None => return Some(U256::ZERO),
            Some(Value::String(text)) if reader.is_open(text) => return None,
            Some(value) => value,
        };
        let amount = amount::read(value);
        if amount.is_none() {
            self.wrong(reader, "value", amount::EXPECTED);
        }
        amount
    }

    fn wrong(&self, reader: &mut Reader, key: &str, expected: &str) {
        if let Some(spot) = self.object.get(key) {
            reader.wrong(&spot, expected);
        }
    }
}

/// Notes a name that `sprag.toml` does not have.
fn unknown<'n>(reader: &mut Reader, place: &Place, section: &str, name: &str, known: impl Iterator<Item = &'n String>) {
    let remedy = match nearest(name, known.map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("add `[{section}.{}]` to `sprag.toml`", shown(name)),
    };
    reader.error(
        place,
        config::NOT_CONFIGURED,
        format!("`[{section}.{}]` is not configured", shown(name)),
        remedy,
    );
}
