//! Checks a value against its shape: keys that are unknown, missing or given twice, and values that do not fit.

use std::collections::{BTreeMap, BTreeSet};

use super::names::Names;
use super::reader::{Reader, Stage, quoted, read_bytes};
use super::shape::{Shape, Table};
use crate::document::source::{Place, Spot, shown};
use crate::text::Problem;
use crate::time::duration::Millis;

impl Reader {
    /// Notes everything in `spot` that does not have the shape. Whether there was nothing.
    pub fn check(&mut self, spot: &Spot<'_>, shape: &Shape) -> bool {
        let before = self.findings.errors();
        self.judge(spot, shape);
        self.findings.errors() == before
    }

    fn judge(&mut self, spot: &Spot<'_>, shape: &Shape) {
        let is_open = spot.text().is_some_and(|text| self.is_open(text));
        // The name of a rule that is defined elsewhere, as other tools write it. The compiler of rules reports it.
        let is_named_rule = matches!(shape, Shape::Rule) && spot.value.is_string();
        if is_open || is_named_rule {
            return;
        }
        if !shape.fits(spot.value) {
            return self.wrong(spot, &shape.expected());
        }
        match shape {
            Shape::Map(table) => self.members(spot, table),
            Shape::Members(names, inner) => {
                for (name, member) in spot.members() {
                    self.check_name(name, &member.key_place(), *names);
                    self.judge(&member, inner);
                }
            }
            Shape::List(inner) => spot.items().for_each(|item| self.judge(&item, inner)),
            Shape::Either(shapes) => {
                if let Some(shape) = shapes.iter().find(|shape| shape.fits(spot.value)) {
                    self.judge(spot, shape);
                }
            }
            Shape::Name(names) => self.check_name(spot.text().unwrap_or_default(), &spot.place(), *names),
            Shape::Word(words) => self.check_word(spot, words),
            Shape::Filled => self.check_filled(spot),
            Shape::Sized { least, most } => self.check_length(spot, *least, *most),
            Shape::Whole { .. } | Shape::Number { .. } | Shape::Bytes => self.check_number(spot, shape),
            Shape::Duration { least } => self.check_duration(spot, *least),
            Shape::Any | Shape::Nothing | Shape::Text | Shape::Flag | Shape::Rule | Shape::Open | Shape::Refused(_) => {
            }
        }
    }

    fn members(&mut self, spot: &Spot<'_>, table: &Table) {
        let mut given: BTreeMap<&str, &str> = BTreeMap::new();
        // What a misspelt key most likely means is not missing too.
        let mut meant: BTreeSet<&str> = BTreeSet::new();
        for (name, member) in spot.members() {
            let Some(key) = table.key(name) else {
                let detail = format!("{} has no key `{}`", table.called, shown(name));
                meant.extend(self.unknown("unknown-key", name, &member, detail, table.known()));
                continue;
            };
            if member.value.is_null() && self.stage() != Stage::Strict {
                continue;
            }
            if let Some(other) = given.insert(key.name, name) {
                let detail = format!("`{name}` and `{other}` are two names for the same key");
                let remedy = format!("keep `{}`", key.name);
                self.error(&member.key_place(), "given-twice", detail, remedy);
            }
            if let Shape::Refused(remedy) = key.shape {
                let detail = format!("`{name}` in {} cannot be honoured", table.called);
                self.error(&member.key_place(), "not-supported", detail, *remedy);
            }
            self.judge(&member, key.shape);
        }
        let required = table.keys.iter().filter(|key| key.required);
        for key in required.filter(|key| !given.contains_key(key.name) && !meant.contains(key.name)) {
            let detail = format!("{} has no `{}`", table.called, key.name);
            self.error(&spot.key_place(), "missing-key", detail, format!("add `{}`", key.name));
        }
    }

