//! The fields of a JSON body: each read by its name and kind, everything wrong collected with its place.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sprag_core::source::nearest;

use super::FromFields;
use crate::problem::{Code, FieldError, LISTED_MAX, Problem};
use crate::shown::shown;

/// Fields that are being read. `null` is the same as a field that is not there.
pub(crate) struct Fields {
    /// Where the members are, as a JSON pointer.
    at: String,
    members: Map<String, Value>,
    errors: Vec<FieldError>,
}

impl Fields {
    /// The members of a body. Those that are not known are noted as wrong.
    pub(super) fn new(members: Map<String, Value>, known: &[&str]) -> Self {
        Self::at(String::new(), members, known)
    }

    fn at(at: String, members: Map<String, Value>, known: &[&str]) -> Self {
        let mut fields = Self {
            at,
            members: Map::new(),
            errors: Vec::new(),
        };
        for (name, value) in members {
            if known.contains(&name.as_str()) {
                fields.members.insert(name, value);
            } else if fields.errors.len() < LISTED_MAX {
                // Looking for the name that was meant takes time, so it is done only for what will be listed.
                fields.error(&name, &unknown(&name, known));
            }
        }
        fields
    }

    /// A field that is text.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => self.wrong(name, &other, "text"),
        }
    }

    /// A field that is text and must be there.
    pub(crate) fn required_text(&mut self, name: &str) -> String {
        self.require(name);
        self.text(name).unwrap_or_default()
    }

    fn require(&mut self, name: &str) {
        if self.members.get(name).is_none_or(Value::is_null) {
            self.error(name, &format!("`{name}` is missing"));
        }
    }

    /// A field that is an object with fields of its own, and must be there.
    pub(crate) fn inside<T: FromFields>(&mut self, name: &str) -> T {
        self.require(name);
        let members = self.object(name);
        let is_there = members.is_some();
        let at = format!("{}{}", self.at, pointer(name));
        let mut inner = Self::at(at, members.unwrap_or_default(), T::KNOWN);
        let read = T::read(&mut inner);
        if is_there {
            self.errors.extend(inner.errors);
        }
        read
    }

    /// A field that is the version of a machine.
    pub(crate) fn version(&mut self, name: &str) -> Option<u32> {
        let value = self.take(name)?;
        let version = value
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|&version| version > 0);
        version.or_else(|| self.wrong(name, &value, "a version, which is a whole number from 1"))
    }

    /// A field that is a whole number from `least` to `most`.
    pub(crate) fn whole(&mut self, name: &str, least: u32, most: u32) -> Option<u32> {
        let value = self.take(name)?;
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let within = number.filter(|number| (least..=most).contains(number));
        within.or_else(|| self.wrong(name, &value, &format!("a whole number from {least} to {most}")))
    }

    /// A field that is true or false.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(flag) => Some(flag),
            other => self.wrong(name, &other, "`true` or `false`"),
        }
    }

    /// A field that is an object.
    pub(crate) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(members) => Some(members),
            other => self.wrong(name, &other, "an object"),
        }
    }

    /// A field that may be anything.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.take(name)
    }

    /// A field that is a list of anything.
    pub(crate) fn list(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => self.wrong(name, &other, "a list").unwrap_or_default(),
        }
    }

    /// A field that is a list of texts.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let read = |(position, item)| self.text_inside(name, &format!("{position}"), item);
                items.into_iter().enumerate().filter_map(read).collect()
            }
            Some(other) => self.wrong(name, &other, "a list of texts").unwrap_or_default(),
        }
    }

    /// A field that is an object of texts.
    pub(crate) fn text_map(&mut self, name: &str) -> BTreeMap<String, String> {
        let members = self.object(name).unwrap_or_default();
        let mut read = BTreeMap::new();
        for (key, value) in members {
            if let Some(text) = self.text_inside(name, &key, value) {
                read.insert(key, text);
            }
        }
        read
    }

    fn text_inside(&mut self, name: &str, inside: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            other => {
                let detail = format!("{} is not text", described(&other));
                self.refuse(&format!("{}{}", pointer(name), pointer(inside)), &detail);
                None
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name).filter(|value| !value.is_null())
    }

    fn wrong<T>(&mut self, name: &str, value: &Value, expected: &str) -> Option<T> {
        self.error(name, &format!("{} is not {expected}", described(value)));
        None
    }

    fn error(&mut self, name: &str, detail: &str) {
        self.refuse(&pointer(name), detail);
    }

    /// Notes something wrong at a place among the members.
    pub(crate) fn refuse(&mut self, pointer: &str, detail: &str) {
        if self.errors.len() < LISTED_MAX {
            self.errors.push(FieldError {
                pointer: format!("{}{pointer}", self.at),
                detail: detail.to_owned(),
            });
        }
    }

    /// Whether nothing was wrong.
    pub(super) fn finish(self) -> Result<(), Problem> {
        let Some(FieldError { pointer, detail }) = self.errors.first() else {
            return Ok(());
        };
        let detail = format!("`{pointer}`: {detail}");
        Err(Problem::new(Code::BodyInvalid, detail).with_errors(self.errors))
    }
}

/// A value as a message shows it.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        scalar => format!("`{}`", shown(&scalar.to_string())),
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    let name = shown(name);
    match nearest(&name, known.iter().copied()) {
        Some(nearest) => format!("`{name}` is not known here; did you mean `{nearest}`?"),
        None if known.is_empty() => format!("`{name}` is not known here: this route takes no fields"),
        None => {
            let known: Vec<String> = known.iter().map(|known| format!("`{known}`")).collect();
            format!("`{name}` is not known here; known are {}", known.join(", "))
        }
    }
}

/// A name as the part of a JSON pointer.
fn pointer(name: &str) -> String {
    format!("/{}", shown(name).replace('~', "~0").replace('/', "~1"))
}
