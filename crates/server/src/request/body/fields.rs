//! The fields of a JSON body: each read by its name and shape, everything wrong collected with its place.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sprag_core::document::source::{Place, Spot};
use sprag_core::document::{Finding, Reader, Shape, Stage, millis};

use super::FromFields;
use super::schema::Layout;
use crate::problem::{Code, FieldError, Problem};

/// A client may send a name of any length; the pointer to it is cut after this many characters.
const POINTER_CHARACTERS_MAX: usize = 512;

/// Fields that are being read. `null` is the same as a field that is not there.
pub(crate) struct Fields {
    /// Where the members are, as a JSON pointer.
    at: String,
    members: Map<String, Value>,
    reader: Reader,
}

impl Fields {
    /// The members of a body. Those that are not known are noted as wrong.
    pub(super) fn new(members: Map<String, Value>, known: &[&str]) -> Self {
        Self::at(String::new(), members, known, Reader::new(Stage::Body))
    }

    fn at(at: String, members: Map<String, Value>, known: &[&str], mut reader: Reader) -> Self {
        let members = Value::Object(members);
        reader.knows(&Spot::at(&members, at.clone()), known);
        let members = match members {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        Self { at, members, reader }
    }

    /// A field that has the shape, if it is there.
    fn take(&mut self, name: &str, shape: &Shape) -> Option<Value> {
        let value = self.members.remove(name).filter(|value| !value.is_null())?;
        let spot = Spot::at(&value, format!("{}/{name}", self.at));
        self.reader.check(&spot, shape).then_some(value)
    }

    /// A field that is text.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name, &Shape::Text)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A field that is text and must be there.
    pub(crate) fn required_text(&mut self, name: &str) -> String {
        self.required(name).text(name).unwrap_or_default()
    }

    /// The same fields, with a note if this one is not there.
    pub(crate) fn required(&mut self, name: &str) -> &mut Self {
        if !self.has(name) {
            self.refuse(&format!("/{name}"), &format!("`{name}` is missing"));
        }
        self
    }

    /// Whether a field is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|value| !value.is_null())
    }

    /// A field that is an object with fields of its own, and must be there.
    pub(crate) fn inside<T: FromFields>(&mut self, name: &str) -> Option<T> {
        self.required(name).within(name)
    }

    /// A field that is an object with fields of its own, if it is there.
    pub(crate) fn within<T: FromFields>(&mut self, name: &str) -> Option<T> {
        let members = self.object(name)?;
        let reader = std::mem::take(&mut self.reader);
        let known = &Layout::of::<T::Shape>().names;
        let mut inner = Self::at(format!("{}/{name}", self.at), members, known, reader);
        let read = T::read(&mut inner);
        self.reader = inner.reader;
        read
    }

    /// A field that is the version of a machine.
    pub(crate) fn version(&mut self, name: &str) -> Option<u32> {
        self.whole(name, 1, u32::MAX)
    }

    /// A field that is a whole number from `least` to `most`.
    pub(crate) fn whole<N: Into<u64> + TryFrom<u64>>(&mut self, name: &str, least: N, most: N) -> Option<N> {
        let (least, most) = (least.into(), most.into());
        let number = self.take(name, &Shape::Whole { least, most })?.as_u64()?;
        N::try_from(number).ok()
    }

    /// A field that is a duration: milliseconds from `least`, or a text such as `30s`.
    pub(crate) fn millis(&mut self, name: &str, least: u64) -> Option<u64> {
        millis(&self.take(name, &Shape::Duration { least })?)
    }

    /// A field that is one of these words.
    pub(crate) fn word(&mut self, name: &str, words: &'static [&'static str]) -> Option<&'static str> {
        let value = self.take(name, &Shape::Word(words))?;
        words.iter().copied().find(|word| value == *word)
    }

    /// A field that is true or false.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        self.take(name, &Shape::Flag)?.as_bool()
    }

    /// A field that is an object.
    pub(crate) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name, &Shape::Open)? {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A field that may be anything.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.take(name, &Shape::Any)
    }

    /// A field that is a list of anything.
    pub(crate) fn list(&mut self, name: &str) -> Vec<Value> {
        match self.take(name, &Shape::List(&Shape::Any)) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    /// A field that is a list of texts.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        let value = self.take(name, &Shape::List(&Shape::Text)).unwrap_or_default();
        serde_json::from_value(value).unwrap_or_default()
    }

    /// All fields that there are.
    pub(crate) fn given(&mut self) -> Map<String, Value> {
        let mut members = std::mem::take(&mut self.members);
        members.retain(|_, value| !value.is_null());
        members
    }

    /// Notes something wrong at a place among the members.
    pub(crate) fn refuse(&mut self, pointer: &str, detail: &str) {
        let pointer = format!("{}{pointer}", self.at);
        self.reader.refuse(&Place::unwritten(pointer), detail, "");
    }

    /// Drops a field that does not have its shape, with a note of it, and one that is null.
    pub(super) fn check(&mut self, name: &str, shape: &Shape) {
        if let Some(value) = self.take(name, shape) {
            self.members.insert(name.to_owned(), value);
        }
    }

    /// All fields as a value, once each was checked and nothing was wrong.
    pub(super) fn decode<T: DeserializeOwned>(&mut self) -> Option<T> {
        if self.reader.findings.errors() > 0 {
            return None;
        }
        let members = std::mem::take(&mut self.members);
        let decoded = serde_json::from_value(members.into());
        decoded.map_err(|error| self.refuse("", &error.to_string())).ok()
    }

    /// What was read, if nothing was wrong.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, Problem> {
        let findings = self.reader.findings.in_order();
        let errors: Vec<FieldError> = findings.into_iter().map(error).collect();
        let Some(FieldError { pointer, detail }) = errors.first() else {
            return read.ok_or_else(|| Problem::new(Code::InternalError, "the body was refused without a reason"));
        };
        let detail = format!("`{pointer}`: {detail}");
        Err(Problem::new(Code::BodyInvalid, detail).with_errors(errors))
    }
}

fn error(finding: Finding) -> FieldError {
    let Finding {
        pointer,
        detail,
        remedy,
        ..
    } = finding;
    // Where the detail says already what it should be, the remedy would only repeat it.
    let is_said = remedy
        .strip_prefix("write ")
        .is_some_and(|expected| detail.ends_with(expected));
    FieldError {
        pointer: pointer.chars().take(POINTER_CHARACTERS_MAX).collect(),
        detail: if remedy.is_empty() || is_said {
            detail
        } else {
            format!("{detail}; {remedy}")
        },
    }
}
