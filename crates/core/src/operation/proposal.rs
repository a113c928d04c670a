//! What a principal proposes: one operation, or steps.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::{Due, OnFailure, StepDocument};
use super::keys::PROPOSAL;
use super::{read, steps};
use crate::document::source::Spot;
use crate::document::{Fields, Finding, Findings, Reader, Shape, Stage};
use crate::words;

words! {
    /// How soon an approver should decide. Sooner comes first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Urgency as word {
        /// At once.
        Now => "now",
        /// Today.
        #[default]
        Soon => "soon",
        /// When there is time.
        Later => "later",
    }
}

/// What a principal proposes.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What people call it; the operation, if it has no other name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Why it is needed.
    pub reason: String,
    /// A reference outside.
    pub ticket: Option<String>,
    /// How soon an approver should decide.
    pub urgency: Urgency,
    /// What a failed step leads to, if the proposal says so.
    pub on_failure: Option<OnFailure>,
    /// The workflow that this one replaces.
    pub supersedes: Option<String>,
    /// What to do.
    pub work: Work,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// One operation.
    Operation {
        /// Its name.
        operation: String,
        /// Its parameters: data, never templates.
        params: Map<String, Value>,
        /// When it begins.
        due: Due,
    },
    /// Steps. Their parameters may name results of steps before.
    Steps(Vec<StepDocument>),
}

impl Urgency {
    /// The priority of actions that say nothing about theirs.
    pub const fn priority(self) -> u8 {
        match self {
            Self::Now => 80,
            Self::Soon => 50,
            Self::Later => 20,
        }
    }
}

impl Proposal {
    /// Reads the body of a request. Everything that is wrong with it is found, whatever the catalog holds.
    pub fn read(body: &Value) -> Result<Self, Vec<Finding>> {
        match Self::read_all(body) {
            (Some(proposal), findings) if !findings.has_errors() => Ok(proposal),
            (_, findings) => Err(findings.in_order()),
        }
    }

    /// The same, also where something is wrong: what could be read, and what was found.
    pub(super) fn read_all(body: &Value) -> (Option<Self>, Findings) {
        let spot = Spot::bare(body);
        let mut reader = Reader::new(Stage::Body);
        reader.check(&spot, &Shape::Map(&PROPOSAL));
        let fields = Fields::new(spot, &PROPOSAL);
        let proposal = read_fields(&fields, &mut reader);
        (proposal, reader.findings)
    }
}

fn read_fields(fields: &Fields<'_>, reader: &mut Reader) -> Option<Proposal> {
    let urgencies = Urgency::ALL.map(|urgency| (urgency.word(), urgency));
    if fields.text("reason").is_some_and(|reason| reason.trim().is_empty()) {
        reader.refuse(&fields.place_of("reason"), "`reason` is empty", "say why it is needed");
    }
    let work = work(fields, reader)?;
    let name = match &work {
        Work::Operation { operation, .. } => fields.string("name").or_else(|| Some(operation.clone())),
        Work::Steps(_) => fields.string("name"),
    };
    Some(Proposal {
        name: name.unwrap_or_default(),
        description: fields.string("description"),
        reason: fields.string("reason").unwrap_or_default(),
        ticket: fields.string("ticket"),
        urgency: fields.word("urgency", &urgencies).unwrap_or_default(),
        on_failure: fields.word("onFailure", &OnFailure::WORDS),
        supersedes: fields.string("supersedes"),
        work,
    })
}

fn work(fields: &Fields<'_>, reader: &mut Reader) -> Option<Work> {
    let refuse = |names: &[&'static str], beside: &str, reader: &mut Reader| {
        for spot in names.iter().filter_map(|name| fields.get(name)) {
            let name = spot.place().name().to_owned();
            let detail = format!("`{name}` has no meaning beside `{beside}`");
            reader.error(
                &spot.key_place(),
                "misplaced-key",
                detail,
                format!("remove `{name}` or `{beside}`"),
            );
        }
    };
    if fields.get("steps").is_some() {
        refuse(&["operation", "params", "delay", "scheduledAt"], "steps", reader);
        if fields.get("name").is_none() {
            let detail = "a proposal of several steps has no `name`";
            reader.error(&fields.at.place(), "missing-key", detail, "add `name`");
        }
        let list = steps::read(fields, reader);
        steps::check(&list, &fields.at, None, reader);
        return Some(Work::Steps(list));
    }
    let Some(operation) = fields.string("operation") else {
        if fields.get("operation").is_none() {
            let detail = "a proposal has neither `operation` nor `steps`";
            reader.error(&fields.at.place(), "missing-key", detail, "add one of them");
        }
        return None;
    };
    Some(Work::Operation {
        operation,
        params: fields.object("params").unwrap_or_default(),
        due: read::due(fields, reader),
    })
}
