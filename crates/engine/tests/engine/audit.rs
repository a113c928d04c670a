//! The audit: every decision of a principal leaves one entry in the commit of what it decides, and nothing else leaves one.

use std::sync::Arc;

use sprag_core::access::Caller;
use sprag_core::action::{Outcome, Status};
use sprag_core::ids::{ActionId, Slot};
use sprag_core::integrity::audit::{Entry, Verb, Verifier};
use sprag_engine::jobs::RetryAll;
use sprag_engine::limits::Numbers;
use sprag_engine::queue::control::Mode;
use sprag_engine::requests::idempotency::{Idempotency, Key};
use sprag_engine::requests::{
    AcceptClock, Apply, Archive, Call, Cancel, CancelAction, CancelJob, ClearLimit, Code, Explain, ListLimits,
    ListSwitches, Matches, Migrate, Pause, PauseJob, Record, Replied, Request, Resume, ResumeJob, RetryDead, RetryNow,
    SendMessage, SetLimit, Start, SwitchOff, SwitchOn, Target,
};
use sprag_store::records::ExecutionStatus;
use sprag_store::{Memory, Mutation, Page, Reader};

use crate::crowd::Crowd;
use crate::rig::{Rig, code, machine};

const WORK: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b, failed.work: c, GO: a } }, b: {}, c: {} }
actions:
  - actionId: work
    type: noop
    triggerState: a
    config: { to: here }
    retryPolicy: { maxAttempts: 2, baseDelay: 3600000, maxDelay: 3600000 }
";

fn ada(reason: Option<&str>) -> Arc<Caller> {
    Arc::new(Caller {
        principal: "ada".into(),
        address: Some("10.0.0.7".to_owned()),
        reason: reason.map(str::to_owned),
        ..Caller::local()
    })
}

/// Every entry, newest first, of a store whose chains must be whole.
fn entries(store: &Memory) -> Vec<Entry> {
    let mut verifier = Verifier::new(store.audit_heads().unwrap());
    for head in store.audit_heads().unwrap() {
        let chain = store
            .audit(Some(sprag_store::ShardId(head.shard)), &Page::first(9_999))
            .unwrap();
        chain.rows.iter().for_each(|entry| verifier.add(entry));
    }
    let all = store.audit(None, &Page::first(9_999)).unwrap().rows;
    assert_eq!(verifier.finish(), Ok(all.len() as u64), "{all:#?}");
    all
}

/// Asks as a person, in one batch.
fn asked<R: Request>(rig: &mut Rig, request: R, reason: Option<&str>, key: Option<&str>) -> Replied<R::Answer> {
    let key = key.map(|text| Key::new("ada", text).unwrap());
    let once = key.and_then(|key| Idempotency::of(&key, &request));
    let (call, mut answer) = Call::asked(request);
    rig.tick(vec![R::command(call.by(ada(reason)).once(once))]);
    rig.run();
    answer.try_recv().expect("an answer follows the commit")
}

/// Asks as a person, and gives the one entry that is left behind.
fn decided<R: Request>(rig: &mut Rig, request: R) -> (Result<R::Answer, Code>, Entry) {
    let before = entries(&rig.store).len();
    let answer = asked(rig, request, None, None).answer;
    let mut all = entries(&rig.store);
    assert_eq!(all.len(), before + 1, "{}: {all:#?}", R::NAME);
    (answer.map_err(|refusal| refusal.code), all.remove(0))
}

/// The same for a decision that must be taken.
#[track_caller]
fn done<R: Request>(rig: &mut Rig, request: R, verb: Verb) -> (R::Answer, Entry) {
    let (answer, entry) = decided(rig, request);
    let answer = answer.unwrap_or_else(|code| panic!("{}: {code:?}", R::NAME));
    let said = &entry.decision;
    assert_eq!((said.verb.as_str(), said.refused.as_deref()), (verb.word(), None));
    assert_eq!(
        (said.principal.as_str(), said.address.as_deref()),
        ("ada", Some("10.0.0.7"))
    );
    (answer, entry)
}

fn start() -> Start {
    Start {
        machine: "m".to_owned(),
        ..Start::default()
    }
}

/// A dead letter.
fn letter(rig: &mut Rig) -> ActionId {
    let execution = rig.start("m").id;
    rig.finish("work", Outcome::not_done("temporary_failure", "not there now"));
    rig.advance(7_200_000);
    rig.finish("work", Outcome::not_done("temporary_failure", "not there now"));
    let action = rig.action(execution, "work");
    assert_eq!(action.status, Status::Dead);
    rig.script.lock().unwrap().jobs.clear();
    action.id
}

