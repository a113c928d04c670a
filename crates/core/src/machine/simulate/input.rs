//! Inputs of a simulation: as words of a command line, or as JSON, one object a line.

use serde_json::{Map, Value};

use crate::document::source::{Format, Limits, nearest, parse_value};
use crate::time::duration::Millis;

/// Values in messages are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 80;

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
        /// What came back, or the error: `{type, message, code, details}`.
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
        "`{text}` is not an input: write {{\"type\": …, \"payload\": …}}, {{\"advance\": \"5m\"}} or {{\"outcome\": …, \"success\": …, \"result\": …}}"
    )]
    Shape {
        /// What was given.
        text: String,
    },
    /// A member that such an input does not have.
    #[error("`{key}` is not known beside `{beside}`; {remedy}")]
    UnknownKey {
        /// The member.
        key: String,
        /// The member that says what kind of input it is.
        beside: &'static str,
        /// What to write instead.
        remedy: String,
    },
    /// A member with a value of the wrong type.
    #[error("`{key}` must be {expected}")]
    WrongType {
        /// The member.
        key: &'static str,
        /// What is expected.
        expected: &'static str,
    },
    /// Not a duration.
    #[error("`advance`: {detail}")]
    Duration {
        /// What is wrong.
        detail: String,
    },
}

/// The kinds of inputs: what each is known by, and what else it may have.
const KINDS: [(&str, &[&str]); 3] = [
    ("advance", &[]),
    ("outcome", &["success", "result", "error"]),
    ("type", &["payload"]),
];

impl SimInput {
    /// `NAME` or `NAME=json` for a message, `done.ACTION=json` or `failed.ACTION=json` for the end of an action, `+5m` to
    /// move the clock.
    pub fn from_argument(argument: &str) -> Result<Self, InputError> {
        if let Some(duration) = argument.strip_prefix('+') {
            return advance_by(&Value::from(duration));
        }
        let (kind, payload) = match argument.split_once('=') {
            Some((kind, text)) => (kind, json(text)?),
            None => (argument, Value::Null),
        };
        let outcome = |action: &str, success| Self::Outcome {
            action: action.to_owned(),
            success,
            result: payload.clone(),
        };
        if let Some(action) = kind.strip_prefix("done.") {
            return Ok(outcome(action, true));
        }
        if let Some(action) = kind.strip_prefix("failed.") {
            return Ok(outcome(action, false));
        }
        Ok(Self::Message {
            kind: kind.to_owned(),
            payload,
        })
    }

    /// One line of an events file.
    pub fn from_line(line: &str) -> Result<Self, InputError> {
        let shape = || InputError::Shape { text: shown(line) };
        let Value::Object(members) = json(line)? else {
            return Err(shape());
        };
        Self::from_members(&members)?.ok_or_else(shape)
    }

    /// The same for an object that was parsed already; none if it says nothing about what it is.
    pub fn from_members(members: &Map<String, Value>) -> Result<Option<Self>, InputError> {
        let Some((key, others)) = KINDS.iter().find(|(key, _)| members.contains_key(*key)) else {
            return match members.keys().next() {
                Some(unknown) => Err(unknown_key(unknown, "type", &KINDS.map(|(key, _)| key))),
                None => Ok(None),
            };
        };
        if let Some(unknown) = members
            .keys()
            .find(|name| name != key && !others.contains(&name.as_str()))
        {
            return Err(unknown_key(unknown, key, others));
        }
        match *key {
            "advance" => advance(members).map(Some),
            "outcome" => outcome(members).map(Some),
            _ => message(members).map(Some),
        }
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

fn advance(members: &Map<String, Value>) -> Result<SimInput, InputError> {
    advance_by(members.get("advance").unwrap_or(&Value::Null))
}

fn advance_by(duration: &Value) -> Result<SimInput, InputError> {
    let given = Millis::from_value(duration);
    let millis = given.map_err(|problem| InputError::Duration {
        detail: problem.to_string(),
    })?;
    Ok(SimInput::Advance(millis.get()))
}

fn outcome(members: &Map<String, Value>) -> Result<SimInput, InputError> {
    let success = match (members.get("success"), members.contains_key("error")) {
        (None, has_error) => !has_error,
        (Some(Value::Bool(true)), false) => true,
        (Some(Value::Bool(false)), _) => false,
        (Some(Value::Bool(true)), true) => return Err(wrong("error", "left out of a success")),
        (Some(_), _) => return Err(wrong("success", "`true` or `false`")),
    };
    let result = members.get("error").or_else(|| members.get("result"));
    Ok(SimInput::Outcome {
        action: text(members, "outcome")?,
        success,
        result: result.cloned().unwrap_or(Value::Null),
    })
}

fn message(members: &Map<String, Value>) -> Result<SimInput, InputError> {
    Ok(SimInput::Message {
        kind: text(members, "type")?,
        payload: members.get("payload").cloned().unwrap_or(Value::Null),
    })
}

fn text(members: &Map<String, Value>, key: &'static str) -> Result<String, InputError> {
    let text = members.get(key).and_then(Value::as_str);
    text.map(str::to_owned).ok_or(wrong(key, "text"))
}

fn wrong(key: &'static str, expected: &'static str) -> InputError {
    InputError::WrongType { key, expected }
}

fn unknown_key(key: &str, beside: &'static str, known: &[&'static str]) -> InputError {
    let remedy = match nearest(key, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "remove it".to_owned(),
        None => format!("known are `{}`", known.join("`, `")),
    };
    InputError::UnknownKey {
        key: shown(key),
        beside,
        remedy,
    }
}

fn json(text: &str) -> Result<Value, InputError> {
    parse_value(text, Format::Json, &Limits::default()).map_err(|error| InputError::NotJson {
        text: shown(text),
        detail: error.to_string(),
    })
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS_MAX).collect()
}
