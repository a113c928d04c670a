//! One test of a machine: what it is given, what then happens to it, and what is expected.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::document::source::{Place, Position, Spot, shown};
use crate::document::{Fields, Finding, Findings};
use crate::machine::model::Machine;
use crate::machine::simulate::SimInput;
use crate::machine::testing::file::now;
use crate::time::Timestamp;

/// One test of a machine.
#[derive(Clone, Debug)]
pub struct Scenario {
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
#[derive(Clone, Debug)]
pub(super) struct Mock {
    pub(super) success: bool,
    pub(super) result: Value,
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

impl Scenario {
    /// What it names that the machine does not have.
    pub fn check(&self, machine: &Machine) -> Vec<Finding> {
        let mut findings = Findings::default();
        for (action, mocked) in &self.mocks {
            check_action(machine, action, mocked.at, &mut findings);
        }
        for step in &self.steps {
            if let SimInput::Outcome { action, .. } = &step.input {
                check_action(machine, action, step.at, &mut findings);
            }
        }
        let expects = self.steps.iter().filter_map(|step| step.expect.as_ref());
        for Expect { at, fields } in expects.chain(&self.then) {
            for action in texts(fields.get("actions")) {
                check_action(machine, action, *at, &mut findings);
            }
            for path in texts(fields.get("configuration")) {
                check_state(machine, path, *at, &mut findings);
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

/// Reads the test of a machine.
pub(in crate::machine::testing) fn read(fields: &Fields<'_>, findings: &mut Findings) -> Scenario {
    let given = fields.map("given");
    for (name, member) in given.iter().flat_map(|given| given.at.members()) {
        if fields.at.member(name).is_some() {
            let detail = format!("`{name}` is in `given` and beside it");
            findings.error(&member.place(), "given-twice", detail, "keep one of them");
        }
    }
    let from = |name| {
        given
            .as_ref()
            .filter(|given| given.get(name).is_some())
            .unwrap_or(fields)
    };
    let steps = fields.maps("steps");
    Scenario {
        name: fields.string("name").unwrap_or_default(),
        at: fields.at.place().at,
        variables: from("variables").object("variables").unwrap_or_default(),
        key: from("key").string("key"),
        now: now(from("now"), findings),
        mocks: from("mocks")
            .get("mocks")
            .iter()
            .flat_map(Spot::members)
            .map(mocked)
            .collect(),
        steps: steps.iter().filter_map(|step| read_step(step, findings)).collect(),
        then: expect(fields, "then"),
    }
}

fn mocked((name, spot): (&str, Spot<'_>)) -> (String, Mocked) {
    let end = |spot: &Spot<'_>| Mock {
        success: spot.value_of("success").and_then(Value::as_bool).unwrap_or(true),
        result: spot.value_of("result").cloned().unwrap_or_default(),
    };
    let mocked = Mocked {
        at: spot.place().at,
        ends: spot.each().iter().map(end).collect(),
    };
    (name.to_owned(), mocked)
}

fn expect(fields: &Fields<'_>, name: &'static str) -> Option<Expect> {
    Some(Expect {
        at: fields.place_of(name).at,
        fields: fields.object(name)?,
    })
}

/// The keys that make a step what it is, each with those that go with it.
const STEP_KINDS: [(&str, &[&str]); 3] = [
    ("send", &["payload"]),
    ("advance", &[]),
    ("outcome", &["success", "result"]),
];

fn read_step(fields: &Fields<'_>, findings: &mut Findings) -> Option<Step> {
    let place = fields.at.place();
    let kinds: Vec<_> = STEP_KINDS
        .iter()
        .filter(|(kind, _)| fields.get(kind).is_some())
        .collect();
    let [(kind, with)] = kinds.as_slice() else {
        let detail = if kinds.is_empty() {
            "a step does nothing"
        } else {
            "a step does several things"
        };
        let remedy = "give it exactly one of `send`, `advance` and `outcome`";
        findings.error(&place, "bad-step", detail, remedy);
        return None;
    };
    for (name, member) in fields.at.members() {
        if name != *kind && name != "expect" && !with.contains(&name) {
            let detail = format!("`{name}` does not go with `{kind}`");
            findings.error(&member.place(), "bad-step", detail, "remove it");
        }
    }
    let text = || fields.string(kind).unwrap_or_default();
    let value = |name| fields.value(name).unwrap_or_default();
    let input = match *kind {
        "send" => SimInput::Message {
            kind: text(),
            payload: value("payload"),
        },
        "advance" => SimInput::Advance(fields.millis("advance").unwrap_or_default()),
        _ => SimInput::Outcome {
            action: text(),
            success: fields.flag("success").unwrap_or(true),
            result: value("result"),
        },
    };
    Some(Step {
        at: place.at,
        input,
        expect: expect(fields, "expect"),
    })
}
