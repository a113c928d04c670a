//! Inputs of a simulation: as words of a command line, or as JSON, one object a line.

use serde_json::{Map, Value};

use crate::duration::Millis;
use crate::source::{Format, Limits, parse};

/// One input of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum SimInput {
    /// A message.
    Message {
        /// What it is.
        kind: String,
        /// What it carries.
        payload: Value,
    },
    /// The clock moves on by so many milliseconds.
    Advance(u64),
    /// An action ends.
    Outcome {
        /// Which.
        action: String,
        /// Whether it succeeded.
        success: bool,
        /// What came back, or the error.
        result: Value,
    },
}

/// Why a text is not an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Not JSON.
    #[error("`{text}` is not JSON: {detail}")]
    NotJson {
        /// What was given.
        text: String,
        /// What the parser said.
        detail: String,
    },
    /// JSON of another shape.
    #[error(
        "`{text}` is no input: write {{\"type\": …, \"payload\": …}}, {{\"advance\": \"5m\"}} or {{\"outcome\": …, \"success\": …, \"result\": …}}"
    )]
    Shape {
        /// What was given.
        text: String,
    },
    /// A member that no input has.
    #[error("`{key}` is not known here; an input has `type`, `payload`, `advance`, `outcome`, `success`, `result`")]
    UnknownKey {
        /// The member.
        key: String,
    },
    /// Not a duration.
    #[error("`advance`: {detail}")]
    Duration {
        /// What is wrong.
        detail: String,
    },
}

const KEYS: [&str; 6] = ["type", "payload", "advance", "outcome", "success", "result"];

impl SimInput {
    /// `NAME`, or `NAME=json`.
    pub fn from_argument(argument: &str) -> Result<Self, InputError> {
        let (kind, payload) = match argument.split_once('=') {
            Some((kind, text)) => (kind, json(text)?),
            None => (argument, Value::Null),
        };
        Ok(Self::Message {
            kind: kind.to_owned(),
            payload,
        })
    }

    /// One line of an events file.
    pub fn from_line(line: &str) -> Result<Self, InputError> {
        let shape = || InputError::Shape {
            text: shorten(line),
        };
        let Value::Object(members) = json(line)? else { return Err(shape()) };
        Self::from_members(&members)?.ok_or_else(shape)
    }

    /// The same for an object that was parsed already.
    pub fn from_members(members: &Map<String, Value>) -> Result<Option<Self>, InputError> {
        if let Some(key) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(InputError::UnknownKey { key: key.clone() });
        }
        if let Some(advance) = members.get("advance") {
            let millis = Millis::from_value(advance).map_err(|problem| InputError::Duration {
                detail: problem.to_string(),
            })?;
            return Ok(Some(Self::Advance(millis.get())));
        }
        let value = |name: &str| members.get(name).cloned().unwrap_or(Value::Null);
        if let Some(action) = members.get("outcome").and_then(Value::as_str) {
            return Ok(Some(Self::Outcome {
                action: action.to_owned(),
                success: members.get("success").and_then(Value::as_bool).unwrap_or(true),
                result: value("result"),
            }));
        }
        let kind = members.get("type").and_then(Value::as_str);
        Ok(kind.map(|kind| Self::Message {
            kind: kind.to_owned(),
            payload: value("payload"),
        }))
    }

    /// What the line of this input calls it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Message { kind, .. } => kind.clone(),
            Self::Advance(_) => "advance".to_owned(),
            Self::Outcome { action, success, .. } => {
                let word = if *success { "done" } else { "failed" };
                format!("{word}.{action}")
            }
        }
    }
}

fn json(text: &str) -> Result<Value, InputError> {
    match parse(text, Format::Json, &Limits::default()) {
        Ok(node) => Ok(node.into_value()),
        Err(error) => Err(InputError::NotJson {
            text: shorten(text),
            detail: error.to_string(),
        }),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}
