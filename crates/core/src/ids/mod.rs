//! Ids: 48 bits of UTC milliseconds, a 16-bit slot, 64 bits of entropy.
//!
//! The text of an id is its kind (`exe_`, `act_`, …) and 26 lower-case Crockford base32 characters, so texts sort as
//! the bytes do and rows arrive in the order of time. The slot says which shard owns the thing, without a look-up.
//! Ids are never drawn here: a [`Mint`] derives them from entropy that came in with the input.

pub mod trace;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use crate::time::Timestamp;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TEXT_LENGTH: usize = 26;
const PREFIX_LENGTH: usize = 4;
/// So many characters are as many bits as a word holds.
const WORD_CHARACTERS: usize = 12;
const WORD_BITS: u128 = (1 << 60) - 1;

/// The part of an id that decides which shard owns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// The slot of an execution with a business key: the same on every node, so uniqueness is decided in one shard.
    pub fn of_key(machine: &str, key: &str) -> Self {
        Self::of_parts(&[machine.as_bytes(), b"\0", key.as_bytes()])
    }

    /// The slot of an `Idempotency-Key`.
    pub fn of_idempotency_key(key: &str) -> Self {
        Self::of_parts(&[key.as_bytes()])
    }

    fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        let digest = hash.finalize();
        Self(u16::from_be_bytes([digest[0], digest[1]]))
    }
}

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form `{prefix}` and 26 characters of 0-9a-z without i, l, o, u")]
pub struct ParseIdError {
    text: String,
    prefix: &'static str,
}

fn compose(at: Timestamp, slot: Slot, entropy: u64) -> u128 {
    let millis = u128::from(at.as_millis().max(0).unsigned_abs()) & 0xffff_ffff_ffff;
    (millis << 80) | (u128::from(slot.0) << 64) | u128::from(entropy)
}

/// The text of an id, without an allocation: ids are written in every stored record and every answer.
struct Text([u8; PREFIX_LENGTH + TEXT_LENGTH]);

impl Text {
    fn of(prefix: &str, bits: u128) -> Self {
        let mut text = [0; PREFIX_LENGTH + TEXT_LENGTH];
        let (kind, characters) = text.split_at_mut(PREFIX_LENGTH);
        kind.iter_mut().zip(prefix.bytes()).for_each(|(to, from)| *to = from);
        let mut rest = bits;
        for word in characters.rchunks_mut(WORD_CHARACTERS) {
            let mut digits = u64::try_from(rest & WORD_BITS).unwrap_or(0);
            for character in word.iter_mut().rev() {
                *character = ALPHABET[usize::try_from(digits & 31).unwrap_or(0)];
                digits >>= 5;
            }
            rest >>= 60;
        }
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn decode(text: &str) -> Option<u128> {
    if text.len() != TEXT_LENGTH {
        return None;
    }
    let mut bits: u128 = 0;
    for (position, byte) in text.bytes().enumerate() {
        let digit = ALPHABET.iter().position(|&known| known == byte)?;
        // 26 characters hold 130 bits: the first may carry only three.
        if position == 0 && digit > 7 {
            return None;
        }
        bits = (bits << 5) | u128::try_from(digit).ok()?;
    }
    Some(bits)
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// What the text of such an id begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id made of its parts.
            pub fn compose(at: Timestamp, slot: Slot, entropy: u64) -> Self {
                Self(compose(at, slot, entropy))
            }

            /// The 16 bytes that the store keeps.
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.to_be_bytes()
            }

            /// The id that the store kept.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(u128::from_be_bytes(bytes))
            }

            /// The id of its text without the prefix.
            pub fn from_text(text: &str) -> Option<Self> {
                decode(text).map(Self)
            }

            /// The slot that decides which shard owns the thing.
            pub fn slot(self) -> Slot {
                let [high, low] = [self.to_bytes()[6], self.to_bytes()[7]];
                Slot(u16::from_be_bytes([high, low]))
            }

            /// The least id that is greater, unless it is the greatest.
            pub fn next(self) -> Option<Self> {
                self.0.checked_add(1).map(Self)
            }

            /// When the id was made.
            pub fn at(self) -> Timestamp {
                Timestamp::from_millis(i64::try_from(self.0 >> 80).unwrap_or(i64::MAX))
            }

            fn text(self) -> Text {
                Text::of($prefix, self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix($prefix)
                    .and_then(Self::from_text)
                    .ok_or_else(|| ParseIdError { text: text.chars().take(64).collect(), prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.text().as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let pattern = concat!("^", $prefix, "[0-7][0-9a-hjkmnp-tv-z]{25}$");
                json_schema!({ "type": "string", "pattern": pattern })
            }
        }
    )+};
}

