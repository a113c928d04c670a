//! From a proposal and a catalog to a plan. Nothing of a proposal with a fault is kept, and all of its faults are named at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::given::Given;
use super::model::{Expanded, Plan, PlanStep, StepAction};
use crate::action::Permission;
use crate::document::source::{Place, shown};
use crate::document::{Finding, Findings};
use crate::machine::ConfigCheck;
use crate::operation::catalog::Catalog;
use crate::operation::definition::{Due, OnFailure};
use crate::operation::proposal::{Proposal, Urgency, Work};
use crate::operation::risk::Risk;
use crate::time::Timestamp;

/// The most steps of a plan, those of expanded workflows included: each becomes states of one machine.
pub const STEPS_MAX: usize = 64;

/// What a plan holds besides what is proposed.
#[derive(Clone, Copy, Debug)]
pub struct PlanFacts<'a> {
    /// The id of the workflow.
    pub id: &'a str,
    /// The principal that proposes it.
    pub proposer: &'a str,
    /// The `now` of every expression.
    pub now: Timestamp,
}

/// What judges a proposal.
#[derive(Clone, Copy)]
pub struct PlanOptions<'a> {
    /// The operations and subjects there are.
    pub catalog: &'a Catalog,
    /// Who judges the configuration of actions.
    pub runners: &'a dyn ConfigCheck,
    /// What an action of a type may reach with a configuration.
    pub permissions: &'a dyn Fn(&str, &Value) -> Vec<Permission>,
}

/// A plan under way.
pub(super) struct Builder<'a> {
    pub(super) options: &'a PlanOptions<'a>,
    pub(super) facts: &'a PlanFacts<'a>,
    pub(super) urgency: Urgency,
    pub(super) findings: Findings,
    pub(super) steps: Vec<PlanStep>,
    pub(super) expanded: Vec<Expanded>,
    pub(super) risk: Risk,
    pub(super) requires_approval: bool,
    pub(super) on_failure: OnFailure,
}

/// Reads the body of a proposal and makes its plan. All faults are named at once, with JSON pointers into the body.
pub fn propose(body: &Value, facts: &PlanFacts<'_>, options: &PlanOptions<'_>) -> Result<Plan, Vec<Finding>> {
    let (proposal, findings) = Proposal::read_all(body);
    let Some(proposal) = proposal else {
        return Err(findings.finish());
    };
    build_with(&proposal, facts, options, findings)
}

/// Makes the plan of a proposal that was read.
pub fn build(proposal: &Proposal, facts: &PlanFacts<'_>, options: &PlanOptions<'_>) -> Result<Plan, Vec<Finding>> {
    build_with(proposal, facts, options, Findings::default())
}

fn build_with(
    proposal: &Proposal,
    facts: &PlanFacts<'_>,
    options: &PlanOptions<'_>,
    findings: Findings,
) -> Result<Plan, Vec<Finding>> {
    let mut builder = Builder {
        options,
        facts,
        urgency: proposal.urgency,
        findings,
        steps: Vec::new(),
        expanded: Vec::new(),
        risk: Risk::Low,
        requires_approval: false,
        on_failure: OnFailure::Stop,
    };
    builder.work(&proposal.work);
    builder.check_whole();
    if builder.findings.has_errors() {
        return Err(builder.findings.in_order());
    }
    Ok(builder.finish(proposal))
}

