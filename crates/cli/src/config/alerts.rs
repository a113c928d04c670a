//! `[[alerts]]`: what happens when an action that matters becomes a dead letter, a plan waits for approval, or a
//! supervised service is in trouble.
//!
//! Entries stand in the file alone. Their filters and actions are checked with the runners that the rest of the
//! configuration makes, so a mistake is found before the server starts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Shape, quoted};
use sprag_core::machine::ConfigCheck;
use sprag_engine::alerts::{ALERTS_MAX, Alert, AlertProblem, ApprovalNews, CRITICAL};
use sprag_supervisor::TroubleKind;

use super::file::File;
use super::layers::{Invalid, Place, Problem};

/// The section.
pub(super) const SECTION: &str = "alerts";
const SHAPES: [(&str, Shape); 5] = [
    ("name", Shape::Text),
    ("when", Shape::Text),
    ("supervision", Shape::List(&Shape::Text)),
    ("approvals", Shape::List(&Shape::Text)),
    ("action", Shape::Open),
];

/// One alert as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    place: Place,
    places: BTreeMap<&'static str, Place>,
    name: String,
    when: Option<String>,
    /// Troubles of services that it is about.
    supervision: BTreeSet<TroubleKind>,
    /// What it tells of plans that wait for approval.
    approvals: BTreeSet<ApprovalNews>,
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
        // One that is about services or approvals is not about dead letters unless it says so.
        let made = match &entry.when {
            None if !entry.supervision.is_empty() || !entry.approvals.is_empty() => {
                Alert::by_hand(&entry.name, &entry.action, runners)
            }
            when => Alert::new(&entry.name, when.as_deref(), &entry.action, runners),
        };
        match made {
            Ok(alert) => alerts.push(Compiled {
                alert: alert.with_approvals(entry.approvals.clone()),
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
        let key = pointer.split('/').nth(1).unwrap_or_default();
        Problem {
            place: self.at(key),
            code: "wrong-value",
            detail: inside(&pointer, &detail),
            remedy,
        }
    }
}

/// What is wrong, with the path below a key where it is.
pub(super) fn inside(pointer: &str, detail: &str) -> String {
    let path = pointer.trim_start_matches('/').replace('/', ".");
    if path.contains('.') {
        format!("`{path}`: {detail}")
    } else {
        detail.to_owned()
    }
}

impl File<'_> {
    /// Reads all entries.
    pub(super) fn alerts(&mut self, spot: &Spot<'_>) -> Vec<Entry> {
        if !spot.value.is_array() {
            let detail = format!("`{SECTION}` is a list of tables");
            let remedy = format!("write each as `[[{SECTION}]]`");
            self.reader.error(&spot.place(), "wrong-type", detail, remedy);
        }
        let items: Vec<Spot<'_>> = spot.items().collect();
        if items.len() > ALERTS_MAX {
            let detail = format!("{} alerts are too many", items.len());
            self.wrong(&spot.place(), detail, format!("write at most {ALERTS_MAX}"));
        }
        let items = items.iter().enumerate();
        items
            .filter_map(|(position, item)| self.alert(position + 1, item))
            .collect()
    }

    fn alert(&mut self, number: usize, spot: &Spot<'_>) -> Option<Entry> {
        if !self.reader.check(spot, &Shape::Open) {
            return None;
        }
        let mut entry = Entry {
            place: self.place(spot.place().at),
            places: BTreeMap::new(),
            name: number.to_string(),
            when: None,
            supervision: BTreeSet::new(),
            approvals: BTreeSet::new(),
            action: Map::new(),
        };
        for (name, member) in spot.members() {
            let Some((key, shape)) = SHAPES.into_iter().find(|(key, _)| *key == name) else {
                self.unknown("key", name, &member, &SHAPES.map(|(key, _)| key));
                continue;
            };
            entry.places.insert(key, self.place(member.place().at));
            if !self.value(key, &member, &shape, &|| example(key).to_owned()) {
                continue;
            }
            match key {
                "name" => member.text().unwrap_or_default().clone_into(&mut entry.name),
                "when" => entry.when = member.text().map(str::to_owned),
                "supervision" => entry.supervision = member.items().filter_map(|item| self.trouble(&item)).collect(),
                "approvals" => entry.approvals = member.items().filter_map(|item| self.news(&item)).collect(),
                _ => entry.action = member.value.as_object().cloned().unwrap_or_default(),
            }
        }
        if !entry.places.contains_key("action") {
            let remedy = format!("add `action = {}`", example("action"));
            self.reader
                .error(&spot.place(), "missing-key", "an alert has no `action`", remedy);
            return None;
        }
        Some(entry)
    }

    /// A trouble of services, by its name.
    fn trouble(&mut self, item: &Spot<'_>) -> Option<TroubleKind> {
        let names = TroubleKind::ALL.map(TroubleKind::name);
        self.one_of(item, &names, "a trouble of services")
            .map(|at| TroubleKind::ALL[at])
    }

    /// News of plans that wait for approval, by its name.
    fn news(&mut self, item: &Spot<'_>) -> Option<ApprovalNews> {
        let names = ApprovalNews::ALL.map(ApprovalNews::name);
        self.one_of(item, &names, "news of approvals")
            .map(|at| ApprovalNews::ALL[at])
    }

    /// The position of a name among those that are known.
    fn one_of(&mut self, item: &Spot<'_>, known: &[&str], what: &str) -> Option<usize> {
        let name = item.text().unwrap_or_default();
        let found = known.iter().position(|known| *known == name);
        if found.is_none() {
            let detail = format!("`{}` is not {what}", shown(name));
            self.wrong(
                &item.place(),
                detail,
                format!("known are {}", quoted(known.iter().copied())),
            );
        }
        found
    }
}

pub(super) fn example(key: &str) -> &'static str {
    match key {
        "name" => "\"pager\"",
        "when" => "'tag = \"critical\"'",
        "supervision" => "[\"escalated\", \"failed\"]",
        "approvals" => "[\"waiting\", \"expiring\"]",
        _ => "{ type = \"webhook\", config = { url = \"https://pager.example.com\" } }",
    }
}

/// What each key holds.
const ABOUT: [(&str, &str); 5] = [
    (
        "name",
        "The machine of the alert is `alert_<name>`. Default: its number.",
    ),
    ("when", "A filter of dead letters."),
    (
        "supervision",
        "Failures of services: escalated, circuit-open, panics, failed.",
    ),
    ("approvals", "Plans that wait for approval: waiting, expiring, overdue."),
    ("action", "The action definition to run."),
];

/// An entry as a comment, ready to be made true.
pub(super) fn print(text: &mut String) {
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "\n# An alert runs an action when another action becomes a dead letter, a plan waits for approval, or a service fails."
    );
    let _ = writeln!(
        text,
        "# Its templates can use `variables.alert`. A webhook without a payload sends all of it."
    );
    let _ = writeln!(text, "# [[{SECTION}]]");
    for (key, about) in ABOUT {
        let _ = writeln!(text, "# {key} = {} # {about}", example(key));
    }
    let _ = writeln!(
        text,
        "# Default of `when`, without `supervision` and `approvals`: {CRITICAL}"
    );
}

/// The same for programs.
pub(super) fn describe(sections: &mut Map<String, Json>) {
    let key = |(key, about): (&str, &str)| {
        let described =
            json!({"required": key == "action", "example": format!("{key} = {}", example(key)), "about": about});
        (key.to_owned(), described)
    };
    sections.insert(format!("[{SECTION}]"), ABOUT.into_iter().map(key).collect());
}
