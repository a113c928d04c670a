//! `sprag.toml`: read whole, every unknown or mistyped key named with its place.

use sprag_core::source::nearest;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::keys::{self, Key, Kind};
use super::layers::{Layers, Place, Problem, Value, check, quoted};

/// Reads the text of a file into `layers`; says everything that is wrong with it.
pub(super) fn read(name: &str, text: &str, layers: &mut Layers) -> Vec<Problem> {
    let file = File { name, text };
    let mut problems = Vec::new();
    match DeTable::parse(text) {
        Ok(table) => file.sections(table.get_ref(), layers, &mut problems),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let detail = error.message().trim().replace('\n', "; ");
            problems.push(file.problem(at, "not-parsed", detail, "mend the TOML there".to_owned()));
        }
    }
    problems
}

struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn sections(&self, table: &DeTable<'_>, layers: &mut Layers, problems: &mut Vec<Problem>) {
        for (name, value) in table {
            if let Some(inner) = keys::inner(name.get_ref()) {
                self.inner(name.get_ref(), &inner, value, layers, problems);
                continue;
            }
            let section = keys::sections().into_iter().find(|section| *section == name.get_ref());
            match (section, value.get_ref()) {
                (None, _) => problems.push(self.unknown("section", name, &keys::sections())),
                (Some(section), DeValue::Table(entries)) => self.entries(section, entries, layers, problems),
                (Some(section), _) => {
                    let detail = format!("`{section}` is a section");
                    let at = value.span().start;
                    problems.push(self.problem(at, "wrong-type", detail, format!("write it as `[{section}]`")));
                }
            }
        }
    }

    /// The sections inside a section, as `[providers.twilio]`: each is known by name.
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

    fn entries(&self, section: &'static str, entries: &DeTable<'_>, layers: &mut Layers, problems: &mut Vec<Problem>) {
        for (name, value) in entries {
            let Some(key) = keys::of(section).find(|key| key.name == name.get_ref()) else {
                let known: Vec<&str> = keys::of(section).map(|key| key.name).collect();
                problems.push(self.unknown("key", name, &known));
                continue;
            };
            let at = value.span().start;
            match value_of(key, value.get_ref()) {
                None => {
                    let detail = format!("`{section}.{}` must be {}", key.name, described(key.kind));
                    let remedy = match key.default {
                        Some(default) => format!("write it as in `{} = {default}`", key.name),
                        None => format!("write it as in `{} = {}`", key.name, keys::example(key)),
                    };
                    problems.push(self.problem(at, "wrong-type", detail, remedy));
                }
                Some(value) => match check(key, &value) {
                    Ok(()) => layers.set(key, value, self.place(at)),
                    Err((detail, remedy)) => problems.push(self.problem(at, "wrong-value", detail, remedy)),
                },
            }
        }
    }

    fn unknown(&self, what: &str, name: &Spanned<DeString<'_>>, known: &[&str]) -> Problem {
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

    fn problem(&self, at: usize, code: &'static str, detail: String, remedy: String) -> Problem {
        Problem {
            place: self.place(at),
            code,
            detail,
            remedy,
        }
    }

    /// The line and column of a byte.
    fn place(&self, at: usize) -> Place {
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

fn value_of(key: &Key, value: &DeValue<'_>) -> Option<Value> {
    match (key.kind, value) {
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
        _ => None,
    }
}

fn described(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a text",
        Kind::Texts | Kind::Words(_) => "a list of texts",
        Kind::Whole { .. } => "a whole number",
    }
}
