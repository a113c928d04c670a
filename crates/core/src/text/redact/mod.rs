//! Masking of secret values in whatever leaves a runner.
//!
//! A secret is found as it is in any letter case (host names and the like change it), percent-encoded, JSON-escaped (both up to twice over, JSON inside JSON four times,
//! whatever was chosen to be escaped), and inside base64 of either alphabet at any alignment, as it is or as JSON
//! escapes it; also the part of it that is left where a text was cut. What comes out holds none of these forms, and
//! masking it again changes nothing. Values under [`VALUE_BYTES_MIN`] bytes are left alone: masking them would mask
//! half of every text.

mod base64;
mod cut;
mod view;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

use view::View;

/// Shorter values are not masked.
pub const VALUE_BYTES_MIN: usize = 6;
/// A mask can complete a secret together with the text beside it, so the result is looked at again, at most so often.
const PASSES_MAX: usize = 16;
/// How many bytes there are to begin with.
const BYTES: usize = 256;
/// Takes the place of a secret where its name would give something away, and of texts that resist.
const STARS: &str = "***";

/// Knows the secret values of an attempt and masks them. It has no `Debug`, so it cannot end in a log.
#[derive(Clone, Default)]
pub struct Redactor {
    patterns: Vec<Pattern>,
    masks: Vec<String>,
    /// The patterns that begin with each byte; empty while there are none. Most attempts name no secret.
    beginnings: Vec<Vec<usize>>,
}

/// One form in which a secret may appear.
#[derive(Clone)]
struct Pattern {
    /// In lower case where the letter case does not count.
    bytes: Vec<u8>,
    case: Case,
    /// Characters before and after that also hold bits of the secret.
    margin: (usize, usize),
    secret: usize,
}

/// Whether the case of ASCII letters counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Counts,
    Ignored,
}

/// A stretch of text that holds a secret.
struct Found {
    range: Range<usize>,
    secret: usize,
}

impl Redactor {
    /// Masks these secrets, given as name and value.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut redactor = Self::default();
        for (name, value) in secrets {
            if value.len() >= VALUE_BYTES_MIN {
                redactor.add(name, value);
            }
        }
        redactor
    }

    fn add(&mut self, name: &str, value: &str) {
        let secret = self.masks.len();
        self.masks.push(format!("[secret {name}]"));
        self.push(Pattern {
            bytes: value.to_ascii_lowercase().into_bytes(),
            case: Case::Ignored,
            margin: (0, 0),
            secret,
        });
        // Inside base64 no escape can be undone, so what a JSON body makes of the secret is looked for as well.
        let quoted = Value::from(value).to_string();
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let spellings = [Some(value), inner.filter(|inner| *inner != value)];
        for form in spellings
            .into_iter()
            .flatten()
            .flat_map(|text| base64::forms(text.as_bytes()))
        {
            self.push(Pattern {
                bytes: form.characters,
                case: Case::Counts,
                margin: form.margin,
                secret,
            });
        }
    }

    fn push(&mut self, pattern: Pattern) {
        let Some(&first) = pattern.bytes.first() else { return };
        self.beginnings.resize_with(BYTES, Vec::new);
        let mut firsts = vec![first];
        if pattern.case == Case::Ignored && first.is_ascii_lowercase() {
            firsts.push(first.to_ascii_uppercase());
        }
        for first in firsts {
            if let Some(beginning) = self.beginnings.get_mut(usize::from(first)) {
                beginning.push(self.patterns.len());
            }
        }
        self.patterns.push(pattern);
    }

    /// The text without the secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = replace(text, &found, |secret| {
            self.masks.get(secret).map_or(STARS, String::as_str)
        });
        for _ in 0..PASSES_MAX {
            let found = self.find(&masked);
            if found.is_empty() {
                return Cow::Owned(masked);
            }
            masked = replace(&masked, &found, |_| STARS);
        }
        Cow::Owned(STARS.to_owned())
    }

    /// Masks every string in the value, keys included, and every number whose digits are a secret.
    pub fn value(&self, value: &mut Value) {
        if self.patterns.is_empty() {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(masked) = self.text(&number.to_string()) {
                    *value = Value::String(masked);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => self.map(map),
        }
    }

    fn map(&self, map: &mut Map<String, Value>) {
        if map.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
            let entries = std::mem::take(map).into_iter();
            map.extend(entries.map(|(key, value)| (self.text(&key).into_owned(), value)));
        }
        map.values_mut().for_each(|value| self.value(value));
    }

    /// Every stretch that holds a secret, in order and apart from each other.
    fn find(&self, text: &str) -> Vec<Found> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for view in view::all(text) {
            self.find_in(&view, &mut found);
            self.find_cut(&view, &mut found);
        }
        found.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end)));
        let mut apart: Vec<Found> = Vec::new();
        for one in found {
            match apart.last_mut() {
                Some(last) if one.range.start < last.range.end => last.range.end = last.range.end.max(one.range.end),
                _ => apart.push(one),
            }
        }
        apart
    }

    fn find_in(&self, view: &View<'_>, found: &mut Vec<Found>) {
        let bytes = view.bytes();
        for (position, byte) in bytes.iter().enumerate() {
            let Some(rest) = bytes.get(position..) else { continue };
            for pattern in self.beginnings.get(usize::from(*byte)).into_iter().flatten() {
                let Some(pattern) = self.patterns.get(*pattern) else {
                    continue;
                };
                if pattern.begins(rest) {
                    found.push(pattern.found(view, position..position + pattern.bytes.len()));
                }
            }
        }
    }

    /// What is left of a secret where the text was cut.
    fn find_cut(&self, view: &View<'_>, found: &mut Vec<Found>) {
        for cut in cut::places(view.bytes()) {
            let parts = self.patterns.iter().filter_map(|pattern| {
                let part = cut::part(view.bytes(), pattern, cut)?;
                Some(pattern.found(view, part))
            });
            found.extend(parts);
        }
    }
}

impl Pattern {
    /// Whether the bytes begin with it.
    fn begins(&self, bytes: &[u8]) -> bool {
        let beginning = bytes.get(..self.bytes.len());
        beginning.is_some_and(|beginning| match self.case {
            Case::Counts => beginning == self.bytes,
            Case::Ignored => beginning.eq_ignore_ascii_case(&self.bytes),
        })
    }

    /// A byte of a text, as it is compared with those of the pattern.
    fn compared(&self, byte: u8) -> u8 {
        match self.case {
            Case::Counts => byte,
            Case::Ignored => byte.to_ascii_lowercase(),
        }
    }

    /// The stretch of the text itself, with the edges that hold bits of the secret too.
    fn found(&self, view: &View<'_>, at: Range<usize>) -> Found {
        let (before, after) = self.margin;
        let to = (at.end + after).min(view.bytes().len());
        Found {
            range: view.origin(at.start.saturating_sub(before)..to),
            secret: self.secret,
        }
    }
}

fn replace<'m>(text: &str, found: &[Found], mask: impl Fn(usize) -> &'m str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    for one in found {
        // A stretch may begin or end inside a character that was escaped byte by byte or that base64 met by chance.
        let from = text.floor_char_boundary(one.range.start).max(copied);
        masked.push_str(text.get(copied..from).unwrap_or_default());
        masked.push_str(mask(one.secret));
        copied = text.ceil_char_boundary(one.range.end).max(copied);
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    masked
}
