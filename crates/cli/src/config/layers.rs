//! What was set, by whom, and where: a later layer takes the place of an earlier one, key by key.

use std::collections::BTreeMap;
use std::fmt;

use sprag_core::source::nearest;

use super::alerts;
use super::keys::{Key, Kind};
use super::named::Entries;

/// A value as any layer gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Whole(u64),
    Table(serde_json::Map<String, serde_json::Value>),
}

/// Where a value was written. In the order in which they are read: a file from its top, then variables, then flags.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In a file.
    File {
        /// Its name, as it was given.
        name: String,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// In an environment variable.
    Variable(String),
    /// In a flag.
    Flag(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where.
    pub(crate) place: Place,
    /// A stable name for the kind of problem.
    pub(crate) code: &'static str,
    /// What is wrong, with the value.
    pub(crate) detail: String,
    /// What would mend it.
    pub(crate) remedy: String,
}

/// Everything that is wrong with the configuration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration cannot be used")]
pub(crate) struct Invalid {
    /// By layer and place.
    pub(crate) problems: Vec<Problem>,
}

/// What is set so far.
#[derive(Debug, Default)]
pub(super) struct Layers {
    values: BTreeMap<(&'static str, &'static str), (Value, Place)>,
    /// Entries with names of their own; only the file has them.
    pub(super) named: Entries,
    /// What happens when actions die; only the file has it.
    pub(super) alerts: Vec<alerts::Entry>,
}

impl Layers {
    /// Sets a key, over whatever earlier layers gave it.
    pub(super) fn set(&mut self, key: &Key, value: Value, place: Place) {
        self.values.insert((key.section, key.name), (value, place));
    }

    fn get(&self, section: &'static str, name: &'static str) -> Option<&(Value, Place)> {
        self.values.get(&(section, name))
    }

    /// Where a key was set.
    pub(super) fn place(&self, section: &'static str, name: &'static str) -> Option<Place> {
        self.get(section, name).map(|(_, place)| place.clone())
    }

    /// Where a key of the section was set, the first by name.
    pub(super) fn first_place(&self, section: &'static str) -> Option<Place> {
        let mut keys = self.values.iter().filter(|((of, _), _)| *of == section);
        keys.next().map(|(_, (_, place))| place.clone())
    }

    /// A text, if it was set.
    pub(super) fn text(&self, section: &'static str, name: &'static str) -> Option<&str> {
        match self.get(section, name) {
            Some((Value::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    /// A list of texts, if it was set.
    pub(super) fn texts(&self, section: &'static str, name: &'static str) -> Option<&[String]> {
        match self.get(section, name) {
            Some((Value::Texts(texts), _)) => Some(texts),
            _ => None,
        }
    }

    /// A number, if it was set. Its bounds were checked when it was.
    pub(super) fn whole<N: TryFrom<u64>>(&self, section: &'static str, name: &'static str) -> Option<N> {
        match self.get(section, name) {
            Some((Value::Whole(number), _)) => N::try_from(*number).ok(),
            _ => None,
        }
    }
}

/// Whether the value is what the key holds; if not, what is wrong and what would mend it.
pub(super) fn check(kind: Kind, value: &Value) -> Result<(), (String, String)> {
    match (kind, value) {
        (_, Value::Text(text)) => check_text(text),
        (Kind::Text | Kind::Texts, Value::Texts(texts)) => texts.iter().try_for_each(|text| check_text(text)),
        (Kind::Words(words), Value::Texts(texts)) => texts.iter().try_for_each(|text| check_word(words, text)),
        (Kind::Whole { least, most }, Value::Whole(number)) if !(least..=most).contains(number) => Err((
            format!("`{number}` is out of bounds"),
            format!("write a number from {least} to {most}"),
        )),
        _ => Ok(()),
    }
}

/// No path, address or name holds a NUL: the system would cut it off there, or refuse it much later.
pub(super) fn check_text(text: &str) -> Result<(), (String, String)> {
    if text.contains('\0') {
        let shown = text.escape_debug();
        return Err((format!("`{shown}` holds a NUL character"), "leave it out".to_owned()));
    }
    Ok(())
}

fn check_word(words: &[&str], text: &str) -> Result<(), (String, String)> {
    if words.contains(&text) {
        return Ok(());
    }
    let remedy = match nearest(text, words.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write some of {}", quoted(words)),
    };
    Err((format!("`{text}` is not known"), remedy))
}

/// `a`, `b`, `c`.
pub(super) fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
