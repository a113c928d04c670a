//! `blockchain_mint` against a real EVM node, and against nodes that are no help.

mod chain;
mod config;
mod crash;
mod lagging;
mod nodes;

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Manual;
use sprag_tests::chain::{self as rig, Chain, ISSUER_KEY, STRANGER_KEY};

use super::{BlockchainMint, ChainOptions, ContractOptions, Options, SignerOptions};
use crate::http::Client;
use crate::http::outbound::Guard;
use crate::secrets::{Provider, SecretError, Secrets};
use crate::testing::{Case, NOW, client};

const TO: &str = "0x00000000000000000000000000000000000000aa";

/// Two private keys, and a key for a node.
struct Keys;

impl Provider for Keys {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        let value = match name {
            "issuer_key" => Some(ISSUER_KEY),
            "stranger_key" => Some(STRANGER_KEY),
            "bad_key" => Some("not a key at all"),
            _ => None,
        };
        Box::pin(std::future::ready(Ok(value.map(str::to_owned))))
    }

    fn place(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// The options of a test with this node and contract.
fn options(url: &str, contract: &str) -> Options {
    let signer = |secret: &str| SignerOptions {
        key: format!("{{{{secrets.{secret}}}}}"),
        unclaimed: None,
    };
    let chain = ChainOptions {
        rpc: url.to_owned(),
        chain_id: Some(rig::CHAIN_ID),
        bump_after_seconds: Some(1),
        ..ChainOptions::default()
    };
    let contract = ContractOptions {
        chain: "local".to_owned(),
        address: contract.to_owned(),
        abi: rig::abi_file().display().to_string(),
        signer: Some("issuer".to_owned()),
    };
    Options {
        chains: [("local".to_owned(), chain)].into(),
        signers: [
            ("issuer", "issuer_key"),
            ("stranger", "stranger_key"),
            ("bad", "bad_key"),
        ]
        .map(|(name, secret)| (name.to_owned(), signer(secret)))
        .into(),
        contracts: [("diplomas".to_owned(), contract)].into(),
    }
}

/// A runner with these options; what a definition names is guarded as by default.
fn runner_of(options: &Options) -> BlockchainMint {
    let secrets = Arc::new(Secrets::new(vec![Box::new(Keys)]));
    let guard = Guard::new(&crate::http::outbound::Options::default()).unwrap();
    let guarded = Client::new(guard, Arc::new(Manual::new(NOW))).unwrap();
    BlockchainMint::new(options, secrets, guarded, client()).unwrap()
}

/// A node with the contract on it, and a runner that knows both.
struct World {
    chain: Chain,
    contract: String,
    runner: BlockchainMint,
}

impl World {
    fn start() -> Option<Self> {
        let chain = Chain::start()?;
        let contract = chain.deploy();
        let runner = runner_of(&options(&chain.url(), &contract));
        Some(Self {
            chain,
            contract,
            runner,
        })
    }

    /// The same node and contract for a process that knows nothing.
    fn restarted(&self) -> BlockchainMint {
        runner_of(&options(&self.chain.url(), &self.contract))
    }

    fn minted(&self, data: &str) -> u64 {
        self.chain.issued_for(&self.contract, data)
    }
}

/// A configuration that mints.
fn config(data: &str) -> Value {
    json!({
        "contract": "diplomas",
        "function": "mint",
        "parameters": {"to": TO, "tokenURI": "ipfs://x", "certificateData": data},
    })
}

fn case(config: Value) -> Case {
    Case::new("blockchain_mint", config)
}

/// The checkpoint that the case stored last.
fn stored(case: &Case) -> Value {
    case.control
        .checkpoints
        .lock()
        .unwrap()
        .last()
        .cloned()
        .expect("a checkpoint")
}

/// A case that continues from a checkpoint, as after a crash.
fn resumed(config: Value, checkpoint: Value) -> Case {
    Case {
        checkpoint: Some(checkpoint),
        ..case(config)
    }
}
