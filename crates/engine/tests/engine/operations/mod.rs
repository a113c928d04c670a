//! Operations: what nobody approved never runs, what was approved runs once, and what people decide counts once.

mod actions;
mod lost;
mod patience;
mod scopes;
mod workflows;

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::access::token::SecretHash;
use sprag_core::access::{Caller, Role, Scopes};
use sprag_core::action::{Outcome, Status};
use sprag_core::document::json::hex;
use sprag_core::document::source::Format;
use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::operation::approval::Policy;
use sprag_core::operation::{WorkflowStatus, machine_name, read_catalog};
use sprag_engine::Options;
use sprag_engine::requests::operations::{CatalogApplied, PROPOSALS_MAX, WorkflowChanged};
use sprag_engine::requests::{
    ApplyCatalog, Approve, CancelAction, CancelWorkflow, Code, Command, CreateToken, Propose, Refusal, Reject,
    ResumeWorkflow, RetryDead, RetryNow, Revoke, RevokeToken, Start, TokenPlan,
};
use sprag_store::records::Plan;
use sprag_store::traits::{PlanQuery, Reader};

use crate::rig::{Rig, code};

const MACHINE: &str = "
id: idle
initial: a
states: { a: {} }
";

const CATALOG: &str = "
subject: redis
description: The cache
---
operation: redis.info
kind: subject
subject: redis
riskLevel: low
parameters: { node: { type: string, required: true } }
action: { type: webhook, config: { to: '{{params.node}}' }, retryPolicy: { maxAttempts: 1 } }
---
operation: redis.drain
kind: subject
subject: redis
riskLevel: high
parameters: { node: { type: string, required: true } }
action: { type: webhook, config: { to: '{{params.node}}' }, retryPolicy: { maxAttempts: 3 } }
---
operation: redis.undo
kind: subject
subject: redis
riskLevel: high
parameters: { node: { type: string, required: true } }
action: { type: webhook, config: { to: '{{params.node}}' }, retryPolicy: { maxAttempts: 1 } }
compensate: { operation: redis.info, params: { node: '{{params.node}}' } }
";

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn caller(principal: &str, role: Role) -> Box<Caller> {
    Box::new(Caller {
        principal: principal.into(),
        roles: vec![role],
        ..Caller::local()
    })
}

fn proposer() -> Box<Caller> {
    caller("ann", Role::Proposer)
}

fn approver(name: &str) -> Box<Caller> {
    caller(name, Role::Approver)
}

fn operator() -> Box<Caller> {
    caller("olga", Role::Operator)
}

fn apply(rig: &mut Rig, text: &str) -> Result<CatalogApplied, Refusal> {
    let file = read_catalog(text, Format::Yaml, &());
    assert!(file.is_sound(), "{:#?}", file.findings);
    rig.ask(ApplyCatalog {
        documents: Arc::new(file.documents),
        caller: caller("ada", Role::Author),
    })
}

fn with_policy(approval: Policy) -> Rig {
    let options = Options {
        approval,
        ..Options::default()
    };
    let mut rig = Rig::with_options(MACHINE, options);
    apply(&mut rig, CATALOG).unwrap();
    rig
}

fn rig() -> Rig {
    with_policy(Policy::default())
}

fn bobs_token() -> TokenPlan {
    TokenPlan {
        name: "bob".to_owned(),
        principal: "bob".to_owned(),
        roles: vec![Role::Approver],
        scopes: Scopes::default(),
        max_risk: None,
        expires_at: None,
        hash: SecretHash::of(&[7; 32]),
        by: "test".to_owned(),
    }
}

fn propose(rig: &mut Rig, body: Value) -> Result<WorkflowChanged, Refusal> {
    rig.ask(Propose {
        body,
        caller: proposer(),
    })
}

fn drain(node: &str) -> Value {
    json!({"operation": "redis.drain", "params": {"node": node}, "reason": "maintenance"})
}

fn proposed(rig: &mut Rig, body: Value) -> WorkflowId {
    let changed = propose(rig, body).unwrap();
    assert!(changed.created);
    changed.id
}

fn plan(rig: &Rig, id: WorkflowId) -> Plan {
    rig.store.plan(id).unwrap().expect("a stored plan")
}

fn status(rig: &Rig, id: WorkflowId) -> WorkflowStatus {
    plan(rig, id).status
}

fn approval(rig: &Rig, id: WorkflowId, caller: Box<Caller>) -> Approve {
    Approve {
        id,
        digest: hex(&plan(rig, id).digest),
        comment: None,
        caller,
    }
}

