//! What is the control shard's, and what each shard's owner does for itself: jobs survive their node, schedules fire once,
//! retention walks own shards only.

use sprag_core::action::{Outcome, Status};
use sprag_core::clock::Clock as _;
use sprag_core::ids::{ActionId, ExecutionId, JobId, Slot};
use sprag_engine::jobs::RetryAll;
use sprag_engine::jobs::dead_letters::RetryLetter;
use sprag_engine::lane::member::LEASE_MILLIS;
use sprag_engine::requests::{Call, CancelJob, Command, LettersSettled, ReportOutcome, Request, SendMessage, Target};
use sprag_engine::{Options, Retention};
use sprag_store::records::{JobResult, JobStatus};
use sprag_store::traits::{Reader, shard_of};

use super::crowd::Crowd;

const DOOMED: &str = r"
id: m
initial: a
states: { a: { on: { done.work: b, failed.work: c } }, b: {}, c: {} }
actions:
  - actionId: work
    type: noop
    triggerState: a
    config: {}
    retryPolicy: { maxAttempts: 1 }
";

const TICKING: &str = r"
id: ticking
initial: on
states: { on: {} }
actions:
  - actionId: tick
    type: noop
    triggerState: on
    config: {}
    schedule: { cron: '* * * * *', overlap: allow }
";

const SHORT: &str = r"
id: short
initial: a
states: { a: { on: { END: over } }, over: { type: final } }
";

fn die(crowd: &mut Crowd, node: usize) -> ExecutionId {
    let id = crowd.start_of(node, "m");
    let attempt = crowd.job_of(node, id).expect("a job").attempt;
    let outcome = Outcome::not_done("not_found", "nobody there");
    let request = ReportOutcome { attempt, outcome };
    crowd.nodes[node].lane.tick(vec![Command::own(request)]).unwrap();
    crowd.run(node);
    assert_eq!(crowd.action_of(id).status, Status::Dead);
    id
}

fn everything() -> RetryAll {
    RetryAll {
        filter: "machine = \"m\"".to_owned(),
        ..RetryAll::default()
    }
}

fn retry_all(crowd: &mut Crowd, node: usize) -> JobId {
    make(crowd, node, everything())
}

fn make(crowd: &mut Crowd, node: usize, retry: RetryAll) -> JobId {
    let (command, mut answer) = Command::asked(retry);
    // One tick, so that the node dies with the job before it.
    crowd.nodes[node].lane.tick(vec![command]).unwrap();
    answer.try_recv().expect("an answer").answer.unwrap().id
}

#[test]
fn a_job_goes_on_where_its_node_died() {
    let mut crowd = Crowd::with(2, Options::default(), &[DOOMED]);
    let control = crowd.owner(Slot(0));
    let other = 1 - control;
    let letters: Vec<ExecutionId> = (0..10).map(|_| die(&mut crowd, other)).collect();
    let job = retry_all(&mut crowd, control);
    assert_eq!(
        crowd.store.job(job).unwrap().expect("stored").status,
        JobStatus::Running
    );
    crowd.pass(LEASE_MILLIS + 4_000, &[other]);
    assert_eq!(
        crowd.store.job(job).unwrap().expect("stored").status,
        JobStatus::Completed
    );
    for id in letters {
        assert_eq!(
            crowd.action_of(id).attempts_made(),
            2,
            "each letter was tried once more"
        );
    }
}

/// Whether what nodes are told about letters gets back to the one that asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    Arrive,
    Lost,
}

/// Who of these serves a slot. One that died believes to the end that it does.
fn owner(crowd: &Crowd, alive: &[usize], slot: Slot) -> usize {
    let shard = shard_of(slot, 8);
    let mut alive = alive.iter().copied();
    let serves = |node: &usize| crowd.nodes[*node].lane.fences().any(|fence| fence.shard == shard);
    alive.find(serves).expect("somebody serves it")
}

