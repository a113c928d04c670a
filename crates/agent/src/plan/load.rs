//! Reads a plan from a text, or reports every fault in it.

use std::time::Duration;

use serde_json::Value;
use sprag_core::document::source::{Format, Limits, Spot, parse};
use sprag_core::document::{Fields, Finding, Findings, Reader, Shape, Stage};

use super::check;
use super::keys::PLAN;
use super::model::{AgentLoss, HttpCall, MachineStart, Model, Phase, Plan, Workload};
use super::threshold::{Measure, Threshold};
use crate::lifecycle::ControllerLoss;

/// For how long operations start, unless the plan says otherwise.
const DURATION: u64 = 60_000;
/// How long an operation may take.
const OP_TIMEOUT: u64 = 30_000;
/// Operations at once on one agent.
const IN_FLIGHT: u32 = 1_000;
/// The seed of everything random.
const SEED: u64 = 1;

/// A plan, read.
#[derive(Debug)]
pub struct Loaded {
    /// The plan, unless something in it is wrong.
    pub plan: Option<Plan>,
    /// The document, unless it cannot be parsed. What the controller sends to agents.
    pub document: Option<Value>,
    /// What is wrong or doubtful, by place.
    pub findings: Vec<Finding>,
}

/// Reads a plan.
pub fn load(text: &str, format: Format) -> Loaded {
    match parse(text, format, &Limits::DEFINITION) {
        Ok(document) => read(&document.root()),
        Err(error) => {
            let mut findings = Findings::default();
            findings.not_parsed(error);
            Loaded {
                plan: None,
                document: None,
                findings: findings.finish(),
            }
        }
    }
}

fn read(root: &Spot<'_>) -> Loaded {
    let mut reader = Reader::new(Stage::Lenient);
    reader.check(root, &Shape::Map(&PLAN));
    let fields = Fields::new(root.clone(), &PLAN);
    check::plan(&mut reader, &fields);
    let plan = if reader.findings.has_errors() {
        None
    } else {
        plan(&fields)
    };
    Loaded {
        plan,
        document: Some(root.value.clone()),
        findings: reader.findings.finish(),
    }
}

/// The plan in a document that was checked.
fn plan(fields: &Fields<'_>) -> Option<Plan> {
    Some(Plan {
        name: fields.string("name")?,
        main: phase(fields)?,
        prepare: match fields.map("prepare") {
            Some(prepare) => Some(phase(&prepare)?),
            None => None,
        },
        thresholds: thresholds(fields),
        abort_on_threshold: fields.flag("abortOnThreshold").unwrap_or_default(),
        on_agent_lost: agent_loss(fields),
        on_controller_lost: controller_loss(fields),
        seed: fields.whole("seed").unwrap_or(SEED),
    })
}

fn phase(fields: &Fields<'_>) -> Option<Phase> {
    let millis = |name, default| Duration::from_millis(fields.millis(name).unwrap_or(default));
    Some(Phase {
        workload: workload(fields)?,
        model: match fields.whole("rate") {
            Some(rate) => Model::Open {
                rate,
                in_flight: fields.whole("maxInFlight").unwrap_or(IN_FLIGHT),
            },
            None => Model::Closed {
                users: fields.whole("concurrency").unwrap_or(1),
            },
        },
        duration: millis("duration", DURATION),
        ramp_up: millis("rampUp", 0),
        op_timeout: millis("opTimeout", OP_TIMEOUT),
    })
}

fn workload(fields: &Fields<'_>) -> Option<Workload> {
    match fields.text("workload")? {
        "http" => {
            let http = fields.map("http")?;
            let body = http.value("body").filter(|body| !body.is_null());
            Some(Workload::Http(HttpCall {
                url: http.string("url")?,
                method: http.string("method").unwrap_or_else(|| "GET".to_owned()),
                headers: check::headers(&http),
                body: body.map(|body| match body {
                    Value::String(text) => text,
                    other => other.to_string(),
                }),
            }))
        }
        "machine" => {
            let machine = fields.map("machine")?;
            Some(Workload::Machine(MachineStart {
                server: machine.string("server")?,
                machine: machine.string("machine")?,
                variables: machine.object("variables").unwrap_or_default(),
            }))
        }
        _ => fields.map("exec")?.texts("command").map(Workload::Exec),
    }
}

fn thresholds(fields: &Fields<'_>) -> Vec<Threshold> {
    let Some(given) = fields.map("thresholds") else {
        return Vec::new();
    };
    let threshold = |measure: Measure| Threshold::parse(measure, given.text(measure.name())?);
    Measure::ALL.into_iter().filter_map(threshold).collect()
}

fn agent_loss(fields: &Fields<'_>) -> AgentLoss {
    match (fields.text("onAgentLost"), fields.map("onAgentLost")) {
        (Some("best-effort"), _) => AgentLoss::BestEffort,
        (_, Some(quorum)) => AgentLoss::Quorum(quorum.whole("quorum").unwrap_or(1)),
        _ => AgentLoss::FailFast,
    }
}

fn controller_loss(fields: &Fields<'_>) -> ControllerLoss {
    match (fields.text("onControllerLost"), fields.map("onControllerLost")) {
        (Some("finish-and-keep"), _) => ControllerLoss::FinishAndKeep,
        (_, Some(grace)) => ControllerLoss::Grace(Duration::from_millis(grace.millis("grace").unwrap_or_default())),
        _ => ControllerLoss::Abort,
    }
}
