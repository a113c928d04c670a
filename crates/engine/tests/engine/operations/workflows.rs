//! Workflows over time: follow-ups, floods, cancelling, rejecting, crashes between steps.

use sprag_engine::jobs::RetryAll;
use sprag_engine::requests::{Call, Request};

use super::*;

fn later() -> Value {
    json!({
        "name": "check", "reason": "see",
        "steps": [
            {"name": "now", "operation": "redis.info", "params": {"node": "a"}},
            {"name": "later", "operation": "redis.info", "params": {"node": "b"}, "delay": "5m"},
        ],
    })
}

#[test]
fn a_follow_up_runs_when_it_is_due_also_if_the_server_was_down_then() {
    for down in [false, true] {
        let mut rig = rig();
        let id = proposed(&mut rig, later());
        rig.done("now");
        rig.advance(4 * 60_000);
        assert_eq!(rig.started(), ["now"], "what is due later waits");
        if down {
            rig.clock.advance_to(rig.now().plus(HOUR));
            rig.crash();
        } else {
            rig.crash();
            rig.advance(2 * 60_000);
        }
        assert_eq!(rig.started(), ["later"]);
        rig.done("later");
        assert_eq!(status(&rig, id), WorkflowStatus::Completed);
    }
}

#[test]
fn a_follow_up_that_nobody_approved_does_not_run_when_it_is_overdue() {
    let mut rig = rig();
    let at = rig.now().plus(HOUR).to_string();
    let body = json!({
        "operation": "redis.drain", "params": {"node": "a"}, "reason": "see", "scheduledAt": at,
    });
    let id = proposed(&mut rig, body);
    rig.advance(2 * HOUR);
    assert_eq!(
        (status(&rig, id), rig.started().len()),
        (WorkflowStatus::AwaitingApproval, 0)
    );
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(rig.started(), ["redis_drain"], "it is due by now");
}

#[test]
fn an_identical_open_plan_is_returned_and_a_flood_is_refused() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("0"));
    rig.advance(1_000);
    assert_eq!(
        propose(&mut rig, drain("0")).unwrap(),
        WorkflowChanged { id, created: false }
    );
    for node in 1..PROPOSALS_MAX {
        proposed(&mut rig, drain(&node.to_string()));
    }
    assert_eq!(code(propose(&mut rig, drain("more"))), Code::ProposalsFull);
    cancel(&mut rig, id).unwrap();
    proposed(&mut rig, drain("more"));
    assert_eq!(code(propose(&mut rig, drain("0"))), Code::ProposalsFull);
}

#[test]
fn cancelling_ends_the_workflow_with_every_step() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    let attempt = rig.job("first").attempt;
    cancel(&mut rig, id).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::Cancelled);
    assert_eq!(rig.script.lock().unwrap().cancelled, [attempt]);
    rig.done("first");
    rig.advance(DAY);
    assert_eq!(rig.started(), ["first"]);
    assert_eq!(status(&rig, id), WorkflowStatus::Cancelled);
    cancel(&mut rig, id).unwrap();
    assert_eq!(code(approve(&mut rig, id, "bob")), Code::StatusConflict);
}

#[test]
fn a_rejected_plan_is_over() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    let reject = |caller| Reject {
        id,
        comment: "no".to_owned(),
        caller,
    };
    assert_eq!(code(rig.ask(reject(operator()))), Code::RoleMissing);
    rig.ask(reject(approver("bob"))).unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::Rejected);
    assert_eq!(code(approve(&mut rig, id, "cleo")), Code::StatusConflict);
    assert_eq!(code(cancel(&mut rig, id)), Code::StatusConflict);
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 0);
}

#[test]
fn a_proposal_with_faults_stores_nothing() {
    let mut rig = rig();
    let body = json!({
        "name": "x", "reason": "y",
        "steps": [
            {"name": "a", "operation": "redis.nothing", "dependsOn": ["b"]},
            {"name": "b", "operation": "redis.drain", "dependsOn": ["a"]},
        ],
    });
    let refusal = propose(&mut rig, body).unwrap_err();
    assert_eq!(refusal.code, Code::DefinitionInvalid);
    assert!(refusal.errors.len() >= 2, "{:?}", refusal.errors);
    assert_eq!(rig.store.plans(&PlanQuery::default()).unwrap().rows, []);
}

#[test]
fn a_machine_that_was_made_of_a_plan_cannot_be_started_or_applied() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    let start = Start {
        machine: machine_name(&id.to_string()),
        ..Start::default()
    };
    assert_eq!(code(rig.start_with(start)), Code::MachineUnknown);
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn a_step_that_was_cancelled_by_hand_is_not_retried() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    rig.finish("redis_drain", Outcome::not_done("temporary_failure", "again"));
    let action = rig.action(id.execution(), "redis_drain").id;
    rig.act(CancelAction(action)).unwrap();
    rig.advance(DAY);
    assert_eq!(rig.started().len(), 1);
}

