//! Plans that wait for approval while policies change, deadlines pass, follow-ups come due, or a backup is restored.

use sprag_core::operation::Approvals;
use sprag_core::operation::approval::{ApproverRole, Rule};
use sprag_engine::queue::control::{Mode, Scope};
use sprag_engine::read::restored::{Hold, hold};
use sprag_engine::requests::{Pause, Resume, SwitchOn};

use super::actions::{SHOP, pay, plan_of, shop_with};
use super::*;

/// Nothing needs approval under it but what declares that.
fn relaxed() -> Policy {
    Policy {
        mode: Approvals::Declared,
        ..Policy::default()
    }
}

fn valid_for_an_hour() -> Policy {
    Policy {
        valid_for: Some(HOUR),
        ..Policy::default()
    }
}

/// The process dies, and the next one has another policy.
fn crash_into(rig: &mut Rig, approval: Policy) {
    rig.options.approval = approval;
    rig.crash();
}

fn restore(rig: &mut Rig, approval: &Policy) {
    let now = rig.now();
    let held = Hold {
        now,
        entropy: 7,
        by: "restore",
        shards: 1,
        approval,
    };
    hold(&mut rig.store, held).unwrap();
}

#[test]
fn a_plan_that_waits_needs_its_approval_under_a_later_policy_and_can_get_it() {
    let (mut rig, execution) = shop_with(
        &SHOP.replace("requiresApproval: true", "riskLevel: high"),
        Policy::default(),
    );
    let (action, workflow) = (plan_of(&rig, execution), proposed(&mut rig, drain("a")));
    crash_into(&mut rig, relaxed());
    rig.advance(DAY);
    assert_eq!(
        rig.started(),
        [""; 0],
        "a policy that asks for less runs nothing unseen"
    );
    for id in [action, workflow] {
        assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
        let own = approval(&rig, id, operator());
        assert_eq!(code(rig.ask(own)), Code::RoleMissing);
        approve(&mut rig, id, "bob").unwrap();
        assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    }
    assert_eq!(rig.started(), ["pay", "redis_drain"]);
    // What did not wait then does not wait now.
    proposed(&mut rig, drain("b"));
    assert_eq!(rig.started().len(), 3);
}

#[test]
fn a_stricter_policy_holds_for_what_was_approved_and_has_not_begun() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    let rule = Rule {
        quorum: 2,
        role: ApproverRole::Approver,
    };
    let mut two = Policy::default();
    two.rules.high = rule;
    rig.finish("first", Outcome::not_done("temporary_failure", "again"));
    crash_into(&mut rig, two);
    rig.advance(DAY);
    assert_eq!(rig.started(), [""; 0], "a second principal must approve");
    assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(rig.started(), ["first"]);
}

#[test]
fn the_time_in_which_an_action_waits_for_approval_does_not_count_for_its_deadline() {
    let text = SHOP.replace("timeout: 7s", "deadline: 2h");
    let (mut rig, execution) = shop_with(&text, Policy::default());
    let id = plan_of(&rig, execution);
    rig.advance(3 * HOUR);
    rig.crash();
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started(), ["pay"], "two hours are left");
    rig.finish("pay", Outcome::not_done("temporary_failure", "again"));
    revoke(&mut rig, id).unwrap();
    rig.advance(5 * HOUR);
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(
        rig.started(),
        ["pay", "pay"],
        "nor does the time until it is approved again"
    );
    rig.finish("pay", Outcome::not_done("temporary_failure", "again"));
    assert_eq!(pay(&rig, execution).status, Status::Dead);

    let (mut rig, execution) = shop_with(&text, Policy::default());
    let id = plan_of(&rig, execution);
    rig.control(Pause(execution)).unwrap();
    rig.advance(HOUR);
    approve(&mut rig, id, "bob").unwrap();
    rig.advance(3 * HOUR);
    rig.control(Resume(execution)).unwrap();
    assert_eq!(rig.started(), [""; 0], "all other time counts");
    assert_eq!(pay(&rig, execution).status, Status::Dead);
}

#[test]
fn a_step_after_a_follow_up_counts_its_time_to_begin_from_its_own_due_time() {
    let body = json!({
        "name": "repair", "reason": "broken",
        "steps": [
            {"name": "first", "operation": "redis.drain", "params": {"node": "a"}, "delay": "3h"},
            {"name": "second", "operation": "redis.info", "params": {"node": "b"}},
            {"name": "third", "operation": "redis.info", "params": {"node": "c"}},
        ],
    });
    let mut rig = with_policy(valid_for_an_hour());
    let id = proposed(&mut rig, body);
    approve(&mut rig, id, "bob").unwrap();
    rig.advance(3 * HOUR);
    rig.done("first");
    assert_eq!(rig.started(), ["first", "second"]);
    rig.advance(2 * HOUR);
    let switch = SwitchOn {
        scope: Scope::All,
        mode: Mode::Hold,
        reason: "a test".to_owned(),
        by: "test".to_owned(),
        lasts: Some(2 * HOUR),
    };
    rig.ask(switch).unwrap();
    rig.done("second");
    rig.advance(3 * HOUR);
    assert_eq!(
        rig.started(),
        ["first", "second"],
        "the third was due for longer than an hour"
    );
    assert_eq!(status(&rig, id), WorkflowStatus::Expired);
}

