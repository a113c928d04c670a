//! A file of action tests, read and checked; or a bare action definition, which is one test.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::keys::FILE;
use super::mock::{self, Ending, Mock, Scripted};
use super::subject::{Event, Occasion, Reach};
use crate::document::{Finding, Findings, Reader, Shape};
use crate::source::{Document, Format, Limits, Place, Position, Spot, parse, shown};
use crate::time::Timestamp;

/// 2026-01-01T00:00:00Z: when an action is triggered that does not say it, so that it always goes the same way.
const NOW_DEFAULT: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// What the one test of a bare definition is called.
const BARE: &str = "the action succeeds when everything goes well";

/// A file of action tests that has the right shape.
#[derive(Clone, Debug)]
pub struct RehearsalFile {
    /// What is tested.
    pub target: Target,
    /// A configuration file, relative to this one.
    pub configuration: Option<String>,
    /// The tests; at least one.
    pub tests: Vec<Test>,
}

/// What is tested.
#[derive(Clone, Debug)]
pub enum Target {
    /// A definition in the file itself.
    Definition {
        /// The definition.
        document: Document,
        /// Where it stands.
        pointer: &'static str,
        /// Mail templates beside it.
        templates: Option<Document>,
    },
    /// An action of a machine file.
    Action {
        /// The machine file, relative to this one.
        machine: String,
        /// Which action.
        action_id: String,
        /// Where its id stands.
        at: Position,
    },
}

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// What it shows.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// What the action is triggered on.
    pub occasion: Occasion,
    /// The secrets there are; none: whatever is asked for gets a stand-in.
    pub secrets: Option<BTreeMap<String, String>>,
    /// What comes back; none: everything goes well.
    pub mock: Option<Vec<Mock>>,
    /// What is expected.
    pub expect: Expect,
}

/// What is expected, with the places where it stands.
#[derive(Clone, Debug)]
pub struct Expect {
    pub(super) document: Document,
}

impl RehearsalFile {
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
        let keys = ["tests", "action", "machine"];
        if !keys.iter().any(|key| document.value.get(key).is_some()) {
            return Self::bare(document, findings);
        }
        let mut reader = Reader::default();
        reader.check(&document.root(), &Shape::Map(&FILE));
        let mut findings = reader.findings;
        if findings.has_errors() {
            return Err(findings.finish());
        }
        let root = document.root();
        let fields: BTreeMap<&str, Spot<'_>> = root.members().collect();
        let target = target(&root, &fields, &mut findings);
        let tests: Vec<Test> = fields
            .get("tests")
            .into_iter()
            .flat_map(|list| list.items().collect::<Vec<_>>())
            .map(|spot| test(&spot, &mut findings))
            .collect();
        if tests.is_empty() {
            findings.error(
                &root.place(),
                "no-tests",
                "`tests` is empty",
                "add a test with a `name`",
            );
        }
        let configuration = string(&fields, "configuration");
        match target.filter(|_| !findings.has_errors()) {
            Some(target) => Ok(Self {
                target,
                configuration,
                tests,
            }),
            None => Err(findings.finish()),
        }
    }

    /// What refuses the replies of a mock for an action that no HTTP call belongs to.
    pub fn check(&self, kind: &str, reach: Reach) -> Vec<Finding> {
        let mut findings = Findings::default();
        if reach == Reach::Http {
            return Vec::new();
        }
        for mock in self.tests.iter().flat_map(|test| test.mock.iter().flatten()) {
            if matches!(mock.scripted, Scripted::Reply(_)) {
                let place = Place {
                    at: mock.at,
                    pointer: String::new(),
                };
                let detail = format!("`{}` makes no HTTP call here, so no reply can be scripted", shown(kind));
                let remedy = "script its outcome: `{result: …}`, or `{error: {type: …}, outcome: notDone}`";
                findings.error(&place, "bad-mock", detail, remedy);
            }
        }
        findings.finish()
    }

    fn bare(document: Document, mut findings: Findings) -> Result<Self, Vec<Finding>> {
        let place = document.root().place();
        if !document.value.is_object() {
            let remedy = "write an action definition, or `tests` with an `action`";
            findings.error(&place, "wrong-type", "the file holds no map", remedy);
            return Err(findings.finish());
        }
        if ["states", "actions"]
            .iter()
            .any(|key| document.value.get(key).is_some())
        {
            let remedy =
                "write a file with `machine`, `actionId` and `tests`; `sprag machine test` tests whole machines";
            findings.error(&place, "not-an-action", "this is a machine, not an action", remedy);
            return Err(findings.finish());
        }
        let test = Test {
            name: BARE.to_owned(),
            at: place.at,
            occasion: Occasion {
                variables: Map::new(),
                key: None,
                now: NOW_DEFAULT,
                event: None,
                results: Map::new(),
            },
            secrets: None,
            mock: None,
            expect: Expect::success(place.at),
        };
        Ok(Self {
            target: Target::Definition {
                document,
                pointer: "",
                templates: None,
            },
            configuration: None,
            tests: vec![test],
        })
    }
}

