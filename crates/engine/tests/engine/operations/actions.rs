//! Actions of machines that people must approve: they pass the same gate as the steps of workflows.

use sprag_core::action::Action;
use sprag_core::operation::Risk;
use sprag_engine::jobs::RetryAll;
use sprag_engine::requests::{Archive, Cancel, Explain, Pause, Resume};
use sprag_wire::{Waiting, WaitingFor};

use super::*;

pub(super) const SHOP: &str = "
id: shop
variables: { to: bank, why: '' }
initial: idle
states:
  idle: { on: { ORDER: paying } }
  paying:
    on:
      LEAVE: idle
      done.pay: paid
      failed.pay: { target: refused, assign: { why: '{{event.error.type | default(\"cancelled\")}}' } }
  paid: {}
  refused: { on: { done.pay: paid } }
actions:
  - actionId: pay
    type: webhook
    triggerState: paying
    requiresApproval: true
    config: { to: '{{variables.to}}', auth: '{{secrets.key}} of {{variables.to}}' }
    retryPolicy: { maxAttempts: 2, baseDelay: 1h, maxDelay: 1h }
    timeout: 7s
";

pub(super) fn shop_with(text: &str, policy: Policy) -> (Rig, ExecutionId) {
    let mut rig = with_policy(policy);
    rig.apply(text);
    let id = rig.start("shop").id;
    rig.send(id, "ORDER").unwrap();
    (rig, id)
}

fn shop() -> (Rig, ExecutionId) {
    shop_with(SHOP, Policy::default())
}

pub(super) fn pay(rig: &Rig, execution: ExecutionId) -> Action {
    rig.action(execution, "pay")
}

pub(super) fn plan_of(rig: &Rig, execution: ExecutionId) -> WorkflowId {
    pay(rig, execution).id.into()
}

fn document(rig: &Rig, id: WorkflowId) -> Value {
    serde_json::from_slice(&plan(rig, id).document).unwrap()
}

fn waits_for(waiting: &Waiting) -> Option<(WaitingFor, String)> {
    match waiting {
        Waiting::Waiting { reason, object, .. } => Some((reason.clone(), object.clone())),
        _ => None,
    }
}

fn reject(rig: &mut Rig, id: WorkflowId) -> Result<WorkflowChanged, Refusal> {
    rig.ask(Reject {
        id,
        comment: "too dear".to_owned(),
        caller: approver("bob"),
    })
}

#[test]
fn an_action_that_nobody_approved_never_runs_and_says_what_it_waits_for() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    rig.advance(30 * DAY);
    rig.crash();
    rig.advance(DAY);
    assert_eq!(rig.started(), [""; 0]);
    assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    assert_eq!(pay(&rig, execution).status, Status::Queued);
    let explained = rig.act(Explain(id.action())).unwrap();
    let approval = Some((WaitingFor::Approval, id.to_string()));
    assert_eq!(waits_for(&explained.waiting), approval);
    let view = rig.control(Resume(execution)).unwrap();
    assert_eq!(waits_for(&view.waiting), approval);
}

#[test]
fn the_plan_holds_what_the_attempt_sends_and_no_secret() {
    let (rig, execution) = shop();
    let id = plan_of(&rig, execution);
    let plan = document(&rig, id);
    assert_eq!(plan["proposer"], "machine:shop");
    assert_eq!(plan["execution"], execution.to_string());
    assert_eq!(plan["riskLevel"], "high", "what asks for approval has a high risk");
    let step = &plan["steps"][0];
    assert_eq!(
        (&step["name"], &step["operation"], &step["version"]),
        (&json!("pay"), &json!("machine:shop"), &json!(1))
    );
    let action = &step["action"];
    assert_eq!(
        action["config"],
        json!({"to": "bank", "auth": "{{secrets.key}} of {{params[\"variables.to\"]}}"})
    );
    assert_eq!(step["params"], json!({"variables.to": "bank"}));
    assert_eq!(
        (&action["timeout"], &action["retryPolicy"]["maxAttempts"]),
        (&json!("7s"), &json!(2))
    );
    assert_eq!(step["permissions"], json!([{"scope": "secret", "object": "key"}]));
}

#[test]
fn an_approved_action_runs_and_its_retries_need_an_approval_that_stands() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started(), ["pay"]);
    assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    rig.finish("pay", Outcome::not_done("temporary_failure", "again"));
    revoke(&mut rig, id).unwrap();
    rig.advance(DAY);
    rig.crash();
    assert_eq!(pay(&rig, execution).attempts_made(), 1, "the retry does not run");
    assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(rig.started(), ["pay"]);
    rig.done("pay");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
    assert_eq!(rig.configuration(execution), ["paid"]);
}

