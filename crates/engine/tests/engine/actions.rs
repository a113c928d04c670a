//! Actions: triggers, visits, retries, cancellation, dead letters.

use serde_json::{Value, json};
use sprag_core::action::{Failure, Outcome, Remark, Status, Verdict};
use sprag_core::machine::SkipReason;
use sprag_engine::convert::Entry;
use sprag_engine::requests::{Archive, CancelAction, Code, RetryDead, RetryNow};
use sprag_store::records::ExecutionStatus;

use crate::rig::{Rig, code};

/// One state with one action, and what the text adds to the action.
fn worker(extra: &str) -> String {
    format!(
        r"
id: m
variables: {{ sent: 0, failed: 0 }}
initial: work
states:
  work:
    on:
      done.send: {{ target: ok, assign: {{ answer: '{{{{event.result}}}}' }} }}
      failed.send: broken
      LEAVE: aside
      AGAIN: {{ target: work, reenter: true }}
  ok: {{}}
  broken: {{ on: {{ done.send: ok }} }}
  aside: {{ on: {{ done.send: ok, failed.send: broken, BACK: work }} }}
actions:
  - actionId: send
    type: webhook
    triggerState: work
    config: {{ url: 'https://example.com', n: '{{{{variables.sent}}}}' }}
    retryPolicy: {{ jitter: false, maxAttempts: 3, baseDelay: 1000 }}
    {extra}
"
    )
}

fn refused(error: &str) -> Outcome {
    Outcome::not_done(error, "it did not work")
}

#[test]
fn entering_a_state_triggers_its_action_and_the_result_comes_back_as_an_event() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    let action = rig.action(id, "send");
    assert_eq!(action.status, Status::Running);
    assert_eq!(
        action.body.attempts.len(),
        1,
        "the attempt is durable before the job starts"
    );
    assert_eq!(rig.job("send").attempt.attempt, action.body.attempts[0].id);
    rig.finish("send", Outcome::done(json!({ "id": 7 })));
    assert_eq!(rig.configuration(id), ["ok"]);
    assert_eq!(rig.variables(id)["answer"], json!({ "id": 7 }));
    assert_eq!(rig.action_status(id, "send"), Status::Succeeded);
}

#[test]
fn a_retry_sends_the_same_body_under_the_same_key_and_waits_as_the_policy_says() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    let first = rig.job("send");
    rig.finish("send", refused("network_error"));
    assert_eq!(rig.action_status(id, "send"), Status::Retrying);
    rig.advance(999);
    assert_eq!(rig.started().len(), 1, "never early");
    rig.advance(1);
    let second = rig.job("send");
    assert_eq!(
        (second.number, &second.config, &second.idempotency_key),
        (2, &first.config, &first.idempotency_key)
    );
    rig.finish("send", refused("timeout"));
    rig.advance(2_000);
    assert_eq!(rig.job("send").number, 3);
    rig.finish("send", refused("timeout"));
    assert_eq!(
        rig.action_status(id, "send"),
        Status::Dead,
        "three attempts were the budget"
    );
    assert_eq!(rig.configuration(id), ["broken"]);
}

#[test]
fn an_error_that_is_not_retried_is_a_dead_letter_at_once() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    rig.finish("send", refused("not_found"));
    let action = rig.action(id, "send");
    assert_eq!(action.status, Status::Dead);
    assert!(!action.body.last_error.unwrap().retryable);
    assert_eq!(rig.configuration(id), ["broken"]);
}

#[test]
fn retry_after_puts_the_next_attempt_off() {
    let mut rig = Rig::new(&worker(""));
    rig.start("m");
    let Outcome::NotDone(failure) = refused("rate_limit") else {
        unreachable!()
    };
    rig.finish(
        "send",
        Outcome::NotDone(Failure {
            retry_after: Some(30_000),
            ..failure
        }),
    );
    rig.advance(29_999);
    assert_eq!(rig.started().len(), 1);
    rig.advance(1);
    assert_eq!(rig.started().len(), 2);
}

