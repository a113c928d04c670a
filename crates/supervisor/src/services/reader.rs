//! Typed access to the values of a file, with findings.
//!
//! Every accessor notes a finding if a value is not valid, and then behaves as if the value were missing.

use std::time::Duration;

use sprag_core::duration::Millis;
use sprag_core::machine::Findings;
use sprag_core::source::{Content, Node, nearest};

pub(super) use sprag_core::source::{Spot, shown};

/// The most words of a command, far below what the kernel takes.
const WORDS_MAX: usize = 1_000;

/// Reads values and keeps what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) findings: Findings,
}

impl Reader {
    /// Notes that a value is of the wrong kind.
    pub(super) fn wrong(&mut self, spot: &Spot<'_>, name: &str, wanted: &str) {
        if matches!(&spot.node.content, Content::Text(text) if text.contains('\0')) {
            let detail = format!("`{name}` holds a NUL character");
            self.findings.error(&spot.place(), "bad-value", detail, "leave it out");
            return;
        }
        let detail = format!("`{name}` is {}", spot.node.kind());
        self.findings
            .error(&spot.place(), "wrong-type", detail, format!("write {wanted}"));
    }

    /// Whether it is a map; unknown names in it are noted with the nearest known one.
    pub(super) fn map(&mut self, spot: &Spot<'_>, name: &str, known: &[&str]) -> bool {
        if !matches!(spot.node.content, Content::Map(_)) {
            self.wrong(spot, name, &format!("a map with {}", listed(known)));
            return false;
        }
        for (key, member) in spot.members() {
            if known.contains(&key) {
                continue;
            }
            let near = self.findings.nearest(key, known.iter().copied());
            let remedy = near.map_or_else(
                || format!("known are {}", listed(known)),
                |near| format!("did you mean `{near}`?"),
            );
            let detail = format!("`{}` is not known in `{name}`", shown(key));
            self.findings.error(&member.key_place(), "unknown-key", detail, remedy);
        }
        true
    }

