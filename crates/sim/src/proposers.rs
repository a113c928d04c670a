//! Simulated people around operations: they publish, propose, approve, reject, revoke, cancel and resume.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::access::{Caller, Role};
use sprag_core::document::json::hex;
use sprag_core::document::source::Format;
use sprag_core::ids::WorkflowId;
use sprag_core::operation::approval::{Policy, Rule, Rules};
use sprag_core::operation::{WorkflowStatus, read_catalog};
use sprag_engine::requests::{ApplyCatalog, Approve, CancelWorkflow, Propose, Reject, ResumeWorkflow, Revoke};

use crate::ask::Request;
use crate::clients::{Ask, Purpose};
use crate::model::Model;
use crate::random::Random;

/// How many workflows may be open before nobody proposes more.
const OPEN_MAX: usize = 6;

/// What is published: one operation that needs approval and can be taken back, and one that needs none.
const CATALOG: &str = "
operation: easy
parameters: { n: { type: integer, required: true } }
action:
  type: call
  config: { n: '{{params.n}}' }
  timeout: 6s
  retryPolicy: { maxAttempts: 2, backoffStrategy: fixed, baseDelay: 800, maxDelay: 800 }
---
operation: risky
riskLevel: high
parameters: { n: { type: integer, required: true } }
action:
  type: call
  config: { n: '{{params.n}}' }
  timeout: 6s
  retryPolicy: { maxAttempts: 3, backoffStrategy: fixed, baseDelay: 900, maxDelay: 900 }
compensate: { operation: easy, params: { n: '{{params.n}}' } }
";

/// The people.
#[derive(Debug)]
pub(crate) struct Proposers {
    random: Random,
    proposed: u64,
}

impl Proposers {
    /// People, and the policy that they decide by.
    pub(crate) fn new(mut random: Random) -> (Self, Policy) {
        let mut limit = |least: u64, most: u64| random.chance(1, 2).then(|| random.between(least, most));
        let (decide_within, valid_for) = (limit(5_000, 60_000), limit(2_000, 60_000));
        let rule = Rule {
            quorum: 1 + u32::from(random.chance(1, 3)),
            ..Rules::default().low
        };
        let policy = Policy {
            rules: Rules {
                low: rule,
                medium: rule,
                high: rule,
                critical: rule,
            },
            decide_within,
            valid_for,
            ..Policy::default()
        };
        (Self { random, proposed: 0 }, policy)
    }

    /// They publish the catalog.
    pub(crate) fn begin() -> Ask {
        let documents = read_catalog(CATALOG, Format::Yaml, &()).documents;
        ask(Request::ApplyCatalog(ApplyCatalog {
            documents: Arc::new(documents),
            caller: caller("ada", Role::Author),
        }))
    }

    /// What one of them asks next.
    pub(crate) fn ask(&mut self, model: &mut Model) -> Option<Ask> {
        match self.random.below(24) {
            0..=4 => self.propose(model),
            5..=11 => self.approve(model),
            12..=14 => self.revoke(model),
            15 => self.reject(model),
            16 => self.cancel(model),
            17..=20 => self.resume(model),
            _ => None,
        }
    }

    fn propose(&mut self, model: &Model) -> Option<Ask> {
        let open = model.plans.values().filter(|known| known.row.status.is_open()).count();
        if open >= OPEN_MAX {
            return None;
        }
        self.proposed += 1;
        let n = self.proposed;
        let step = |name: &str, operation: &str| json!({ "name": name, "operation": operation, "params": { "n": n } });
        let workflow = |steps: Value| json!({ "name": "several", "reason": "a test", "steps": steps });
        let mut later = step("later", "risky");
        later["delay"] = "4s".into();
        let mut joined = step("joined", "risky");
        joined["dependsOn"] = json!(["left", "right"]);
        let mut beside = |name: &str, operation: &str| {
            let mut beside = step(name, operation);
            beside["dependsOn"] = json!([]);
            beside["continueOnError"] = self.random.chance(1, 3).into();
            beside
        };
        let sides = [beside("left", "risky"), beside("right", "easy")];
        let mut body = match self.random.below(6) {
            0 => json!({ "operation": "risky", "params": { "n": n }, "reason": "a test" }),
            1 => json!({ "operation": "easy", "params": { "n": n }, "reason": "a test", "delay": "3s" }),
            2 => workflow(json!([step("first", "risky"), step("second", "easy"), later])),
            3 => workflow(json!([step("first", "easy"), step("second", "easy")])),
            _ => workflow(json!([sides[0], sides[1], joined])),
        };
        if body.get("steps").is_some() && self.random.chance(1, 2) {
            body["onFailure"] = "compensate".into();
        }
        let caller = caller("ann", Role::Proposer);
        Some(ask(Request::Propose(Propose { body, caller })))
    }