#[test]
fn an_unknown_outcome_is_retried_or_left_to_a_person_as_the_definition_says() {
    let unknown = || Outcome::unknown("timeout", "no answer");
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    rig.finish("send", unknown());
    assert_eq!(rig.action_status(id, "send"), Status::Retrying);

    let mut rig = Rig::new(&worker("onUnknown: review"));
    let id = rig.start("m").id;
    rig.finish("send", unknown());
    let action = rig.action(id, "send");
    assert_eq!(action.status, Status::Dead);
    assert_eq!(action.body.attempts[0].outcome, Some(Verdict::Unknown));
    rig.advance(3_600_000);
    assert_eq!(rig.started().len(), 1, "never sent twice");
}

#[test]
fn a_dead_letter_retried_has_a_fresh_budget_and_the_same_key() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    rig.finish("send", refused("not_found"));
    let dead = rig.action(id, "send");
    let key = dead.idempotency_key();
    rig.act(RetryDead::as_is(dead.id)).unwrap();
    let job = rig.job("send");
    assert_eq!((job.number, job.idempotency_key.as_str()), (2, key.as_str()));
    for _ in 0..2 {
        rig.finish("send", refused("timeout"));
        rig.advance(60_000);
    }
    assert_eq!(rig.job("send").number, 4, "three attempts more");
    rig.done("send");
    assert_eq!(
        rig.configuration(id),
        ["ok"],
        "its end is fed to the machine wherever it now is"
    );
}

#[test]
fn a_dead_letter_retried_with_another_configuration_has_another_key() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    rig.finish("send", refused("not_found"));
    let dead = rig.action(id, "send");
    let config = Some(json!({ "url": "https://example.org" }));
    rig.act(RetryDead {
        config: config.clone(),
        ..RetryDead::as_is(dead.id)
    })
    .unwrap();
    let job = rig.job("send");
    assert_eq!(Some(job.config.config), config);
    assert_eq!(job.idempotency_key, format!("{}.1", dead.id));
}

#[test]
fn an_archived_dead_letter_stays_away() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    rig.finish("send", refused("not_found"));
    let dead = rig.action(id, "send").id;
    rig.act(Archive(dead)).unwrap();
    assert_eq!(rig.stored_action(dead).status, Status::Archived);
    let retry = RetryDead::as_is(dead);
    assert_eq!(code(rig.act(retry)), Code::StatusConflict);
}

#[test]
fn a_disabled_action_and_a_false_condition_are_recorded_as_skipped() {
    for (extra, reason) in [
        ("enabled: false", SkipReason::Disabled),
        (
            "condition: { '>': [ { var: variables.sent }, 3 ] }",
            SkipReason::Condition,
        ),
    ] {
        let mut rig = Rig::new(&worker(extra));
        let id = rig.start("m").id;
        let action = rig.action(id, "send");
        assert_eq!((action.status, action.body.skipped), (Status::Skipped, Some(reason)));
        assert!(rig.started().is_empty());
        assert_eq!(
            rig.configuration(id),
            ["work"],
            "no skipped. event where the machine names none"
        );
    }
}

#[test]
fn a_skip_that_the_machine_names_is_fed() {
    let text = worker("enabled: false").replace("LEAVE: aside", "LEAVE: aside\n      skipped.send: aside");
    let mut rig = Rig::new(&text);
    let id = rig.start("m").id;
    assert_eq!(rig.configuration(id), ["aside"]);
}

#[test]
fn a_configuration_that_errs_at_the_trigger_is_a_dead_letter_and_discards_nothing() {
    let mut rig = Rig::new(&worker("").replace("variables.sent", "variables.missing"));
    let id = rig.start("m").id;
    let action = rig.action(id, "send");
    assert_eq!(action.status, Status::Dead);
    assert_eq!(action.body.last_error.unwrap().kind, "invalid_configuration");
    assert!(action.body.attempts.is_empty());
    assert_eq!(
        rig.configuration(id),
        ["broken"],
        "failed.send was a macrostep of its own, afterwards"
    );
    assert_eq!(rig.history(id).len(), 2);
}

#[test]
fn facts_freeze_at_the_trigger() {
    let text = worker("delay: 5s").replace("LEAVE: aside", "BUMP: { assign: { sent: 99 } }");
    let mut rig = Rig::new(&text);
    let id = rig.start("m").id;
    rig.send(id, "BUMP").unwrap();
    rig.advance(5_000);
    assert_eq!(rig.job("send").config.config["n"], json!(0));
}