fn switch_on() -> SwitchOn {
    SwitchOn {
        scope: "machine:m".parse().unwrap(),
        mode: Mode::Hold,
        reason: "trouble".to_owned(),
        by: "ada".to_owned(),
        lasts: None,
    }
}

#[test]
fn decisions_about_executions_leave_one_entry_each_with_the_status_before_and_after() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    for (entry, before, after) in [
        (done(&mut rig, Pause(id), Verb::PauseExecution).1, "running", "paused"),
        (done(&mut rig, Resume(id), Verb::ResumeExecution).1, "paused", "running"),
        (
            done(&mut rig, Cancel(id), Verb::CancelExecution).1,
            "running",
            "cancelled",
        ),
    ] {
        let said = entry.decision;
        assert_eq!(
            (said.before.as_deref(), said.after.as_deref()),
            (Some(before), Some(after))
        );
        assert_eq!(said.target, id.to_string());
    }
    let other = rig.start("m").id;
    let (_, applied) = done(
        &mut rig,
        Apply::from(Arc::new(machine(&WORK.replace("to: here", "to: there")))),
        Verb::ApplyMachine,
    );
    assert_eq!(applied.decision.before.as_deref(), Some("version 1"));
    assert!(applied.decision.after.unwrap().starts_with("version 2, sha256 "));
    let migrate = Migrate {
        execution: other,
        version: None,
        states: std::collections::BTreeMap::new(),
    };
    let (_, moved) = done(&mut rig, migrate, Verb::MigrateExecution);
    assert_eq!(
        (moved.decision.before.as_deref(), moved.decision.after.as_deref()),
        (Some("version 1"), Some("version 2"))
    );
}

#[test]
fn decisions_about_actions_and_dead_letters_leave_one_entry_each() {
    let mut rig = Rig::new(WORK);
    let one = rig.start("m").id;
    rig.finish("work", Outcome::not_done("temporary_failure", "not there now"));
    let action = rig.action(one, "work").id;
    let (_, entry) = done(&mut rig, RetryNow(action), Verb::RetryNow);
    assert_eq!(entry.decision.before.as_deref(), Some("retrying, generation 0"));
    done(&mut rig, CancelAction(action), Verb::CancelAction);
    rig.script.lock().unwrap().jobs.clear();
    let (first, second) = (letter(&mut rig), letter(&mut rig));
    let (_, entry) = done(&mut rig, RetryDead::as_is(first), Verb::RetryDeadLetter);
    assert_eq!(entry.decision.before.as_deref(), Some("dead, generation 0"));
    let (_, entry) = done(&mut rig, Archive(second), Verb::ArchiveDeadLetter);
    assert_eq!(entry.decision.after.as_deref(), Some("archived, generation 0"));
}

#[test]
fn a_bulk_retry_leaves_one_entry_for_the_job_and_none_for_its_letters() {
    let mut rig = Rig::new(WORK);
    let _ = (letter(&mut rig), letter(&mut rig));
    let all = RetryAll {
        filter: "machine = \"m\"".to_owned(),
        reason: Some("it is back".to_owned()),
        rate: Some(1),
        ..RetryAll::default()
    };
    let (job, entry) = done(&mut rig, all, Verb::RetryDeadLetters);
    assert_eq!(entry.decision.target, job.id.to_string());
    assert_eq!(entry.decision.reason.as_deref(), Some("it is back"));
    done(&mut rig, PauseJob(job.id), Verb::PauseJob);
    let (_, resumed) = done(&mut rig, ResumeJob(job.id), Verb::ResumeJob);
    assert_eq!(
        (resumed.decision.before.as_deref(), resumed.decision.after.as_deref()),
        (Some("paused"), Some("running"))
    );
    done(&mut rig, CancelJob(job.id), Verb::CancelJob);
}