impl Builder<'_> {
    fn work(&mut self, work: &Work) {
        match work {
            Work::Operation { operation, params, due } => self.single(operation, &Given::data(params.clone()), *due),
            Work::Steps(steps) => {
                let given = |params: &_| Given::of_steps(params);
                self.expand(steps, &given, &super::expand::Seat::default());
            }
        }
    }

    /// Notes a fault.
    pub(super) fn error(&mut self, pointer: &str, code: &'static str, detail: String, remedy: &str) {
        let place = Place::unwritten(pointer.to_owned());
        self.findings.error(&place, code, detail, remedy);
    }

    /// Notes that the catalog has no such operation.
    pub(super) fn unknown_operation(&mut self, name: &str, pointer: &str) {
        let remedy = match self.options.catalog.nearest(name) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "use an operation of the catalog".to_owned(),
        };
        let detail = format!("there is no operation `{}`", shown(name));
        self.error(pointer, "unknown-operation", detail, &remedy);
    }

    fn check_whole(&mut self) {
        if self.steps.len() > STEPS_MAX {
            let detail = format!(
                "the plan has `{}` steps, at most `{STEPS_MAX}` are allowed",
                self.steps.len()
            );
            self.error("", "too-many-steps", detail, "split it into several workflows");
        }
        let mut names = BTreeSet::new();
        let twice = self.steps.iter().find(|step| !names.insert(step.name.as_str()));
        // A step that is given twice in one list was named when the list was read.
        if let (Some(step), false) = (twice, self.findings.has_errors()) {
            let detail = format!("two steps come to the name `{}`", step.name);
            self.error("", "bad-name", detail, "rename one of them");
        }
        if !self.findings.has_errors() {
            self.check_results();
        }
    }

    /// Every result that a step uses is that of a step of the plan which runs before; a compensation may use its step's own.
    fn check_results(&mut self) {
        let needs: BTreeMap<&str, &Vec<String>> = self
            .steps
            .iter()
            .map(|step| (step.name.as_str(), &step.depends_on))
            .collect();
        let mut wrong = Vec::new();
        for step in &self.steps {
            let mut before = BTreeSet::new();
            let mut open: Vec<&String> = step.depends_on.iter().collect();
            while let Some(name) = open.pop() {
                if before.insert(name.as_str()) {
                    open.extend(needs.get(name.as_str()).into_iter().flat_map(|list| list.iter()));
                }
            }
            let compensation = step.compensation.iter().flat_map(StepAction::results_used);
            let used = step
                .action
                .results_used()
                .into_iter()
                .chain(compensation.filter(|name| *name != step.name));
            wrong.extend(
                used.filter(|name| !before.contains(name.as_str()))
                    .map(|name| (step.name.clone(), name)),
            );
        }
        for (step, name) in wrong {
            let detail = format!("step `{step}` uses the result of `{name}`, which is no step that runs before");
            self.error(
                "",
                "unknown-reference",
                detail,
                "name a step before; a workflow has no result, but its steps have",
            );
        }
    }

    fn finish(self, proposal: &Proposal) -> Plan {
        let risks = self.steps.iter().flat_map(|step| {
            let compensation = step.compensation.as_ref().map(|one| one.risk_level);
            std::iter::once(step.action.risk_level).chain(compensation)
        });
        let declared = |step: &PlanStep| {
            step.action.requires_approval || step.compensation.as_ref().is_some_and(|one| one.requires_approval)
        };
        Plan {
            id: self.facts.id.to_owned(),
            name: proposal.name.clone(),
            description: proposal.description.clone(),
            reason: proposal.reason.clone(),
            proposer: self.facts.proposer.to_owned(),
            proposed_at: self.facts.now,
            ticket: proposal.ticket.clone(),
            urgency: proposal.urgency,
            on_failure: proposal.on_failure.unwrap_or(self.on_failure),
            supersedes: proposal.supersedes.clone(),
            execution: None,
            risk_level: risks.fold(self.risk, Risk::max),
            requires_approval: self.requires_approval || self.steps.iter().any(declared),
            expanded: self.expanded,
            steps: self.steps,
        }
    }
}

/// The name of a step that is an operation by itself.
pub(super) fn step_name(operation: &str) -> String {
    let fits = |c: char| if c == '_' || c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = operation.chars().map(fits).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

/// A due time as a step keeps it: an instant, and a delay after the steps before.
pub(super) fn due_of(due: Due, has_before: bool, now: Timestamp) -> (Option<Timestamp>, Option<u64>) {
    match due {
        Due::Now | Due::Delay(0) => (None, None),
        Due::At(at) => (Some(at), None),
        Due::Delay(delay) if has_before => (None, Some(delay)),
        // Nothing comes before it, so its time counts from the proposal, whenever it is approved.
        Due::Delay(delay) => (Some(now.plus(delay)), None),
    }
}
