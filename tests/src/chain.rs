//! A real EVM node as a child process, and the contract of `tests/contracts` on it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::wait;

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(1);
const WORD: usize = 32;

/// The node's first account: it deploys, so it is the registrar. The key is public knowledge, from the node's own
/// documentation.
pub const ISSUER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
/// Its private key.
pub const ISSUER_KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
/// The node's second account, which holds coins and is nobody to the contract.
pub const STRANGER: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
/// Its private key.
pub const STRANGER_KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
/// The chain it is.
pub const CHAIN_ID: u64 = 31_337;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Where the compiled contract is.
pub fn abi_file() -> PathBuf {
    root().join("tests/contracts/Diploma.json")
}

fn contract() -> Value {
    let text = std::fs::read_to_string(abi_file()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The contract's ABI.
pub fn abi() -> Value {
    contract()["abi"].take()
}

/// The node's program, where `make tools` puts it.
fn program() -> Option<PathBuf> {
    let packages = root().join("target/tools/anvil/node_modules/@foundry-rs");
    let found = std::fs::read_dir(packages).ok()?;
    let programs = found.filter_map(|entry| Some(entry.ok()?.path().join("bin/anvil")));
    programs.into_iter().find(|program| program.is_file())
}

/// A running node.
pub struct Chain {
    child: Child,
    address: SocketAddr,
}

impl Chain {
    /// Starts a node where the system likes. None, with a word about it, where it is not installed.
    pub fn start() -> Option<Self> {
        Self::start_with(&["--port", "0"])
    }

    /// Starts a node with these arguments.
    pub fn start_with(arguments: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            println!("skipped: there is no EVM node; `make tools` installs one");
            return None;
        };
        let mut command = Command::new(program);
        command.args(["--host", "127.0.0.1"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("Listening on ")?.trim().parse().ok())?;
        // It continues printing: somebody must read, or it would wait.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks the node.
    pub fn ask(&self, method: &str, params: &Value) -> Value {
        let question = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = Client::new(self.address).post("/", &question);
        let mut answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
        assert!(answer.body["error"].is_null(), "{method} {params}: {:#}", answer.body);
        answer.body["result"].take()
    }

    /// A number that the node answers.
    pub fn number(&self, method: &str, params: &Value) -> u64 {
        number(&self.ask(method, params))
    }

    /// Deploys the contract and returns its address.
    pub fn deploy(&self) -> String {
        let order = json!([{"from": ISSUER, "data": contract()["bytecode"]}]);
        let receipt = self.receipt_of(&self.ask("eth_sendTransaction", &order));
        let address = receipt["contractAddress"].as_str().map(str::to_owned);
        address.unwrap_or_else(|| panic!("not deployed: {receipt:#}"))
    }

    fn receipt_of(&self, hash: &Value) -> Value {
        wait::until("a receipt", GUARD, || {
            let receipt = self.ask("eth_getTransactionReceipt", &json!([hash]));
            (!receipt.is_null()).then_some(receipt)
        })
    }

    /// Calls a function of the contract that changes something, as the registrar.
    pub fn change(&self, contract: &str, signature: &str, word: u64) {
        let order = json!([{"from": ISSUER, "to": contract, "data": format!("{}{word:064x}", selector(signature))}]);
        let receipt = self.receipt_of(&self.ask("eth_sendTransaction", &order));
        assert_eq!(receipt["status"], "0x1", "{receipt:#}");
    }

    /// How many tokens there are.
    pub fn supply(&self, contract: &str) -> u64 {
        self.number(
            "eth_call",
            &json!([{"to": contract, "data": selector("totalSupply()")}, "latest"]),
        )
    }

    /// How many tokens were minted with this data.
    pub fn issued_for(&self, contract: &str, data: &str) -> u64 {
        let size = data.len();
        let mut bytes = String::new();
        for byte in data.bytes() {
            // Writing to a text cannot fail.
            let _ = write!(bytes, "{byte:02x}");
        }
        bytes.push_str(&"00".repeat(size.next_multiple_of(WORD) - size));
        let call = format!("{}{WORD:064x}{size:064x}{bytes}", selector("issuedFor(string)"));
        self.number("eth_call", &json!([{"to": contract, "data": call}, "latest"]))
    }

    /// How many transactions of the account are in blocks.
    pub fn count(&self, account: &str) -> u64 {
        self.number("eth_getTransactionCount", &json!([account, "latest"]))
    }

    /// The same with those that wait.
    pub fn pending(&self, account: &str) -> u64 {
        self.number("eth_getTransactionCount", &json!([account, "pending"]))
    }

    /// Whether a block follows each transaction by itself.
    pub fn automine(&self, on: bool) {
        self.ask("evm_setAutomine", &json!([on]));
    }

    /// Makes a block of what waits.
    pub fn mine(&self) {
        self.ask("evm_mine", &json!([]));
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn selector(signature: &str) -> String {
    let methods = contract()["methods"].take();
    let digits = methods[signature].as_str().unwrap_or_else(|| panic!("no {signature}"));
    format!("0x{digits}")
}

/// A number as nodes write them.
pub fn number(value: &Value) -> u64 {
    let digits = value
        .as_str()
        .and_then(|text| text.strip_prefix("0x"))
        .unwrap_or_default();
    u64::from_str_radix(digits.trim_start_matches('0'), 16).unwrap_or_default()
}
