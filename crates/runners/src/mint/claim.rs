//! What is committed before anything is sent: the nonce an action holds, and everything it signed for it.

use std::fmt;

use alloy_primitives::{Address, B256};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::wallet::Fees;

/// The most transactions signed for one nonce: fees that rose by an eighth so often are 43 times what they were.
pub(super) const SIGNED_MAX: usize = 33;

/// The checkpoint of a mint. All its transactions have one nonce, so the chain takes one of them at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    pub(super) chain_id: u64,
    pub(super) from: Address,
    pub(super) nonce: u64,
    /// A block some way before the nonce was chosen: it was free there.
    pub(super) block: u64,
    /// Oldest first.
    pub(super) transactions: Vec<Signed>,
}

/// A signed transaction, as it is sent, and sent again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Signed {
    pub(super) hash: B256,
    pub(super) raw: String,
    /// A digest of what it calls with what: an edited configuration calls something else.
    pub(super) call: B256,
    pub(super) gas_limit: u64,
    #[serde(with = "decimal")]
    pub(super) max_fee_per_gas: u128,
    #[serde(with = "decimal")]
    pub(super) max_priority_fee_per_gas: u128,
}

impl fmt::Debug for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.hash)
    }
}

impl Signed {
    /// What it offers.
    pub(super) fn fees(&self) -> Fees {
        Fees {
            max: self.max_fee_per_gas,
            tip: self.max_priority_fee_per_gas,
        }
    }
}

impl Claim {
    /// Reads a checkpoint; none for one that is no claim or holds no transaction.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let claim: Self = serde_json::from_value(value.clone()).ok()?;
        (!claim.transactions.is_empty()).then_some(claim)
    }

    /// The checkpoint.
    pub(super) fn value(&self) -> Value {
        // Numbers, texts and lists: there is nothing in it that JSON cannot hold.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// What was signed last.
    pub(super) fn newest(&self) -> Option<&Signed> {
        self.transactions.last()
    }

    /// What was signed under that hash.
    pub(super) fn find(&self, hash: B256) -> Option<&Signed> {
        self.transactions.iter().find(|signed| signed.hash == hash)
    }
}

/// Prices as texts: JSON numbers end at 64 bits.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