/// What a node asks about letters gets to their owners. Says how many letters it asked about.
fn ask_owners(crowd: &mut Crowd, (node, alive): (usize, &[usize]), answers: Answers) -> usize {
    let asked = std::mem::take(&mut crowd.nodes[node].script.lock().unwrap().letters);
    let mut count = 0;
    for letters in asked {
        let mut settled = Vec::new();
        for &letter in &letters.letters {
            let owner = owner(crowd, alive, letter.slot());
            let retry = RetryLetter::of(&letters, letter);
            let once = retry.once();
            let (call, mut answer) = Call::asked(retry);
            let command = Request::command(call.once(Some(once)));
            crowd.nodes[owner].lane.tick(vec![command]).unwrap();
            crowd.run(owner);
            settled.push(answer.try_recv().expect("an answer").answer.unwrap());
            count += 1;
        }
        if answers == Answers::Arrive {
            let request = LettersSettled {
                job: letters.job,
                settled,
            };
            crowd.nodes[node].lane.tick(vec![Command::own(request)]).unwrap();
            crowd.run(node);
        }
    }
    count
}

/// What a job did to every letter, by number.
fn items(crowd: &Crowd, job: JobId) -> Vec<(ActionId, JobResult)> {
    let items = crowd
        .store
        .job_items(job, &sprag_store::Page::first(1_000))
        .unwrap()
        .rows;
    items.into_iter().map(|item| (item.action, item.result)).collect()
}

fn status(crowd: &Crowd, job: JobId) -> JobStatus {
    crowd.store.job(job).unwrap().expect("stored").status
}

/// Each letter is one item and was tried once more.
fn assert_retried(crowd: &Crowd, job: JobId, letters: &[ExecutionId]) {
    let items = items(crowd, job);
    let mut met: Vec<ActionId> = items.iter().map(|(action, _)| *action).collect();
    met.sort_unstable();
    met.dedup();
    assert_eq!((met.len(), items.len()), (letters.len(), letters.len()), "{items:?}");
    assert!(items.iter().all(|(_, result)| *result == JobResult::Done), "{items:?}");
    for id in letters {
        assert_eq!(crowd.action_of(*id).attempts_made(), 2, "tried once more");
    }
}

#[test]
fn a_job_deals_with_letters_of_every_node_and_asks_again_where_an_answer_was_lost() {
    let mut crowd = Crowd::with(3, Options::default(), &[DOOMED]);
    let letters: Vec<ExecutionId> = (0..12).map(|number| die(&mut crowd, number % 3)).collect();
    let control = crowd.owner(Slot(0));
    let job = retry_all(&mut crowd, control);
    crowd.run(control);
    assert_eq!(items(&crowd, job).len(), 4, "its own ones at once");
    assert_eq!(ask_owners(&mut crowd, (control, &[0, 1, 2]), Answers::Lost), 8);
    crowd.pass(4_000, &[0, 1, 2]);
    assert_eq!(
        status(&crowd, job),
        JobStatus::Running,
        "nothing is known of the others"
    );
    crowd.pass(12_000, &[0, 1, 2]);
    let asked = ask_owners(&mut crowd, (control, &[0, 1, 2]), Answers::Arrive);
    assert_eq!(asked, 8, "it asks again");
    assert_eq!(status(&crowd, job), JobStatus::Completed);
    assert_retried(&crowd, job, &letters);
}

#[test]
fn a_job_whose_node_dies_while_others_are_asked_asks_them_again_elsewhere() {
    let mut crowd = Crowd::with(3, Options::default(), &[DOOMED]);
    let letters: Vec<ExecutionId> = (0..12).map(|number| die(&mut crowd, number % 3)).collect();
    let control = crowd.owner(Slot(0));
    let job = retry_all(&mut crowd, control);
    crowd.run(control);
    ask_owners(&mut crowd, (control, &[0, 1, 2]), Answers::Lost);
    let alive: Vec<usize> = (0..3).filter(|node| *node != control).collect();
    crowd.pass(LEASE_MILLIS + 4_000, &alive);
    let heir = owner(&crowd, &alive, Slot(0));
    let asked = ask_owners(&mut crowd, (heir, &alive), Answers::Arrive);
    assert_eq!(asked, 8, "those that were asked about");
    assert_eq!(status(&crowd, job), JobStatus::Completed);
    // Attempts of the dead node were lost with it, so they may have been made once more.
    let items = items(&crowd, job);
    assert!(items.iter().all(|(_, result)| *result == JobResult::Done), "{items:?}");
    assert_eq!(items.len(), letters.len());
}

