//! What a switch is about: everything, a machine, an action type, one action of a machine, an operation, a subject, or a tag.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sprag_core::action::{Action, Status};
use sprag_core::filter::{Condition, Field};

/// What a switch holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// All actions of a machine.
    Machine(String),
    /// All actions of a type.
    Type(String),
    /// All occurrences of one action of a machine.
    ActionId {
        /// The machine's name.
        machine: String,
        /// The name of the action in the machine.
        action_id: String,
    },
    /// All actions of an operation.
    Operation(String),
    /// All actions of operations on a subject.
    Subject(String),
    /// All actions with a tag.
    Tag(String),
}

/// A text that names no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a scope; write `all`, `machine:NAME`, `type:TYPE`, `actionId:MACHINE/ACTION`, `operation:NAME`, `subject:NAME` or `tag:TAG`"
)]
pub struct ParseScopeError {
    text: String,
}

impl Scope {
    /// Whether an action is in it.
    pub fn covers(&self, action: &Action) -> bool {
        match self {
            Self::All => true,
            Self::Machine(machine) => *machine == action.origin.machine,
            Self::Type(kind) => *kind == action.kind,
            Self::ActionId { machine, action_id } => {
                *machine == action.origin.machine && *action_id == action.action_id
            }
            // The actions of an operation bear its name and its subject's as tags, which nobody else may write.
            Self::Operation(_) | Self::Subject(_) => {
                let tag = self.to_string();
                action.tags.contains(&tag)
            }
            Self::Tag(tag) => action.tags.contains(tag),
        }
    }

    /// What the actions in it meet that have a status.
    pub fn condition(&self, status: Status) -> Condition {
        let condition = Condition::number(Field::Status, status.number());
        match self {
            Self::All => condition,
            Self::Machine(machine) => condition.and(Condition::text(Field::Machine, machine)),
            Self::Type(kind) => condition.and(Condition::text(Field::Type, kind)),
            Self::ActionId { machine, action_id } => condition
                .and(Condition::text(Field::Machine, machine))
                .and(Condition::text(Field::ActionId, action_id)),
            Self::Operation(_) | Self::Subject(_) => condition.and(Condition::text(Field::Tag, self.to_string())),
            Self::Tag(tag) => condition.and(Condition::text(Field::Tag, tag)),
        }
    }

    /// Whether all actions of a type are in it, of every execution: then whole queues are.
    pub fn covers_type(&self, kind: &str) -> bool {
        match self {
            Self::All => true,
            Self::Type(held) => held == kind,
            Self::Machine(_) | Self::ActionId { .. } | Self::Operation(_) | Self::Subject(_) | Self::Tag(_) => false,
        }
    }

    /// Whether it holds some actions of a line and not others.
    pub fn is_selective(&self) -> bool {
        !matches!(self, Self::All | Self::Type(_))
    }
}

impl FromStr for Scope {
    type Err = ParseScopeError;

    fn from_str(text: &str) -> Result<Self, ParseScopeError> {
        let wrong = || ParseScopeError { text: text.to_owned() };
        if text == "all" {
            return Ok(Self::All);
        }
        let (word, name) = text
            .split_once(':')
            .filter(|(_, name)| !name.is_empty())
            .ok_or_else(wrong)?;
        match word {
            "machine" => Ok(Self::Machine(name.to_owned())),
            "type" => Ok(Self::Type(name.to_owned())),
            "operation" => Ok(Self::Operation(name.to_owned())),
            "subject" => Ok(Self::Subject(name.to_owned())),
            "tag" => Ok(Self::Tag(name.to_owned())),
            "actionId" => match name.split_once('/') {
                Some((machine, action_id)) if !machine.is_empty() && !action_id.is_empty() => Ok(Self::ActionId {
                    machine: machine.to_owned(),
                    action_id: action_id.to_owned(),
                }),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Machine(machine) => write!(f, "machine:{machine}"),
            Self::Type(kind) => write!(f, "type:{kind}"),
            Self::ActionId { machine, action_id } => write!(f, "actionId:{machine}/{action_id}"),
            Self::Operation(name) => write!(f, "operation:{name}"),
            Self::Subject(name) => write!(f, "subject:{name}"),
            Self::Tag(tag) => write!(f, "tag:{tag}"),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_reads_as_it_is_written() {
        for text in [
            "all",
            "machine:order",
            "type:webhook",
            "actionId:order/charge",
            "machine:a:b",
            "operation:redis.drain",
            "subject:redis",
            "tag:night",
        ] {
            assert_eq!(
                text.parse::<Scope>().map(|scope| scope.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn what_is_no_scope_is_refused_with_those_there_are() {
        for text in [
            "",
            "everything",
            "machine",
            "machine:",
            "actionId:order",
            "actionId:/x",
            "operation:",
            "label:a",
        ] {
            let error = text.parse::<Scope>().expect_err(text);
            assert!(error.to_string().contains("write `all`"), "{error}");
        }
    }
}
