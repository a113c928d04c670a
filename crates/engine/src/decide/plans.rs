//! Plans in memory: what was proposed, and what has been decided about it.
//!
//! A plan that has started is kept with its execution, and one that is about an action with that; all others are found by
//! id. Whoever changes a plan puts it into the batch, so it is written with what follows from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sprag_core::action::Action;
use sprag_core::document::json;
use sprag_core::ids::WorkflowId;
use sprag_core::integrity::checksum::crc32;
use sprag_core::operation::approval::{ApprovalVerdict, Circumstances, Decisions, PlanRisk, Policy};
use sprag_core::operation::{
    IllegalWorkflowMove, Plan, PlanHead, TriggeredAction, WorkflowStatus, is_workflow_machine, machine_principal,
};
use sprag_core::time::{Timestamp, millis};
use sprag_store::records;

use super::state::ExecutionState;
use super::waiting::ApprovalNews;
use super::{Decider, Due, ExecutionChange};
use crate::queue::tokens::Tokens;
use crate::requests::{Code, Refusal};

/// How many notes a plan keeps; the oldest go first.
const NOTES_MAX: usize = 100;

/// A plan, with what has been decided about it.
#[derive(Clone, Debug)]
pub(crate) struct PlanState {
    pub(crate) id: WorkflowId,
    pub(crate) plan: Arc<Plan>,
    /// The canonical bytes of the plan: what people approve.
    document: Arc<[u8]>,
    pub(crate) digest: [u8; 32],
    pub(crate) content: [u8; 32],
    pub(crate) status: WorkflowStatus,
    pub(crate) updated_at: Timestamp,
    /// When it expires unless somebody decides before.
    pub(crate) decide_by: Option<Timestamp>,
    pub(crate) decided: Decided,
}

/// What has been decided about a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Decided {
    /// Approvals, rejection and revocation.
    pub(crate) decisions: Decisions,
    /// When it last began to wait for a person. A plan of an older version has none.
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub(crate) asked_at: Option<Timestamp>,
    /// When it expires unless somebody decides before.
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    decide_by: Option<Timestamp>,
    /// What was told of it since then.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) told: BTreeSet<ApprovalNews>,
    /// When its execution started.
    #[serde(with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    /// Whether it is about one action of a machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) of_action: bool,
    /// Everything that people did to it besides approving it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<DecisionNote>,
}

/// Something that a person did to a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DecisionNote {
    /// What: `rejected`, `revoked`, `cancelled`, `resumed`.
    pub(crate) what: String,
    /// The principal.
    pub(crate) by: String,
    /// When.
    #[serde(with = "millis")]
    pub(crate) at: Timestamp,
    /// Why.
    pub(crate) comment: String,
}

/// The stored form of what was decided.
#[derive(Serialize, Deserialize)]
struct Stored {
    decided: Value,
    /// Of the bytes of `decided`.
    checksum: u32,
}

/// A stored plan that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the stored plan `{id}` {why}")]
pub(crate) struct DamagedPlan {
    id: WorkflowId,
    why: String,
}

impl PlanState {
    /// A plan that is new. Its status is that of a plan that nobody looked at.
    pub(crate) fn new(id: WorkflowId, plan: Plan, now: Timestamp) -> Self {
        let document = plan.canonical();
        Self {
            id,
            digest: json::digest(&document),
            content: plan.fingerprint(),
            document: document.into(),
            plan: Arc::new(plan),
            status: WorkflowStatus::Pending,
            updated_at: now,
            decide_by: None,
            decided: Decided::default(),
        }
    }

    /// The plan of a stored row. Its document must be the one that was approved: the digest says so.
    pub(crate) fn read(row: records::Plan) -> Result<Self, DamagedPlan> {
        let records::Plan {
            id,
            digest,
            content,
            name: _,
            proposer: _,
            ticket: _,
            risk: _,
            urgency: _,
            created_at: _,
            document,
            status,
            updated_at,
            decide_by,
            body,
        } = row;
        let damaged = |why: String| DamagedPlan { id, why };
        if json::digest(&document) != digest {
            return Err(damaged("does not match its digest".to_owned()));
        }
        let plan = Plan::from_canonical(&document).map_err(|error| damaged(error.to_string()))?;
        let unread = |error: serde_json::Error| damaged(format!("cannot be read: {error}"));
        let Stored { decided, checksum } = serde_json::from_slice(&body).map_err(unread)?;
        if crc32(decided.to_string().as_bytes()) != checksum {
            return Err(damaged("does not match its checksum".to_owned()));
        }
        let decided: Decided = serde_json::from_value(decided).map_err(unread)?;
        Ok(Self {
            id,
            plan: Arc::new(plan),
            document: document.into(),
            digest,
            content,
            status,
            updated_at,
            // The column says when it is looked at next. Before there was anything else to look for, that was this.
            decide_by: decided.asked_at.map_or(decide_by, |_| decided.decide_by),
            decided,
        })
    }

