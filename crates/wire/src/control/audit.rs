//! The audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::document::json::hex;
use sprag_core::integrity::audit::{self, Decision, NoHash, hash_of};
use sprag_core::time::Timestamp;

/// An entry of the audit: one decision of a principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The shard whose chain the entry belongs to.
    pub shard: u32,
    /// The place in the chain, from 1.
    #[schemars(range(min = 1))]
    pub sequence: u64,
    /// The time of the decision.
    pub at: Timestamp,
    /// Who decided.
    pub principal: String,
    /// The decision, such as `switch.on`.
    pub verb: String,
    /// What was decided on: an id, a name or a key.
    pub target: String,
    /// The reason that was given.
    #[serde(default)]
    pub reason: Option<String>,
    /// The address that the request came from.
    #[serde(default)]
    pub address: Option<String>,
    /// The error code, if Sprag refused the decision.
    #[serde(default)]
    pub refused: Option<String>,
    /// The status, version or revision of the target before the decision.
    #[serde(default)]
    pub before: Option<String>,
    /// The same after the decision.
    #[serde(default)]
    pub after: Option<String>,
    /// The hash of the entry before this one, as hexadecimal digits.
    pub previous: String,
    /// The hash of this entry, as hexadecimal digits.
    pub hash: String,
}

/// The end of a chain of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditHead {
    /// The shard whose chain it is.
    pub shard: u32,
    /// The sequence of the newest entry.
    pub sequence: u64,
    /// The time of the newest entry.
    pub at: Timestamp,
    /// The hash of the newest entry, as hexadecimal digits.
    pub hash: String,
}

/// The ends of all chains of the audit, as of one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditHeads {
    /// The time of the export.
    pub at: Timestamp,
    /// The end of every chain that has an entry, by shard.
    pub heads: Vec<AuditHead>,
}

impl From<audit::Entry> for AuditEntry {
    fn from(entry: audit::Entry) -> Self {
        let audit::Entry {
            shard,
            sequence,
            at,
            decision,
            previous,
            hash,
        } = entry;
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
        Self {
            shard,
            sequence,
            at,
            principal,
            verb,
            target,
            reason,
            address,
            refused,
            before,
            after,
            previous: hex(&previous),
            hash: hex(&hash),
        }
    }
}

impl TryFrom<AuditEntry> for audit::Entry {
    type Error = NoHash;

    fn try_from(entry: AuditEntry) -> Result<Self, NoHash> {
        let AuditEntry {
            shard,
            sequence,
            at,
            principal,
            verb,
            target,
            reason,
            address,
            refused,
            before,
            after,
            previous,
            hash,
        } = entry;
        Ok(Self {
            shard,
            sequence,
            at,
            decision: Decision {
                principal,
                verb,
                target,
                reason,
                address,
                refused,
                before,
                after,
            },
            previous: hash_of(&previous)?,
            hash: hash_of(&hash)?,
        })
    }
}

impl From<audit::Head> for AuditHead {
    fn from(head: audit::Head) -> Self {
        let audit::Head {
            shard,
            sequence,
            at,
            hash,
        } = head;
        Self {
            shard,
            sequence,
            at,
            hash: hex(&hash),
        }
    }
}

impl TryFrom<AuditHead> for audit::Head {
    type Error = NoHash;

    fn try_from(head: AuditHead) -> Result<Self, NoHash> {
        let AuditHead {
            shard,
            sequence,
            at,
            hash,
        } = head;
        Ok(Self {
            shard,
            sequence,
            at,
            hash: hash_of(&hash)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::integrity::audit::Head;

    use super::*;

    #[test]
    fn an_entry_keeps_its_hash_on_its_way() {
        let decision = Decision {
            principal: "ada".to_owned(),
            reason: Some("why".to_owned()),
            ..Decision::default()
        };
        let entry = Head::beginning(3).link(Timestamp::from_millis(1_700_000_000_123), decision);
        let sent = serde_json::to_string(&AuditEntry::from(entry.clone())).unwrap();
        let read: AuditEntry = serde_json::from_str(&sent).unwrap();
        let read = audit::Entry::try_from(read).unwrap();
        assert_eq!(read, entry);
        assert_eq!(read.computed(), read.hash);
        let head = AuditHead::from(entry.head());
        assert_eq!(Head::try_from(head), Ok(entry.head()));
    }
}
