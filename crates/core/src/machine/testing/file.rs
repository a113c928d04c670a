//! A test file, read and checked: tests of a machine, tests of its actions, or both; or a bare action definition, which
//! is one test.

use super::action::{self, Case, Target};
use super::keys::FILE;
use super::scenario::{self, Scenario};
use crate::document::source::{Document, Format, Limits, parse, shown};
use crate::document::{Fields, Finding, Findings, Reader, Shape};
use crate::time::Timestamp;

/// 2026-01-01T00:00:00Z: when a test starts that does not say it, so that it always goes the same way.
pub(super) const NOW_DEFAULT: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A test file that has the right shape.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// The machine file, relative to this one.
    pub machine: Option<String>,
    /// A configuration file, relative to this one.
    pub configuration: Option<String>,
    /// The tests; at least one.
    pub tests: Vec<Test>,
}

/// One test.
#[derive(Clone, Debug)]
pub enum Test {
    /// Of a machine.
    Scenario(Box<Scenario>),
    /// Of an action.
    Action(Box<Case>),
}

/// The keys that only the test of an action has.
const OF_ACTIONS: [&str; 6] = ["actionId", "event", "results", "secrets", "mock", "expect"];
/// The keys that only the test of a machine has.
const OF_MACHINES: [&str; 5] = ["given", "mocks", "steps", "when", "then"];

impl TestFile {
    /// Reads a file; everything that is wrong with its shape otherwise.
    pub fn read(text: &str, format: Format) -> Result<Self, Vec<Finding>> {
        let mut findings = Findings::default();
        let document = match parse(text, format, &Limits::default()) {
            Ok(document) => document,
            Err(error) => {
                findings.not_parsed(error);
                return Err(findings.finish());
            }
        };
        let keys = ["tests", "scenarios", "action", "machine"];
        if !keys.iter().any(|key| document.value.get(key).is_some()) {
            return Self::bare(document, findings);
        }
        let mut reader = Reader::default();
        let root = document.root();
        if !reader.check(&root, &Shape::Map(&FILE)) {
            return Err(reader.findings.finish());
        }
        let fields = Fields::new(root, &FILE);
        check_subject(&fields, &mut findings);
        let tests = fields.maps("tests");
        if tests.is_empty() {
            let remedy = "add a test with a `name`";
            findings.error(&fields.at.place(), "no-tests", "the file has no tests", remedy);
        }
        let tests = tests
            .iter()
            .filter_map(|test| read_test(test, &fields, &mut findings))
            .collect();
        if findings.has_errors() {
            return Err(findings.finish());
        }
        Ok(Self {
            machine: fields.string("machine"),
            configuration: fields.string("configuration"),
            tests,
        })
    }

    fn bare(document: Document, mut findings: Findings) -> Result<Self, Vec<Finding>> {
        let place = document.root().place();
        if !document.value.is_object() {
            let remedy = "write an action definition, or `tests` with a `machine` or an `action`";
            findings.error(&place, "wrong-type", "the file holds no map", remedy);
            return Err(findings.finish());
        }
        if ["states", "actions"]
            .iter()
            .any(|key| document.value.get(key).is_some())
        {
            let remedy = "write a file with `machine` and `tests`";
            findings.error(&place, "not-an-action", "this is a machine, not a test of one", remedy);
            return Err(findings.finish());
        }
        Ok(Self {
            machine: None,
            configuration: None,
            tests: vec![Test::Action(Box::new(Case::of_bare(document)))],
        })
    }
}

/// What the file is about: an action that stands in it, or a machine file with or without one of its actions.
fn check_subject(file: &Fields<'_>, findings: &mut Findings) {
    let has = |name| file.get(name).is_some();
    let mut refuse = |detail, remedy| findings.error(&file.at.place(), "no-action", detail, remedy);
    match (has("action"), has("machine"), has("actionId")) {
        (true, true, _) => refuse("`action` and `machine` cannot be used together", "keep one of them"),
        (true, false, true) => refuse("`actionId` goes with `machine`", "remove it"),
        (false, false, _) => refuse(
            "the file does not say what it tests",
            "add `machine`, `machine` and `actionId`, or `action`",
        ),
        (false, true, _) if has("templates") => {
            refuse("`templates` goes with `action`: a machine has its own", "remove it");
        }
        _ => {}
    }
}

/// A test is of an action where it names one, or where the file does and nothing in the test is about a machine.
fn read_test(test: &Fields<'_>, file: &Fields<'_>, findings: &mut Findings) -> Option<Test> {
    let names_action = ["action", "actionId"].iter().any(|name| file.get(name).is_some());
    let is_scenario = OF_MACHINES.iter().any(|name| test.at.member(name).is_some());
    let is_action = test.get("actionId").is_some() || (names_action && !is_scenario);
    let (others, whose, remedy) = if is_action {
        (OF_MACHINES.as_slice(), "a machine", "remove it, or `actionId`")
    } else {
        (OF_ACTIONS.as_slice(), "an action", "add `actionId`, or write `then`")
    };
    for member in others.iter().filter_map(|name| Some((name, test.at.member(name)?))) {
        let detail = format!("`{}` is for the test of {whose}", member.0);
        findings.error(&member.1.key_place(), "bad-test", detail, remedy);
    }
    if !is_action {
        if file.get("machine").is_none() {
            let remedy = "write it in a file with `machine`";
            findings.error(&test.at.place(), "bad-test", "there is no machine to test", remedy);
        }
        return Some(Test::Scenario(Box::new(scenario::read(test, findings))));
    }
    let target = target(test, file, findings)?;
    Some(Test::Action(Box::new(action::read(test, target, findings))))
}

fn target(test: &Fields<'_>, file: &Fields<'_>, findings: &mut Findings) -> Option<Target> {
    if let Some(action) = file.get("action") {
        if let Some(id) = test.get("actionId") {
            let detail = "`actionId` goes with `machine`";
            findings.error(&id.key_place(), "bad-test", detail, "remove it");
        }
        return Some(Target::Definition {
            document: Box::new(action.to_document()),
            pointer: "/action",
            templates: file.get("templates").map(|spot| Box::new(spot.to_document())),
        });
    }
    let id = test.get("actionId").or_else(|| file.get("actionId"))?;
    Some(Target::Action {
        machine: file.string("machine")?,
        action_id: id.text()?.to_owned(),
    })
}

/// `now`: when the test starts.
pub(super) fn now(fields: &Fields<'_>, findings: &mut Findings) -> Timestamp {
    let Some(spot) = fields.get("now") else {
        return NOW_DEFAULT;
    };
    let text = spot.text().unwrap_or_default();
    text.parse().unwrap_or_else(|_| {
        let detail = format!("`{}` is not an instant", shown(text));
        let remedy = "write it like `2026-01-31T12:00:00Z`";
        findings.error(&spot.place(), "bad-value", detail, remedy);
        NOW_DEFAULT
    })
}