fn approve(rig: &mut Rig, id: WorkflowId, name: &str) -> Result<WorkflowChanged, Refusal> {
    let approval = approval(rig, id, approver(name));
    rig.ask(approval)
}

fn revoke(rig: &mut Rig, id: WorkflowId) -> Result<WorkflowChanged, Refusal> {
    rig.ask(Revoke {
        id,
        comment: "wrong node".to_owned(),
        caller: approver("bob"),
    })
}

fn cancel(rig: &mut Rig, id: WorkflowId) -> Result<WorkflowChanged, Refusal> {
    rig.ask(CancelWorkflow {
        id,
        reason: "not needed".to_owned(),
        caller: operator(),
    })
}

fn resume(rig: &mut Rig, id: WorkflowId) -> Result<WorkflowChanged, Refusal> {
    let dead = rig.actions(id.execution()).into_values().flatten();
    let dead = dead
        .filter(|action| action.status == Status::Dead)
        .map(|action| action.id)
        .collect();
    rig.ask(ResumeWorkflow {
        id,
        dead,
        reason: "fixed".to_owned(),
        caller: operator(),
    })
}

fn fail(rig: &mut Rig, action: &str) {
    rig.finish(action, Outcome::not_done("not_found", "nobody there"));
}

/// Two steps, the second after the first.
fn two_steps() -> Value {
    json!({
        "name": "repair", "reason": "broken",
        "steps": [
            {"name": "first", "operation": "redis.drain", "params": {"node": "a"}},
            {"name": "second", "operation": "redis.info", "params": {"node": "b"}},
        ],
    })
}

#[test]
fn an_operation_of_low_risk_runs_at_once_and_is_over_when_its_action_is() {
    let mut rig = rig();
    let id = proposed(
        &mut rig,
        json!({"operation": "redis.info", "params": {"node": "a"}, "reason": "look"}),
    );
    assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    let job = rig.job("redis_info");
    assert_eq!(job.config.config, json!({"to": "a"}));
    let action = rig.stored_action(job.attempt.action);
    assert_eq!(action.tags, ["operation:redis.info", "subject:redis"]);
    rig.done("redis_info");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
}

#[test]
fn what_nobody_approved_never_runs() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    rig.advance(30 * DAY);
    rig.crash();
    rig.advance(DAY);
    assert_eq!(rig.started(), [""; 0]);
    assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    assert!(
        rig.store.execution(id.execution()).unwrap().is_none(),
        "there is nothing to run"
    );
}

#[test]
fn one_step_that_needs_approval_makes_the_whole_plan_need_it() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    rig.advance(DAY);
    assert_eq!(
        (status(&rig, id), rig.started().len()),
        (WorkflowStatus::AwaitingApproval, 0)
    );
}

#[test]
fn an_approved_plan_runs_step_by_step() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started(), ["first"]);
    rig.done("first");
    assert_eq!(rig.started(), ["first", "second"]);
    rig.done("second");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
}

#[test]
fn of_two_approvers_at_once_one_decides() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    let (first, mut one) = Command::asked(approval(&rig, id, approver("bob")));
    let (second, mut other) = Command::asked(approval(&rig, id, approver("cleo")));
    rig.tick(vec![first, second]);
    rig.run();
    assert!(one.try_recv().unwrap().answer.is_ok());
    assert_eq!(code(other.try_recv().unwrap().answer), Code::StatusConflict);
    assert_eq!(rig.started().len(), 1, "it runs once");
}

#[test]
fn who_may_not_approve_does_not() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    let own = approval(&rig, id, caller("ann", Role::Approver));
    assert_eq!(code(rig.ask(own)), Code::SelfApproval);
    let low = approval(&rig, id, operator());
    assert_eq!(code(rig.ask(low)), Code::RoleMissing);
    let other = Approve {
        digest: "0".repeat(64),
        ..approval(&rig, id, approver("bob"))
    };
    assert_eq!(code(rig.ask(other)), Code::PlanChanged);
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 0);
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn a_plan_that_nobody_decides_about_expires_and_cannot_be_approved_any_more() {
    let policy = Policy {
        decide_within: Some(HOUR),
        ..Policy::default()
    };
    let mut rig = with_policy(policy);
    let (late, crashed) = (proposed(&mut rig, drain("a")), proposed(&mut rig, drain("b")));
    rig.advance(HOUR / 2);
    rig.crash();
    rig.advance(HOUR);
    for id in [late, crashed] {
        assert_eq!(status(&rig, id), WorkflowStatus::Expired);
        assert_eq!(code(approve(&mut rig, id, "bob")), Code::ApprovalExpired);
    }
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 0);
}