ids! {
    /// One running instance of a machine version.
    ExecutionId = "exe_";
    /// One durable occurrence of an action definition.
    ActionId = "act_";
    /// One try at an action.
    AttemptId = "att_";
    /// A message whose sender gave it no id.
    MessageId = "msg_";
    /// A kill switch.
    SwitchId = "swi_";
    /// What a caller shows to the server.
    TokenId = "tok_";
    /// One piece of bulk work.
    JobId = "job_";
    /// A proposal, and the workflow that it becomes.
    WorkflowId = "wfl_";
    /// One process among those that share a database: every start of one is another node.
    NodeId = "nod_";
}

impl WorkflowId {
    /// The execution that runs the approved plan.
    pub fn execution(self) -> ExecutionId {
        ExecutionId(self.0)
    }

    /// The action whose approval this is, where a machine asks for one.
    pub fn action(self) -> ActionId {
        ActionId(self.0)
    }
}

impl From<ExecutionId> for WorkflowId {
    fn from(id: ExecutionId) -> Self {
        Self(id.0)
    }
}

impl From<ActionId> for WorkflowId {
    fn from(id: ActionId) -> Self {
        Self(id.0)
    }
}

/// Derives the ids of one decision from the entropy that came with its input.
#[derive(Clone, Debug)]
pub struct Mint {
    at: Timestamp,
    entropy: u64,
    drawn: u64,
}

impl Mint {
    /// A mint for the decision taken at `at`. `entropy` must differ from one decision to the next.
    pub fn new(at: Timestamp, entropy: u64) -> Self {
        Self { at, entropy, drawn: 0 }
    }

    /// The next action id in `slot`.
    pub fn action(&mut self, slot: Slot) -> ActionId {
        ActionId::compose(self.at, slot, self.draw())
    }

    /// The next switch id in `slot`.
    pub fn switch(&mut self, slot: Slot) -> SwitchId {
        SwitchId::compose(self.at, slot, self.draw())
    }

    /// The next token id in `slot`.
    pub fn token(&mut self, slot: Slot) -> TokenId {
        TokenId::compose(self.at, slot, self.draw())
    }

    /// The next attempt id in `slot`.
    pub fn attempt(&mut self, slot: Slot) -> AttemptId {
        AttemptId::compose(self.at, slot, self.draw())
    }

    /// The next execution id in `slot`.
    pub fn execution(&mut self, slot: Slot) -> ExecutionId {
        ExecutionId::compose(self.at, slot, self.draw())
    }

    /// The next message id in `slot`.
    pub fn message(&mut self, slot: Slot) -> MessageId {
        MessageId::compose(self.at, slot, self.draw())
    }

    /// The next workflow id in `slot`.
    pub fn workflow(&mut self, slot: Slot) -> WorkflowId {
        WorkflowId::compose(self.at, slot, self.draw())
    }

    /// The next job id in `slot`.
    pub fn job(&mut self, slot: Slot) -> JobId {
        JobId::compose(self.at, slot, self.draw())
    }

    /// A slot spread evenly over all of them.
    pub fn slot(&mut self) -> Slot {
        let [high, low, ..] = self.draw().to_be_bytes();
        Slot(u16::from_be_bytes([high, low]))
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        scatter(
            self.entropy
                .wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        )
    }
}

/// Spreads the bits of `seed` over the whole word (the finaliser of SplitMix64): a bijection, so distinct seeds stay
/// distinct.
pub fn scatter(seed: u64) -> u64 {
    let mut bits = seed;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_and_bytes_lead_back_to_the_id_and_sort_alike(a: u128, b: u128) {
            let [a, b] = [ActionId(a), ActionId(b)];
            prop_assert_eq!(a.to_string().parse::<ActionId>().unwrap(), a);
            prop_assert_eq!(ActionId::from_bytes(a.to_bytes()), a);
            prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.to_bytes().cmp(&b.to_bytes()));
        }

        #[test]
        fn parsing_is_total(text: String) {
            let _ = text.parse::<ExecutionId>();
        }
    }

    #[test]
    fn an_id_tells_its_time_and_its_slot() {
        let at = Timestamp::from_millis(1_763_000_000_123);
        let id = ExecutionId::compose(at, Slot(0xbeef), 7);
        assert_eq!(id.at(), at);
        assert_eq!(id.slot(), Slot(0xbeef));
        assert!(id.to_string().starts_with("exe_"));
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let action = ActionId::compose(Timestamp::from_millis(1), Slot(1), 1).to_string();
        assert!(action.parse::<ExecutionId>().is_err());
        assert!(
            "act_zzzzzzzzzzzzzzzzzzzzzzzzzz".parse::<ActionId>().is_err(),
            "130 bits do not fit"
        );
    }

    #[test]
    fn the_slot_of_a_key_depends_on_machine_and_key() {
        assert_eq!(Slot::of_key("order", "1"), Slot::of_key("order", "1"));
        assert_ne!(Slot::of_key("order", "1"), Slot::of_key("orde", "r1"));
    }
}