impl Test {
    /// What comes back: as scripted, or success.
    pub fn script(&self, reach: Reach) -> Vec<Mock> {
        match (&self.mock, reach) {
            (Some(mock), _) => mock.clone(),
            (None, Reach::Http) => vec![Mock::reply(200, json!({}))],
            (None, Reach::Other) => vec![Mock::ending(Ending::Result(json!({})))],
            (None, Reach::Nothing) => Vec::new(),
        }
    }
}

impl Expect {
    fn success(at: Position) -> Self {
        let status = Document::text("succeeded", at);
        Self {
            document: Document::map(vec![("status", at, status)], at),
        }
    }
}

fn target(root: &Spot<'_>, fields: &BTreeMap<&str, Spot<'_>>, findings: &mut Findings) -> Option<Target> {
    let mut refuse = |detail: &str, remedy: &str| findings.error(&root.place(), "no-action", detail, remedy);
    match (fields.get("action"), fields.get("machine"), fields.get("actionId")) {
        (Some(_), Some(_), _) => refuse("`action` and `machine` both name what is tested", "keep one of them"),
        (Some(_), None, Some(_)) => refuse("`actionId` goes with `machine`", "remove it"),
        (None, Some(_), None) => refuse("`machine` does not say which action is tested", "add `actionId`"),
        (None, None, _) => refuse(
            "nothing says which action is tested",
            "add `action`, or `machine` and `actionId`",
        ),
        (Some(action), None, None) => {
            return Some(Target::Definition {
                document: action.to_document(),
                pointer: "/action",
                templates: fields.get("templates").map(Spot::to_document),
            });
        }
        (None, Some(machine), Some(action_id)) => {
            if fields.contains_key("templates") {
                refuse("`templates` goes with `action`: a machine has its own", "remove it");
            }
            return Some(Target::Action {
                machine: machine.text().unwrap_or_default().to_owned(),
                action_id: action_id.text().unwrap_or_default().to_owned(),
                at: action_id.place().at,
            });
        }
    }
    None
}

fn test(spot: &Spot<'_>, findings: &mut Findings) -> Test {
    let fields: BTreeMap<&str, Spot<'_>> = spot.members().collect();
    let at = spot.place().at;
    let object = |name: &str| {
        fields
            .get(name)
            .map(|spot| object(spot.value.clone()))
            .unwrap_or_default()
    };
    let mock = fields
        .get("mock")
        .map(|list| list.each().iter().map(|entry| mock::read(entry, findings)).collect());
    Test {
        name: string(&fields, "name").unwrap_or_default(),
        at,
        occasion: Occasion {
            variables: object("variables"),
            key: string(&fields, "key"),
            now: fields.get("now").map_or(NOW_DEFAULT, |spot| now(spot, findings)),
            event: fields.get("event").map(|spot| event(spot.value)),
            results: object("results"),
        },
        secrets: fields.get("secrets").map(secrets),
        mock,
        expect: fields.get("expect").map_or_else(
            || Expect::success(at),
            |spot| Expect {
                document: spot.to_document(),
            },
        ),
    }
}

fn event(value: &Value) -> Event {
    let member = |name: &str| value.get(name).cloned().unwrap_or_default();
    Event {
        kind: member("type").as_str().unwrap_or_default().to_owned(),
        payload: member("payload"),
        result: member("result"),
        error: value.get("error").cloned(),
    }
}

fn secrets(spot: &Spot<'_>) -> BTreeMap<String, String> {
    let pairs = spot.members();
    pairs
        .map(|(name, value)| (name.to_owned(), value.text().unwrap_or_default().to_owned()))
        .collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn string(fields: &BTreeMap<&str, Spot<'_>>, name: &str) -> Option<String> {
    fields.get(name)?.text().map(str::to_owned)
}

fn now(spot: &Spot<'_>, findings: &mut Findings) -> Timestamp {
    let text = spot.text().unwrap_or_default();
    text.parse().unwrap_or_else(|_| {
        let detail = format!("`{}` is not an instant", shown(text));
        let remedy = "write it like `2026-01-31T12:00:00Z`";
        findings.error(&spot.place(), "bad-value", detail, remedy);
        NOW_DEFAULT
    })
}
