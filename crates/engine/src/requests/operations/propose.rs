//! Proposing: a proposal becomes a plan, or is refused with everything that is wrong with it.
//!
//! A plan that needs no approval starts in the same transaction. An open plan of the same principal that would do the same
//! is returned instead of a second one.

use serde_json::Value;
use sprag_core::access::{Caller, Role};
use sprag_core::ids::{Slot, WorkflowId};
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::approval::ApprovalVerdict;
use sprag_core::operation::{self, Plan, PlanFacts, PlanOptions, Urgency, WorkflowStatus};

use super::super::audit::Audit;
use super::super::{Code, Refusal, Request, Route, Subject};
use super::apply::{known, refuse_findings};
use super::checks::{is_only_proposer, refuse_checks};
use super::start::run;
use super::{WorkflowChanged, conflict, is_undecided, needs_role, refuse_beyond_scope};
use crate::decide::plans::PlanState;
use crate::decide::{Decider, Reads};

/// Plans of one principal at most that nobody has decided about.
pub const PROPOSALS_MAX: usize = 20;
/// The bytes of a plan at most.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

/// Propose one operation, or a workflow of several.
#[derive(Clone, Debug)]
pub struct Propose {
    /// The proposal.
    pub body: Value,
    /// Who proposes it.
    pub caller: Box<Caller>,
}

impl Request for Propose {
    type Answer = WorkflowChanged;
    const NAME: &'static str = "propose";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ProposeWorkflow, named)
            .making(|changed| Some(changed.id.to_string()))
            .because(|request| request.body.get("reason").and_then(Value::as_str)),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.catalog();
        reads.proposals(&self.caller.principal);
        if let Some(Ok(id)) = self.supersedes() {
            reads.plan(id);
        }
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: Value::Null,
            body: self.body.clone(),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        needs_role(&self.caller, Role::Proposer)?;
        let id = decider.at.mint.workflow(Slot::default());
        let plan = plan(decider, id, self)?;
        refuse_beyond_scope(&plan, &self.caller)?;
        refuse_risk(&plan, &self.caller)?;
        refuse_urgent(&plan, &self.caller)?;
        let plan = PlanState::new(id, plan, decider.now());
        refuse_checks(decider, &plan, self)?;
        if let Some(same) = same(decider, &plan) {
            return Ok(WorkflowChanged {
                id: same,
                created: false,
            });
        }
        let old = self.superseded(decider)?;
        refuse_flood(decider, &self.caller, old.as_ref())?;
        if let Some(mut old) = old {
            let comment = format!("superseded by {id}");
            old.become_status(WorkflowStatus::Cancelled, decider.now())
                .map_err(|error| Refusal::new(Code::StatusConflict, error.to_string()))?;
            old.note("cancelled", &self.caller.principal, &comment, decider.now());
            decider.put_plan(old);
        }
        accept(decider, plan)?;
        Ok(WorkflowChanged { id, created: true })
    }
}

impl Propose {
    /// The plan that this one replaces, as the body names it.
    fn supersedes(&self) -> Option<Result<WorkflowId, &str>> {
        let text = self.body.get("supersedes")?.as_str()?;
        Some(text.parse().map_err(|_| text))
    }

    /// The plan that this one replaces: one that nobody decided about. Who proposed it may replace it, and who operates.
    fn superseded(&self, decider: &Decider<'_>) -> Result<Option<PlanState>, Refusal> {
        let id = match self.supersedes() {
            None => return Ok(None),
            Some(Ok(id)) => id,
            Some(Err(text)) => {
                let detail = format!("there is no workflow `{text}`");
                return Err(Refusal::at("/supersedes", Code::WorkflowUnknown, detail));
            }
        };
        let old = decider.plan(id)?;
        if old.plan.proposer != *self.caller.principal {
            needs_role(&self.caller, Role::Operator)?;
        }
        if old.is_of_action() || old.has_started() || !is_undecided(old.status) {
            return Err(conflict(&old, "superseded", "undecided"));
        }
        Ok(Some(old))
    }
}

/// What a proposal that is refused is called.
fn named(propose: &Propose) -> String {
    let name = ["name", "operation"]
        .into_iter()
        .find_map(|key| propose.body.get(key)?.as_str());
    name.unwrap_or_default().to_owned()
}