    /// Its row.
    pub(crate) fn row(&self) -> records::Plan {
        let Plan {
            name,
            proposer,
            ticket,
            risk_level,
            urgency,
            proposed_at,
            ..
        } = self.plan.as_ref();
        let decided = Decided {
            decide_by: self.decide_by,
            ..self.decided.clone()
        };
        // Texts, numbers and lists always have a value.
        let decided = serde_json::to_value(decided).unwrap_or_default();
        let checksum = crc32(decided.to_string().as_bytes());
        records::Plan {
            id: self.id,
            digest: self.digest,
            content: self.content,
            name: name.clone(),
            proposer: proposer.clone(),
            ticket: ticket.clone(),
            risk: *risk_level as u8,
            urgency: *urgency as u8,
            created_at: *proposed_at,
            document: self.document.to_vec(),
            status: self.status,
            updated_at: self.updated_at,
            decide_by: self.look_at(),
            body: serde_json::to_vec(&Stored { decided, checksum }).unwrap_or_default(),
        }
    }

    /// The plan waits for a person from now on.
    pub(crate) fn ask_for_approval(&mut self, policy: &Policy, now: Timestamp) {
        self.status = WorkflowStatus::AwaitingApproval;
        self.updated_at = now;
        self.decide_by = policy.decide_within.map(|within| now.plus(within));
        self.decided.asked_at = Some(now);
        self.decided.told.clear();
    }

    /// Whether it has an execution.
    pub(crate) fn has_started(&self) -> bool {
        self.decided.started_at.is_some()
    }

    /// Whether something of it ran, or was free to.
    pub(crate) fn has_run(&self) -> bool {
        use WorkflowStatus::{Completed, Failed, InProgress};
        self.has_started() || matches!(self.status, InProgress | Completed | Failed)
    }

    /// Whether it is about one action of a machine.
    pub(crate) fn is_of_action(&self) -> bool {
        self.decided.of_action
    }

    /// Whether it may run, by the policy in force. `due` is when something was due that was put off.
    /// Approvals by tokens that were revoked since do not count.
    pub(crate) fn verdict(
        &self,
        policy: &Policy,
        tokens: &Tokens,
        now: Timestamp,
        due: Option<Timestamp>,
    ) -> ApprovalVerdict {
        let around = Circumstances {
            policy,
            now,
            due,
            is_token_revoked: &|token| tokens.is_revoked(token),
        };
        self.decided.decisions.verdict(&self.risk(), &around)
    }

    /// What its approvals are about. A plan that once waited for a person needs that decision under any later policy: a policy
    /// that asks for less neither runs it unseen nor leaves it without a way on.
    pub(crate) fn risk(&self) -> PlanRisk {
        let risk = PlanRisk::of(&self.plan);
        PlanRisk {
            asked_at: self.decided.asked_at.unwrap_or(risk.asked_at),
            declared: risk.declared || self.decided.asked_at.is_some(),
            ..risk
        }
    }

    /// Whether a person ended it, or time did.
    pub(crate) fn is_over(&self) -> bool {
        use WorkflowStatus::{Cancelled, Expired, Rejected};
        matches!(self.status, Cancelled | Rejected | Expired)
    }

    /// Roughly the bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        self.document.len() * 3 + size_of::<Self>()
    }

    /// Another status, if the lifecycle has an arrow to it.
    pub(crate) fn become_status(&mut self, status: WorkflowStatus, now: Timestamp) -> Result<(), IllegalWorkflowMove> {
        self.status = self.status.become_checked(status)?;
        self.updated_at = now;
        if status != WorkflowStatus::AwaitingApproval {
            self.decide_by = None;
        }
        Ok(())
    }

    /// Remembers what a person did.
    pub(crate) fn note(&mut self, what: &str, by: &str, comment: &str, at: Timestamp) {
        let notes = &mut self.decided.notes;
        if notes.len() >= NOTES_MAX {
            notes.remove(0);
        }
        notes.push(DecisionNote {
            what: what.to_owned(),
            by: by.to_owned(),
            at,
            comment: comment.to_owned(),
        });
        self.updated_at = at;
    }
}

