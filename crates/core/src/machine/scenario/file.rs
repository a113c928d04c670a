//! A scenario file, read and checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::keys::FILE;
use crate::document::{Finding, Findings, Reader, Shape};
use crate::duration::Millis;
use crate::machine::model::Machine;
use crate::machine::simulate::SimInput;
use crate::source::{Format, Limits, Place, Position, Spot, parse, shown};
use crate::time::Timestamp;

/// 2026-01-01T00:00:00Z: when a scenario starts that does not say it, so that it always goes the same way.
const NOW_DEFAULT: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A file of scenarios that has the right shape.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The machine file, relative to this one.
    pub machine: String,
    pub(super) scenarios: Vec<Scenario>,
}

/// One scenario.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) at: Position,
    pub(super) variables: Map<String, Value>,
    pub(super) key: Option<String>,
    pub(super) now: Timestamp,
    /// How actions end.
    pub(super) mocks: BTreeMap<String, Mocked>,
    pub(super) steps: Vec<Step>,
    pub(super) then: Option<Expect>,
}

/// How an action ends each time, and where that stands.
#[derive(Clone, Debug)]
pub(super) struct Mocked {
    at: Position,
    pub(super) ends: Vec<Mock>,
}

/// How an action ends once.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mock {
    #[serde(default = "succeeds")]
    pub(super) success: bool,
    #[serde(default)]
    pub(super) result: Value,
}

fn succeeds() -> bool {
    true
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) at: Position,
    pub(super) input: SimInput,
    pub(super) expect: Option<Expect>,
}

/// What is expected, and where that stands.
#[derive(Clone, Debug)]
pub(super) struct Expect {
    pub(super) at: Position,
    pub(super) fields: Map<String, Value>,
}

impl ScenarioFile {
    /// Reads a scenario file; everything that is wrong with its shape otherwise.
    pub fn read(text: &str, format: Format) -> Result<Self, Vec<Finding>> {
        let mut findings = Findings::default();
        let document = match parse(text, format, &Limits::default()) {
            Ok(document) => document,
            Err(error) => {
                findings.not_parsed(error);
                return Err(findings.finish());
            }
        };
        let mut reader = Reader::default();
        reader.check(&document.root(), &Shape::Map(&FILE));
        let mut findings = reader.findings;
        if findings.has_errors() {
            return Err(findings.finish());
        }
        let machine = document.value.get("machine").cloned();
        let scenarios = document.root();
        let scenarios = scenarios.members().filter(|(name, _)| *name == "scenarios");
        let scenarios = scenarios.flat_map(|(_, list)| list.items().collect::<Vec<_>>());
        let scenarios = scenarios.map(|spot| scenario(&spot, &mut findings)).collect();
        if findings.has_errors() {
            return Err(findings.finish());
        }
        let machine = machine.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { machine, scenarios })
    }

    /// What the file names that the machine does not have.
    pub fn check(&self, machine: &Machine) -> Vec<Finding> {
        let mut findings = Findings::default();
        for scenario in &self.scenarios {
            for (action, mocked) in &scenario.mocks {
                check_action(machine, action, mocked.at, &mut findings);
            }
            for step in &scenario.steps {
                if let SimInput::Outcome { action, .. } = &step.input {
                    check_action(machine, action, step.at, &mut findings);
                }
            }
            let expects = scenario
                .steps
                .iter()
                .filter_map(|step| step.expect.as_ref())
                .chain(&scenario.then);
            for Expect { at, fields } in expects {
                for action in texts(fields.get("actions")) {
                    check_action(machine, action, *at, &mut findings);
                }
                for path in texts(fields.get("configuration")) {
                    check_state(machine, path, *at, &mut findings);
                }
            }
        }
        findings.finish()
    }
}

fn check_action(machine: &Machine, action: &str, at: Position, findings: &mut Findings) {
    if machine.action(action).is_none() {
        let known = || machine.actions.iter().map(|definition| definition.action_id.as_str());
        let remedy = remedy(findings.nearest(action, known()), "use the `actionId` of an action");
        let detail = format!("`{}` has no action `{}`", machine.id, shown(action));
        findings.error(&place(at), "unknown-action", detail, remedy);
    }
}

fn check_state(machine: &Machine, path: &str, at: Position, findings: &mut Findings) {
    let is_known = machine.by_path(path).is_some_and(|state| machine.is_leaf(state)) || path == machine.id;
    if !is_known {
        let leaves = || machine.indexes().filter(|&state| machine.is_leaf(state));
        let known = || leaves().map(|state| machine.display_path(state));
        let remedy = remedy(
            findings.nearest(path, known()),
            "write the dotted path of an atomic or final state",
        );
        let detail = format!("`{}` has no atomic or final state `{}`", machine.id, shown(path));
        findings.error(&place(at), "unknown-state", detail, remedy);
    }
}