#[test]
fn leaving_the_state_cancels_what_is_not_yet_due_and_lets_run_what_is() {
    let mut rig = Rig::new(&worker("delay: 1h"));
    let id = rig.start("m").id;
    rig.send(id, "LEAVE").unwrap();
    assert_eq!(rig.action_status(id, "send"), Status::Cancelled);
    assert_eq!(rig.configuration(id), ["aside"], "cancelling on exit feeds nothing");
    rig.advance(7_200_000);
    assert!(rig.started().is_empty());

    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    rig.send(id, "LEAVE").unwrap();
    assert_eq!(rig.action_status(id, "send"), Status::Running);
    rig.done("send");
    assert_eq!(
        rig.configuration(id),
        ["ok"],
        "its end is fed wherever the machine now is"
    );
}

#[test]
fn keep_on_exit_keeps_and_cancel_on_exit_cancels() {
    let mut rig = Rig::new(&worker("delay: 1h\n    keepOnExit: true"));
    let id = rig.start("m").id;
    rig.send(id, "LEAVE").unwrap();
    rig.advance(3_600_000);
    assert_eq!(rig.started(), ["send"]);

    let mut rig = Rig::new(&worker("cancelOnExit: true"));
    let id = rig.start("m").id;
    rig.send(id, "LEAVE").unwrap();
    assert_eq!(
        rig.script.lock().unwrap().cancelled.len(),
        1,
        "the attempt under way is signalled"
    );
    rig.finish("send", refused("timeout"));
    let action = rig.action(id, "send");
    assert_eq!(action.status, Status::Cancelled);
    assert_eq!(
        action.body.attempts[0].outcome,
        Some(Verdict::NotDone),
        "the outcome is kept"
    );
    assert_eq!(rig.configuration(id), ["aside"]);
}

#[test]
fn a_later_trigger_supersedes_the_end_of_an_older_one() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    let first = rig.job("send").attempt;
    rig.send(id, "AGAIN").unwrap();
    let second = rig.job("send").attempt;
    assert_ne!(first.action, second.action);
    rig.finish_attempt(first, refused("not_found"));
    assert_eq!(rig.configuration(id), ["work"], "not fed");
    assert_eq!(rig.stored_action(first.action).body.remark, Some(Remark::Superseded));
    rig.finish_attempt(second, Outcome::done(Value::Null));
    assert_eq!(rig.configuration(id), ["ok"]);
}

#[test]
fn a_state_entered_and_left_in_one_macrostep_still_triggers_its_actions() {
    let text = r"
id: m
initial: pass
states:
  pass: { always: rest }
  rest: { on: { done.send: ok } }
  ok: {}
actions: [{ actionId: send, type: noop, triggerState: pass, config: {} }]
";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    assert_eq!(rig.started(), ["send"]);
    rig.done("send");
    assert_eq!(rig.configuration(id), ["ok"]);
}

#[test]
fn cancelling_a_running_attempt_asks_it_to_stop_and_too_late_is_said() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    let action = rig.action(id, "send").id;
    let view = rig.act(CancelAction(action)).unwrap();
    assert!(view.cancel_requested);
    rig.done("send");
    let ended = rig.stored_action(action);
    assert_eq!(
        (ended.status, ended.body.remark),
        (Status::Succeeded, Some(Remark::CancelCameTooLate))
    );
    assert_eq!(rig.configuration(id), ["ok"]);
}

#[test]
fn an_attempt_that_ignores_its_cancellation_is_unknown_after_ten_seconds() {
    let mut rig = Rig::new(&worker(""));
    let id = rig.start("m").id;
    let action = rig.action(id, "send").id;
    rig.act(CancelAction(action)).unwrap();
    rig.advance(9_999);
    assert_eq!(rig.stored_action(action).status, Status::Running);
    rig.advance(1);
    let ended = rig.stored_action(action);
    assert_eq!(ended.status, Status::Cancelled);
    assert_eq!(ended.body.attempts[0].outcome, Some(Verdict::Unknown));
    assert_eq!(
        rig.configuration(id),
        ["broken"],
        "cancelled by a person is a failure to the machine"
    );
    assert_eq!(rig.script.lock().unwrap().abandoned.len(), 1);
}

