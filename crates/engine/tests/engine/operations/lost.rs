//! Approvals that are lost and given again, and plans that are over: nothing of them runs, and nothing is left behind.

use super::*;

/// Two steps beside each other.
fn side_by_side() -> Value {
    json!({
        "name": "repair", "reason": "broken",
        "steps": [
            {"name": "left", "operation": "redis.drain", "params": {"node": "a"}, "dependsOn": []},
            {"name": "right", "operation": "redis.drain", "params": {"node": "b"}, "dependsOn": []},
        ],
    })
}

/// Two steps, of which the first is taken back if the second fails.
fn undone() -> Value {
    json!({
        "name": "repair", "reason": "broken", "onFailure": "compensate",
        "steps": [
            {"name": "first", "operation": "redis.undo", "params": {"node": "a"}},
            {"name": "second", "operation": "redis.info", "params": {"node": "b"}},
        ],
    })
}

fn again(rig: &mut Rig, action: &str) {
    rig.finish(action, Outcome::not_done("temporary_failure", "again"));
}

fn within_an_hour() -> Policy {
    Policy {
        decide_within: Some(HOUR),
        ..Policy::default()
    }
}

#[test]
fn steps_beside_a_failed_one_continue_once_the_plan_is_approved_again() {
    let mut rig = rig();
    let id = proposed(&mut rig, side_by_side());
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "left");
    again(&mut rig, "right");
    assert_eq!(status(&rig, id), WorkflowStatus::Failed);
    revoke(&mut rig, id).unwrap();
    rig.advance(DAY);
    assert_eq!(
        rig.started(),
        ["left", "right"],
        "no further attempt while it is revoked"
    );
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(rig.started(), ["left", "right", "right"]);
    rig.done("right");
    resume(&mut rig, id).unwrap();
    rig.done("left");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
}

#[test]
fn the_time_to_decide_counts_anew_once_an_approval_is_revoked() {
    let mut rig = with_policy(within_an_hour());
    let (id, other) = (proposed(&mut rig, two_steps()), proposed(&mut rig, drain("z")));
    approve(&mut rig, id, "bob").unwrap();
    approve(&mut rig, other, "bob").unwrap();
    rig.advance(5 * HOUR);
    revoke(&mut rig, id).unwrap();
    revoke(&mut rig, other).unwrap();
    rig.advance(HOUR / 2);
    approve(&mut rig, id, "cleo").unwrap();
    rig.done("first");
    assert!(rig.started().contains(&"second".to_owned()), "{:?}", rig.started());
    rig.advance(HOUR);
    assert_eq!(status(&rig, other), WorkflowStatus::Expired, "nobody decided again");
    assert_eq!(code(approve(&mut rig, other, "cleo")), Code::ApprovalExpired);
}

#[test]
fn a_plan_that_loses_its_approval_long_after_its_proposal_waits_and_does_not_expire() {
    let mut rig = with_policy(within_an_hour());
    let token = rig.ask(CreateToken(Box::new(bobs_token()))).unwrap().id;
    let id = proposed(&mut rig, drain("a"));
    let bob = Box::new(Caller {
        token: Some(token),
        ..*approver("bob")
    });
    let approval = approval(&rig, id, bob);
    rig.ask(approval).unwrap();
    rig.advance(5 * HOUR);
    let by = "test".to_owned();
    rig.ask(RevokeToken { id: token, by }).unwrap();
    again(&mut rig, "redis_drain");
    rig.advance(HOUR / 2);
    assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval);
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(rig.started(), ["redis_drain", "redis_drain"]);
}

#[test]
fn what_was_done_in_time_is_taken_back_at_any_time() {
    let policy = Policy {
        valid_for: Some(HOUR),
        ..Policy::default()
    };
    let mut rig = with_policy(policy);
    let id = proposed(&mut rig, undone());
    approve(&mut rig, id, "bob").unwrap();
    rig.done("first");
    rig.advance(2 * HOUR);
    fail(&mut rig, "second");
    assert_eq!(rig.started(), ["first", "second", "__undo_first"]);
    rig.done("__undo_first");
    assert_eq!(status(&rig, id), WorkflowStatus::Failed);
}

#[test]
fn a_workflow_whose_compensation_did_not_succeed_has_failed_until_somebody_retries_it() {
    let mut rig = rig();
    let id = proposed(&mut rig, undone());
    approve(&mut rig, id, "bob").unwrap();
    rig.done("first");
    fail(&mut rig, "second");
    assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    fail(&mut rig, "__undo_first");
    assert_eq!(status(&rig, id), WorkflowStatus::Failed, "it waits for a person");
    let dead = rig.action(id.execution(), "__undo_first").id;
    rig.act(RetryDead::as_is(dead)).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::InProgress);
    rig.act(CancelAction(dead)).unwrap();
    rig.finish("__undo_first", Outcome::unknown("timeout", "it was asked to stop"));
    assert_eq!(status(&rig, id), WorkflowStatus::Failed);
    cancel(&mut rig, id).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::Cancelled);
}