#[test]
fn decisions_about_switches_limits_and_the_clock_leave_one_entry_each() {
    let mut rig = Rig::new(WORK);
    let (switch, entry) = done(&mut rig, switch_on(), Verb::SwitchOn);
    assert_eq!(entry.decision.target, switch.id.to_string());
    assert_eq!(entry.decision.reason.as_deref(), Some("trouble"));
    assert_eq!(entry.decision.after.as_deref(), Some("hold machine:m"));
    let off = SwitchOff {
        id: switch.id,
        matches: Matches::Any,
        held: sprag_engine::queue::control::Held::Run,
        rate: None,
    };
    let (_, entry) = done(&mut rig, off, Verb::ReleaseSwitch);
    assert_eq!(
        (entry.decision.before.as_deref(), entry.decision.after.as_deref()),
        (Some("hold machine:m"), Some("released, held actions run"))
    );
    let set = SetLimit {
        key: "crm".to_owned(),
        numbers: Numbers {
            concurrency: Some(3),
            rate: None,
        },
        by: "ada".to_owned(),
        matches: Matches::Any,
    };
    let (_, entry) = done(&mut rig, set, Verb::SetLimit);
    assert!(entry.decision.after.unwrap().contains("\"concurrency\":3"));
    let clear = ClearLimit {
        key: "crm".to_owned(),
        matches: Matches::Any,
    };
    let (_, entry) = done(&mut rig, clear, Verb::ClearLimit);
    assert!(entry.decision.before.is_some() && entry.decision.after.is_none());
    done(&mut rig, AcceptClock { by: "ada".to_owned() }, Verb::AcceptClock);
    let record = Record {
        verb: Verb::StopService,
        target: "shop/broker".to_owned(),
        refused: None,
        before: None,
        after: None,
    };
    done(&mut rig, record, Verb::StopService);
}

#[test]
fn a_refused_decision_leaves_one_entry_with_its_code_and_changes_nothing() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    rig.control(Cancel(id)).unwrap();
    let (answer, entry) = decided(&mut rig, Pause(id));
    assert_eq!(answer.unwrap_err(), Code::StatusConflict);
    assert_eq!(entry.decision.refused.as_deref(), Some("status-conflict"));
    assert_eq!(
        (entry.decision.before.as_deref(), entry.decision.after),
        (Some("cancelled"), None)
    );
    let letter = letter(&mut rig);
    rig.ask(Archive(letter)).unwrap();
    let (_, entry) = decided(&mut rig, RetryDead::as_is(letter));
    assert_eq!(entry.decision.refused.as_deref(), Some("status-conflict"));
    let record = Record {
        verb: Verb::RefusedRequest,
        target: "POST /v1/kill-switches".to_owned(),
        refused: Some("role-missing".into()),
        before: None,
        after: None,
    };
    let (_, entry) = decided(&mut rig, record);
    assert_eq!(entry.decision.refused.as_deref(), Some("role-missing"));
}

#[test]
fn programs_and_the_engine_itself_leave_none() {
    let mut rig = Rig::new(WORK);
    // Starts of programs are history; a start with a reason is a person's.
    let started = asked(&mut rig, start(), None, None).answer.unwrap();
    let message = SendMessage {
        to: Target::Id(started.id),
        kind: "GO".to_owned(),
        payload: serde_json::Value::Null,
        id: None,
    };
    asked(&mut rig, message, Some("why not"), None).answer.unwrap();
    let action = rig.action(started.id, "work").id;
    asked(&mut rig, Explain(action), None, None).answer.unwrap();
    asked(&mut rig, ListSwitches, None, None).answer.unwrap();
    asked(&mut rig, ListLimits, None, None).answer.unwrap();
    rig.control(Pause(started.id)).unwrap();
    assert_eq!(entries(&rig.store), []);
    let by_hand = asked(&mut rig, start(), Some("customer called"), None).answer.unwrap();
    let all = entries(&rig.store);
    assert_eq!(all.len(), 1);
    let said = &all[0].decision;
    assert_eq!(
        (said.verb.as_str(), said.target.as_str()),
        ("execution.start", by_hand.id.to_string().as_str())
    );
    assert_eq!(said.reason.as_deref(), Some("customer called"));
}

#[test]
fn a_replayed_answer_leaves_no_second_entry() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    assert!(!asked(&mut rig, Pause(id), None, Some("k")).replayed);
    assert!(asked(&mut rig, Pause(id), None, Some("k")).replayed);
    assert_eq!(entries(&rig.store).len(), 1);
    let moved = asked(
        &mut rig,
        Migrate {
            execution: id,
            version: Some(9),
            states: [].into(),
        },
        None,
        Some("k"),
    );
    assert_eq!(code(moved.answer), Code::VersionUnknown);
    assert_eq!(entries(&rig.store).len(), 2);
}