#[test]
fn a_job_that_is_cancelled_says_which_letters_nobody_has_answered_for() {
    let mut crowd = Crowd::with(2, Options::default(), &[DOOMED]);
    let control = crowd.owner(Slot(0));
    let other = 1 - control;
    for node in [control, other, other] {
        die(&mut crowd, node);
    }
    let job = retry_all(&mut crowd, control);
    crowd.run(control);
    crowd.ask(control, CancelJob(job)).unwrap();
    let results: Vec<JobResult> = items(&crowd, job).into_iter().map(|(_, result)| result).collect();
    assert_eq!(results, [JobResult::Done, JobResult::Failed, JobResult::Failed]);
    // An answer that comes now is too late.
    ask_owners(&mut crowd, (control, &[0, 1]), Answers::Arrive);
    assert_eq!(items(&crowd, job).len(), 3);
}

#[test]
fn canaries_of_other_nodes_are_waited_for() {
    let mut crowd = Crowd::with(2, Options::default(), &[DOOMED]);
    let control = crowd.owner(Slot(0));
    let other = 1 - control;
    let letters: Vec<ExecutionId> = (0..4).map(|_| die(&mut crowd, other)).collect();
    let job = RetryAll {
        canary: Some(1),
        ..everything()
    };
    let job = make(&mut crowd, control, job);
    crowd.run(control);
    assert_eq!(ask_owners(&mut crowd, (control, &[0, 1]), Answers::Arrive), 1);
    crowd.pass(4_000, &[0, 1]);
    assert_eq!(items(&crowd, job).len(), 1, "the rest waits for the canary");
    let canary = items(&crowd, job)[0].0;
    let its = letters.iter().find(|id| crowd.action_of(**id).id == canary);
    crowd.done(other, *its.unwrap());
    crowd.pass(2_000, &[0, 1]);
    assert_eq!(ask_owners(&mut crowd, (control, &[0, 1]), Answers::Arrive), 3);
    assert_eq!(status(&crowd, job), JobStatus::Completed);
    assert_eq!(items(&crowd, job).len(), 4);
}

#[test]
fn an_occurrence_fires_once_though_its_shard_changes_hands() {
    let mut crowd = Crowd::with(2, Options::default(), &[TICKING]);
    let id = crowd.start_of(0, "ticking");
    let mut alive = vec![0, 1];
    crowd.pass(150_000, &alive);
    let owner = crowd.owner(id.slot());
    alive.retain(|&node| node != owner);
    // It stands still over an occurrence, wakes, and does what it believes to be due.
    crowd.pass(61_000, &alive);
    crowd.run(owner);
    crowd.pass(60_000, &[0, 1]);
    let history = crowd.store.history(id, &sprag_store::Page::first(1_000)).unwrap().rows;
    let mut nominal: Vec<String> = Vec::new();
    for entry in history {
        let body: serde_json::Value = serde_json::from_slice(&entry.body).unwrap();
        if let Some(at) = body.pointer("/cause/nominal").or_else(|| body.pointer("/nominal")) {
            nominal.push(at.to_string());
        }
    }
    let fired = nominal.len();
    nominal.sort_unstable();
    nominal.dedup();
    assert_eq!(nominal.len(), fired, "no occurrence fired twice");
    let actions = crowd.action_count(id);
    assert!(
        (4..=5).contains(&actions),
        "{actions} occurrences in four and a half minutes"
    );
}

#[test]
fn retention_walks_own_shards_and_leaves_the_others_to_their_owners() {
    const HOUR: u64 = 3_600_000;
    let options = Options {
        retention: Some(Retention { closed_millis: HOUR }),
        ..Options::default()
    };
    let mut crowd = Crowd::with(2, options, &[SHORT]);
    let mut ids = Vec::new();
    for node in 0..2 {
        for _ in 0..10 {
            let id = crowd.start_of(node, "short");
            let message = SendMessage {
                to: Target::Id(id),
                kind: "END".to_owned(),
                payload: serde_json::Value::Null,
                id: None,
            };
            crowd.ask(node, message).unwrap();
            ids.push((node, id));
        }
    }
    // Only the first node runs on; the other keeps its lease and does nothing else.
    let end = crowd.clock.now().plus(3 * HOUR);
    while crowd.clock.now() < end {
        crowd.clock.advance_to(crowd.clock.now().plus(5_000));
        crowd.beat(1);
        crowd.beat(0);
        crowd.run(0);
    }
    for (node, id) in ids {
        let is_kept = crowd.store.execution(id).unwrap().is_some();
        assert_eq!(is_kept, node == 1, "an execution of node {node}");
    }
}
