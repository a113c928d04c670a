//! Messages between nodes: demands and grants under a limit, and dead letters that a job retries on their owner's node.
//!
//! They are no part of the public API: only nodes of one cluster send them, and only nodes with the token read them. A
//! reader refuses members that it does not know, so that a node never acts on half of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::action::LimitUse;
use sprag_core::document::patch::Operation;
use sprag_core::ids::{ActionId, AttemptId, JobId, NodeId};
use sprag_core::time::Timestamp;

/// What a node has and wants under a limit, sent to the owner of the limit. Each demand replaces the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitDemand {
    /// The node that sends it.
    pub node: NodeId,
    /// Higher than the number of every earlier demand.
    pub number: u64,
    /// The limit, with its numbers.
    pub limit: LimitUse,
    /// The attempts that the node has under way.
    pub holds: Vec<AttemptId>,
    /// Attempts that belong to another node by now, if they still run.
    pub left: Vec<AttemptId>,
    /// How many granted attempts it has not used and keeps.
    pub spare: u32,
    /// How many more than those it wants.
    pub wants: u32,
}

/// What the owner of a limit grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitGrant {
    /// How many attempts at once, including those under way.
    pub most: u32,
    /// The shard of the limit.
    pub shard: u32,
    /// The epoch of its owner: every attempt that begins under the grant carries it.
    pub epoch: u64,
    /// Whether other nodes wait: the node gives back what ends.
    pub is_wanted: bool,
    /// When to ask again for what was not granted, in milliseconds.
    pub again_millis: u64,
}

/// Dead letters that a job asks their owner to retry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LettersToRetry {
    /// The job.
    pub job: JobId,
    /// When it was made. It leaves out dead letters that died later.
    pub made_at: Timestamp,
    /// Another configuration for each.
    pub config: Option<Value>,
    /// Take the definition of this version.
    pub version: Option<u32>,
    /// Changes of each.
    pub patch: Vec<Operation>,
    /// Archive each instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archive: bool,
    /// The dead letters.
    pub letters: Vec<ActionId>,
}

/// A dead letter that its owner has settled for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettledLetter {
    /// The dead letter.
    pub letter: ActionId,
    /// What became of it.
    pub fate: LetterFate,
    /// Why, unless it was retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl SettledLetter {
    /// A dead letter that could not be retried.
    pub fn failed(letter: ActionId, detail: String) -> Self {
        Self {
            letter,
            fate: LetterFate::Failed,
            detail: Some(detail),
        }
    }
}

/// What became of a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LetterFate {
    /// It is tried again.
    Retried,
    /// It was no dead letter any more.
    Skipped,
    /// It could not be retried.
    Failed,
    /// It died after the job was made, so the job leaves it out.
    TooYoung,
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;
    use serde_json::json;
    use sprag_core::action::Rate;

    use super::*;

    fn is_sent_as<T: Serialize + DeserializeOwned + PartialEq + Debug>(message: &T, bytes: &str) {
        assert_eq!(serde_json::to_string(message).unwrap(), bytes);
        assert_eq!(serde_json::from_str::<T>(bytes).unwrap(), *message);
    }

    #[test]
    fn messages_about_limits_have_the_bytes_that_nodes_of_other_versions_read() {
        let demand = LimitDemand {
            node: NodeId::from_bytes([3; 16]),
            number: 7,
            limit: LimitUse {
                key: "k".to_owned(),
                concurrency: Some(3),
                rate: Some(Rate {
                    count: 5,
                    per_millis: 1_000,
                }),
            },
            holds: vec![AttemptId::from_bytes([2; 16])],
            left: Vec::new(),
            spare: 1,
            wants: 2,
        };
        is_sent_as(
            &demand,
            r#"{"node":"nod_030c1g60r30c1g60r30c1g60r3","number":7,"limit":{"key":"k","concurrency":3,"rate":{"count":5,"per":1000}},"holds":["att_02081040g2081040g2081040g2"],"left":[],"spare":1,"wants":2}"#,
        );
        let grant = LimitGrant {
            most: 3,
            shard: 1,
            epoch: 9,
            is_wanted: true,
            again_millis: 50,
        };
        is_sent_as(
            &grant,
            r#"{"most":3,"shard":1,"epoch":9,"isWanted":true,"againMillis":50}"#,
        );
    }

    #[test]
    fn messages_about_dead_letters_have_the_bytes_that_nodes_of_other_versions_read() {
        let letter = ActionId::from_bytes([1; 16]);
        let letters = LettersToRetry {
            job: JobId::from_bytes([4; 16]),
            made_at: Timestamp::from_millis(1_767_225_600_000),
            config: None,
            version: Some(2),
            patch: serde_json::from_value(json!([{"op": "remove", "path": "/timeout"}])).unwrap(),
            archive: false,
            letters: vec![letter],
        };
        is_sent_as(
            &letters,
            r#"{"job":"job_040g2081040g2081040g208104","madeAt":"2026-01-01T00:00:00.000Z","config":null,"version":2,"patch":[{"op":"remove","path":"/timeout"}],"letters":["act_01040g2081040g2081040g2081"]}"#,
        );
        let settled = |fate| SettledLetter {
            letter,
            fate,
            detail: None,
        };
        for (fate, word) in [
            (LetterFate::Retried, "retried"),
            (LetterFate::Skipped, "skipped"),
            (LetterFate::TooYoung, "tooYoung"),
        ] {
            let bytes = format!(r#"{{"letter":"act_01040g2081040g2081040g2081","fate":"{word}"}}"#);
            is_sent_as(&settled(fate), &bytes);
        }
        is_sent_as(
            &SettledLetter::failed(letter, "no".to_owned()),
            r#"{"letter":"act_01040g2081040g2081040g2081","fate":"failed","detail":"no"}"#,
        );
    }

    #[test]
    fn a_message_with_an_unknown_member_is_refused() {
        let message = r#"{"letter":"act_01040g2081040g2081040g2081","fate":"retried","more":1}"#;
        serde_json::from_str::<SettledLetter>(message).expect_err("an unknown member");
    }
}