fn remedy(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_owned(), |nearest| format!("did you mean `{nearest}`?"))
}

fn place(at: Position) -> Place {
    Place {
        at,
        pointer: String::new(),
    }
}

/// A text, or the texts of a list.
pub(super) fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn scenario(spot: &Spot<'_>, findings: &mut Findings) -> Scenario {
    let mut fields: BTreeMap<&str, Spot<'_>> = spot.members().collect();
    if let Some(given) = fields.remove("given") {
        for (name, member) in given.members() {
            if fields.insert(name, member.clone()).is_some() {
                let detail = format!("`{name}` stands in `given` and beside it");
                findings.error(&member.place(), "given-twice", detail, "keep one of them");
            }
        }
    }
    let value = |name: &str| fields.get(name).map(|spot| spot.value.clone());
    let text = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
    let steps = fields.get("steps").or_else(|| fields.get("when"));
    let steps = steps.map(|list| list.items().filter_map(|item| step(&item, findings)).collect());
    Scenario {
        name: text("name").unwrap_or_default(),
        at: spot.place().at,
        variables: value("variables").map(object).unwrap_or_default(),
        key: text("key"),
        now: fields.get("now").map_or(NOW_DEFAULT, |spot| now(spot, findings)),
        mocks: fields.get("mocks").map(mocks).unwrap_or_default(),
        steps: steps.unwrap_or_default(),
        then: fields.get("then").map(expect),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn now(spot: &Spot<'_>, findings: &mut Findings) -> Timestamp {
    let text = spot.text().unwrap_or_default();
    text.parse().unwrap_or_else(|_| {
        let detail = format!("`{}` is not an instant", shown(text));
        findings.error(
            &spot.place(),
            "bad-value",
            detail,
            "write it like `2026-01-31T12:00:00Z`",
        );
        NOW_DEFAULT
    })
}

fn mocks(spot: &Spot<'_>) -> BTreeMap<String, Mocked> {
    let read = |value: Value| {
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        items
            .into_iter()
            .filter_map(|item| serde_json::from_value(item).ok())
            .collect()
    };
    let mocked = |member: &Spot<'_>| Mocked {
        at: member.place().at,
        ends: read(member.value.clone()),
    };
    spot.members()
        .map(|(name, member)| (name.to_owned(), mocked(&member)))
        .collect()
}

fn expect(spot: &Spot<'_>) -> Expect {
    Expect {
        at: spot.place().at,
        fields: object(spot.value.clone()),
    }
}

/// The keys that make a step what it is, each with those that go with it.
const STEP_KINDS: [(&str, &[&str]); 3] = [
    ("send", &["payload"]),
    ("advance", &[]),
    ("outcome", &["success", "result"]),
];

fn step(spot: &Spot<'_>, findings: &mut Findings) -> Option<Step> {
    let fields: BTreeMap<&str, Spot<'_>> = spot.members().collect();
    let kinds: Vec<_> = STEP_KINDS
        .iter()
        .filter(|(kind, _)| fields.contains_key(kind))
        .collect();
    let [(kind, with)] = kinds.as_slice() else {
        let detail = if kinds.is_empty() {
            "a step does nothing"
        } else {
            "a step does several things"
        };
        findings.error(
            &spot.place(),
            "bad-step",
            detail,
            "give it exactly one of `send`, `advance` and `outcome`",
        );
        return None;
    };
    for (name, member) in &fields {
        if name != kind && *name != "expect" && !with.contains(name) {
            let detail = format!("`{name}` does not go with `{kind}`");
            findings.error(&member.place(), "bad-step", detail, "remove it");
        }
    }
    let value = |name: &str| fields.get(name).map(|spot| spot.value.clone()).unwrap_or_default();
    let text = value(kind).as_str().unwrap_or_default().to_owned();
    let input = match *kind {
        "send" => SimInput::Message {
            kind: text,
            payload: value("payload"),
        },
        "advance" => SimInput::Advance(
            Millis::from_value(&value("advance"))
                .map(Millis::get)
                .unwrap_or_default(),
        ),
        _ => SimInput::Outcome {
            action: text,
            success: value("success").as_bool().unwrap_or(true),
            result: value("result"),
        },
    };
    Some(Step {
        at: spot.place().at,
        input,
        expect: fields.get("expect").map(expect),
    })
}
