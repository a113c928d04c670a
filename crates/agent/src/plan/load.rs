//! Reads a plan from a text, or reports every fault in it.

use std::time::Duration;

use serde_json::Value;
use sprag_core::document::source::{Format, Limits, Spot, parse};
use sprag_core::document::{Fields, Finding, Findings, Reader, Shape, Stage};
use sprag_core::machine::testing::{TestSubject, read_mock};

use super::check;
use super::keys::PLAN;
use super::model::{ActionCall, AgentLoss, HttpCall, MachineStart, Model, Phase, Plan, Protocol, Scenario, Workload};
use super::threshold::{Measure, Threshold};
use super::written::{ReadFile, complete};
use crate::lifecycle::ControllerLoss;

/// For how long operations start, unless the plan says otherwise.
const DURATION: u64 = 60_000;
/// How long an operation may take.
const OP_TIMEOUT: u64 = 30_000;
/// How long an action may take at most, unless the plan says otherwise.
const OP_TIMEOUT_MAX: u64 = 3_600_000;
/// Operations at once on one agent.
const IN_FLIGHT: u32 = 1_000;
/// The seed of everything random.
const SEED: u64 = 1;

const PROTOCOLS: [(&str, Protocol); 3] = [
    ("auto", Protocol::Auto),
    ("http1", Protocol::Http1),
    ("http2", Protocol::Http2),
];

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

/// Reads a plan that names no files.
pub fn load(text: &str, format: Format) -> Loaded {
    load_with(text, format, &|_| {
        Err("the plan must hold the definition itself".to_owned())
    })
}

/// Reads a plan, or what `sprag action plan-load` prints. Definitions that are the names of files are read by `files`.
pub fn load_with(text: &str, format: Format, files: &ReadFile<'_>) -> Loaded {
    let mut reader = Reader::new(Stage::Lenient);
    match parse(text, format, &Limits::DEFINITION) {
        Ok(document) => {
            let document = complete(document, files, &mut reader.findings);
            read(reader, &document.root())
        }
        Err(error) => {
            reader.findings.not_parsed(error);
            Loaded {
                plan: None,
                document: None,
                findings: reader.findings.finish(),
            }
        }
    }
}

fn read(mut reader: Reader, root: &Spot<'_>) -> Loaded {
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
    let workload = workload(fields)?;
    Some(Phase {
        op_timeout: millis("opTimeout", op_timeout(&workload)),
        workload,
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
    })
}

/// How long an operation may take, unless the plan says otherwise. An action has the time that its definition gives to all of its
/// attempts.
fn op_timeout(workload: &Workload) -> u64 {
    let Workload::Action(call) = workload else {
        return OP_TIMEOUT;
    };
    let subject = call.subject().ok();
    let definition = subject.as_ref().and_then(TestSubject::definition);
    definition.map_or(OP_TIMEOUT, |definition| {
        let attempt = definition.timeout.saturating_add(definition.policy.max_delay);
        let attempts = attempt.saturating_mul(definition.policy.max_attempts.into());
        attempts
            .min(definition.deadline.unwrap_or(u64::MAX))
            .min(OP_TIMEOUT_MAX)
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
                protocol: http.word("protocol", &PROTOCOLS).unwrap_or_default(),
                headers: check::headers(&http),
                body: body.map(|body| match body {
                    Value::String(text) => text,
                    other => other.to_string(),
                }),
            }))
        }
        "action" => Some(Workload::Action(Box::new(action(&fields.map("action")?)?))),
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

/// An action in a plan; none without a definition.
pub(super) fn action(fields: &Fields<'_>) -> Option<ActionCall> {
    let definition = fields.get("definition").filter(|spot| spot.value.is_object())?;
    let is_real = fields.text("target") == Some("real");
    let scenarios = if is_real { Vec::new() } else { fields.maps("scenarios") };
    Some(ActionCall {
        definition: definition.to_document(),
        action_id: fields.string("actionId"),
        templates: fields.get("templates").map(|spot| spot.to_document()),
        variables: fields.object("variables").unwrap_or_default(),
        scenarios: scenarios.iter().map(scenario).collect(),
    })
}

fn scenario(fields: &Fields<'_>) -> Scenario {
    // What does not go together was refused when the plan was checked.
    let mock = |entry: &Fields<'_>| read_mock(entry, &mut Findings::default());
    Scenario {
        name: fields.string("name").unwrap_or_default(),
        weight: fields.whole("weight").unwrap_or(1),
        mock: fields.maps("mock").iter().map(mock).collect(),
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
