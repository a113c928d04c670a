//! `[[alerts]]`: what happens when an action that matters becomes a dead letter, or a supervised service is in trouble.
//!
//! Entries stand in the file alone. Their filters and actions are checked with the runners that the rest of the
//! configuration makes, so a mistake is found before the server starts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};
use sprag_core::machine::ConfigCheck;
use sprag_engine::alerts::{ALERTS_MAX, Alert, AlertProblem, CRITICAL};
use sprag_supervisor::TroubleKind;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::{File, json_of};
use super::layers::{Invalid, Place, Problem};

/// The section.
pub(super) const SECTION: &str = "alerts";
const KEYS: [&str; 4] = ["name", "when", "supervision", "action"];

/// One alert as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    place: Place,
    places: BTreeMap<&'static str, Place>,
    name: String,
    when: Option<String>,
    /// Troubles of services that it is about.
    supervision: BTreeSet<TroubleKind>,
    action: Map<String, Json>,
}

/// An alert that can be raised.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// As the engine takes it.
    pub(crate) alert: Alert,
    /// Troubles of services that raise it.
    pub(crate) supervision: BTreeSet<TroubleKind>,
}

/// The alerts that can be raised, or everything that is wrong with them.
pub(crate) fn compile(entries: &[Entry], runners: &dyn ConfigCheck) -> Result<Vec<Compiled>, Invalid> {
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
        // One that is about services is not about dead letters unless it says so.
        let made = match &entry.when {
            None if !entry.supervision.is_empty() => Alert::by_hand(&entry.name, &entry.action, runners),
            when => Alert::new(&entry.name, when.as_deref(), &entry.action, runners),
        };
        match made {
            Ok(alert) => alerts.push(Compiled {
                alert,
                supervision: entry.supervision.clone(),
            }),
            Err(found) => problems.extend(found.into_iter().map(|problem| entry.problem(problem))),
        }
    }
    if problems.is_empty() {
        Ok(alerts)
    } else {
        problems.sort_by(|a: &Problem, b| a.place.cmp(&b.place));
        Err(Invalid { problems })
    }
}

impl Entry {
    /// Whether troubles of services raise it.
    pub(crate) fn is_about_services(&self) -> bool {
        !self.supervision.is_empty()
    }

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
            supervision: BTreeSet::new(),
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
                ("supervision", DeValue::Array(items)) => {
                    let kinds = items.iter().filter_map(|item| self.trouble(item, problems));
                    entry.supervision = kinds.collect();
                }
                ("action", DeValue::Table(action)) if json_of(action).is_some() => {
                    entry.action = json_of(action).unwrap_or_default();
                }
                _ => {
                    let expected = match key {
                        "action" => "a table of texts, whole numbers and lists",
                        "supervision" => "a list of texts",
                        _ => "a text",
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

impl File<'_> {
    /// A trouble of services, by its name.
    fn trouble(&self, item: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) -> Option<TroubleKind> {
        let name = match item.get_ref() {
            DeValue::String(text) => text.as_ref(),
            _ => "",
        };
        let found = TroubleKind::ALL.into_iter().find(|kind| kind.name() == name);
        if found.is_none() {
            let known = TroubleKind::ALL.map(|kind| format!("`{}`", kind.name())).join(", ");
            let detail = format!("`{name}` is no trouble of services");
            problems.push(self.problem(item.span().start, "wrong-value", detail, format!("known are {known}")));
        }
        found
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "name" => "name = \"pager\"",
        "when" => "when = 'tag = \"critical\"'",
        "supervision" => "supervision = [\"escalated\", \"failed\"]",
        _ => "action = { type = \"webhook\", config = { url = \"https://pager.example.com\" } }",
    }
}

/// What each key holds.
const ABOUT: [(&str, &str); 4] = [
    (
        "name",
        "The machine of the alert is `alert_<name>`. Default: its number.",
    ),
    ("when", "A filter of dead letters."),
    (
        "supervision",
        "Failures of services: escalated, circuit-open, panics, failed.",
    ),
    ("action", "The action definition to run."),
];

/// An entry as a comment, ready to be made true.
pub(super) fn print(text: &mut String) {
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "\n# An alert runs an action when another action becomes a dead letter, or when a service fails. Its templates can use"
    );
    let _ = writeln!(
        text,
        "# `variables.alert`. A webhook without a payload sends all of it."
    );
    let _ = writeln!(text, "# [[{SECTION}]]");
    for (key, about) in ABOUT {
        let _ = writeln!(text, "# {} # {about}", example(key));
    }
    let _ = writeln!(text, "# Default of `when`, without `supervision`: {CRITICAL}");
}

/// The same for programs.
pub(super) fn describe(sections: &mut Map<String, Json>) {
    let key = |(key, about): (&str, &str)| {
        let described = json!({"required": key == "action", "example": example(key), "about": about});
        (key.to_owned(), described)
    };
    sections.insert(format!("[{SECTION}]"), ABOUT.into_iter().map(key).collect());
}