    fn any(&mut self, model: &Model, wanted: &[WorkflowStatus]) -> Option<WorkflowId> {
        let found = model
            .plans
            .iter()
            .filter(|(_, known)| wanted.contains(&known.row.status));
        let found: Vec<WorkflowId> = found.map(|(&id, _)| id).collect();
        self.random.pick(&found).copied()
    }

    fn approve(&mut self, model: &mut Model) -> Option<Ask> {
        let id = self.any(model, &[WorkflowStatus::AwaitingApproval, WorkflowStatus::Failed])?;
        let by = *self.random.pick(&["bob", "bob", "cleo", "cleo", "dave", "ann"])?;
        let mut approval = approval(model, id, by)?;
        if self.random.chance(1, 12) {
            approval.digest = "0".repeat(64);
        }
        Some(ask(Request::Approve(approval)))
    }

    fn reject(&mut self, model: &Model) -> Option<Ask> {
        let id = self.any(model, &[WorkflowStatus::AwaitingApproval])?;
        let (comment, caller) = ("no".to_owned(), caller("bob", Role::Approver));
        Some(ask(Request::Reject(Reject { id, comment, caller })))
    }

    fn revoke(&mut self, model: &Model) -> Option<Ask> {
        let id = self.any(model, &[WorkflowStatus::InProgress, WorkflowStatus::Failed])?;
        let (comment, caller) = ("wrong".to_owned(), caller("cleo", Role::Approver));
        Some(ask(Request::Revoke(Revoke { id, comment, caller })))
    }

    fn cancel(&mut self, model: &Model) -> Option<Ask> {
        let wanted = [
            WorkflowStatus::AwaitingApproval,
            WorkflowStatus::InProgress,
            WorkflowStatus::Failed,
        ];
        let id = self.any(model, &wanted)?;
        Some(cancel(id))
    }

    fn resume(&mut self, model: &mut Model) -> Option<Ask> {
        let id = self.any(model, &[WorkflowStatus::Failed])?;
        Some(resume(model, id))
    }
}

/// The approval of a plan by somebody.
pub(crate) fn approval(model: &mut Model, id: WorkflowId, by: &str) -> Option<Approve> {
    let digest = hex(&model.plans.get(&id)?.row.digest);
    model.asked.approve.insert((id, by.to_owned()));
    Some(Approve {
        id,
        digest,
        comment: None,
        caller: caller(by, Role::Approver),
    })
}

/// Ends a workflow.
pub(crate) fn cancel(id: WorkflowId) -> Ask {
    let (reason, caller) = ("enough".to_owned(), caller("olga", Role::Operator));
    ask(Request::CancelWorkflow(CancelWorkflow { id, reason, caller }))
}

/// Continues a failed workflow with the dead letters of its steps.
pub(crate) fn resume(model: &mut Model, id: WorkflowId) -> Ask {
    let dead = model.dead_letters_of(id.execution());
    model.asked.retry_dead.extend(&dead);
    let (reason, caller) = ("again".to_owned(), caller("olga", Role::Operator));
    ask(Request::ResumeWorkflow(ResumeWorkflow {
        id,
        dead,
        reason,
        caller,
    }))
}

/// A request about a workflow.
pub(crate) fn ask(request: Request) -> Ask {
    Ask {
        request,
        purpose: Purpose::Workflow,
    }
}

fn caller(principal: &str, role: Role) -> Box<Caller> {
    Box::new(Caller {
        principal: principal.into(),
        roles: vec![role],
        ..Caller::local()
    })
}
