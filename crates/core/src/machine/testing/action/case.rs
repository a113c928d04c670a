//! One test of an action: what it is triggered on, what comes back, and what is expected.

use std::collections::BTreeMap;

use serde_json::{Map, json};

use super::mock::{self, Ending, Mock};
use super::subject::{Event, Occasion, Reach};
use crate::document::source::{Document, Position};
use crate::document::{Fields, Finding, Findings};
use crate::machine::testing::file::{NOW_DEFAULT, now};

/// What the one test of a bare definition is called.
const BARE: &str = "the action succeeds if every reply is a success";

/// One test of an action.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// What is tested.
    pub target: Target,
    /// What the action is triggered on.
    pub occasion: Occasion,
    /// The secrets there are; none: whatever is asked for gets a stand-in.
    pub secrets: Option<BTreeMap<String, String>>,
    /// What comes back; none: everything goes well.
    pub mock: Option<Vec<Mock>>,
    /// What is expected.
    pub expect: Expect,
}

/// What is tested.
#[derive(Clone, Debug)]
pub enum Target {
    /// A definition in the file itself.
    Definition {
        /// The definition.
        document: Box<Document>,
        /// Where it stands.
        pointer: &'static str,
        /// Mail templates beside it.
        templates: Option<Box<Document>>,
    },
    /// An action of a machine file.
    Action {
        /// The machine file, relative to this one.
        machine: String,
        /// Which action.
        action_id: String,
    },
}

/// What is expected, with the places where it stands.
#[derive(Clone, Debug)]
pub struct Expect {
    pub(super) document: Document,
}

/// Reads the test of an action.
pub(in crate::machine::testing) fn read(fields: &Fields<'_>, target: Target, findings: &mut Findings) -> Case {
    let at = fields.at.place().at;
    let mock = fields.get("mock").map(|_| {
        let entries = fields.maps("mock");
        entries.iter().map(|entry| mock::read(entry, findings)).collect()
    });
    Case {
        name: fields.string("name").unwrap_or_default(),
        at,
        target,
        occasion: Occasion {
            variables: fields.object("variables").unwrap_or_default(),
            key: fields.string("key"),
            now: now(fields, findings),
            event: fields.map("event").map(|event| read_event(&event)),
            results: fields.object("results").unwrap_or_default(),
        },
        secrets: fields.pairs("secrets"),
        mock,
        expect: fields.get("expect").map_or_else(
            || Expect::success(at),
            |spot| Expect {
                document: spot.to_document(),
            },
        ),
    }
}

fn read_event(fields: &Fields<'_>) -> Event {
    Event {
        kind: fields.string("type").unwrap_or_default(),
        payload: fields.value("payload").unwrap_or_default(),
        result: fields.value("result").unwrap_or_default(),
        error: fields.value("error"),
    }
}

impl Case {
    /// The one test of a bare definition: everything goes well.
    pub(in crate::machine::testing) fn of_bare(document: Document) -> Self {
        let at = document.root().place().at;
        Self {
            name: BARE.to_owned(),
            at,
            target: Target::Definition {
                document: Box::new(document),
                pointer: "",
                templates: None,
            },
            occasion: Occasion {
                variables: Map::new(),
                key: None,
                now: NOW_DEFAULT,
                event: None,
                results: Map::new(),
            },
            secrets: None,
            mock: None,
            expect: Expect::success(at),
        }
    }

    /// What refuses the replies of a mock for an action that no HTTP call belongs to.
    pub fn check(&self, kind: &str, reach: Reach) -> Vec<Finding> {
        let mut findings = Findings::default();
        mock::check(self.mock.iter().flatten(), kind, reach, &mut findings);
        findings.finish()
    }

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