/// The plan of a proposal, or everything that is wrong with it.
fn plan(decider: &Decider<'_>, id: WorkflowId, propose: &Propose) -> Result<Plan, Refusal> {
    let catalog = known(decider)?;
    let types = &decider.rules.types;
    let id = id.to_string();
    let facts = PlanFacts {
        id: &id,
        proposer: &propose.caller.principal,
        now: decider.now(),
    };
    let options = PlanOptions {
        catalog: &catalog.catalog,
        runners: types.configs(),
        permissions: &|kind, config| types.permissions(kind, config),
    };
    let plan = match operation::propose(&propose.body, &facts, &options) {
        Ok(plan) => plan,
        Err(findings) => {
            refuse_findings("the proposal cannot be planned", findings)?;
            return Err(Refusal::new(Code::DefinitionInvalid, "the proposal cannot be planned"));
        }
    };
    let bytes = plan.canonical().len();
    if bytes > PLAN_BYTES_MAX {
        let detail = format!("the plan has {bytes} bytes; {PLAN_BYTES_MAX} are the most");
        return Err(Refusal::new(Code::DefinitionInvalid, detail));
    }
    Ok(plan)
}

/// The risk of a plan is the highest of its steps and compensations.
pub(super) fn refuse_risk(plan: &Plan, caller: &Caller) -> Result<(), Refusal> {
    let Some(most) = caller.max_risk.filter(|most| plan.risk_level > *most) else {
        return Ok(());
    };
    let (by, risk) = (&caller.principal, plan.risk_level);
    let detail = format!(
        "the token of `{by}` has `maxRisk: {most}`, and the plan has risk `{risk}`; use a token that covers it"
    );
    Err(Refusal::new(Code::ScopeMissing, detail))
}

/// Who may only propose cannot say that it is urgent.
fn refuse_urgent(plan: &Plan, caller: &Caller) -> Result<(), Refusal> {
    if plan.urgency != Urgency::Now || !is_only_proposer(caller) {
        return Ok(());
    }
    let detail = "the role `proposer` alone cannot set the urgency `now`; use `soon`";
    Err(Refusal::at("/urgency", Code::RoleMissing, detail))
}

/// The open plan of the same principal that would do the same.
fn same(decider: &Decider<'_>, plan: &PlanState) -> Option<WorkflowId> {
    let of_batch = decider.batch.plans.values();
    let mut of_batch = of_batch.filter(|known| known.status.is_open() && known.content == plan.content);
    if let Some(known) = of_batch.next() {
        return Some(known.id);
    }
    let open = decider.known.found.proposals.get(&plan.plan.proposer)?;
    // This batch may have ended it.
    let is_open = |id: WorkflowId| decider.batch.plans.get(&id).is_none_or(|plan| plan.status.is_open());
    let mut same = open
        .iter()
        .filter(|known| known.content == plan.content && is_open(known.plan));
    same.next().map(|known| known.plan)
}

fn refuse_flood(decider: &Decider<'_>, caller: &Caller, superseded: Option<&PlanState>) -> Result<(), Refusal> {
    let principal = caller.principal.as_ref();
    let stored = decider.known.found.proposals.get(principal).into_iter().flatten();
    let of_batch = &decider.batch.plans;
    let stored = stored.filter(|open| is_undecided(open.status) && !of_batch.contains_key(&open.plan));
    let new = of_batch
        .values()
        .filter(|plan| plan.plan.proposer == principal && is_undecided(plan.status));
    let gone = superseded.filter(|plan| plan.plan.proposer == principal);
    if stored.count() + new.count() < PROPOSALS_MAX + usize::from(gone.is_some()) {
        return Ok(());
    }
    let detail = format!("`{principal}` has {PROPOSALS_MAX} undecided plans; wait for a decision, or cancel one");
    Err(Refusal::new(Code::ProposalsFull, detail))
}

/// A new plan waits for a person, or runs.
pub(super) fn accept(decider: &mut Decider<'_>, mut plan: PlanState) -> Result<(), Refusal> {
    let (policy, now) = (decider.rules.approval.clone(), decider.now());
    if plan.verdict(&policy, &decider.known.control.tokens, now, None) == ApprovalVerdict::NotNeeded {
        return run(decider, plan);
    }
    plan.ask_for_approval(&policy, now);
    decider.put_plan(plan);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_proposal_is_its_body_whoever_reads_it() {
        let propose = |body: Value| Propose {
            body,
            caller: Box::new(Caller::local()),
        };
        let body = json!({"operation": "wait", "reason": "try"});
        let subject = propose(body.clone()).subject().map(|subject| subject.body);
        assert_eq!(subject, Some(body));
    }
}
