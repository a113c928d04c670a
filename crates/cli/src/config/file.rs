//! `sprag.toml`: read whole, every unknown or mistyped key named with its place.

use std::collections::BTreeMap;

use serde_json::Value;
use sprag_core::document::source::{Format, Limits, Place as Written, Position, Spot, parse};
use sprag_core::document::{Finding, Reader, Shape, Stage};

use super::alerts;
use super::keys;
use super::layers::{Layers, Place, Problem, note_nuls};
use super::named::{self, Entry, Need, Section};

/// The bytes of a file; its values are bounded by them.
const LIMITS: Limits = Limits::body(4 * 1024 * 1024);

/// Reads the text of a file into `layers`; says everything that is wrong with it.
pub(super) fn read(name: &str, text: &str, layers: &mut Layers) -> Vec<Problem> {
    let mut file = File {
        name,
        reader: Reader::new(Stage::Configuration),
    };
    match parse(text, Format::Toml, &LIMITS) {
        Ok(document) => {
            note_nuls(&mut file.reader, &document.root());
            if !file.reader.findings.has_errors() {
                file.sections(&document.root(), layers);
            }
        }
        Err(error) => file.reader.findings.not_parsed(error),
    }
    let findings = std::mem::take(&mut file.reader.findings).finish();
    findings.into_iter().map(|finding| file.problem(finding)).collect()
}

/// A file as it is read.
pub(super) struct File<'a> {
    name: &'a str,
    pub(super) reader: Reader,
}

impl File<'_> {
    fn sections(&mut self, root: &Spot<'_>, layers: &mut Layers) {
        for (name, member) in root.members() {
            if name == alerts::SECTION {
                layers.alerts = self.alerts(&member);
            } else if let (Some(section), true) = (named::section(name), member.value.is_object()) {
                self.named(section, &member, layers);
            } else if let Some(inner) = keys::inner(name) {
                self.inner(name, &inner, &member, layers);
            } else if known_sections().contains(&name) {
                self.entries(name, &member, layers);
            } else {
                self.unknown("section", name, &member, &known_sections());
            }
        }
    }

    /// The sections inside a section, as `[providers.twilio]`: each is known by name. The section may have keys of its
    /// own beside them, as `[secrets]` has.
    fn inner(&mut self, outer: &str, known: &[&'static str], spot: &Spot<'_>, layers: &mut Layers) {
        if !spot.value.is_object() {
            let detail = format!("`{outer}` holds sections");
            let remedy = format!("write one of them, as `[{}]`", known.first().unwrap_or(&outer));
            return self.reader.error(&spot.place(), "wrong-type", detail, remedy);
        }
        for (name, member) in spot.members() {
            let section = known.iter().copied().find(|section| keys::last(section) == name);
            match section {
                Some(section) => self.entries(section, &member, layers),
                None if keys::of(outer).next().is_some() => self.entry(outer, name, &member, layers),
                None => {
                    let names: Vec<&str> = known.iter().map(|section| keys::last(section)).collect();
                    self.unknown("section", name, &member, &names);
                }
            }
        }
    }

    fn entries(&mut self, section: &str, spot: &Spot<'_>, layers: &mut Layers) {
        if self.is_section(section, spot) {
            for (name, member) in spot.members() {
                self.entry(section, name, &member, layers);
            }
        }
    }

    fn is_section(&mut self, section: &str, spot: &Spot<'_>) -> bool {
        let is_section = spot.value.is_object();
        if !is_section {
            let detail = format!("`{section}` is a section");
            let remedy = format!("write it as `[{section}]`");
            self.reader.error(&spot.place(), "wrong-type", detail, remedy);
        }
        is_section
    }

    fn entry(&mut self, section: &str, name: &str, spot: &Spot<'_>, layers: &mut Layers) {
        let Some(key) = keys::of(section).find(|key| key.name == name) else {
            let inner = keys::inner(section).unwrap_or_default();
            let known = keys::of(section).map(|key| key.name);
            let known: Vec<&str> = known.chain(inner.into_iter().map(keys::last)).collect();
            return self.unknown("key", name, spot, &known);
        };
        let example = || key.default.map_or_else(|| keys::example(key), str::to_owned);
        if self.value(&format!("{section}.{name}"), spot, &key.shape, &example) {
            layers.set(key, spot.value.clone(), self.place(spot.place().at));
        }
    }

    /// Whether a value is what its key holds. `example` is how it could be written.
    pub(super) fn value(&mut self, name: &str, spot: &Spot<'_>, shape: &Shape, example: &dyn Fn() -> String) -> bool {
        if shape.fits(spot.value) {
            return self.reader.check(spot, shape);
        }
        let detail = format!("`{name}` must be {}", self.reader.called(&shape.expected()));
        let remedy = format!("write it as in `{} = {}`", keys::last(name), example());
        self.reader.error(&spot.place(), "wrong-type", detail, remedy);
        false
    }

    fn named(&mut self, section: &'static Section, spot: &Spot<'_>, layers: &mut Layers) {
        for (name, member) in spot.members() {
            if !self.is_section(&format!("{}.{name}", section.name), &member) {
                continue;
            }
            let mut values = BTreeMap::new();
            for (key_name, value) in member.members() {
                let Some(key) = section.keys.iter().find(|key| key.name == key_name) else {
                    let known: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
                    self.unknown("key", key_name, &value, &known);
                    continue;
                };
                if self.value(key.name, &value, &key.shape, &|| key.example.to_owned()) {
                    values.insert(key.name, (value.value.clone(), self.place(value.place().at)));
                }
            }
            let required = section.keys.iter().filter(|key| key.need == Need::Required);
            for key in required.filter(|key| !member.has(key.name)) {
                let detail = format!("`[{}.{name}]` has no `{}`", section.name, key.name);
                let remedy = format!("add `{} = {}`", key.name, key.example);
                self.reader.error(&member.key_place(), "missing-key", detail, remedy);
            }
            let entry = Entry {
                place: self.place(member.key_place().at),
                values,
            };
            layers.named.0.insert((section.name, name.to_owned()), entry);
        }
    }

    pub(super) fn unknown(&mut self, what: &str, name: &str, spot: &Spot<'_>, known: &[&str]) {
        let code = if what == "key" {
            "unknown-key"
        } else {
            "unknown-section"
        };
        let detail = format!("unknown {what} `{name}`");
        let known = known.iter().copied();
        self.reader.unknown(code, name, spot, detail, known);
    }

    fn problem(&self, finding: Finding) -> Problem {
        let Finding {
            code,
            line,
            column,
            detail,
            remedy,
            ..
        } = finding;
        Problem {
            place: self.place(Position { line, column }),
            // As the other layers call it.
            code: if code == "bad-value" { "wrong-value" } else { code },
            detail,
            remedy,
        }
    }

    /// A line and column of this file.
    pub(super) fn place(&self, Position { line, column }: Position) -> Place {
        Place::File {
            name: self.name.to_owned(),
            line,
            column,
        }
    }

    /// Notes a value that cannot be used.
    pub(super) fn wrong(&mut self, place: &Written, detail: String, remedy: String) {
        self.reader.refuse(place, detail, remedy);
    }
}

fn known_sections() -> Vec<&'static str> {
    let named = named::SECTIONS.iter().map(|section| section.name);
    keys::sections()
        .into_iter()
        .chain(named)
        .chain([alerts::SECTION])
        .collect()
}

/// The texts of a list; what is no text was refused when it was read.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
