//! Every step of a service, from the desired and the observed state.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::time::Timestamp;

use super::super::budget::GaveUp;
use super::super::observed::Problem;
use super::super::probe::Found;
use super::super::record::Ended;
use super::super::watch::Exit;
use super::super::worker::Desired;
use super::*;
use crate::services::read_service;
use crate::worker::action::ActionStatus;
use crate::worker::snapshot::{Children, Escalation, Identity};

/// What a step comes to, for comparing: `to running`, `act start`, `stay`, `remove`.
fn come_to(step: &Step) -> String {
    match step {
        Next::Stay(_) => "stay".to_owned(),
        Next::To(state, _) => format!("to {}", crate::worker::State::name(state)),
        Next::Act(ServiceAction::Stop(_, blame), _) => format!("act stop {blame:?}"),
        Next::Act(action, _) => format!("act {}", crate::worker::action::Action::name(action)),
        Next::Remove(_) => "remove".to_owned(),
        Next::Restart(_) => "restart".to_owned(),
    }
}

fn reason(step: Step) -> String {
    match step {
        Next::Stay(reason)
        | Next::To(_, reason)
        | Next::Act(_, reason)
        | Next::Remove(reason)
        | Next::Restart(reason) => reason.as_str().to_owned(),
    }
}

struct Case {
    state: ServiceState,
    snapshot: ServiceSnapshot,
}

impl Case {
    fn new(state: ServiceState, seen: ServiceObservation) -> Self {
        Self::of(&json!({"command": ["a"]}), state, seen)
    }

    fn of(written: &Value, state: ServiceState, seen: ServiceObservation) -> Self {
        let desired = Desired {
            service: read_service("web", written, Path::new("/")).unwrap(),
            folder: "/".into(),
            expected: Vec::new(),
            digest: 7,
            questions: 7,
        };
        let identity = Identity {
            path: "web".into(),
            name: "web".into(),
            kind: "service".into(),
        };
        let snapshot = Snapshot {
            identity: Arc::new(identity),
            now: at(100),
            goal: Goal::Running,
            desired: Arc::new(desired),
            observed: Some(Arc::new(seen)),
            observed_at: Some(at(100)),
            action: Arc::new(ActionStatus::default()),
            children: Children::default(),
            escalations: Arc::from([]),
        };
        Self { state, snapshot }
    }

    fn goal(mut self, goal: Goal) -> Self {
        self.snapshot.goal = goal;
        self
    }

    fn child(mut self, phase: Phase) -> Self {
        let view = ChildView {
            name: "inner".into(),
            state: phase.name(),
            phase,
        };
        self.snapshot.children = std::iter::once(view).collect();
        self
    }

    fn step(&self) -> Step {
        next(self.state, &self.snapshot)
    }

