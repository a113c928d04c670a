//! What a node's no means. Nodes agree on hardly any code, so their words are read.

use alloy_primitives::hex;
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::Failure;

use super::rpc::Refusal;

/// Why a node does not take a transaction, or does not make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It has the transaction already.
    Known,
    /// The nonce is used up.
    NonceUsed,
    /// Another transaction holds the nonce, and this one does not pay enough more to take its place.
    Occupied,
    /// The fee is too low for now.
    FeeTooLow,
    /// The account cannot pay.
    Funds,
    /// The node has more than it can take.
    Busy,
    /// The transaction can never be taken.
    Unfit,
    /// The call reverts.
    Reverted,
    /// The node no longer has the state of an old block.
    Pruned,
    /// None of these.
    Other,
}

/// The words of known nodes (geth, reth, erigon, nethermind, besu, anvil), in the order in which they are looked for.
const WORDS: [(&str, Meaning); 33] = [
    ("already known", Meaning::Known),
    ("already imported", Meaning::Known),
    ("alreadyknown", Meaning::Known),
    ("known transaction", Meaning::Known),
    ("already in mempool", Meaning::Known),
    ("nonce too low", Meaning::NonceUsed),
    ("nonce is too low", Meaning::NonceUsed),
    ("oldnonce", Meaning::NonceUsed),
    ("nonce_expired", Meaning::NonceUsed),
    ("replacement", Meaning::Occupied),
    ("could not replace", Meaning::Occupied),
    ("insufficient funds", Meaning::Funds),
    ("insufficient balance", Meaning::Funds),
    ("enough funds", Meaning::Funds),
    ("upfront cost exceeds", Meaning::Funds),
    ("underpriced", Meaning::FeeTooLow),
    ("less than block base fee", Meaning::FeeTooLow),
    ("fee cap", Meaning::FeeTooLow),
    ("feetoolow", Meaning::FeeTooLow),
    ("gas price too low", Meaning::FeeTooLow),
    ("gas price below", Meaning::FeeTooLow),
    ("pool is full", Meaning::Busy),
    ("txpool is full", Meaning::Busy),
    ("too many", Meaning::Busy),
    ("intrinsic gas", Meaning::Unfit),
    ("exceeds block gas limit", Meaning::Unfit),
    ("invalid chain id", Meaning::Unfit),
    ("invalid sender", Meaning::Unfit),
    ("revert", Meaning::Reverted),
    ("missing trie node", Meaning::Pruned),
    ("state is not available", Meaning::Pruned),
    ("pruned", Meaning::Pruned),
    ("historical state", Meaning::Pruned),
];
/// The code for limits, and the one for reverted calls.
const LIMIT_EXCEEDED: i64 = -32005;
const EXECUTION_REVERTED: i64 = 3;

impl Refusal {
    /// What it means.
    pub(super) fn meaning(&self) -> Meaning {
        let text = self.message.to_ascii_lowercase();
        let word = WORDS
            .iter()
            .find(|(word, _)| text.contains(word))
            .map(|(_, meaning)| *meaning);
        word.unwrap_or(match self.code {
            LIMIT_EXCEEDED => Meaning::Busy,
            EXECUTION_REVERTED => Meaning::Reverted,
            _ => Meaning::Other,
        })
    }

    /// What a reverted call returned.
    pub(super) fn returned(&self) -> Vec<u8> {
        let text = match &self.data {
            Some(Value::String(text)) => text.as_str(),
            Some(Value::Object(object)) => object.get("data").and_then(Value::as_str).unwrap_or_default(),
            _ => "",
        };
        hex::decode(text).unwrap_or_default()
    }

    /// The failure of an attempt that ends here.
    pub(super) fn failure(&self) -> Failure {
        let (kind, fix) = match self.meaning() {
            Meaning::FeeTooLow | Meaning::Occupied => (
                kind::GAS_PRICE_TOO_LOW,
                "leave `gasPrice` at `auto`, or raise it and the chain's `maxFeePerGas`",
            ),
            Meaning::Busy | Meaning::Known | Meaning::NonceUsed => (kind::NETWORK_CONGESTION, "nothing: Sprag retries"),
            Meaning::Funds => (
                kind::CONFLICT,
                "send coins of the chain to the signer's address, then retry",
            ),
            Meaning::Unfit => (kind::INVALID_CONFIGURATION, "raise `gasLimit`, or leave it at `auto`"),
            Meaning::Reverted => (kind::CONFLICT, "fix the reason that the contract gives, then retry"),
            Meaning::Pruned | Meaning::Other => (kind::UNKNOWN_ERROR, "read the message of the node"),
        };
        let message = format!("the node refused: {}", self.message);
        let error = ActionError::new(kind, message)
            .with_code(self.code.to_string())
            .with_details(json!({"node": self.message}))
            .with_fix(fix);
        Failure::new(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_nodes_have_their_meaning() {
        let table = [
            (-32000, "already known", Meaning::Known),
            (-32003, "transaction already imported", Meaning::Known),
            (-32000, "nonce too low: next nonce 7, tx nonce 5", Meaning::NonceUsed),
            (-32000, "replacement transaction underpriced", Meaning::Occupied),
            (
                -32000,
                "transaction underpriced: gas tip cap 0, minimum needed 1",
                Meaning::FeeTooLow,
            ),
            (
                -32000,
                "max fee per gas less than block base fee: address 0x0",
                Meaning::FeeTooLow,
            ),
            (-32003, "Insufficient funds for gas * price + value", Meaning::Funds),
            (-32000, "txpool is full", Meaning::Busy),
            (-32005, "limit", Meaning::Busy),
            (-32000, "intrinsic gas too low", Meaning::Unfit),
            (3, "execution reverted: no", Meaning::Reverted),
            (3, "", Meaning::Reverted),
            (-32000, "missing trie node 00", Meaning::Pruned),
            (-32603, "internal error", Meaning::Other),
        ];
        for (code, message, meaning) in table {
            let refusal = Refusal {
                code,
                message: message.to_owned(),
                data: None,
            };
            assert_eq!(refusal.meaning(), meaning, "{message}");
        }
    }
}
