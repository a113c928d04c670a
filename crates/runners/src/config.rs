//! Reading a runner's configuration: every problem at once, each with its place and its remedy.
//!
//! The same code reads a configuration as it was written, for `validate`, and as it was rendered, for an attempt. As
//! written, a string that holds `{{` may become anything and passes every check.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::action::runner::{ConfigProblem, Fault};
use sprag_core::source::nearest;

/// What the text of a problem shows of a value at most.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// Which form of the configuration is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigStage {
    /// Templates still stand in it.
    Written,
    /// Every template has its value.
    Rendered,
}

/// Collects what is wrong while a configuration is read.
pub(crate) struct Reader {
    stage: ConfigStage,
    problems: Vec<ConfigProblem>,
}

/// An object inside the configuration, and where it is.
#[derive(Clone)]
pub(crate) struct Object<'v> {
    map: &'v Map<String, Value>,
    pointer: String,
}

impl<'v> Object<'v> {
    /// Whether `key` is given. Null counts as absent: a template that found nothing may leave one.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The value of `key`, unless it is absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The JSON pointer of `key`.
    pub(crate) fn at(&self, key: &str) -> String {
        join(&self.pointer, key)
    }

    /// Everything in the object, with the pointer of each.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'v str, &'v Value, String)> + '_ {
        self.map.iter().map(|(key, value)| (key.as_str(), value, self.at(key)))
    }
}

impl Reader {
    /// A reader of configurations in that form.
    pub(crate) fn new(stage: ConfigStage) -> Self {
        Self {
            stage,
            problems: Vec::new(),
        }
    }