#[test]
fn steps_begin_within_the_time_that_an_approval_holds() {
    let policy = Policy {
        valid_for: Some(HOUR),
        ..Policy::default()
    };
    let mut rig = with_policy(policy);
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    rig.advance(2 * HOUR);
    rig.done("first");
    assert_eq!(rig.started(), ["first"], "the second step comes too late");
    assert_eq!(status(&rig, id), WorkflowStatus::Expired);
    assert_eq!(rig.action_status(id.execution(), "second"), Status::Cancelled);
}

#[test]
fn a_retry_does_not_run_once_its_approval_is_revoked() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    rig.finish("redis_drain", Outcome::not_done("temporary_failure", "again"));
    assert_eq!(rig.started().len(), 1);
    revoke(&mut rig, id).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    let action = rig.action(id.execution(), "redis_drain").id;
    assert_eq!(code(rig.act(RetryNow(action))), Code::ApprovalMissing);
    rig.advance(DAY);
    rig.crash();
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 0, "no attempt started since the crash");
    assert_eq!(rig.action(id.execution(), "redis_drain").attempts_made(), 1);
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(rig.started(), ["redis_drain"]);
    rig.done("redis_drain");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
}

#[test]
fn an_approval_by_a_token_that_was_revoked_since_does_not_count_for_retries() {
    let mut rig = rig();
    let token = rig.ask(CreateToken(Box::new(bobs_token()))).unwrap().id;
    let id = proposed(&mut rig, drain("a"));
    let bob = Box::new(Caller {
        token: Some(token),
        ..*approver("bob")
    });
    let approval = approval(&rig, id, bob);
    rig.ask(approval).unwrap();
    assert_eq!(rig.started(), ["redis_drain"]);
    let by = "test".to_owned();
    rig.ask(RevokeToken { id: token, by }).unwrap();
    rig.finish("redis_drain", Outcome::not_done("temporary_failure", "again"));
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 1, "no further attempt starts");
}

#[test]
fn a_failed_workflow_continues_from_the_step_that_failed() {
    let mut rig = rig();
    let steps = json!({
        "name": "repair", "reason": "broken",
        "steps": [
            {"name": "first", "operation": "redis.info", "params": {"node": "a"}},
            {"name": "second", "operation": "redis.info", "params": {"node": "b"}},
            {"name": "third", "operation": "redis.info", "params": {"node": "c"}},
        ],
    });
    let id = proposed(&mut rig, steps);
    rig.done("first");
    fail(&mut rig, "second");
    assert_eq!(status(&rig, id), WorkflowStatus::Failed);
    rig.crash();
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 0);
    resume(&mut rig, id).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    assert_eq!(rig.started(), ["second"], "the first step does not run again");
    rig.done("second");
    rig.done("third");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
    assert_eq!(code(resume(&mut rig, id)), Code::StatusConflict);
}

#[test]
fn retrying_the_dead_letter_of_a_step_continues_its_workflow_and_cannot_change_it() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "first");
    let dead = rig.action(id.execution(), "first").id;
    let changes = [
        RetryDead {
            config: Some(json!({"to": "other"})),
            ..RetryDead::as_is(dead)
        },
        RetryDead {
            version: Some(1),
            ..RetryDead::as_is(dead)
        },
    ];
    for change in changes {
        assert_eq!(code(rig.act(change)), Code::PlanChanged);
    }
    revoke(&mut rig, id).unwrap();
    assert_eq!(code(rig.act(RetryDead::as_is(dead))), Code::ApprovalMissing);
    assert_eq!(code(resume(&mut rig, id)), Code::ApprovalMissing);
    rig.advance(1);
    approve(&mut rig, id, "cleo").unwrap();
    resume(&mut rig, id).unwrap();
    assert_eq!(rig.started(), ["first", "first"]);
}

#[test]
fn what_completed_steps_did_is_taken_back_and_not_resumed() {
    let mut rig = rig();
    let steps = json!({
        "name": "repair", "reason": "broken", "onFailure": "compensate",
        "steps": [
            {"name": "first", "operation": "redis.undo", "params": {"node": "a"}},
            {"name": "second", "operation": "redis.info", "params": {"node": "b"}},
        ],
    });
    let id = proposed(&mut rig, steps);
    approve(&mut rig, id, "bob").unwrap();
    rig.done("first");
    fail(&mut rig, "second");
    assert_eq!(rig.started(), ["first", "second", "__undo_first"]);
    rig.done("__undo_first");
    assert_eq!(status(&rig, id), WorkflowStatus::Failed);
    assert_eq!(code(resume(&mut rig, id)), Code::StatusConflict);
}