    /// A text that is not empty.
    pub(super) fn text<'n>(&mut self, map: &Spot<'n>, name: &str) -> Option<&'n str> {
        let spot = map.get(name)?;
        match &spot.node.content {
            Content::Text(text) if !text.is_empty() && !text.contains('\0') => Some(text),
            _ => {
                self.wrong(&spot, name, "text");
                None
            }
        }
    }

    /// True or false.
    pub(super) fn flag(&mut self, map: &Spot<'_>, name: &str) -> Option<bool> {
        let spot = map.get(name)?;
        if let Content::Bool(flag) = spot.node.content {
            return Some(flag);
        }
        self.wrong(&spot, name, "true or false");
        None
    }

    /// A whole number within bounds.
    pub(super) fn whole(&mut self, map: &Spot<'_>, name: &str, least: u64, most: u64) -> Option<u64> {
        let spot = map.get(name)?;
        let number = match &spot.node.content {
            Content::Number(number) => number.as_u64(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let detail = format!("`{name}` is {}", as_written(spot.node));
            let remedy = format!("write a whole number from {least} to {most}");
            self.findings.error(&spot.place(), "bad-value", detail, remedy);
        }
        number
    }

    /// A duration from `least` on.
    pub(super) fn duration(&mut self, map: &Spot<'_>, name: &str, least: Duration) -> Option<Duration> {
        let spot = map.get(name)?;
        let Ok(millis) = Millis::from_value(&spot.node.to_value()) else {
            let detail = format!("`{name}` is `{}`", shown(&spot.node.to_value().to_string()));
            let remedy = "write a duration such as `500ms`, `5s` or `2m`";
            self.findings.error(&spot.place(), "bad-duration", detail, remedy);
            return None;
        };
        let duration = Duration::from_millis(millis.get());
        if duration < least {
            let detail = format!("`{name}` is shorter than {} ms", least.as_millis());
            let remedy = format!("write {} ms or more", least.as_millis());
            self.findings.error(&spot.place(), "bad-duration", detail, remedy);
            return None;
        }
        Some(duration)
    }

    /// Bytes: a number, or a text such as `10MiB`.
    pub(super) fn bytes(&mut self, map: &Spot<'_>, name: &str) -> Option<u64> {
        let spot = map.get(name)?;
        let bytes = match &spot.node.content {
            Content::Number(number) => number.as_u64(),
            Content::Text(text) => read_bytes(text),
            _ => None,
        };
        if bytes.is_none() {
            let detail = format!("`{name}` is {}", as_written(spot.node));
            let remedy = "write bytes as a number, or as `512KiB`, `10MiB` or `2GiB`";
            self.findings.error(&spot.place(), "bad-value", detail, remedy);
        }
        bytes
    }

    /// One of the words, by what it means.
    pub(super) fn word<T: Copy>(&mut self, spot: &Spot<'_>, name: &str, words: &[(&str, T)]) -> Option<T> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Content::Text(text) = &spot.node.content else {
            self.wrong(spot, name, &format!("one of {}", listed(&known)));
            return None;
        };
        let found = words.iter().find(|(word, _)| word == text);
        if found.is_none() {
            let near = self.findings.nearest(text, known.iter().copied());
            let remedy = near.map_or_else(
                || format!("write one of {}", listed(&known)),
                |near| format!("did you mean `{near}`?"),
            );
            let detail = format!("`{name}` is `{}`", shown(text));
            self.findings.error(&spot.place(), "bad-value", detail, remedy);
        }
        found.map(|(_, meant)| *meant)
    }

    /// A program with its arguments.
    pub(super) fn command(&mut self, map: &Spot<'_>, name: &str) -> Option<Vec<String>> {
        let spot = map.get(name)?;
        if let Content::Text(text) = &spot.node.content {
            let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
            let remedy = format!("write a list, no shell reads it: [{}]", words.join(", "));
            let detail = format!("`{name}` is text");
            self.findings.error(&spot.place(), "wrong-type", detail, remedy);
            return None;
        }
        let words: Option<Vec<String>> = spot.items().map(|item| self.argument(&item, name)).collect();
        let words = words?;
        if words.first().is_none_or(String::is_empty) || words.len() > WORDS_MAX {
            let remedy = format!("write the program first, and at most {WORDS_MAX} words");
            let detail = format!("`{name}` names no program");
            self.findings.error(&spot.place(), "bad-command", detail, remedy);
            return None;
        }
        Some(words)
    }

    /// One word of a command. A number is taken as it is written: `--port: 6390` is a common slip.
    fn argument(&mut self, item: &Spot<'_>, name: &str) -> Option<String> {
        let word = match &item.node.content {
            Content::Text(text) => Some(text.clone()),
            Content::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let word = word.filter(|word| !word.contains('\0'));
        if word.is_none() {
            self.wrong(item, name, "text, in quotes where needed");
        }
        word
    }
}

/// A value as it stands in the file: text without the quotes that JSON would put around it.
fn as_written(node: &Node) -> String {
    match &node.content {
        Content::Text(text) => format!("`{}`", shown(text)),
        Content::List(_) | Content::Map(_) | Content::Null => node.kind().to_owned(),
        Content::Bool(_) | Content::Number(_) => format!("`{}`", node.to_value()),
    }
}

/// Whether an unknown name was most likely meant to be this key.
pub(super) fn is_misspelt(map: &Spot<'_>, key: &str, known: &[&str]) -> bool {
    let mut unknown = map.members().map(|(name, _)| name).filter(|name| !known.contains(name));
    unknown.any(|name| nearest(name, known.iter().copied()) == Some(key))
}

/// `10MiB`, `2GiB`, `512KiB`, `100` in bytes.
fn read_bytes(text: &str) -> Option<u64> {
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
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
