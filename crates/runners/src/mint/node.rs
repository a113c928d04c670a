//! The questions a mint asks of a node, typed.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::rpc::{Error, Rpc};
use super::wallet::Fees;

/// What is offered to the miner where a node has no opinion.
const TIP_DEFAULT: u128 = 1_000_000_000;

/// A block, as a node is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// The newest.
    Latest,
    /// The newest, and what waits behind it.
    Pending,
    /// By its number.
    Number(u64),
}

impl At {
    fn text(self) -> String {
        match self {
            Self::Latest => "latest".to_owned(),
            Self::Pending => "pending".to_owned(),
            Self::Number(number) => format!("{number:#x}"),
        }
    }
}

/// A call as it would be made.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) data: Vec<u8>,
    pub(super) value: U256,
}

impl Call {
    fn json(&self) -> Value {
        let Self { from, to, data, value } = self;
        json!({"from": from, "to": to, "data": hex::encode_prefixed(data), "value": format!("{value:#x}")})
    }
}

/// A transaction that is in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    pub(super) hash: B256,
    pub(super) block: u64,
    pub(super) succeeded: bool,
    pub(super) gas_used: u64,
    pub(super) gas_price: u128,
    pub(super) logs: Vec<Log>,
}

/// What a contract logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) address: Address,
    pub(super) topics: Vec<B256>,
    pub(super) data: Bytes,
}

/// A node, with the time there is to ask it.
pub(super) struct Node {
    rpc: Rpc,
    deadline: Instant,
}

impl Node {
    /// A node that is asked until `deadline`.
    pub(super) fn new(rpc: Rpc, deadline: Instant) -> Self {
        Self { rpc, deadline }
    }

