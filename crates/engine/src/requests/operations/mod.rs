//! Operations: the catalog, proposals, what people decide about them, and what follows from it.
//!
//! Workflows live in the control shard, with the catalog: whether a principal has proposed too much, whether the same plan
//! is open already and which version of an operation is the newest are decided in one place. The execution of a workflow
//! has the id of its plan and starts in the transaction in which the plan may run; before that there is nothing to run.

mod apply;
mod cancel;
mod checks;
mod compensate;
mod decide;
mod expire;
mod propose;
mod resume;
mod start;

use sprag_core::access::{Caller, Role, ScopeKind, Scopes};
use sprag_core::ids::WorkflowId;
use sprag_core::operation::{Plan, StepAction, WorkflowStatus};

pub use self::apply::{AppliedDocument, ApplyCatalog, CatalogApplied};
pub use self::cancel::CancelWorkflow;
pub use self::checks::{CheckHosts, NoHost, UnlistedCheck};
pub use self::compensate::CompensateExecution;
pub use self::decide::{Approve, Reject, Revoke};
pub use self::expire::ExpirePlan;
pub use self::propose::{PLAN_BYTES_MAX, PROPOSALS_MAX, Propose};
pub(super) use self::resume::refuse_compensated;
pub use self::resume::{RESUMED_MAX, ResumeWorkflow};
use super::idempotency::stored_answer;
use super::{Answer, Code, Refusal};
use crate::decide::Decider;
use crate::decide::plans::PlanState;

/// Which workflow a request was about, as its caller reads it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WorkflowChanged {
    /// Its id.
    pub id: WorkflowId,
    /// Whether the request made it.
    pub created: bool,
}

impl Answer for WorkflowChanged {
    stored_answer!("workflow");
}

impl WorkflowChanged {
    fn of(plan: &PlanState) -> Self {
        Self {
            id: plan.id,
            created: false,
        }
    }
}

/// The refusal of something that a workflow is not in the status for.
fn conflict(plan: &PlanState, wanted: &str, needed: &str) -> Refusal {
    let (id, status) = (plan.id, plan.status.word());
    let detail = format!("workflow `{id}` is {status}; only one that is {needed} can be {wanted}");
    Refusal::new(Code::StatusConflict, detail)
}

/// How a workflow stands, for the audit.
fn plan_status(decider: &Decider<'_>, id: WorkflowId) -> Option<String> {
    let plan = decider.plan(id).ok()?;
    Some(plan.status.word().to_owned())
}

/// Refuses a caller without a role.
fn needs_role(caller: &Caller, role: Role) -> Result<(), Refusal> {
    if caller.may(role) {
        return Ok(());
    }
    let detail = format!("`{}` lacks the role `{role}`", caller.principal);
    Err(Refusal::new(Code::RoleMissing, detail))
}

/// Refuses a plan that goes beyond what the caller's token is narrowed to: every operation and subject of its steps and
/// compensations, and the workflows that were expanded.
fn refuse_beyond_scope(plan: &Plan, caller: &Caller) -> Result<(), Refusal> {
    let by = &caller.principal;
    let scopes = &caller.scopes;
    if *scopes != Scopes::default() && scopes.operations.is_none() && scopes.subjects.is_none() {
        let detail =
            format!("the token of `{by}` is narrowed to a scope without operations; use a token that covers it");
        return Err(Refusal::new(Code::ScopeMissing, detail));
    }
    let missing = |kind: ScopeKind, name: &str| {
        let member = kind.member();
        let detail =
            format!("the scope `{member}` of the token of `{by}` does not list `{name}`; use a token that covers it");
        Err(Refusal::new(Code::ScopeMissing, detail))
    };
    let expanded = plan.expanded.iter().map(|expanded| expanded.operation.as_str());
    for name in expanded.chain(actions_of(plan).map(|action| action.operation.as_str())) {
        if !scopes.covers(ScopeKind::Operation, name) {
            return missing(ScopeKind::Operation, name);
        }
    }
    for action in actions_of(plan) {
        match &action.subject {
            Some(subject) if !scopes.covers(ScopeKind::Subject, subject) => {
                return missing(ScopeKind::Subject, subject);
            }
            // What acts on no subject is covered only by its own name.
            None if scopes.subjects.is_some() && scopes.operations.is_none() => {
                return missing(ScopeKind::Operation, &action.operation);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What the steps of a plan do, and what takes it back.
fn actions_of(plan: &Plan) -> impl Iterator<Item = &StepAction> {
    let steps = plan.steps.iter();
    steps.flat_map(|step| std::iter::once(&step.action).chain(&step.compensation))
}

/// Whether a plan with this status has neither started nor ended.
fn is_undecided(status: WorkflowStatus) -> bool {
    status <= WorkflowStatus::AwaitingApproval
}