#[test]
fn a_step_that_was_compensated_for_is_not_retried() {
    let mut rig = rig();
    let id = proposed(&mut rig, undone());
    approve(&mut rig, id, "bob").unwrap();
    rig.done("first");
    fail(&mut rig, "second");
    let dead = rig.action(id.execution(), "second").id;
    assert_eq!(code(rig.act(RetryDead::as_is(dead))), Code::StatusConflict);
    rig.done("__undo_first");
    assert_eq!(code(rig.act(RetryDead::as_is(dead))), Code::StatusConflict);
    assert_eq!(rig.started(), ["first", "second", "__undo_first"]);
}

#[test]
fn the_dead_letters_of_a_workflow_that_was_ended_are_not_retried() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "redis_drain");
    cancel(&mut rig, id).unwrap();
    let dead = rig.action(id.execution(), "redis_drain").id;
    assert_eq!(code(rig.act(RetryDead::as_is(dead))), Code::StatusConflict);
    assert_eq!(code(resume(&mut rig, id)), Code::StatusConflict);
    rig.advance(DAY);
    assert_eq!(rig.started(), ["redis_drain"]);
}

#[test]
fn a_plan_takes_the_place_of_the_one_that_it_supersedes() {
    let mut rig = rig();
    let old = proposed(&mut rig, drain("a"));
    let with = |node: &str, old: &str| {
        let mut body = drain(node);
        body["supersedes"] = old.into();
        body
    };
    let new = proposed(&mut rig, with("b", &old.to_string()));
    assert_eq!(status(&rig, old), WorkflowStatus::Cancelled);
    assert_eq!(code(approve(&mut rig, old, "bob")), Code::StatusConflict);
    approve(&mut rig, new, "bob").unwrap();
    assert_eq!(rig.started(), ["redis_drain"]);
    for gone in [old, new] {
        let refused = propose(&mut rig, with("d", &gone.to_string()));
        assert_eq!(
            code(refused),
            Code::StatusConflict,
            "only one that nobody decided about"
        );
    }
    assert_eq!(code(propose(&mut rig, with("d", "nothing"))), Code::WorkflowUnknown);
    let theirs = proposed(&mut rig, drain("c"));
    let refused = rig.ask(Propose {
        body: with("d", &theirs.to_string()),
        caller: caller("eve", Role::Proposer),
    });
    assert_eq!(code(refused), Code::RoleMissing);
    assert_eq!(status(&rig, theirs), WorkflowStatus::AwaitingApproval);
}

#[test]
fn a_full_proposer_may_supersede_a_plan() {
    let mut rig = rig();
    let first = proposed(&mut rig, drain("0"));
    for node in 1..PROPOSALS_MAX {
        proposed(&mut rig, drain(&node.to_string()));
    }
    let mut body = drain("more");
    body["supersedes"] = first.to_string().into();
    proposed(&mut rig, body);
    assert_eq!(code(propose(&mut rig, drain("yet more"))), Code::ProposalsFull);
}

#[test]
fn a_step_that_comes_too_late_beside_a_failed_one_ends_the_plan() {
    let policy = Policy {
        valid_for: Some(HOUR),
        ..Policy::default()
    };
    let mut rig = with_policy(policy);
    let mut body = side_by_side();
    let steps = body["steps"].as_array_mut().unwrap();
    steps.push(json!({"name": "after", "operation": "redis.drain", "params": {"node": "c"}, "dependsOn": ["right"]}));
    let id = proposed(&mut rig, body);
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "left");
    rig.advance(2 * HOUR);
    rig.done("right");
    assert_eq!(rig.started(), ["left", "right"]);
    assert_eq!(status(&rig, id), WorkflowStatus::Expired);
    assert_eq!(rig.action_status(id.execution(), "after"), Status::Cancelled);
}

#[test]
fn a_failed_plan_whose_approval_was_revoked_is_approved_again_at_any_time() {
    let mut rig = with_policy(within_an_hour());
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "redis_drain");
    revoke(&mut rig, id).unwrap();
    rig.advance(DAY);
    assert_eq!(code(resume(&mut rig, id)), Code::ApprovalMissing);
    approve(&mut rig, id, "cleo").unwrap();
    resume(&mut rig, id).unwrap();
    rig.done("redis_drain");
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
}
