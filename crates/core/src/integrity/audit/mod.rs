//! The audit: what principals decided, as chains of entries in which no entry can be changed, dropped or added unnoticed.
//!
//! Every shard has one chain. The hash of an entry covers all its fields and the hash of the entry before it, so whoever
//! changes an entry must change every later one. The newest entry of a chain is its [`Head`]: a head that was exported
//! shows that a chain was cut off at its end, which the chain alone cannot show.

mod verb;
mod verify;

use sha2::{Digest as _, Sha256};

pub use self::verb::{UnknownVerb, Verb, VerbSet};
pub use self::verify::{Broken, Fault, Verifier};
use crate::filter::{Field, FieldValue, Row};
use crate::time::Timestamp;

/// The longest reason, in characters.
pub const REASON_CHARACTERS_MAX: usize = 1_000;
/// The longest text of an entry, in bytes: a longer one is cut.
pub const TEXT_BYTES_MAX: usize = 4_096;

/// The hash of an entry.
pub type Hash = [u8; 32];

/// What the first entry of a chain has as the hash before it.
pub const BEGINNING: Hash = [0; 32];

/// Says which fields are hashed, and how: another form gets another tag.
const FORM: &[u8] = b"sprag audit 1";

/// What somebody decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Who.
    pub principal: String,
    /// What, as [`Verb::word`] writes it.
    pub verb: String,
    /// On what: an id, a name or a key.
    pub target: String,
    /// Why, if a reason was given.
    pub reason: Option<String>,
    /// The address that the request came from.
    pub address: Option<String>,
    /// The error code, if the decision was refused.
    pub refused: Option<String>,
    /// The revision, version or status of the target before.
    pub before: Option<String>,
    /// The same afterwards.
    pub after: Option<String>,
}

impl Decision {
    /// The same with texts that every store can hold: no NUL, and none longer than [`TEXT_BYTES_MAX`].
    #[must_use]
    pub fn storable(self) -> Self {
        let Self {
            principal,
            verb,
            target,
            reason,
            address,
            refused,
            before,
            after,
        } = self;
        Self {
            principal: bounded(principal),
            verb: bounded(verb),
            target: bounded(target),
            reason: reason.map(bounded),
            address: address.map(bounded),
            refused: refused.map(bounded),
            before: before.map(bounded),
            after: after.map(bounded),
        }
    }
}

fn bounded(text: String) -> String {
    let text = crate::text::storable(text);
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    crate::text::cut(&text, TEXT_BYTES_MAX)
}

/// An entry of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whose chain.
    pub shard: u32,
    /// Its place in the chain, from 1.
    pub sequence: u64,
    /// When it was decided. No entry of a chain is earlier than the one before it.
    pub at: Timestamp,
    /// What was decided.
    pub decision: Decision,
    /// The hash of the entry before it.
    pub previous: Hash,
    /// Over everything else.
    pub hash: Hash,
}

impl Entry {
    /// The hash that its fields have.
    pub fn computed(&self) -> Hash {
        let Self {
            shard,
            sequence,
            at,
            decision,
            previous,
            hash: _,
        } = self;
        let Decision {
            principal,
            verb,
            target,
            reason,
            address,
            refused,
            before,
            after,
        } = decision;
        let mut hasher = Sha256::new();
        hasher.update(FORM);
        hasher.update(previous);
        hasher.update(shard.to_be_bytes());
        hasher.update(sequence.to_be_bytes());
        hasher.update(at.as_millis().to_be_bytes());
        for text in [Some(principal), Some(verb), Some(target)] {
            add(&mut hasher, text);
        }
        for text in [reason, address, refused, before, after] {
            add(&mut hasher, text.as_ref());
        }
        hasher.finalize().into()
    }

    /// The head of a chain that ends with this entry.
    pub fn head(&self) -> Head {
        Head {
            shard: self.shard,
            sequence: self.sequence,
            at: self.at,
            hash: self.hash,
        }
    }
}

/// A text that is no hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no hash of 64 hexadecimal digits")]
pub struct NoHash(String);

/// The hash that hexadecimal digits say.
pub fn hash_of(text: &str) -> Result<Hash, NoHash> {
    let mut hash = Hash::default();
    let digits = text.as_bytes();
    let is_whole = digits.len() == 2 * hash.len();
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        let digit = |place: usize| pair.get(place).and_then(|digit| char::from(*digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err(NoHash(text.to_owned()));
        };
        *byte = u8::try_from(high << 4 | low).map_err(|_| NoHash(text.to_owned()))?;
    }
    is_whole.then_some(hash).ok_or_else(|| NoHash(text.to_owned()))
}

impl Row for Entry {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::Principal => FieldValue::Text(&self.decision.principal),
            Field::Verb => FieldValue::Text(&self.decision.verb),
            Field::Target => FieldValue::Text(&self.decision.target),
            Field::At => FieldValue::Number(self.at.as_millis()),
            Field::Shard => FieldValue::Number(self.shard.into()),
            Field::Refused => match &self.decision.refused {
                Some(code) => FieldValue::Text(code),
                None => FieldValue::Absent,
            },
            _ => FieldValue::Absent,
        }
    }
}

/// Adds a text with its length, so that no two lists of texts are the same bytes.
fn add(hasher: &mut Sha256, text: Option<&String>) {
    let Some(text) = text else {
        return hasher.update([0]);
    };
    hasher.update([1]);
    hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
    hasher.update(text);
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose chain.
    pub shard: u32,
    /// The place of the newest entry; 0 where there is none.
    pub sequence: u64,
    /// When the newest entry was decided.
    pub at: Timestamp,
    /// The hash of the newest entry.
    pub hash: Hash,
}

impl Head {
    /// The head of a chain without entries.
    pub fn beginning(shard: u32) -> Self {
        Self {
            shard,
            sequence: 0,
            at: Timestamp::default(),
            hash: BEGINNING,
        }
    }

    /// The entry that follows, for something decided at `at`.
    pub fn link(&self, at: Timestamp, decision: Decision) -> Entry {
        let mut entry = Entry {
            shard: self.shard,
            sequence: self.sequence + 1,
            at: self.at.max(at),
            decision: decision.storable(),
            previous: self.hash,
            hash: BEGINNING,
        };
        entry.hash = entry.computed();
        entry
    }
}

#[cfg(test)]
mod tests;