    /// Notes a key that is not known; the known one that was most likely meant.
    pub fn unknown<'k>(
        &mut self,
        code: &'static str,
        name: &str,
        member: &Spot<'_>,
        detail: String,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Option<&'k str> {
        let near = self.findings.nearest(name, known.clone());
        let remedy = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.clone().next().is_none() => "remove it; no keys are known here".to_owned(),
            None => format!("remove it; known are {}", quoted(known)),
        };
        self.error(&member.key_place(), code, detail, remedy);
        near
    }

    fn check_name(&mut self, name: &str, place: &Place, names: Names) {
        if names.accept(name) || self.is_open(name) {
            return;
        }
        let shown = shown(name);
        let (code, detail, remedy) = match (names.problem(name), names) {
            (Some(problem), _) => ("bad-name", not_a_name(&shown, problem), Names::Free.rule()),
            (None, Names::Duration) => ("bad-duration", format!("`{shown}` is not a duration"), names.rule()),
            (None, Names::Descriptor) => ("bad-name", format!("`{shown}` describes no event"), names.rule()),
            (None, _) => ("bad-name", format!("`{shown}` cannot be a name here"), names.rule()),
        };
        self.error(place, code, detail, remedy);
    }

    fn check_word(&mut self, spot: &Spot<'_>, words: &'static [&'static str]) {
        let word = spot.text().unwrap_or_default();
        if words.contains(&word) {
            return;
        }
        let remedy = match self.findings.nearest(word, words.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("write {}", Shape::Word(words).expected()),
        };
        let detail = format!("`{}` is not a known value", shown(word));
        self.error(&spot.place(), "bad-value", detail, remedy);
    }

    fn check_filled(&mut self, spot: &Spot<'_>) {
        let text = spot.text().unwrap_or_default();
        if text.is_empty() {
            self.error(&spot.place(), "bad-value", "the text is empty", "write something");
        } else if text.contains('\0') {
            let detail = format!("`{}` holds a NUL character", spot.place().name());
            self.error(&spot.place(), "bad-value", detail, "leave it out");
        }
    }

    fn check_length(&mut self, spot: &Spot<'_>, least: u64, most: u64) {
        let text = spot.text().unwrap_or_default();
        let (count, is_blank) = (text.chars().count() as u64, text.trim().is_empty());
        if (least..=most).contains(&count) && !(least > 0 && is_blank) {
            return;
        }
        let has = if is_blank {
            "is blank".to_owned()
        } else {
            format!("has {count} characters")
        };
        let detail = format!("`{}` {has}", spot.place().name());
        let remedy = format!("write {}", Shape::Sized { least, most }.expected());
        self.error(&spot.place(), "bad-value", detail, remedy);
    }

    fn check_number(&mut self, spot: &Spot<'_>, shape: &Shape) {
        let value = spot.value;
        let fits = match shape {
            Shape::Whole { least, most } => value.as_u64().is_some_and(|number| (*least..=*most).contains(&number)),
            Shape::Number { least } => value
                .as_f64()
                .is_some_and(|number| number.is_finite() && number >= f64::from(*least)),
            _ => read_bytes(value).is_some(),
        };
        if !fits {
            let detail = format!("{} is not {}", self.described(value), shape.expected());
            self.error(
                &spot.place(),
                "bad-value",
                detail,
                format!("write {}", shape.expected()),
            );
        }
    }

    fn check_duration(&mut self, spot: &Spot<'_>, least: u64) {
        match Millis::from_value(spot.value) {
            Ok(duration) if duration.get() >= least => {}
            Ok(duration) => {
                let least = Millis::new(least).map_or_else(|_| least.to_string(), |least| least.to_string());
                let detail = format!("`{duration}` is too short");
                self.error(
                    &spot.place(),
                    "bad-duration",
                    detail,
                    format!("write at least `{least}`"),
                );
            }
            Err(problem) => {
                let detail = format!("duration `{}` {}", shown(&problem.value), problem.reason);
                self.error(&spot.place(), "bad-duration", detail, Names::Duration.rule());
            }
        }
    }
}

fn not_a_name(shown: &str, problem: Problem) -> String {
    format!("`{shown}` cannot be a name: it {problem}")
}