#[test]
fn an_attempt_that_ends_after_the_approval_was_revoked_ends_its_plan() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    revoke(&mut rig, id).unwrap();
    rig.done("pay");
    assert_eq!(
        status(&rig, id),
        WorkflowStatus::Completed,
        "nothing waits for a decision"
    );
    assert_eq!(rig.configuration(execution), ["paid"]);
}

#[test]
fn a_rejected_action_and_one_that_nobody_decides_about_fail_for_their_machine() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    reject(&mut rig, id).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::Rejected);
    let action = pay(&rig, execution);
    assert_eq!(action.status, Status::Cancelled);
    let error = action.body.last_error.unwrap();
    assert_eq!(
        (error.kind.as_str(), error.message.as_str()),
        ("rejected", "`bob` rejected it: too dear")
    );
    assert_eq!(rig.configuration(execution), ["refused"]);
    assert_eq!(rig.variables(execution)["why"], "rejected");

    let within = Policy {
        decide_within: Some(HOUR),
        ..Policy::default()
    };
    let (mut rig, execution) = shop_with(SHOP, within);
    let id = plan_of(&rig, execution);
    rig.crash();
    rig.advance(2 * HOUR);
    assert_eq!(status(&rig, id), WorkflowStatus::Expired);
    assert_eq!(rig.variables(execution)["why"], "expired");
    assert_eq!(code(approve(&mut rig, id, "bob")), Code::ApprovalExpired);
    assert_eq!(rig.started(), [""; 0]);
}

#[test]
fn an_approval_that_is_over_before_the_action_begins_ends_it() {
    let text = SHOP.replace("timeout: 7s", "delay: 1h");
    let valid = Policy {
        valid_for: Some(HOUR),
        ..Policy::default()
    };
    let (mut rig, execution) = shop_with(&text, valid);
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started(), [""; 0], "it is not due yet");
    rig.control(Pause(execution)).unwrap();
    rig.advance(3 * HOUR);
    rig.control(Resume(execution)).unwrap();
    assert_eq!(rig.started(), [""; 0]);
    assert_eq!(status(&rig, id), WorkflowStatus::Expired);
    assert_eq!(rig.variables(execution)["why"], "expired");

    let (mut rig, execution) = shop_with(
        &text,
        Policy {
            valid_for: Some(HOUR),
            ..Policy::default()
        },
    );
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    rig.advance(HOUR);
    assert_eq!(rig.started(), ["pay"], "its time counts from when it is due");
}

#[test]
fn leaving_the_state_or_closing_the_execution_takes_the_question_back() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    rig.send(execution, "LEAVE").unwrap();
    assert_eq!(pay(&rig, execution).status, Status::Cancelled);
    assert_eq!(status(&rig, id), WorkflowStatus::Cancelled);
    assert_eq!(code(approve(&mut rig, id, "bob")), Code::StatusConflict);
    // The next visit asks anew, and a person answers about that one only.
    rig.send(execution, "ORDER").unwrap();
    let again = plan_of(&rig, execution);
    assert_ne!(again, id);
    assert_ne!(plan(&rig, again).digest, plan(&rig, id).digest);
    rig.control(Cancel(execution)).unwrap();
    assert_eq!(status(&rig, again), WorkflowStatus::Cancelled);

    let kept = SHOP.replace("timeout: 7s", "keepOnExit: true");
    let (mut rig, execution) = shop_with(&kept, Policy::default());
    let id = plan_of(&rig, execution);
    rig.send(execution, "LEAVE").unwrap();
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started(), ["pay"], "keepOnExit keeps the question too");
}

