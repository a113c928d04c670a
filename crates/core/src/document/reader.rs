//! Reads values by their shape and keeps what is wrong with them.
//!
//! What does not have its shape is noted and then reads as if it were not there, so one mistake does not hide another.

use serde_json::{Map, Value};

use super::findings::Findings;
use super::shape::Shape;
use crate::document::source::{Place, Spot, shown};

/// Reads one document.
#[derive(Debug, Default)]
pub struct Reader {
    /// What is wrong with it.
    pub findings: Findings,
    stage: Stage,
}

/// What kind of document is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// One in which null is a value like any other.
    #[default]
    Strict,
    /// One in which null is the same as a key that is not there.
    Lenient,
    /// The same, sent as the JSON body of a request: a map is called an object there.
    Body,
    /// One that is written in TOML: a map is called a table there.
    Configuration,
    /// A lenient one in which templates still stand: a text that holds `{{` may become anything and passes every check.
    Written,
    /// The same, after its templates were rendered. Texts in it may be secrets, so no message shows them.
    Rendered,
}

impl Reader {
    /// A reader of such documents.
    pub fn new(stage: Stage) -> Self {
        Self {
            findings: Findings::default(),
            stage,
        }
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether `text` holds a template that is still to be rendered.
    pub fn is_open(&self, text: &str) -> bool {
        self.stage == Stage::Written && text.contains("{{")
    }

    /// Notes something wrong.
    pub fn error(&mut self, place: &Place, code: &'static str, detail: impl Into<String>, remedy: impl Into<String>) {
        self.findings.error(place, code, detail, remedy);
    }

    /// Notes that a value is not what it should be.
    pub fn refuse(&mut self, place: &Place, detail: impl Into<String>, remedy: impl Into<String>) {
        self.findings.error(place, "bad-value", detail, remedy);
    }

    /// Notes that a member of a map is not what it should be.
    pub fn refuse_member(&mut self, map: &Spot<'_>, name: &str, detail: impl Into<String>, remedy: impl Into<String>) {
        self.refuse(&map.place_of(name), detail, remedy);
    }

    /// Notes that a value is of the wrong kind, unless it is still to be rendered.
    pub fn wrong(&mut self, spot: &Spot<'_>, expected: &str) {
        if spot.text().is_some_and(|text| self.is_open(text)) {
            return;
        }
        let expected = self.called(expected);
        let detail = format!("{} is not {expected}", self.described(spot.value));
        self.error(&spot.place(), "wrong-type", detail, format!("write {expected}"));
    }

    /// What is expected, in the words of the document's format.
    pub fn called(&self, expected: &str) -> String {
        match self.stage {
            Stage::Body => expected.replace("a map", "an object"),
            Stage::Configuration => expected.replace("a map", "a table"),
            Stage::Strict | Stage::Lenient | Stage::Written | Stage::Rendered => expected.to_owned(),
        }
    }

    pub(super) fn described(&self, value: &Value) -> String {
        match value {
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => self.called("a map"),
            Value::String(_) if matches!(self.stage, Stage::Written | Stage::Rendered) => "text".to_owned(),
            Value::String(text) => format!("`\"{}\"`", shown(text)),
            scalar => format!("`{scalar}`"),
        }
    }

    /// Whether `spot` is a map that holds only `known` keys.
    pub fn knows(&mut self, spot: &Spot<'_>, known: &[&str]) -> bool {
        if !spot.value.is_object() {
            self.wrong(spot, Shape::Open.expected().as_str());
            return false;
        }
        let names = spot.value.as_object().into_iter().flat_map(Map::keys);
        for name in names.filter(|name| !known.contains(&name.as_str())) {
            let Some(member) = spot.member(name) else { continue };
            let detail = match self.stage {
                Stage::Body => format!("`{}` is not known here", shown(name)),
                _ => format!("unknown key `{}`", shown(name)),
            };
            self.unknown("unknown-key", name, &member, detail, known.iter().copied());
        }
        true
    }

    /// The member of that name, if it is there and has the shape.
    pub fn read<'n>(&mut self, map: &Spot<'n>, name: &str, shape: &Shape) -> Option<Spot<'n>> {
        let spot = map.get(name)?;
        self.check(&spot, shape).then_some(spot)
    }

    /// The map of that name, which may hold only `known` keys.
    pub fn map<'n>(&mut self, map: &Spot<'n>, name: &str, known: &[&str]) -> Option<Spot<'n>> {
        let spot = map.get(name)?;
        self.knows(&spot, known).then_some(spot)
    }

    /// The maps of a list, each of which may hold only `known` keys.
    pub fn maps<'n>(&mut self, map: &Spot<'n>, name: &str, known: &[&str]) -> Vec<Spot<'n>> {
        let list = map.get(name);
        let items = list.iter().flat_map(Spot::items);
        items.filter(|item| self.knows(item, known)).collect()
    }

    /// Notes that the member of that name is missing, unless it is there. `example` is what could be written.
    pub fn require(&mut self, map: &Spot<'_>, name: &str, example: &str) -> Option<()> {
        if map.has(name) {
            return Some(());
        }
        let detail = format!("`{name}` is missing");
        let remedy = format!("add `{name}`, such as {example}");
        self.error(&map.place_of(name), "missing-key", detail, remedy);
        None
    }

    /// A text.
    pub fn text<'n>(&mut self, map: &Spot<'n>, name: &str) -> Option<&'n str> {
        self.read(map, name, &Shape::Text)?.text()
    }

    /// A text of one's own.
    pub fn string(&mut self, map: &Spot<'_>, name: &str) -> Option<String> {
        self.text(map, name).map(str::to_owned)
    }

    /// A text that must be there and hold something.
    pub fn required_text<'n>(&mut self, map: &Spot<'n>, name: &str, example: &str) -> Option<&'n str> {
        self.require(map, name, example)?;
        let text = self.text(map, name)?;
        if text.is_empty() {
            let remedy = format!("give it a value such as {example}");
            self.refuse(&map.place_of(name), format!("`{name}` is empty"), remedy);
            return None;
        }
        Some(text)
    }

    /// One of these words.
    pub fn word(&mut self, map: &Spot<'_>, name: &str, words: &'static [&'static str]) -> Option<&'static str> {
        let text = self.read(map, name, &Shape::Word(words))?.text()?;
        words.iter().copied().find(|word| *word == text)
    }

    /// True or false.
    pub fn flag(&mut self, map: &Spot<'_>, name: &str) -> Option<bool> {
        self.read(map, name, &Shape::Flag)?.value.as_bool()
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, map: &Spot<'_>, name: &str, least: u64, most: u64) -> Option<u64> {
        self.read(map, name, &Shape::Whole { least, most })?.value.as_u64()
    }

    /// A duration in milliseconds, from `least` on.
    pub fn millis(&mut self, map: &Spot<'_>, name: &str, least: u64) -> Option<u64> {
        super::millis(self.read(map, name, &Shape::Duration { least })?.value)
    }

    /// A list of texts; those that are none are left out.
    pub fn texts<'n>(&mut self, map: &Spot<'n>, name: &str) -> Option<Vec<&'n str>> {
        let spot = map.get(name)?;
        self.check(&spot, &Shape::List(&Shape::Text));
        let items = spot.value.as_array()?;
        Some(items.iter().filter_map(Value::as_str).collect())
    }

    /// A text, or a list of texts.
    pub fn text_or_texts<'n>(&mut self, map: &Spot<'n>, name: &str) -> Vec<&'n str> {
        if map.value.get(name).is_some_and(Value::is_array) {
            self.texts(map, name).unwrap_or_default()
        } else {
            self.text(map, name).into_iter().collect()
        }
    }

    /// A map of anything.
    pub fn object<'n>(&mut self, map: &Spot<'n>, name: &str) -> Option<&'n Map<String, Value>> {
        self.read(map, name, &Shape::Open)?.value.as_object()
    }

    /// Names and texts; numbers and truth values count as their text.
    pub fn pairs<'n>(&mut self, map: &Spot<'n>, name: &str) -> Vec<(&'n str, String)> {
        let Some(spot) = self.read(map, name, &Shape::Open) else {
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, member) in spot.members() {
            match scalar(member.value) {
                Some(text) => pairs.push((name, text)),
                None => self.wrong(&member, "text"),
            }
        }
        pairs
    }
}

/// The text of a text, a number or a truth value.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number of bytes: `10MiB`, `2GiB`, `512KiB`, `100`.
pub(super) fn read_bytes(value: &Value) -> Option<u64> {
    let Value::String(text) = value else {
        return value.as_u64();
    };
    let split = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// `` `a`, `b`, `c` ``
pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
