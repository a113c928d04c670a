//! `[[alerts]]`: what happens when an action that matters becomes a dead letter.
//!
//! Entries stand in the file alone. Their filters and actions are checked with the runners that the rest of the
//! configuration makes, so a mistake is found before the server starts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};
use sprag_core::machine::ConfigCheck;
use sprag_engine::alerts::{ALERTS_MAX, Alert, AlertProblem, CRITICAL};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::{File, json_of};
use super::layers::{Invalid, Place, Problem};

/// The section.
pub(super) const SECTION: &str = "alerts";
const KEYS: [&str; 3] = ["name", "when", "action"];

/// One alert as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    place: Place,
    places: BTreeMap<&'static str, Place>,
    name: String,
    when: Option<String>,
    action: Map<String, Json>,
}

/// The alerts as the engine takes them, or everything that is wrong with them.
pub(crate) fn compile(entries: &[Entry], runners: &dyn ConfigCheck) -> Result<Vec<Alert>, Invalid> {
    let (mut alerts, mut problems) = (Vec::new(), Vec::new());
    for (position, entry) in entries.iter().enumerate() {
        let is_taken = entries.iter().take(position).any(|other| other.name == entry.name);
        if is_taken {
            problems.push(Problem {
                place: entry.at("name"),
                code: "wrong-value",
                detail: format!("two alerts are called `{}`", entry.name),
                remedy: "give each a `name` of its own".to_owned(),
            });
        }
        match Alert::new(&entry.name, entry.when.as_deref(), &entry.action, runners) {
            Ok(alert) => alerts.push(alert),
            Err(found) => problems.extend(found.into_iter().map(|problem| entry.problem(problem))),
        }
    }
    if problems.is_empty() {
        Ok(alerts)
    } else {
        Err(Invalid { problems })
    }
}

impl Entry {
    /// Where a key was written, or the entry that lacks it.
    fn at(&self, key: &str) -> Place {
        self.places.get(key).unwrap_or(&self.place).clone()
    }

    fn problem(&self, problem: AlertProblem) -> Problem {
        let AlertProblem {
            pointer,
            detail,
            remedy,
        } = problem;
        let mut parts = pointer.splitn(3, '/').skip(1);
        let key = parts.next().unwrap_or_default();
        let inside = parts
            .next()
            .map(|inside| format!("`{key}.{}`: ", inside.replace('/', ".")));
        Problem {
            place: self.at(key),
            code: "wrong-value",
            detail: format!("{}{detail}", inside.unwrap_or_default()),
            remedy,
        }
    }
}

impl File<'_> {
    /// Reads all entries.
    pub(super) fn alerts(&self, value: &Spanned<DeValue<'_>>, entries: &mut Vec<Entry>, problems: &mut Vec<Problem>) {
        let at = value.span().start;
        let DeValue::Array(items) = value.get_ref() else {
            let detail = format!("`{SECTION}` is a list of tables");
            problems.push(self.problem(at, "wrong-type", detail, format!("write each as `[[{SECTION}]]`")));
            return;
        };
        if items.len() > ALERTS_MAX {
            let detail = format!("{} alerts are too many", items.len());
            problems.push(self.problem(at, "wrong-value", detail, format!("write at most {ALERTS_MAX}")));
        }
        for (position, item) in items.iter().enumerate() {
            let at = item.span().start;
            if let DeValue::Table(table) = item.get_ref() {
                entries.extend(self.alert((position + 1, at), table, problems));
            } else {
                let remedy = format!("write it as `[[{SECTION}]]`");
                problems.push(self.problem(at, "wrong-type", "an alert is a table".to_owned(), remedy));
            }
        }
    }

    fn alert(&self, (number, at): (usize, usize), table: &DeTable<'_>, problems: &mut Vec<Problem>) -> Option<Entry> {
        let mut entry = Entry {
            place: self.place(at),
            places: BTreeMap::new(),
            name: number.to_string(),
            when: None,
            action: Map::new(),
        };
        for (name, value) in table {
            let Some(key) = KEYS.into_iter().find(|key| key == name.get_ref()) else {
                problems.push(self.unknown("key", name, &KEYS));
                continue;
            };
            entry.places.insert(key, self.place(value.span().start));
            match (key, value.get_ref()) {
                ("name", DeValue::String(text)) => entry.name = text.clone().into_owned(),
                ("when", DeValue::String(text)) => entry.when = Some(text.clone().into_owned()),
                ("action", DeValue::Table(action)) if json_of(action).is_some() => {
                    entry.action = json_of(action).unwrap_or_default();
                }
                _ => {
                    let expected = if key == "action" {
                        "a table of texts, whole numbers and lists"
                    } else {
                        "a text"
                    };
                    let detail = format!("`{key}` must be {expected}");
                    let remedy = format!("write it as in `{}`", example(key));
                    problems.push(self.problem(value.span().start, "wrong-type", detail, remedy));
                }
            }
        }
        if !entry.places.contains_key("action") {
            let detail = "an alert has no `action`".to_owned();
            problems.push(self.problem(at, "missing-key", detail, format!("add `{}`", example("action"))));
            return None;
        }
        Some(entry)
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "name" => "name = \"pager\"",
        "when" => "when = 'tag = \"critical\"'",
        _ => "action = { type = \"webhook\", config = { url = \"https://pager.example.com\" } }",
    }
}

/// What each key holds.
const ABOUT: [(&str, &str); 3] = [
    ("name", "Its machine is `alert_<name>`; its number, unless it has one."),
    ("when", "Which dead letters, as in a list's filter."),
    ("action", "What to do: an action definition."),
];

/// An entry as a comment, ready to be made true.
pub(super) fn print(text: &mut String) {
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "\n# What happens when an action that matters becomes a dead letter. Its templates see"
    );
    let _ = writeln!(
        text,
        "# `variables.alert`; a webhook sends all of it unless it says what to send."
    );
    let _ = writeln!(text, "# [[{SECTION}]]");
    for (key, about) in ABOUT {
        let _ = writeln!(text, "# {} # {about}", example(key));
    }
    let _ = writeln!(text, "# Without `when`: {CRITICAL}");
}

/// The same for programs.
pub(super) fn describe(sections: &mut Map<String, Json>) {
    let key = |(key, about): (&str, &str)| {
        let described = json!({"required": key == "action", "example": example(key), "about": about});
        (key.to_owned(), described)
    };
    sections.insert(format!("[{SECTION}]"), ABOUT.into_iter().map(key).collect());
}