#[test]
fn a_restore_asks_again_about_what_was_approved_and_gives_the_whole_time_to_decide() {
    let within = Policy {
        decide_within: Some(HOUR),
        ..Policy::default()
    };
    let mut rig = with_policy(Policy::default());
    let (runs, failed) = (proposed(&mut rig, two_steps()), proposed(&mut rig, drain("f")));
    for id in [runs, failed] {
        approve(&mut rig, id, "bob").unwrap();
    }
    fail(&mut rig, "redis_drain");
    rig.finish("first", Outcome::not_done("temporary_failure", "again"));
    let waits = proposed(&mut rig, drain("w"));
    rig.advance(30 * DAY);
    restore(&mut rig, &within);
    crash_into(&mut rig, within);
    rig.advance(HOUR / 2);
    for id in [runs, waits] {
        assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    }
    assert_eq!(status(&rig, failed), WorkflowStatus::Failed);
    assert_eq!(code(resume(&mut rig, failed)), Code::ApprovalMissing);
    for id in [runs, waits, failed] {
        approve(&mut rig, id, "cleo").unwrap();
    }
    resume(&mut rig, failed).unwrap();
    assert_eq!(status(&rig, runs), WorkflowStatus::InProgress);
    assert_eq!(rig.started(), [""; 0], "the switch holds all of it");
}

#[test]
fn an_action_with_a_later_due_time_counts_its_time_to_begin_from_there() {
    let text = SHOP.replace("timeout: 7s", "delay: 5h");
    let (mut rig, execution) = shop_with(&text, valid_for_an_hour());
    let id = plan_of(&rig, execution);
    approve(&mut rig, id, "bob").unwrap();
    rig.advance(5 * HOUR);
    assert_eq!(rig.started(), ["pay"]);
}

#[test]
fn a_dead_letter_that_never_began_is_not_retried_once_its_approval_is_over() {
    let text = SHOP.replace("timeout: 7s", "deadline: 2h");
    let valid = Policy {
        valid_for: Some(5 * HOUR),
        ..Policy::default()
    };
    let (mut rig, execution) = shop_with(&text, valid);
    let id = plan_of(&rig, execution);
    rig.control(Pause(execution)).unwrap();
    approve(&mut rig, id, "bob").unwrap();
    rig.advance(3 * HOUR);
    rig.control(Resume(execution)).unwrap();
    assert_eq!(pay(&rig, execution).status, Status::Dead, "its deadline has passed");
    rig.advance(3 * HOUR);
    assert_eq!(code(rig.act(RetryDead::as_is(id.action()))), Code::ApprovalExpired);
    assert_eq!(rig.started(), [""; 0]);
}

#[test]
fn only_approvers_revoke_and_only_operators_resume() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    for caller in [proposer(), operator()] {
        let comment = "wrong node".to_owned();
        assert_eq!(code(rig.ask(Revoke { id, comment, caller })), Code::RoleMissing);
    }
    fail(&mut rig, "redis_drain");
    for caller in [proposer(), approver("bob")] {
        let request = ResumeWorkflow {
            id,
            dead: vec![rig.action(id.execution(), "redis_drain").id],
            reason: "fixed".to_owned(),
            caller,
        };
        assert_eq!(code(rig.ask(request)), Code::RoleMissing);
    }
    assert_eq!(rig.started(), ["redis_drain"]);
}

#[test]
fn a_switch_over_an_operation_a_subject_or_a_tag_holds_the_steps_in_its_scope_only() {
    const TAGGED: &str = "
operation: night.look
riskLevel: low
tags: [night]
parameters: { node: { type: string, required: true } }
action: { type: webhook, config: { to: '{{params.node}}' } }
";
    let look = |operation: &str| json!({"operation": operation, "params": {"node": "a"}, "reason": "look"});
    for (scope, held, free) in [
        ("operation:redis.info", "redis.info", "night.look"),
        ("subject:redis", "redis.info", "night.look"),
        ("tag:night", "night.look", "redis.info"),
    ] {
        let mut rig = rig();
        apply(&mut rig, TAGGED).unwrap();
        let switch = SwitchOn {
            scope: scope.parse().unwrap(),
            mode: Mode::Hold,
            reason: "a test".to_owned(),
            by: "test".to_owned(),
            lasts: Some(HOUR),
        };
        rig.ask(switch).unwrap();
        proposed(&mut rig, look(held));
        proposed(&mut rig, look(free));
        assert_eq!(rig.started(), [free.replace('.', "_")], "{scope}");
        rig.crash();
        rig.advance(2 * HOUR);
        assert!(rig.started().contains(&held.replace('.', "_")), "{scope} has expired");
    }
}