/// The ids of the plans that belong to an execution: its own, and those of its actions that need approval.
pub(crate) fn plans_of(state: &ExecutionState) -> impl Iterator<Item = WorkflowId> + '_ {
    let own = is_workflow_machine(&state.head.machine).then(|| WorkflowId::from(state.head.id));
    let approved = state.open().filter(|action| action.body.approval);
    own.into_iter()
        .chain(approved.map(|action| WorkflowId::from(action.id)))
}

/// The plan of an action whose machine says how much can go wrong; none if the policy lets it begin.
pub(crate) fn plan_of_trigger(
    change: &ExecutionChange<'_, '_>,
    triggered: &TriggeredAction<'_>,
    action: &Action,
) -> Option<PlanState> {
    let definition = triggered.machine.actions.get(triggered.position)?;
    definition.risk?;
    let (rules, now, execution) = (change.decider.rules, change.now(), &change.state.head.id);
    let mut step = triggered.plan_step(&|kind, config| rules.types.permissions(kind, config))?;
    step.scheduled_at = (action.run_at > now).then_some(action.run_at);
    let machine = &triggered.machine.id;
    let id = WorkflowId::from(action.id);
    let head = PlanHead {
        id: id.to_string(),
        name: format!("{machine}/{}", action.action_id),
        description: definition.description.clone(),
        reason: format!("machine `{machine}` triggered `{}`", action.action_id),
        proposer: machine_principal(machine),
        execution: Some(execution.to_string()),
        now,
    };
    let mut plan = PlanState::new(id, Plan::of_steps(head, vec![step]), now);
    plan.decided.of_action = true;
    let policy = &rules.approval;
    let verdict = plan.verdict(policy, &change.decider.known.control.tokens, now, None);
    plan.ask_for_approval(policy, now);
    (verdict != ApprovalVerdict::NotNeeded).then_some(plan)
}

/// The plan that an action needs, if it needs one.
pub(crate) fn plan_of(action: &Action) -> Option<WorkflowId> {
    if is_workflow_machine(&action.origin.machine) {
        Some(action.origin.execution.into())
    } else {
        action.body.approval.then(|| action.id.into())
    }
}

impl Decider<'_> {
    /// A plan that the request declared, as of this batch.
    pub(crate) fn plan(&self, id: WorkflowId) -> Result<PlanState, Refusal> {
        if let Some(plan) = self.batch.plans.get(&id) {
            return Ok(plan.clone());
        }
        let execution = self.known.executions.get(id.execution());
        if let Some(plan) = execution.and_then(|state| state.plans.get(&id)) {
            return Ok(plan.clone());
        }
        let found = &self.known.found;
        if let Some(Some(plan)) = found.plans.get(&id) {
            return Ok(plan.clone());
        }
        Err(match found.damaged_plans.get(&id) {
            Some(detail) => Refusal::new(Code::RecordDamaged, detail.clone()),
            None => Refusal::new(Code::WorkflowUnknown, format!("there is no workflow `{id}`")),
        })
    }

    /// Writes a plan that no execution has.
    pub(crate) fn put_plan(&mut self, mut plan: PlanState) {
        let news = plan.tell(self.now());
        self.batch.news.extend(news.into_iter().map(|news| (plan.id, news)));
        if let Some(at) = plan.look_at() {
            self.batch.due.push((at, Due::Plan(plan.id)));
        }
        self.batch.plans.insert(plan.id, plan);
    }
}

impl ExecutionChange<'_, '_> {
    /// Finds the plan of an action that is not open any more.
    pub(crate) fn find_plan(&mut self, action: &Action) {
        let Some(id) = plan_of(action).filter(|id| !self.state.plans.contains_key(id)) else {
            return;
        };
        if let Ok(plan) = self.decider.plan(id) {
            self.state.plans.insert(id, plan);
        }
    }

    /// Writes a plan of this execution.
    pub(crate) fn put_plan(&mut self, plan: PlanState) {
        let id = plan.id;
        self.decider.put_plan(plan);
        let written = self.decider.batch.plans.get(&id).cloned();
        self.state.plans.extend(written.map(|plan| (id, plan)));
    }
}
