//! `sprag.toml`: read whole, every unknown or mistyped key named with its place.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use sprag_core::source::nearest;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::alerts;
use super::keys::{self, Kind};
use super::layers::{Layers, Place, Problem, Value, check, check_text, quoted};
use super::named::{self, Entry, Need, Section};

/// Reads the text of a file into `layers`; says everything that is wrong with it.
pub(super) fn read(name: &str, text: &str, layers: &mut Layers) -> Vec<Problem> {
    let file = File { name, text };
    let mut problems = Vec::new();
    match DeTable::parse(text) {
        Ok(table) => {
            file.nuls(table.get_ref(), &mut problems);
            if problems.is_empty() {
                file.sections(table.get_ref(), layers, &mut problems);
            }
        }
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let detail = error.message().trim().replace('\n', "; ");
            problems.push(file.problem(at, "not-parsed", detail, "mend the TOML there".to_owned()));
        }
    }
    problems
}

/// A file as it is read.
pub(super) struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    /// Names every text that holds a NUL character, wherever it stands.
    fn nuls(&self, table: &DeTable<'_>, problems: &mut Vec<Problem>) {
        for (name, value) in table {
            self.nul(name.get_ref(), name.span().start, problems);
            self.nuls_in(value, problems);
        }
    }

    fn nuls_in(&self, value: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) {
        match value.get_ref() {
            DeValue::String(text) => self.nul(text, value.span().start, problems),
            DeValue::Array(items) => items.iter().for_each(|item| self.nuls_in(item, problems)),
            DeValue::Table(table) => self.nuls(table, problems),
            _ => {}
        }
    }

    fn nul(&self, text: &str, at: usize, problems: &mut Vec<Problem>) {
        if let Err((detail, remedy)) = check_text(text) {
            problems.push(self.problem(at, "wrong-value", detail, remedy));
        }
    }

    fn sections(&self, table: &DeTable<'_>, layers: &mut Layers, problems: &mut Vec<Problem>) {
        for (name, value) in table {
            if name.get_ref() == alerts::SECTION {
                self.alerts(value, &mut layers.alerts, problems);
                continue;
            }
            if let (Some(section), DeValue::Table(entries)) = (named::section(name.get_ref()), value.get_ref()) {
                self.named(section, entries, layers, problems);
                continue;
            }
            if let Some(inner) = keys::inner(name.get_ref()) {
                self.inner(name.get_ref(), &inner, value, layers, problems);
                continue;
            }
            let section = known_sections().into_iter().find(|section| *section == name.get_ref());
            match (section, value.get_ref()) {
                (None, _) => problems.push(self.unknown("section", name, &known_sections())),
                (Some(section), DeValue::Table(entries)) => self.entries(section, entries, layers, problems),
                (Some(section), _) => {
                    let detail = format!("`{section}` is a section");
                    let at = value.span().start;
                    problems.push(self.problem(at, "wrong-type", detail, format!("write it as `[{section}]`")));
                }
            }
        }
    }

    /// The sections inside a section, as `[providers.twilio]`: each is known by name. The section may have keys of its
    /// own beside them, as `[secrets]` has.
    fn inner(
        &self,
        outer: &str,
        known: &[&'static str],
        value: &Spanned<DeValue<'_>>,
        layers: &mut Layers,
        problems: &mut Vec<Problem>,
    ) {
        let DeValue::Table(table) = value.get_ref() else {
            let detail = format!("`{outer}` holds sections");
            let remedy = format!("write one of them, as `[{}]`", known.first().unwrap_or(&outer));
            problems.push(self.problem(value.span().start, "wrong-type", detail, remedy));
            return;
        };
        for (name, value) in table {
            let section = known
                .iter()
                .copied()
                .find(|section| keys::last(section) == name.get_ref());
            match (section, value.get_ref()) {
                (None, _) if keys::of(outer).next().is_some() => {
                    self.entry(outer, (name, value), layers, problems);
                }
                (None, _) => {
                    let names: Vec<&str> = known.iter().map(|section| keys::last(section)).collect();
                    problems.push(self.unknown("section", name, &names));
                }
                (Some(section), DeValue::Table(entries)) => self.entries(section, entries, layers, problems),
                (Some(section), _) => {
                    let detail = format!("`{section}` is a section");
                    let at = value.span().start;
                    problems.push(self.problem(at, "wrong-type", detail, format!("write it as `[{section}]`")));
                }
            }
        }
    }

    fn entries(&self, section: &str, entries: &DeTable<'_>, layers: &mut Layers, problems: &mut Vec<Problem>) {
        for entry in entries {
            self.entry(section, entry, layers, problems);
        }
    }

    fn entry(
        &self,
        section: &str,
        (name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>),
        layers: &mut Layers,
        problems: &mut Vec<Problem>,
    ) {
        let Some(key) = keys::of(section).find(|key| key.name == name.get_ref()) else {
            let inner = keys::inner(section).unwrap_or_default();
            let known = keys::of(section).map(|key| key.name);
            let known: Vec<&str> = known.chain(inner.into_iter().map(keys::last)).collect();
            problems.push(self.unknown("key", name, &known));
            return;
        };
        let at = value.span().start;
        match value_of(key.kind, value.get_ref()) {
            None => {
                let detail = format!("`{section}.{}` must be {}", key.name, described(key.kind));
                let remedy = match key.default {
                    Some(default) => format!("write it as in `{} = {default}`", key.name),
                    None => format!("write it as in `{} = {}`", key.name, keys::example(key)),
                };
                problems.push(self.problem(at, "wrong-type", detail, remedy));
            }
            Some(value) => match check(key.kind, &value) {
                Ok(()) => layers.set(key, value, self.place(at)),
                Err((detail, remedy)) => problems.push(self.problem(at, "wrong-value", detail, remedy)),
            },
        }
    }

    fn named(
        &self,
        section: &'static Section,
        entries: &DeTable<'_>,
        layers: &mut Layers,
        problems: &mut Vec<Problem>,
    ) {
        for (name, value) in entries {
            let at = value.span().start;
            let DeValue::Table(values) = value.get_ref() else {
                let detail = format!("`{}.{}` is a section", section.name, name.get_ref());
                let remedy = format!("write it as `[{}.{}]`", section.name, name.get_ref());
                problems.push(self.problem(at, "wrong-type", detail, remedy));
                continue;
            };
            let mut entry = Entry {
                place: self.place(name.span().start),
                values: BTreeMap::new(),
            };
            for (key, value) in values {
                self.named_value(section, (key, value), &mut entry, problems);
            }
            for key in section.keys.iter().filter(|key| key.need == Need::Required) {
                if !values.iter().any(|(name, _)| name.get_ref() == key.name) {
                    let detail = format!("`[{}.{}]` has no `{}`", section.name, name.get_ref(), key.name);
                    let remedy = format!("add `{} = {}`", key.name, key.example);
                    problems.push(self.problem(name.span().start, "missing-key", detail, remedy));
                }
            }
            layers
                .named
                .0
                .insert((section.name, name.get_ref().clone().into_owned()), entry);
        }
    }

    fn named_value(
        &self,
        section: &'static Section,
        (name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>),
        entry: &mut Entry,
        problems: &mut Vec<Problem>,
    ) {
        let Some(key) = section.keys.iter().find(|key| key.name == name.get_ref()) else {
            let known: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
            problems.push(self.unknown("key", name, &known));
            return;
        };
        let at = value.span().start;
        let Some(value) = value_of(key.kind, value.get_ref()) else {
            let detail = format!("`{}` must be {}", key.name, described(key.kind));
            let remedy = format!("write it as in `{} = {}`", key.name, key.example);
            problems.push(self.problem(at, "wrong-type", detail, remedy));
            return;
        };
        match check(key.kind, &value) {
            Ok(()) => drop(entry.values.insert(key.name, (value, self.place(at)))),
            Err((detail, remedy)) => problems.push(self.problem(at, "wrong-value", detail, remedy)),
        }
    }

    pub(super) fn unknown(&self, what: &str, name: &Spanned<DeString<'_>>, known: &[&str]) -> Problem {
        let remedy = match nearest(name.get_ref(), known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", quoted(known)),
        };
        let code = if what == "key" {
            "unknown-key"
        } else {
            "unknown-section"
        };
        self.problem(
            name.span().start,
            code,
            format!("unknown {what} `{}`", name.get_ref()),
            remedy,
        )
    }

    pub(super) fn problem(&self, at: usize, code: &'static str, detail: String, remedy: String) -> Problem {
        Problem {
            place: self.place(at),
            code,
            detail,
            remedy,
        }
    }

    /// The line and column of a byte.
    pub(super) fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        Place::File {
            name: self.name.to_owned(),
            line,
            column,
        }
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

fn value_of(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match (kind, value) {
        (Kind::Text, DeValue::String(text)) => Some(Value::Text(text.clone().into_owned())),
        (Kind::Texts | Kind::Words(_), DeValue::Array(items)) => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            });
            texts.collect::<Option<_>>().map(Value::Texts)
        }
        (Kind::Whole { .. }, DeValue::Integer(number)) => u64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(Value::Whole),
        (Kind::Table, DeValue::Table(table)) => json_of(table).map(Value::Table),
        _ => None,
    }
}

/// The table as JSON. None where it holds what no runner reads: dates, and numbers that are not whole.
pub(super) fn json_of(table: &DeTable<'_>) -> Option<Map<String, Json>> {
    let entries = table
        .iter()
        .map(|(name, value)| Some((name.get_ref().clone().into_owned(), json_value(value.get_ref())?)));
    entries.collect()
}

fn json_value(value: &DeValue<'_>) -> Option<Json> {
    match value {
        DeValue::String(text) => Some(Json::String(text.clone().into_owned())),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(Json::from),
        DeValue::Boolean(truth) => Some(Json::Bool(*truth)),
        DeValue::Array(items) => items.iter().map(|item| json_value(item.get_ref())).collect(),
        DeValue::Table(table) => json_of(table).map(Json::Object),
        DeValue::Float(_) | DeValue::Datetime(_) => None,
    }
}

fn described(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a text",
        Kind::Texts | Kind::Words(_) => "a list of texts",
        Kind::Whole { .. } => "a whole number",
        Kind::Table => "a table of texts, whole numbers and lists of them",
    }
}
