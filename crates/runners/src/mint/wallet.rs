//! Signing. The key lives for one attempt, in memory only; it has no `Debug` and no way out.

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use k256::ecdsa::SigningKey;

/// What is offered for a unit of gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fees {
    /// At most, in all.
    pub(super) max: u128,
    /// Of that, for the miner.
    pub(super) tip: u128,
}

impl Fees {
    /// Nodes want at least a tenth more for a transaction that takes another's place; this is an eighth.
    pub(super) fn raised(self) -> Self {
        let more = |wei: u128| wei.saturating_add(wei / 8).saturating_add(1);
        Self {
            max: more(self.max),
            tip: more(self.tip),
        }
    }

    /// The higher of both, part by part.
    pub(super) fn or_higher(self, other: Self) -> Self {
        Self {
            max: self.max.max(other.max),
            tip: self.tip.max(other.tip),
        }
    }

    /// The same under a ceiling.
    pub(super) fn under(self, ceiling: Option<u128>) -> Self {
        let max = ceiling.map_or(self.max, |ceiling| self.max.min(ceiling));
        Self {
            max,
            tip: self.tip.min(max),
        }
    }
}

/// A transaction to be signed.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) chain_id: u64,
    pub(super) nonce: u64,
    pub(super) gas_limit: u64,
    pub(super) fees: Fees,
    pub(super) to: Address,
    pub(super) value: U256,
    pub(super) data: Vec<u8>,
}

/// A signed transaction.
pub(super) struct Made {
    pub(super) hash: B256,
    pub(super) raw: String,
}

/// A private key and its address.
pub(super) struct Wallet {
    key: SigningKey,
    address: Address,
}

/// A text that is no private key. It shows nothing of the text.
#[derive(Debug, thiserror::Error)]
#[error("the secret is not a private key: 64 hexadecimal digits, with or without `0x`")]
pub(super) struct WalletKeyError;

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
#[error("the key could not sign")]
pub(super) struct SignError;

impl Wallet {
    /// Reads a private key.
    pub(super) fn parse(text: &str) -> Result<Self, WalletKeyError> {
        let bytes = hex::decode(text.trim()).map_err(|_| WalletKeyError)?;
        let key = SigningKey::from_slice(&bytes).map_err(|_| WalletKeyError)?;
        let address = Address::from_private_key(&key);
        Ok(Self { key, address })
    }

    /// The account.
    pub(super) fn address(&self) -> Address {
        self.address
    }

    /// Signs; the same order gives the same transaction.
    pub(super) fn sign(&self, order: Order) -> Result<Made, SignError> {
        let Order {
            chain_id,
            nonce,
            gas_limit,
            fees,
            to,
            value,
            data,
        } = order;
        let transaction = TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: fees.max,
            max_priority_fee_per_gas: fees.tip,
            to: TxKind::Call(to),
            value,
            input: Bytes::from(data),
            ..TxEip1559::default()
        };
        let hash = transaction.signature_hash();
        let made = self
            .key
            .sign_prehash_recoverable(hash.as_slice())
            .map_err(|_| SignError)?;
        let signed = transaction.into_signed(Signature::from(made));
        let mut raw = Vec::with_capacity(signed.eip2718_encoded_length());
        signed.eip2718_encode(&mut raw);
        Ok(Made {
            hash: *signed.hash(),
            raw: hex::encode_prefixed(raw),
        })
    }
}