    #[track_caller]
    fn gives(&self, expected: &str) {
        assert_eq!(come_to(&self.step()), expected, "{}", reason(self.step()));
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn running() -> ServiceObservation {
    let mut found = Found::default();
    found.startup.verdict = Verdict::Good;
    found.ready.verdict = Verdict::Good;
    found.live.verdict = Verdict::Good;
    ServiceObservation {
        process: Some(SeenProcess {
            pid: 42,
            since: at(0),
            adopted: false,
            digest: 7,
        }),
        found,
        ..ServiceObservation::default()
    }
}

fn with(change: impl FnOnce(&mut ServiceObservation)) -> ServiceObservation {
    let mut seen = running();
    change(&mut seen);
    seen
}

fn ended(exit: Exit, failures: &[i64]) -> ServiceObservation {
    ServiceObservation {
        ended: Some(Ended {
            exit,
            at: at(99),
            digest: 7,
        }),
        failures: failures.iter().map(|seconds| at(*seconds)).collect(),
        streak: u32::try_from(failures.len()).unwrap(),
        ..ServiceObservation::default()
    }
}

fn gave_up(digest: u64) -> ServiceObservation {
    ServiceObservation {
        gave_up: Some(GaveUp {
            cause: "it failed 5 times".to_owned(),
            at: at(90),
            digest,
        }),
        ..ServiceObservation::default()
    }
}

use ServiceState::{Degraded, Failed, Running, Starting, Stopped, Stopping};

#[test]
fn a_service_comes_up_one_step_at_a_time() {
    Case::new(Stopped, ServiceObservation::default()).gives("to starting");
    Case::new(Starting, ServiceObservation::default()).gives("act start");
    let unknown = with(|seen| seen.found.startup.verdict = Verdict::Unknown);
    Case::new(Starting, unknown).gives("stay");
    let waiting = with(|seen| seen.found.ready.verdict = Verdict::Unknown);
    Case::new(Starting, waiting).gives("stay");
    Case::new(Starting, running()).gives("to running");
    Case::new(Running, running()).gives("to running");
    Case::new(Stopped, running()).gives("to starting");
}

#[test]
fn only_its_own_probe_or_its_own_word_makes_it_degraded() {
    Case::new(Running, with(|seen| seen.found.ready.verdict = Verdict::Bad)).gives("to degraded");
    Case::new(Running, with(|seen| seen.found.healthy = Some(false))).gives("to degraded");
    Case::new(
        Running,
        with(|seen| seen.found.observe_error = Some("refused".to_owned())),
    )
    .gives("to running");
    Case::new(Degraded, running()).gives("to running");
}

#[test]
fn one_that_does_not_come_up_or_does_not_live_is_ended() {
    Case::new(Starting, with(|seen| seen.found.startup.verdict = Verdict::Bad)).gives("act stop Startup");
    Case::new(Running, with(|seen| seen.found.live.verdict = Verdict::Bad)).gives("act stop Live");
}

#[test]
fn after_a_failure_it_waits_for_its_time_and_starts_again() {
    Case::new(Running, ended(Exit::Code(1), &[99])).gives("to starting");
    let waits = Case::new(Starting, ended(Exit::Code(1), &[98, 99]));
    waits.gives("stay");
    assert_eq!(
        reason(waits.step()),
        "it exited with code 1; restart 2 of 4 at 1970-01-01T00:01:41.000Z"
    );
    Case::new(Starting, ended(Exit::Code(1), &[99])).gives("act start");
    Case::new(Starting, ended(Exit::Unknown, &[90])).gives("act start");
}

#[test]
fn one_that_is_done_stays_down() {
    Case::new(Running, ended(Exit::Code(0), &[])).gives("to stopped");
    Case::new(Stopped, ended(Exit::Code(0), &[])).gives("to stopped");
}

#[test]
fn one_that_is_given_up_waits_for_a_person_or_another_configuration() {
    Case::new(Starting, gave_up(7)).gives("to failed");
    Case::new(Failed, gave_up(7)).gives("stay");
    Case::new(Failed, gave_up(8)).gives("act forget");
    Case::new(Failed, ServiceObservation::default()).gives("to starting");
    Case::new(Failed, gave_up(7)).goal(Goal::Stopped).gives("stay");
    Case::new(Failed, ServiceObservation::default())
        .goal(Goal::Stopped)
        .gives("to stopped");
    let problem = |digest| ServiceObservation {
        problem: Some(Problem {
            text: "program `x` was not found".to_owned(),
            lasting: true,
            digest,
        }),
        ..ServiceObservation::default()
    };
    Case::new(Starting, problem(7)).gives("to failed");
    Case::new(Starting, problem(8)).gives("act start");
}

#[test]
fn a_process_of_another_configuration_is_replaced() {
    let other = || {
        with(|seen| {
            seen.process.as_mut().unwrap().digest = 8;
            seen.checked = 7;
        })
    };
    Case::new(Running, other()).gives("to stopping");
    Case::new(Stopping, other()).gives("act stop Nobody");
    Case::new(Stopping, ServiceObservation::default()).gives("to stopped");
}

#[test]
fn it_goes_down_children_first() {
    Case::new(Running, running()).goal(Goal::Stopped).gives("to stopping");
    let waits = Case::new(Stopping, running()).goal(Goal::Stopped).child(Phase::Running);
    waits.gives("stay");
    let last = Case::new(Stopping, running()).goal(Goal::Stopped).child(Phase::Stopped);
    last.gives("act stop Nobody");
    Case::new(Stopping, ServiceObservation::default())
        .goal(Goal::Stopped)
        .gives("to stopped");
}

#[test]
fn it_leaves_only_when_nothing_of_it_is_left() {
    Case::new(Running, running()).goal(Goal::Removed).gives("to stopping");
    Case::new(Stopped, running()).goal(Goal::Removed).gives("to stopping");
    Case::new(Stopped, ServiceObservation::default())
        .goal(Goal::Removed)
        .gives("remove");
    Case::new(Stopped, ended(Exit::Code(0), &[]))
        .goal(Goal::Removed)
        .gives("act forget");
    let mut forgotten = Case::new(Stopped, ended(Exit::Code(0), &[])).goal(Goal::Removed);
    forgotten.snapshot.action = Arc::new(ActionStatus {
        name: "forget".to_owned(),
        ..ActionStatus::default()
    });
    forgotten.gives("remove");
}

#[test]
fn one_that_nobody_has_seen_is_ended_in_doubt() {
    let unseen = |written: &Value, state| {
        let mut case = Case::of(written, state, ServiceObservation::default()).goal(Goal::Removed);
        case.snapshot.observed = None;
        case
    };
    let one = json!({"command": ["a"]});
    unseen(&one, Stopped).gives("to stopping");
    unseen(&one, Stopping).gives("act stop Nobody");
    let mut ended = unseen(&one, Stopping);
    ended.snapshot.action = Arc::new(ActionStatus {
        name: "stop".to_owned(),
        outcome: Outcome::Succeeded,
        ..ActionStatus::default()
    });
    ended.gives("to stopped");
    ended.state = Stopped;
    ended.gives("remove");
    // Where there is no process of its own there is nothing to doubt.
    unseen(&json!({"children": {"inner": {"command": ["a"]}}}), Stopped).gives("remove");
}

#[test]
fn a_parent_without_a_process_is_what_its_children_are() {
    let parent = |state| Case::of(&json!({}), state, ServiceObservation::default());
    parent(Starting).child(Phase::Starting).gives("to starting");
    parent(Starting).child(Phase::Running).gives("to running");
    parent(Running).child(Phase::Degraded).gives("to running");
    parent(Running).child(Phase::Stopped).gives("to running");
    let mut waits = parent(Starting).child(Phase::Stopped);
    Arc::get_mut(&mut waits.snapshot.desired).unwrap().expected = vec!["inner".to_owned()];
    waits.gives("to starting");
    parent(Running).child(Phase::Failed).gives("to failed");
    parent(Failed).child(Phase::Running).gives("to running");
}

#[test]
fn a_child_that_was_given_up_fails_its_parent_until_that_ends() {
    let mut case = Case::of(&json!({}), Running, ServiceObservation::default()).child(Phase::Running);
    case.snapshot.escalations = Arc::from([Escalation {
        child: "inner".to_owned(),
        cause: "child infrastructure repeatedly failing: no output".to_owned(),
        since: at(1),
    }]);
    case.gives("to failed");
    assert!(reason(case.step()).starts_with("child infrastructure repeatedly failing"));
    case.state = Failed;
    case.gives("stay");
    case.snapshot.escalations = Arc::from([]);
    case.gives("to running");
}

#[test]
fn a_process_is_not_ended_for_one_that_cannot_be_started() {
    let kept = |change: fn(&mut ServiceObservation)| {
        with(|seen| {
            seen.checked = 7;
            seen.obstacle = Some("program `x` was not found".to_owned());
            change(seen);
        })
    };
    let other = kept(|seen| seen.process.as_mut().unwrap().digest = 8);
    let case = Case::new(Running, other);
    case.gives("to running");
    assert!(
        reason(case.step()).contains("as configured before"),
        "{}",
        reason(case.step())
    );
    let unchecked = kept(|seen| {
        seen.process.as_mut().unwrap().digest = 8;
        seen.checked = 8;
    });
    Case::new(Running, unchecked).gives("stay");
    let dead = kept(|seen| seen.found.live.verdict = Verdict::Bad);
    Case::new(Running, dead).gives("to degraded");
    let unready = kept(|seen| seen.found.startup.verdict = Verdict::Bad);
    Case::new(Starting, unready).gives("stay");
}