#[test]
fn two_decisions_of_one_batch_are_linked_in_their_order() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    let (pause, mut paused) = Call::asked(Pause(id));
    let (resume, mut resumed) = Call::asked(Resume(id));
    rig.tick(vec![Pause::listed_by(pause), Resume::listed_by(resume)]);
    rig.run();
    paused.try_recv().unwrap().answer.unwrap();
    resumed.try_recv().unwrap().answer.unwrap();
    let verbs: Vec<String> = entries(&rig.store)
        .into_iter()
        .map(|entry| entry.decision.verb)
        .collect();
    assert_eq!(verbs, ["execution.resume", "execution.pause"]);
}

/// A call of a person's, as a command.
trait Listed: Request {
    fn listed_by(call: Call<Self>) -> sprag_engine::requests::Command {
        Self::command(call.by(ada(None)))
    }
}

impl<R: Request> Listed for R {}

fn is_entry(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::InsertAudit(_))
}

fn is_bad_start(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::InsertExecution(execution) if execution.key.as_deref() == Some("bad"))
}

#[test]
fn a_decision_whose_entry_cannot_be_written_is_not_taken() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    rig.store.refuse_where(Some(is_entry));
    assert_eq!(code(asked(&mut rig, Pause(id), None, None).answer), Code::StoreRefused);
    rig.store.refuse_where(None);
    assert_eq!(rig.status(id), ExecutionStatus::Running);
    assert_eq!(entries(&rig.store), []);
    // The chain that was linked in memory was not written: the next entry is the first.
    asked(&mut rig, Pause(id), None, None).answer.unwrap();
    assert_eq!(entries(&rig.store)[0].sequence, 1);
}

#[test]
fn a_batch_that_is_decided_again_leaves_one_entry_a_decision() {
    let mut rig = Rig::new(WORK);
    let ids: Vec<_> = (0..6).map(|_| rig.start("m").id).collect();
    rig.store.refuse_where(Some(is_bad_start));
    let bad = Start {
        key: Some("bad".to_owned()),
        ..start()
    };
    let mut commands: Vec<_> = ids.iter().map(|id| Pause::listed_by(Call::own(Pause(*id)))).collect();
    commands.insert(3, Start::listed_by(Call::own(bad)));
    rig.tick(commands);
    rig.run();
    let all = entries(&rig.store);
    assert_eq!(all.len(), ids.len(), "{all:#?}");
    assert!(ids.iter().all(|id| rig.status(*id) == ExecutionStatus::Paused));
}

#[test]
fn the_next_process_continues_the_chain() {
    let mut rig = Rig::new(WORK);
    let id = rig.start("m").id;
    for _ in 0..3 {
        asked(&mut rig, Pause(id), None, None).answer.unwrap();
        rig.crash();
        asked(&mut rig, Resume(id), None, None).answer.unwrap();
        rig.crash();
    }
    let sequences: Vec<u64> = entries(&rig.store).iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, [6, 5, 4, 3, 2, 1]);
}

#[test]
fn a_node_that_takes_over_a_shard_continues_its_chain() {
    let mut crowd = Crowd::with(2, sprag_engine::Options::default(), &[WORK]);
    let control = crowd.owner(Slot(0));
    let switch = |crowd: &mut Crowd, node: usize| {
        let (call, mut answer) = Call::asked(switch_on());
        crowd.nodes[node].lane.tick(vec![SwitchOn::listed_by(call)]).unwrap();
        crowd.run(node);
        answer.try_recv().unwrap().answer
    };
    switch(&mut crowd, control).unwrap();
    switch(&mut crowd, control).unwrap();
    let other = 1 - control;
    // A node that decides nothing about a shard leaves no entry in its chain.
    switch(&mut crowd, other).unwrap_err();
    assert_eq!(entries(&crowd.store).len(), 2);
    // The owner says nothing any more: its shards have another owner once its lease is over.
    crowd.pass(30_000, &[other]);
    assert_eq!(crowd.owner_among(Slot(0), other), Some(other));
    switch(&mut crowd, other).unwrap();
    let all = entries(&crowd.store);
    assert_eq!(all.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [3, 2, 1]);
    // What the former owner still decides is not written.
    assert!(switch(&mut crowd, control).is_err());
    assert_eq!(entries(&crowd.store).len(), 3);
}