#[test]
fn a_dead_letter_of_an_approved_action_is_retried_as_it_is() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "pay");
    assert_eq!(status(&rig, id), WorkflowStatus::Failed);
    let dead = id.action();
    let patch = serde_json::from_value(json!([{"op": "replace", "path": "/timeout", "value": 9_000}])).unwrap();
    let changes = [
        RetryDead {
            config: Some(json!({"to": "thief"})),
            ..RetryDead::as_is(dead)
        },
        RetryDead {
            version: Some(1),
            ..RetryDead::as_is(dead)
        },
        RetryDead {
            patch,
            ..RetryDead::as_is(dead)
        },
    ];
    for change in changes {
        assert_eq!(code(rig.act(change)), Code::PlanChanged);
    }
    rig.crash();
    revoke(&mut rig, id).unwrap();
    assert_eq!(code(rig.act(RetryDead::as_is(dead))), Code::ApprovalMissing);
    rig.advance(1);
    approve(&mut rig, id, "cleo").unwrap();
    rig.act(RetryDead::as_is(dead)).unwrap();
    assert_eq!(rig.started(), ["pay"]);
    assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    rig.done("pay");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
    assert_eq!(rig.configuration(execution), ["paid"]);
}

#[test]
fn what_could_not_be_rendered_is_nothing_to_approve_and_nothing_to_retry() {
    let text = SHOP.replace("to: bank, ", "");
    let (mut rig, execution) = shop_with(&text, Policy::default());
    let dead = pay(&rig, execution);
    assert_eq!(dead.status, Status::Dead);
    let changed = RetryDead {
        config: Some(json!({"to": "thief"})),
        ..RetryDead::as_is(dead.id)
    };
    assert_eq!(code(rig.act(changed)), Code::PlanChanged);
    assert_eq!(code(rig.act(RetryDead::as_is(dead.id))), Code::ApprovalMissing);
    rig.act(Archive(dead.id)).unwrap();
    assert_eq!(rig.started(), [""; 0]);
}

#[test]
fn what_a_principal_ends_does_not_begin_again() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "pay");
    cancel(&mut rig, id).unwrap();
    assert_eq!(code(rig.act(RetryDead::as_is(id.action()))), Code::StatusConflict);
    assert_eq!(rig.started().len(), 1);

    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    rig.act(CancelAction(id.action())).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::Cancelled);
    assert_eq!(rig.configuration(execution), ["refused"]);
}

#[test]
fn the_policy_decides_about_an_action_that_only_names_its_risk() {
    for (risk, asks) in [(Risk::Medium, false), (Risk::High, true)] {
        let text = SHOP.replace("requiresApproval: true", &format!("riskLevel: {risk}"));
        let (rig, execution) = shop_with(&text, Policy::default());
        assert_eq!(rig.started().is_empty(), asks, "{risk}");
        assert_eq!(pay(&rig, execution).body.approval, asks);
        assert_eq!(rig.store.plan(plan_of(&rig, execution)).unwrap().is_some(), asks);
    }
}

#[test]
fn each_occurrence_of_a_schedule_is_approved_by_itself() {
    let text = SHOP.replace("timeout: 7s", "schedule: { cron: '0 * * * *', overlap: queue }");
    let (mut rig, execution) = shop_with(&text, Policy::default());
    rig.advance(2 * HOUR);
    let all = rig.actions(execution).remove("pay").unwrap();
    let ids: Vec<WorkflowId> = all.iter().map(|action| action.id.into()).collect();
    assert_eq!(ids.len(), 2);
    // The second is approved first, and still waits for the first.
    approve(&mut rig, ids[1], "bob").unwrap();
    assert_eq!(rig.started(), [""; 0]);
    reject(&mut rig, ids[0]).unwrap();
    assert_eq!(
        rig.started(),
        ["pay"],
        "it is due, although its state was left with the first end"
    );
    assert_eq!(status(&rig, ids[0]), WorkflowStatus::Rejected);
}

/// Every dead letter.
pub(super) fn all() -> RetryAll {
    RetryAll {
        filter: "type = \"webhook\"".to_owned(),
        ..RetryAll::default()
    }
}

#[test]
fn a_job_retries_approved_dead_letters_as_they_are_only() {
    let (mut rig, execution) = shop();
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "pay");
    let patch = serde_json::from_value(json!([{"op": "replace", "path": "/timeout", "value": 9_000}])).unwrap();
    let changes = [
        RetryAll {
            config: Some(json!({"to": "thief"})),
            ..all()
        },
        RetryAll {
            version: Some(1),
            ..all()
        },
        RetryAll { patch, ..all() },
    ];
    for change in changes {
        rig.ask(change).unwrap();
        rig.advance(HOUR);
        assert_eq!(rig.started(), ["pay"], "nothing but the approved attempt");
        assert_eq!(pay(&rig, execution).status, Status::Dead);
    }
    rig.ask(all()).unwrap();
    rig.advance(HOUR);
    assert_eq!(rig.started(), ["pay", "pay"]);
}