#[test]
fn a_version_that_makes_an_operation_weaker_needs_another_principal() {
    let mut rig = rig();
    let weaker = CATALOG.replace("riskLevel: high", "riskLevel: low");
    let applied = apply(&mut rig, &weaker).unwrap();
    let id = applied.workflow.expect("a plan to approve");
    assert_eq!(applied.documents, []);
    let drained = proposed(&mut rig, drain("a"));
    assert_eq!(
        status(&rig, drained),
        WorkflowStatus::AwaitingApproval,
        "the old version counts"
    );
    let own = approval(&rig, id, caller("ada", Role::Approver));
    assert_eq!(code(rig.ask(own)), Code::SelfApproval);
    approve(&mut rig, id, "bob").unwrap();
    assert_eq!(status(&rig, id), WorkflowStatus::Completed);
    let drained = proposed(&mut rig, drain("b"));
    assert_eq!(status(&rig, drained), WorkflowStatus::InProgress);
}

/// Runs the two steps to their end; after `crash_at` ticks of the process, it dies.
fn run_with_crash(crash_at: usize) -> (usize, Vec<String>, WorkflowStatus) {
    let mut rig = rig();
    // Both may be tried again: what became of an attempt whose process died is unknown.
    let steps = json!({
        "name": "repair", "reason": "broken",
        "steps": [
            {"name": "first", "operation": "redis.drain", "params": {"node": "a"}},
            {"name": "second", "operation": "redis.drain", "params": {"node": "b"}},
        ],
    });
    let id = proposed(&mut rig, steps);
    let mut ticks = 0;
    let mut tick = |rig: &mut Rig| {
        ticks += 1;
        if ticks == crash_at {
            rig.crash();
        }
    };
    tick(&mut rig);
    approve(&mut rig, id, "bob").unwrap();
    tick(&mut rig);
    let mut succeeded = Vec::new();
    for _ in 0..20 {
        if status(&rig, id) != WorkflowStatus::InProgress {
            break;
        }
        rig.advance(60_000);
        let running = rig.actions(id.execution()).into_values().flatten();
        let running = running.filter(|action| action.status == Status::Running);
        let names: Vec<String> = running.map(|action| action.action_id).collect();
        for name in names {
            tick(&mut rig);
            if rig.started().contains(&name) && rig.action_status(id.execution(), &name) == Status::Running {
                rig.done(&name);
                succeeded.push(name);
            }
            tick(&mut rig);
        }
    }
    (ticks, succeeded, status(&rig, id))
}

#[test]
fn a_crash_between_two_steps_neither_loses_nor_repeats_one() {
    let (ticks, succeeded, end) = run_with_crash(0);
    assert_eq!((succeeded.len(), end), (2, WorkflowStatus::Completed));
    for crash_at in 1..=ticks {
        let (_, succeeded, end) = run_with_crash(crash_at);
        assert_eq!(end, WorkflowStatus::Completed, "crash at {crash_at}");
        assert_eq!(succeeded, ["first", "second"], "crash at {crash_at}");
    }
}

/// The execution of a workflow has its id.
#[test]
fn the_execution_of_a_workflow_is_found_by_the_id_of_its_plan() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    let execution: ExecutionId = id.execution();
    assert_eq!(rig.row(execution).machine, machine_name(&id.to_string()));
}

#[test]
fn who_only_proposes_cannot_say_that_it_is_urgent() {
    let mut rig = rig();
    let urgent = |node: &str| {
        let mut body = drain(node);
        body["urgency"] = json!("now");
        body
    };
    assert_eq!(code(propose(&mut rig, urgent("a"))), Code::RoleMissing);
    let both = Box::new(Caller {
        roles: vec![Role::Proposer, Role::Operator],
        ..*proposer()
    });
    let body = urgent("b");
    rig.ask(Propose { body, caller: both }).unwrap();
    let mut soon = drain("c");
    soon["urgency"] = json!("soon");
    proposed(&mut rig, soon);
}

/// A principal with another token.
fn with_token(rig: &mut Rig, name: &str, number: u8) -> Box<Caller> {
    let plan = TokenPlan {
        name: format!("{name}-{number}"),
        principal: name.to_owned(),
        roles: vec![Role::Approver],
        scopes: Scopes::default(),
        max_risk: None,
        expires_at: None,
        hash: SecretHash::of(&[number; 32]),
        by: "test".to_owned(),
    };
    let token = rig.ask(CreateToken(Box::new(plan))).unwrap().id;
    Box::new(Caller {
        token: Some(token),
        ..*approver(name)
    })
}