    /// When asking ends.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.rpc.call(method, params, self.left()).await
    }

    async fn number(&self, method: &str, params: Value) -> Result<u64, Error> {
        let found = self.ask(method, params).await?;
        quantity(&found).ok_or_else(|| Error::garbage("not a number", method))
    }

    async fn amount(&self, method: &str, params: Value) -> Result<U256, Error> {
        let found = self.ask(method, params).await?;
        large(&found).ok_or_else(|| Error::garbage("not a number", method))
    }

    /// Which chain it is on.
    pub(super) async fn chain_id(&self) -> Result<u64, Error> {
        self.number("eth_chainId", json!([])).await
    }

    /// The newest block's number.
    pub(super) async fn head(&self) -> Result<u64, Error> {
        self.number("eth_blockNumber", json!([])).await
    }

    /// How many transactions of the account there are, which is its next nonce.
    pub(super) async fn count(&self, account: Address, at: At) -> Result<u64, Error> {
        self.number("eth_getTransactionCount", json!([account, at.text()]))
            .await
    }

    /// What the account owns.
    pub(super) async fn balance(&self, account: Address) -> Result<U256, Error> {
        self.amount("eth_getBalance", json!([account, "latest"])).await
    }

    /// The gas that the call would take; the node refuses if it would revert. What waits is left out: it may never come,
    /// and what it would make cheaper stays dear.
    pub(super) async fn estimate(&self, call: &Call) -> Result<u64, Error> {
        self.number("eth_estimateGas", json!([call.json(), "latest"])).await
    }

    /// Makes the call without a transaction: for the reason it reverts.
    pub(super) async fn simulate(&self, call: &Call, at: At) -> Result<Value, Error> {
        self.ask("eth_call", json!([call.json(), at.text()])).await
    }

    /// What the newest block takes for a unit of gas; none on a chain without EIP-1559.
    pub(super) async fn base_fee(&self) -> Result<Option<u128>, Error> {
        const METHOD: &str = "eth_getBlockByNumber";
        let block = self.ask(METHOD, json!(["latest", false])).await?;
        match block.get("baseFeePerGas") {
            None | Some(Value::Null) if block.is_object() => Ok(None),
            Some(fee) => price(fee)
                .map(Some)
                .ok_or_else(|| Error::garbage("not a block", METHOD)),
            None => Err(Error::garbage("not a block", METHOD)),
        }
    }

    /// What miners are commonly offered on top.
    pub(super) async fn tip(&self) -> Result<u128, Error> {
        const METHOD: &str = "eth_maxPriorityFeePerGas";
        match self.ask(METHOD, json!([])).await {
            Ok(found) => price(&found).ok_or_else(|| Error::garbage("not a number", METHOD)),
            Err(error) if error.is_missing_method() => Ok(TIP_DEFAULT),
            Err(error) => Err(error),
        }
    }

    /// Fees that will do while the base fee doubles; none on a chain without EIP-1559.
    pub(super) async fn fees(&self) -> Result<Option<Fees>, Error> {
        let Some(base) = self.base_fee().await? else {
            return Ok(None);
        };
        let tip = self.tip().await?;
        let max = base.saturating_mul(2).saturating_add(tip);
        Ok(Some(Fees { max, tip }))
    }

    /// Hands the node a signed transaction.
    pub(super) async fn send(&self, raw: &str) -> Result<(), Error> {
        self.ask("eth_sendRawTransaction", json!([raw])).await.map(|_| ())
    }

    /// Whether the node knows the transaction, in a block or waiting.
    pub(super) async fn knows(&self, hash: B256) -> Result<bool, Error> {
        Ok(!self.ask("eth_getTransactionByHash", json!([hash])).await?.is_null())
    }

    /// The receipt of the transaction, once it is in a block.
    pub(super) async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, Error> {
        const METHOD: &str = "eth_getTransactionReceipt";
        let found = self.ask(METHOD, json!([hash])).await?;
        if found.is_null() {
            return Ok(None);
        }
        let receipt = receipt(&found).filter(|receipt| receipt.hash == hash);
        receipt.map(Some).ok_or_else(|| Error::garbage("not a receipt", METHOD))
    }

    /// Who sent a transaction that is in a block, and with which nonce; none where the node does not know it.
    pub(super) async fn sender(&self, hash: B256) -> Result<Option<(Address, u64)>, Error> {
        const METHOD: &str = "eth_getTransactionByHash";
        let found = self.ask(METHOD, json!([hash])).await?;
        if found.get("blockNumber").is_none_or(Value::is_null) {
            return Ok(None);
        }
        let from = found
            .get("from")
            .and_then(|from| serde_json::from_value(from.clone()).ok());
        let nonce = found.get("nonce").and_then(quantity);
        from.zip(nonce)
            .map(Some)
            .ok_or_else(|| Error::garbage("not a transaction", METHOD))
    }

    /// The hashes of a block's transactions.
    pub(super) async fn block_hashes(&self, number: u64) -> Result<Vec<B256>, Error> {
        const METHOD: &str = "eth_getBlockByNumber";
        let block = self.ask(METHOD, json!([At::Number(number).text(), false])).await?;
        let hashes = block
            .get("transactions")
            .and_then(|list| serde_json::from_value(list.clone()).ok());
        hashes.ok_or_else(|| Error::garbage("not a block", METHOD))
    }
}

fn large(value: &Value) -> Option<U256> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    U256::from_str_radix(digits, 16).ok().filter(|_| !digits.is_empty())
}

fn quantity(value: &Value) -> Option<u64> {
    large(value).and_then(|number| u64::try_from(number).ok())
}

fn price(value: &Value) -> Option<u128> {
    large(value).and_then(|number| u128::try_from(number).ok())
}

fn receipt(value: &Value) -> Option<Receipt> {
    let logs = value
        .get("logs")?
        .as_array()?
        .iter()
        .map(log)
        .collect::<Option<Vec<_>>>()?;
    Some(Receipt {
        hash: serde_json::from_value(value.get("transactionHash")?.clone()).ok()?,
        block: quantity(value.get("blockNumber")?)?,
        succeeded: quantity(value.get("status")?)? == 1,
        gas_used: quantity(value.get("gasUsed")?)?,
        gas_price: value.get("effectiveGasPrice").and_then(price).unwrap_or_default(),
        logs,
    })
}

fn log(value: &Value) -> Option<Log> {
    Some(Log {
        address: serde_json::from_value(value.get("address")?.clone()).ok()?,
        topics: serde_json::from_value(value.get("topics")?.clone()).ok()?,
        data: serde_json::from_value(value.get("data")?.clone()).ok()?,
    })
}
