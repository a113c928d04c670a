//! The configuration of an action of type `load`: `plan`, and the `agents` that perform it.

use serde_json::Value;
use sprag_core::action::{ConfigProblem, Fault};
use sprag_core::document::source::{Format, Spot};
use sprag_core::document::{Finding, Reader, Severity, Stage};

use crate::plan::{Loaded, Plan, load};

/// The most agents of one load.
pub const AGENTS_MAX: usize = 256;
/// The longest address or name of an agent, in bytes.
const AGENT_BYTES_MAX: usize = 512;

const KEYS: [&str; 2] = ["plan", "agents"];
const PLAN: &str = "/plan";
const EXAMPLE: &str =
    "`{ name: checkout, workload: http, http: { url: \"https://shop.example.com/\" }, concurrency: 50 }`";

/// What an attempt runs.
#[derive(Debug)]
pub(super) struct LoadConfig {
    pub(super) plan: Plan,
    /// The plan as agents get it.
    pub(super) text: String,
    /// As they are named; none if all registered ones.
    pub(super) agents: Vec<String>,
}

/// The configuration of an attempt, or everything that is wrong with it.
pub(super) fn read(config: &Value) -> Result<LoadConfig, Vec<ConfigProblem>> {
    let mut problems = shape(config, Stage::Rendered);
    let Some(given) = config.get("plan").filter(|plan| plan.is_object()) else {
        return Err(problems);
    };
    let mut loaded = loaded(given);
    let plan = loaded.plan.take();
    problems.extend(errors(loaded));
    match plan {
        Some(plan) if problems.is_empty() => Ok(LoadConfig {
            plan,
            text: given.to_string(),
            agents: agents(config),
        }),
        _ => Err(problems),
    }
}

/// What is wrong with a configuration as it was written. Templates may become anything.
pub(super) fn written(config: &Value) -> Vec<ConfigProblem> {
    let mut problems = shape(config, Stage::Written);
    if let Some(plan) = config
        .get("plan")
        .filter(|plan| plan.is_object() && !has_template(plan))
    {
        problems.extend(errors(loaded(plan)));
    }
    problems
}

fn loaded(plan: &Value) -> Loaded {
    load(&plan.to_string(), Format::Json)
}

/// What is wrong with a plan, by its place in the configuration.
fn errors(loaded: Loaded) -> Vec<ConfigProblem> {
    let found = loaded.findings.into_iter();
    let found = found.filter(|finding| finding.severity == Severity::Error);
    found.map(|finding| problem(PLAN, finding)).collect()
}

fn problem(below: &str, finding: Finding) -> ConfigProblem {
    ConfigProblem {
        pointer: format!("{below}{}", finding.pointer),
        detail: finding.detail,
        remedy: finding.remedy,
        fault: Fault::Definition,
    }
}

/// What is wrong apart from the content of the plan.
fn shape(config: &Value, stage: Stage) -> Vec<ConfigProblem> {
    let root = Spot::bare(config);
    let mut reader = Reader::new(stage);
    if reader.knows(&root, &KEYS) {
        reader.require(&root, "plan", EXAMPLE);
        reader.object(&root, "plan");
        check_agents(&mut reader, &root);
    }
    let found = reader.findings.in_order().into_iter();
    found.map(|finding| problem("", finding)).collect()
}

fn check_agents(reader: &mut Reader, root: &Spot<'_>) {
    let (Some(agents), Some(spot)) = (reader.texts(root, "agents"), root.get("agents")) else {
        return;
    };
    if agents.is_empty() {
        let remedy = "write `[\"10.0.0.5:7402\"]`, or leave `agents` out to use all registered agents";
        reader.refuse(&spot.place(), "`agents` is empty", remedy);
    }
    if agents.len() > AGENTS_MAX {
        let detail = format!("`agents` has {} agents; a load has at most {AGENTS_MAX}", agents.len());
        reader.refuse(&spot.place(), detail, "start two loads");
    }
    for (agent, item) in agents.iter().zip(spot.items()) {
        if agent.is_empty() || agent.len() > AGENT_BYTES_MAX {
            let detail = format!("an agent is named by 1 to {AGENT_BYTES_MAX} bytes, not {}", agent.len());
            let remedy = "write `host:port`, or the name of a registered agent";
            reader.refuse(&item.place(), detail, remedy);
        }
    }
}

/// The agents that a configuration names.
pub(super) fn agents(config: &Value) -> Vec<String> {
    let named = config.get("agents").and_then(Value::as_array);
    let texts = named.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Whether any text in it is a template.
fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(members) => members.values().any(has_template),
        _ => false,
    }
}