#[test]
fn one_person_with_two_tokens_is_one_principal() {
    let mut rules = Policy::default();
    rules.rules.high.quorum = 2;
    let mut rig = with_policy(rules);
    let id = proposed(&mut rig, drain("a"));
    let ann = with_token(&mut rig, "ann", 9);
    let own = approval(&rig, id, ann);
    assert_eq!(
        code(rig.ask(own)),
        Code::SelfApproval,
        "another token is no other person"
    );
    for number in [1, 2] {
        let bob = with_token(&mut rig, "bob", number);
        let again = approval(&rig, id, bob);
        rig.ask(again).unwrap();
        assert_eq!(status(&rig, id), WorkflowStatus::AwaitingApproval, "one of two");
    }
    assert_eq!(rig.started(), [""; 0]);
    approve(&mut rig, id, "cleo").unwrap();
    assert_eq!(rig.started(), ["redis_drain"]);
}

fn command<R: Request>(call: Call<R>) -> Command {
    R::command(call)
}

#[test]
fn two_approvers_at_once_make_one_decision_and_both_are_audited() {
    let mut rig = rig();
    let id = proposed(&mut rig, drain("a"));
    let asked = |rig: &Rig, name: &str| {
        let request = approval(rig, id, approver(name));
        let caller = Arc::new(Caller::clone(&request.caller));
        let (call, answer) = Call::asked(request);
        (command(call.by(caller)), answer)
    };
    let ((first, mut one), (second, mut other)) = (asked(&rig, "bob"), asked(&rig, "cleo"));
    rig.tick(vec![first, second]);
    rig.run();
    assert!(one.try_recv().unwrap().answer.is_ok());
    assert_eq!(code(other.try_recv().unwrap().answer), Code::StatusConflict);
    assert_eq!(rig.started(), ["redis_drain"], "it runs once");
    let entries = rig.store.audit(None, &sprag_store::Page::first(100)).unwrap().rows;
    let mut told: Vec<(String, Option<String>)> = entries
        .into_iter()
        .filter(|entry| entry.decision.verb == "workflow.approve")
        .map(|entry| (entry.decision.principal, entry.decision.refused))
        .collect();
    told.sort();
    let refused = Some("status-conflict".to_owned());
    assert_eq!(told, [("bob".to_owned(), None), ("cleo".to_owned(), refused)]);
}

#[test]
fn a_job_does_not_change_what_was_approved() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "first");
    let patch = serde_json::from_value(json!([{"op": "replace", "path": "/timeout", "value": 9_000}])).unwrap();
    let changes = [
        RetryAll {
            config: Some(json!({"to": "thief"})),
            ..super::actions::all()
        },
        RetryAll {
            version: Some(1),
            ..super::actions::all()
        },
        RetryAll {
            patch,
            ..super::actions::all()
        },
    ];
    for change in changes {
        rig.ask(change).unwrap();
        rig.advance(HOUR);
        assert_eq!(rig.started(), ["first"]);
    }
    revoke(&mut rig, id).unwrap();
    rig.ask(super::actions::all()).unwrap();
    rig.advance(HOUR);
    assert_eq!(
        rig.started(),
        ["first"],
        "an approval that was revoked lets no job pass either"
    );
    approve(&mut rig, id, "cleo").unwrap();
    rig.ask(super::actions::all()).unwrap();
    rig.advance(HOUR);
    assert_eq!(rig.started(), ["first", "first"]);
}

#[test]
fn a_dead_letter_of_a_workflow_that_a_principal_ended_is_not_retried() {
    let mut rig = rig();
    let id = proposed(&mut rig, two_steps());
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "first");
    let dead = rig.action(id.execution(), "first").id;
    cancel(&mut rig, id).unwrap();
    assert_eq!(code(rig.act(RetryDead::as_is(dead))), Code::StatusConflict);
    assert_eq!(rig.started(), ["first"]);
}

#[test]
fn a_revoked_approval_has_its_time_to_decide_again() {
    let within = Policy {
        decide_within: Some(HOUR),
        ..Policy::default()
    };
    let mut rig = with_policy(within);
    let id = proposed(&mut rig, drain("a"));
    approve(&mut rig, id, "bob").unwrap();
    fail(&mut rig, "redis_drain");
    rig.advance(2 * HOUR);
    revoke(&mut rig, id).unwrap();
    rig.advance(HOUR / 2);
    approve(&mut rig, id, "cleo").unwrap();
    resume(&mut rig, id).unwrap();
    assert_eq!(rig.started().len(), 2);
}