    /// What was read, or everything that was wrong.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Vec<ConfigProblem>> {
        match read {
            Some(read) if self.problems.is_empty() => Ok(read),
            _ => Err(self.problems),
        }
    }

    /// Only what was wrong.
    pub(crate) fn problems(self) -> Vec<ConfigProblem> {
        self.problems
    }

    /// Notes something wrong.
    pub(crate) fn problem(&mut self, pointer: impl Into<String>, detail: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(ConfigProblem {
            pointer: pointer.into(),
            detail: detail.into(),
            remedy: remedy.into(),
            fault: Fault::Definition,
        });
    }

    /// Notes something that this server's configuration lacks.
    pub(crate) fn unconfigured(
        &mut self,
        pointer: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(ConfigProblem {
            pointer: pointer.into(),
            detail: detail.into(),
            remedy: remedy.into(),
            fault: Fault::Unconfigured,
        });
    }

    /// Whether `text` holds a template that is still to be rendered.
    pub(crate) fn is_open(&self, text: &str) -> bool {
        self.stage == ConfigStage::Written && text.contains("{{")
    }

    fn is_open_value(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|text| self.is_open(text))
    }

    /// The whole configuration, which may hold only `known` keys.
    pub(crate) fn root<'v>(&mut self, config: &'v Value, known: &[&str]) -> Option<Object<'v>> {
        static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        if config.is_null() {
            return Some(Object {
                map: &EMPTY,
                pointer: String::new(),
            });
        }
        self.object_at(config, String::new(), known)
    }

    /// The object under `key`, which may hold only `known` keys.
    pub(crate) fn object<'v>(&mut self, parent: &Object<'v>, key: &str, known: &[&str]) -> Option<Object<'v>> {
        self.object_at(parent.get(key)?, parent.at(key), known)
    }

    /// The object under `key`, whatever its keys.
    pub(crate) fn any_object<'v>(&mut self, parent: &Object<'v>, key: &str) -> Option<Object<'v>> {
        let value = parent.get(key)?;
        self.as_object(value, parent.at(key))
    }

    /// The objects listed under `key`, each of which may hold only `known` keys.
    pub(crate) fn objects<'v>(&mut self, parent: &Object<'v>, key: &str, known: &[&str]) -> Vec<Object<'v>> {
        let Some(Value::Array(items)) = parent.get(key) else {
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items
            .filter_map(|(index, item)| self.object_at(item, join(&parent.at(key), &index.to_string()), known))
            .collect()
    }

    fn object_at<'v>(&mut self, value: &'v Value, pointer: String, known: &[&str]) -> Option<Object<'v>> {
        let object = self.as_object(value, pointer)?;
        for (key, _, pointer) in object.entries() {
            if !known.contains(&key) {
                let remedy = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("remove it; known keys: {}", list(known)),
                };
                self.problem(pointer, format!("unknown key `{}`", shown(key)), remedy);
            }
        }
        Some(object)
    }

    fn as_object<'v>(&mut self, value: &'v Value, pointer: String) -> Option<Object<'v>> {
        if let Value::Object(map) = value {
            return Some(Object { map, pointer });
        }
        self.mismatch(value, pointer, "an object");
        None
    }

    /// The text under `key`, if there is one.
    pub(crate) fn text<'v>(&mut self, object: &Object<'v>, key: &str) -> Option<&'v str> {
        let value = object.get(key)?;
        if let Value::String(text) = value {
            return Some(text);
        }
        self.mismatch(value, object.at(key), "a string");
        None
    }

    /// The text under `key`, which must be there and hold something.
    pub(crate) fn required_text<'v>(&mut self, object: &Object<'v>, key: &str, example: &str) -> Option<&'v str> {
        self.require(object, key, example)?;
        let text = self.text(object, key)?;
        if text.is_empty() {
            self.problem(
                object.at(key),
                format!("`{key}` is empty"),
                format!("give it a value such as {example}"),
            );
            return None;
        }
        Some(text)
    }

    /// Notes a problem unless `key` is given.
    pub(crate) fn require(&mut self, object: &Object<'_>, key: &str, example: &str) -> Option<()> {
        if !object.has(key) {
            self.problem(
                object.at(key),
                format!("`{key}` is missing"),
                format!("add `{key}`, such as {example}"),
            );
            return None;
        }
        Some(())
    }

    /// The texts listed under `key`.
    pub(crate) fn texts<'v>(&mut self, object: &Object<'v>, key: &str) -> Option<Vec<&'v str>> {
        let value = object.get(key)?;
        let Value::Array(items) = value else {
            self.mismatch(value, object.at(key), "a list of strings");
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.as_str()),
                _ => self.mismatch(item, join(&object.at(key), &index.to_string()), "a string"),
            }
        }
        Some(texts)
    }

    /// Names and texts under `key`; numbers and truth values count as their text.
    pub(crate) fn pairs<'v>(&mut self, object: &Object<'v>, key: &str) -> Vec<(&'v str, String)> {
        let Some(object) = self.any_object(object, key) else {
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, value, pointer) in object.entries() {
            match scalar(value) {
                Some(text) => pairs.push((name, text)),
                None => self.mismatch(value, pointer, "a string"),
            }
        }
        pairs
    }

    /// The whole number under `key`, at most `max`.
    pub(crate) fn whole(&mut self, object: &Object<'_>, key: &str, max: u64) -> Option<u64> {
        let value = object.get(key)?;
        match value.as_u64() {
            Some(number) if number <= max => Some(number),
            _ => {
                self.mismatch(value, object.at(key), &format!("a whole number from 0 to {max}"));
                None
            }
        }
    }

    /// The codes listed under `key`, each within `range`; an empty list is a problem, since nothing could satisfy it.
    pub(crate) fn codes(
        &mut self,
        object: &Object<'_>,
        key: &str,
        range: std::ops::RangeInclusive<u16>,
    ) -> Option<Vec<u16>> {
        let value = object.get(key)?;
        let expected = format!("a list of whole numbers from {} to {}", range.start(), range.end());
        let Value::Array(items) = value else {
            self.mismatch(value, object.at(key), &expected);
            return None;
        };
        if items.is_empty() {
            self.problem(
                object.at(key),
                format!("`{key}` is empty"),
                "list at least one code, or leave the key out",
            );
        }
        let mut codes = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item
                .as_u64()
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| range.contains(code))
            {
                Some(code) => codes.push(code),
                None => self.mismatch(item, join(&object.at(key), &index.to_string()), &expected),
            }
        }
        Some(codes)
    }

    /// One of the `choices` under `key`.
    pub(crate) fn choice<'c>(&mut self, object: &Object<'_>, key: &str, choices: &[&'c str]) -> Option<&'c str> {
        let text = self.text(object, key)?;
        if self.is_open(text) {
            return None;
        }
        let found = choices.iter().find(|choice| **choice == text).copied();
        if found.is_none() {
            let remedy = match nearest(text, choices.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of {}", list(choices)),
            };
            self.problem(
                object.at(key),
                format!("`{}` is not a known `{key}`", shown(text)),
                remedy,
            );
        }
        found
    }

    /// Notes that `value` is not what was expected, unless it is still to be rendered.
    pub(crate) fn mismatch(&mut self, value: &Value, pointer: String, expected: &str) {
        if !self.is_open_value(value) {
            self.problem(
                pointer,
                format!("{} stands where {expected} belongs", described(value)),
                format!("write {expected}"),
            );
        }
    }
}

/// The outcome of an attempt whose rendered configuration cannot be used.
pub(crate) fn refused(problems: &[ConfigProblem]) -> Outcome {
    let message = problems.first().map_or_else(String::new, |problem| {
        let place = if problem.pointer.is_empty() {
            "config"
        } else {
            &problem.pointer
        };
        format!("{place}: {}; {}", problem.detail, problem.remedy)
    });
    let problems: Vec<Value> = problems
        .iter()
        .map(
            |ConfigProblem {
                 pointer,
                 detail,
                 remedy,
                 fault: _,
             }| json!({"pointer": pointer, "detail": detail, "remedy": remedy}),
        )
        .collect();
    let error = ActionError::new(kind::INVALID_CONFIGURATION, message).with_details(json!({"problems": problems}));
    Outcome::NotDone(Failure::new(error))
}

/// The text of a string, a number or a truth value.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `text`, cut so that it fits into a sentence.
pub(crate) fn shown(text: &str) -> String {
    if text.chars().nth(SHOWN_CHARACTERS_MAX).is_none() {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARACTERS_MAX).chain(['…']).collect()
}

/// Whether `pointer` is one of these places of a configuration, or inside one.
pub(crate) fn is_within(pointer: &str, places: &[&str]) -> bool {
    places.iter().any(|place| {
        let rest = pointer.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The names in backticks, separated by commas.
pub(crate) fn list(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Appends a reference token to a JSON pointer (RFC 6901).
fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