#[test]
fn cancelling_a_waiting_action_ends_it_at_once_and_tells_the_machine() {
    let mut rig = Rig::new(&worker("delay: 1h"));
    let id = rig.start("m").id;
    let action = rig.action(id, "send").id;
    rig.act(CancelAction(action)).unwrap();
    assert_eq!(rig.stored_action(action).status, Status::Cancelled);
    assert_eq!(rig.configuration(id), ["broken"]);
    assert_eq!(code(rig.act(CancelAction(action))), Code::StatusConflict);
}

#[test]
fn retry_now_makes_a_waiting_action_due() {
    let mut rig = Rig::new(&worker("delay: 1h"));
    let id = rig.start("m").id;
    let action = rig.action(id, "send").id;
    rig.act(RetryNow(action)).unwrap();
    assert_eq!(rig.started(), ["send"]);
    assert_eq!(code(rig.act(RetryNow(action))), Code::StatusConflict);
}

#[test]
fn the_deadline_ends_an_action_over_all_its_attempts() {
    let mut rig = Rig::new(&worker("deadline: 1500"));
    let id = rig.start("m").id;
    assert_eq!(
        rig.job("send").timeout_millis,
        1_500,
        "an attempt has no more time than is left"
    );
    rig.finish("send", refused("network_error"));
    rig.advance(1_000);
    rig.finish("send", refused("network_error"));
    assert_eq!(
        rig.action_status(id, "send"),
        Status::Dead,
        "the next attempt would be after the deadline"
    );
}

#[test]
fn a_wait_is_a_due_time_and_holds_no_permit() {
    let text = r"
id: m
initial: a
states: { a: { on: { done.rest: b } }, b: {} }
actions: [{ actionId: rest, type: wait, triggerState: a, config: { seconds: 2.5 } }]
";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    assert_eq!(rig.action_status(id, "rest"), Status::Scheduled);
    rig.advance(2_499);
    assert!(rig.started().is_empty());
    rig.advance(1);
    rig.done("rest");
    assert_eq!(rig.configuration(id), ["b"]);
}

#[test]
fn actions_of_a_final_state_run_after_completion_and_only_record_their_end() {
    let text = r"
id: m
initial: a
states: { a: { on: { GO: z } }, z: { type: final } }
actions: [{ actionId: bye, type: noop, triggerState: z, config: {} }]
";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    rig.send(id, "GO").unwrap();
    assert_eq!(rig.status(id), ExecutionStatus::Completed);
    let entries = rig.history(id).len();
    rig.done("bye");
    let action = rig.action(id, "bye");
    assert_eq!(
        (action.status, action.body.remark),
        (Status::Succeeded, Some(Remark::ExecutionClosed))
    );
    assert_eq!(rig.history(id).len(), entries);
}

#[test]
fn results_are_kept_for_actions_the_machine_names() {
    let text = r"
id: m
initial: a
states:
  a: { on: { done.ask: b } }
  b: { always: { target: c, guard: { '==': [ { var: results.ask.result.grade }, 'A' ] } } }
  c: {}
actions: [{ actionId: ask, type: noop, triggerState: a, config: {} }]
";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    rig.finish("ask", Outcome::done(json!({ "grade": "A" })));
    assert_eq!(rig.configuration(id), ["c"]);
}

#[test]
fn inline_run_and_cancel_do_what_they_say() {
    let text = r"
id: m
initial: a
states:
  a:
    on:
      GO: { actions: [ { run: send } ] }
      STOP: { actions: [ { cancel: send } ] }
actions: [{ actionId: send, type: noop, delay: 1h, config: {} }]
";
    let mut rig = Rig::new(text);
    let id = rig.start("m").id;
    rig.send(id, "GO").unwrap();
    assert_eq!(rig.action_status(id, "send"), Status::Scheduled);
    rig.send(id, "STOP").unwrap();
    assert_eq!(rig.action_status(id, "send"), Status::Cancelled);
}

#[test]
fn an_end_nobody_handles_is_history_and_no_error() {
    let mut rig =
        Rig::new(&worker("").replace("done.send: { target: ok, assign: { answer: '{{event.result}}' } }", ""));
    let id = rig.start("m").id;
    rig.done("send");
    assert_eq!(rig.status(id), ExecutionStatus::Running);
    assert!(matches!(
        rig.history(id).last(),
        Some(Entry::Step { handled: false, .. })
    ));
}
