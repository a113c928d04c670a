//! Idempotency keys: one act, one answer, kept with what it answers.

use serde_json::{Map, json};
use sprag_core::clock::Clock;
use sprag_core::ids::Slot;
use sprag_engine::read::view::ExecutionView;
use sprag_engine::requests::idempotency::{Idempotency, KEPT_MILLIS, Key};
use sprag_engine::requests::{Call, Code, Refusal, Replied, Request, SendMessage, Start, Target};
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{ExecutionQuery, Reader};
use sprag_store::{LaneReads, ShardId};

use crate::rig::Rig;

const DESK: &str = "
id: desk
initial: open
variables: { taken: 0 }
states:
  open:
    on:
      TAKE: { actions: [{ assign: { taken: \"{{variables.taken + 1}}\" } }] }
      CLOSE: closed
  closed: { type: final }
";

const MAILER: &str = "
id: mailer
initial: sending
states:
  sending: { on: { done.mail: sent } }
  sent: { type: final }
actions:
  - { actionId: mail, type: email, triggerState: sending, config: {} }
";

/// What a batch of requests, some of them under keys, is answered.
fn ask_all<R: Request>(rig: &mut Rig, requests: Vec<(Option<&str>, R)>) -> Vec<Replied<R::Answer>> {
    let mut answers = Vec::new();
    let mut commands = Vec::new();
    for (text, request) in requests {
        let key = text.map(|text| Key::new("somebody", text).unwrap());
        let once = key.and_then(|key| Idempotency::of(&key, &request));
        let (call, answer) = Call::asked(request);
        answers.push(answer);
        commands.push(R::command(call.once(once)));
    }
    rig.tick(commands);
    rig.run();
    let received = answers.into_iter().map(|mut answer| answer.try_recv());
    received
        .map(|reply| reply.expect("an answer follows the commit"))
        .collect()
}

fn ask<R: Request>(rig: &mut Rig, text: &str, request: R) -> Replied<R::Answer> {
    ask_all(rig, vec![(Some(text), request)]).remove(0)
}

fn start(machine: &str) -> Start {
    Start {
        machine: machine.to_owned(),
        ..Start::default()
    }
}

fn take(to: sprag_core::ids::ExecutionId) -> SendMessage {
    SendMessage {
        to: Target::Id(to),
        kind: "TAKE".to_owned(),
        payload: json!({}),
        id: None,
    }
}

/// The first answer, which must not be a replay.
fn acted(reply: Replied<Box<ExecutionView>>) -> ExecutionView {
    assert!(!reply.replayed, "{reply:?}");
    *reply.answer.unwrap()
}

/// The answer that a replay repeats.
fn replayed<A: std::fmt::Debug>(reply: Replied<A>) -> Result<A, Refusal> {
    assert!(reply.replayed, "{reply:?}");
    reply.answer
}

fn executions(rig: &Rig) -> usize {
    let query = ExecutionQuery {
        page: sprag_store::Page::first(100),
        ..ExecutionQuery::default()
    };
    rig.store.executions(&query).unwrap().rows.len()
}

/// Lets time pass while the lane sleeps.
fn pass(rig: &Rig, millis: u64) {
    rig.clock.advance_to(rig.clock.now().plus(millis));
}

fn kept(rig: &Rig) -> usize {
    rig.store.clone().first_to_expire(ShardId(0), 10_000).unwrap().len()
}

#[test]
fn a_repeated_start_gives_the_first_answer_and_no_second_execution() {
    let mut rig = Rig::new(MAILER);
    let first = acted(ask(&mut rig, "k", start("mailer")));
    assert_eq!(first.id.slot(), Slot::of_idempotency_key("k"));
    rig.done("mail");
    assert_eq!(rig.status(first.id), ExecutionStatus::Completed);
    let again = replayed(ask(&mut rig, "k", start("mailer"))).unwrap();
    assert_eq!(*again, first, "as it was answered, not as it is now");
    assert_eq!(executions(&rig), 1);
}

#[test]
fn the_answer_is_there_after_a_crash() {
    let mut rig = Rig::new(DESK);
    let first = acted(ask(&mut rig, "k", start("desk")));
    rig.crash();
    assert_eq!(*replayed(ask(&mut rig, "k", start("desk"))).unwrap(), first);
    assert_eq!(executions(&rig), 1);
}

#[test]
fn of_two_in_one_batch_one_acts_and_the_other_gets_its_answer() {
    let mut rig = Rig::new(MAILER);
    let twice = vec![(Some("k"), start("mailer")), (Some("k"), start("mailer"))];
    let mut replies = ask_all(&mut rig, twice);
    let again = replayed(replies.remove(1)).unwrap();
    let first = acted(replies.remove(0));
    assert_eq!(*again, first, "also what changed within the batch");
    assert_eq!(executions(&rig), 1);
    assert_eq!(*replayed(ask(&mut rig, "k", start("mailer"))).unwrap(), first);
}

#[test]
fn another_body_under_the_key_is_refused_and_does_nothing() {
    let mut rig = Rig::new(DESK);
    let other = || Start {
        machine: "desk".to_owned(),
        variables: Map::from_iter([("x".to_owned(), json!(1))]),
        ..Start::default()
    };
    let batch = vec![(Some("k"), start("desk")), (Some("k"), other())];
    let replies = ask_all(&mut rig, batch);
    let code = |reply: &Replied<Box<ExecutionView>>| {
        assert!(!reply.replayed, "{reply:?}");
        reply.answer.as_ref().err().map(|refusal| refusal.code)
    };
    assert_eq!(code(&replies[1]), Some(Code::IdempotencyKeyReused), "in one batch");
    assert_eq!(
        code(&ask(&mut rig, "k", other())),
        Some(Code::IdempotencyKeyReused),
        "and later"
    );
    assert_eq!(executions(&rig), 1);
}

#[test]
fn a_message_under_a_key_is_taken_once() {
    let mut rig = Rig::new(DESK);
    let id = rig.start("desk").id;
    for _ in 0..3 {
        ask(&mut rig, "k", take(id)).answer.unwrap();
    }
    assert_eq!(rig.variables(id)["taken"], 1);
    ask(&mut rig, "l", take(id)).answer.unwrap();
    assert_eq!(rig.variables(id)["taken"], 2);
}

#[test]
fn a_decision_against_somebody_is_kept_too() {
    let mut rig = Rig::new(DESK);
    let keyed = || Start {
        machine: "desk".to_owned(),
        key: Some("red".to_owned()),
        ..Start::default()
    };
    let holder = acted(ask(&mut rig, "a", keyed())).id;
    let refused = ask(&mut rig, "b", keyed());
    assert!(!refused.replayed);
    let refused = refused.answer;
    assert_eq!(refused.as_ref().err().map(|refusal| refusal.code), Some(Code::KeyInUse));
    rig.send(holder, "CLOSE").unwrap();
    let again = replayed(ask(&mut rig, "b", keyed()));
    assert_eq!(again.err(), refused.err(), "although the key is free by now");
    assert_eq!(executions(&rig), 1);
}

#[test]
fn what_was_refused_before_deciding_may_be_tried_again_under_the_key() {
    let mut rig = Rig::new(DESK);
    assert!(ask(&mut rig, "k", start("mailer")).answer.is_err());
    assert_eq!(kept(&rig), 0);
    rig.apply(MAILER);
    acted(ask(&mut rig, "k", start("mailer")));
}

#[test]
fn requests_without_a_key_keep_nothing() {
    let mut rig = Rig::new(DESK);
    let id = rig.start("desk").id;
    rig.send(id, "TAKE").unwrap();
    assert_eq!(kept(&rig), 0);
}

#[test]
fn a_key_may_be_used_again_a_day_after_its_answer_and_not_before() {
    let mut rig = Rig::new(DESK);
    acted(ask(&mut rig, "k", start("desk")));
    pass(&rig, KEPT_MILLIS - 1);
    replayed(ask(&mut rig, "k", start("desk"))).unwrap();
    pass(&rig, 1);
    acted(ask(&mut rig, "k", start("desk")));
    assert_eq!(executions(&rig), 2);
    replayed(ask(&mut rig, "k", start("desk"))).unwrap();
    assert_eq!(kept(&rig), 1, "the new answer took the place of the old one");
}

#[test]
fn expired_answers_are_deleted_a_few_at_a_time_while_work_goes_on() {
    let mut rig = Rig::new(DESK);
    let id = rig.start("desk").id;
    let keys: Vec<String> = (0..600).map(|number| format!("k{number}")).collect();
    let requests = keys.iter().map(|key| (Some(key.as_str()), take(id))).collect();
    ask_all(&mut rig, requests);
    assert_eq!(kept(&rig), 600);
    pass(&rig, KEPT_MILLIS);
    rig.tick(Vec::new());
    assert_eq!(kept(&rig), 344, "one batch deletes a bounded number");
    rig.run();
    assert_eq!(kept(&rig), 0);
}

#[test]
fn a_later_process_deletes_what_an_earlier_one_kept() {
    let mut rig = Rig::new(DESK);
    acted(ask(&mut rig, "k", start("desk")));
    pass(&rig, KEPT_MILLIS);
    rig.crash();
    assert_eq!(kept(&rig), 1, "not on its start");
    rig.advance(60_000);
    assert_eq!(kept(&rig), 0);
}
