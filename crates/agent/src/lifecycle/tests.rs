//! The lifecycle against its acceptance criteria (agents.md A, B, E, F), on simulated time.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const RUN: RunId = RunId(1);
const OTHER: RunId = RunId(2);

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn states(agent: &Lifecycle) -> Vec<State> {
    agent.log().history().map(|transition| transition.to).collect()
}

fn ready(on_loss: ControllerLoss) -> Lifecycle {
    let mut agent = Lifecycle::default();
    assert_eq!(agent.request(RUN), Ok(vec![Effect::Validate(RUN)]));
    let effects = agent.on(Event::Accepted { run: RUN, on_loss }, at(0.0));
    assert!(effects.contains(&Effect::Announce(RUN)), "{effects:?}");
    agent
}

fn running(on_loss: ControllerLoss) -> Lifecycle {
    let mut agent = ready(on_loss);
    let start = Start::Now;
    let effects = agent.on(Event::StartGiven { run: RUN, start }, at(0.0));
    assert!(
        matches!(effects.last(), Some(Effect::Spawn { run: RUN, .. })),
        "{effects:?}"
    );
    agent
}

fn terminals(effects: &[Effect]) -> Vec<&Terminal> {
    fn terminal(effect: &Effect) -> Option<&Terminal> {
        match effect {
            Effect::End { terminal, .. } => Some(terminal),
            _ => None,
        }
    }
    effects.iter().filter_map(terminal).collect()
}

#[test]
fn a1_ten_transitions_are_legal_and_the_same_state_is_a_silent_success() {
    let legal = [
        (State::Idle, State::Ready),
        (State::Idle, State::Failed),
        (State::Ready, State::Running),
        (State::Ready, State::Idle),
        (State::Ready, State::Aborting),
        (State::Running, State::Idle),
        (State::Running, State::Failed),
        (State::Running, State::Aborting),
        (State::Aborting, State::Idle),
        (State::Failed, State::Idle),
    ];
    let path = |to| match to {
        State::Idle => vec![],
        State::Ready => vec![State::Ready],
        State::Running => vec![State::Ready, State::Running],
        State::Failed => vec![State::Failed],
        State::Aborting => vec![State::Ready, State::Aborting],
    };
    let mut counts = (0, 0, 0);
    for from in State::ALL {
        for to in State::ALL {
            let mut log = StateLog::default();
            for step in path(from) {
                log.transition(RUN, step, "set up", at(0.0)).unwrap();
            }
            let before = log.history().count();
            let result = log.transition(RUN, to, "because", at(1.0)).map(|made| made.is_some());
            if from == to {
                counts.1 += 1;
                assert_eq!(result, Ok(false));
                assert_eq!(log.history().count(), before, "silent");
            } else if legal.contains(&(from, to)) {
                counts.0 += 1;
                assert_eq!((result, log.state()), (Ok(true), to));
            } else {
                counts.2 += 1;
                let reason = "because".to_owned();
                assert_eq!(result, Err(IllegalTransition { from, to, reason }));
                assert_eq!(log.state(), from, "unchanged");
            }
        }
    }
    assert_eq!(counts, (10, 5, 10));
}

#[test]
fn a3_the_last_64_transitions_are_kept_with_their_run_reason_and_time() {
    let mut agent = Lifecycle::default();
    for number in 0..50_u32 {
        let run = RunId(u64::from(number));
        agent.request(run).unwrap();
        let message = "`concurrency` is wrong".to_owned();
        agent.on(Event::Refused { run, message }, at(f64::from(number)));
    }
    let history: Vec<&Transition> = agent.log().history().collect();
    assert_eq!(history.len(), HISTORY_MAX);
    let last_failure = history[HISTORY_MAX - 2];
    assert_eq!((last_failure.run, last_failure.to), (RunId(49), State::Failed));
    assert_eq!(last_failure.reason, "`concurrency` is wrong");
    assert_eq!(last_failure.after, at(1.0), "time in the state before");
}

#[test]
fn b2_and_d32_a_refused_plan_fails_the_run_and_the_next_one_is_taken() {
    let mut agent = Lifecycle::default();
    agent.request(RUN).unwrap();
    let message = "`concurrency` is zero".to_owned();
    let effects = agent.on(
        Event::Refused {
            run: RUN,
            message: message.clone(),
        },
        at(0.0),
    );
    assert_eq!(states(&agent), [State::Failed, State::Idle]);
    assert_eq!(terminals(&effects), [&Terminal::Failed(message)]);
    let logged = effects
        .iter()
        .position(|effect| matches!(effect, Effect::Log(made) if made.to == State::Idle));
    let ended = effects.iter().position(|effect| matches!(effect, Effect::End { .. }));
    assert!(logged < ended, "IDLE before the stream ends: {effects:?}");
    assert!(agent.request(OTHER).is_ok());
}

#[test]
fn b3_a_busy_agent_names_its_state_whatever_it_does() {
    let mut agent = Lifecycle::default();
    agent.request(RUN).unwrap();
    let busy = |agent: &mut Lifecycle| agent.request(OTHER).unwrap_err().to_string();
    assert_eq!(busy(&mut agent), "agent busy: it is `IDLE` with run `0000000000000001`");
    for (mut agent, state) in [
        (ready(ControllerLoss::Abort), "READY"),
        (running(ControllerLoss::Abort), "RUNNING"),
    ] {
        assert!(busy(&mut agent).contains(&format!("agent busy: it is `{state}`")));
    }
    let mut agent = running(ControllerLoss::Abort);
    agent.abort(Some(RUN), at(1.0)).unwrap();
    assert!(busy(&mut agent).contains("agent busy: it is `ABORTING`"));
}

#[test]
fn b5_an_abort_during_validation_ends_the_run_without_ready() {
    let mut agent = Lifecycle::default();
    agent.request(RUN).unwrap();
    let effects = agent.abort(Some(RUN), at(0.1)).unwrap();
    assert!(matches!(terminals(&effects)[..], [Terminal::Aborted(_)]));
    let on_loss = ControllerLoss::Abort;
    assert_eq!(agent.on(Event::Accepted { run: RUN, on_loss }, at(0.2)), []);
    assert_eq!((agent.state(), agent.run()), (State::Idle, None));
}

#[test]
fn b7_and_d35_a_start_time_is_taken_within_its_bounds_only() {
    let taken = [(Start::Now, 0.0), (Start::Past(at(2.0)), 2.0)];
    for (start, late) in taken {
        let mut agent = ready(ControllerLoss::Abort);
        let effects = agent.on(Event::StartGiven { run: RUN, start }, at(1.0));
        assert_eq!(
            effects.last(),
            Some(&Effect::Spawn {
                run: RUN,
                late: at(late)
            })
        );
    }
    for start in [Start::In(at(60.001)), Start::Past(at(2.001))] {
        let mut agent = ready(ControllerLoss::Abort);
        let effects = agent.on(Event::StartGiven { run: RUN, start }, at(1.0));
        assert!(
            matches!(terminals(&effects)[..], [Terminal::StartRefused(_)]),
            "{effects:?}"
        );
        assert_eq!(states(&agent), [State::Ready, State::Idle]);
    }
    let mut agent = ready(ControllerLoss::Abort);
    assert_eq!(agent.deadline(), Some(at(60.0)));
    assert_eq!(agent.tick(at(59.9)), []);
    assert!(matches!(terminals(&agent.tick(at(60.0)))[..], [Terminal::Aborted(_)]));
    assert_eq!(states(&agent), [State::Ready, State::Idle]);
}

#[test]
fn c4_the_start_is_a_deadline_of_the_monotonic_clock() {
    let mut agent = ready(ControllerLoss::Abort);
    let start = Start::In(at(5.0));
    assert_eq!(agent.on(Event::StartGiven { run: RUN, start }, at(1.0)), []);
    assert_eq!(agent.deadline(), Some(at(6.0)));
    assert_eq!(agent.tick(at(5.999)), []);
    let effects = agent.tick(at(6.001));
    assert_eq!(
        effects.last(),
        Some(&Effect::Spawn {
            run: RUN,
            late: at(6.001).saturating_sub(at(6.0))
        })
    );
}

#[test]
fn d6_an_error_of_the_workload_fails_the_run() {
    let mut agent = running(ControllerLoss::Abort);
    let end = TaskEnd::Failed("the workload panicked".to_owned());
    let effects = agent.on(Event::TaskEnded { run: RUN, end }, at(1.0));
    assert_eq!(
        states(&agent),
        [State::Ready, State::Running, State::Failed, State::Idle]
    );
    assert!(matches!(terminals(&effects)[..], [Terminal::Failed(_)]));
}

#[test]
fn e1_an_abort_in_ready_goes_to_idle_at_once() {
    let mut agent = ready(ControllerLoss::Abort);
    let effects = agent.abort(Some(RUN), at(0.0)).unwrap();
    assert_eq!(states(&agent), [State::Ready, State::Idle]);
    assert!(matches!(terminals(&effects)[..], [Terminal::Aborted(_)]));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Spawn { .. })));
}

#[test]
fn e2_an_abort_waits_for_the_task_and_stays_aborting_meanwhile() {
    let mut agent = running(ControllerLoss::Abort);
    let effects = agent.abort(Some(RUN), at(10.0)).unwrap();
    assert_eq!(effects.last(), Some(&Effect::Cancel(RUN)));
    assert_eq!(agent.state(), State::Aborting);
    let end = TaskEnd::Cancelled;
    let effects = agent.on(Event::TaskEnded { run: RUN, end }, at(12.0));
    assert_eq!(agent.state(), State::Idle);
    assert_eq!(terminals(&effects).len(), 1);
}

#[test]
fn e3_e4_and_d31_a_stuck_task_is_killed_at_5_s_and_leaks_at_15_s() {
    let mut agent = running(ControllerLoss::Abort);
    agent.abort(Some(RUN), at(10.0)).unwrap();
    assert_eq!(agent.tick(at(14.999)), []);
    assert_eq!(agent.tick(at(15.0)), [Effect::LogStuck(RUN), Effect::Kill(RUN)]);
    assert_eq!(agent.state(), State::Aborting, "the task is still at work");
    assert_eq!(agent.tick(at(24.999)), []);
    assert!(agent.request(OTHER).is_err(), "busy until it is IDLE");
    let effects = agent.tick(at(25.0));
    assert_eq!(effects.first(), Some(&Effect::Leak(RUN)));
    assert_eq!((agent.state(), agent.leaked()), (State::Idle, 1));
}

#[test]
fn e4_and_e5_neither_the_end_nor_the_timers_of_a_leaked_task_touch_the_next_run() {
    let mut agent = running(ControllerLoss::Abort);
    agent.abort(Some(RUN), at(0.0)).unwrap();
    agent.tick(at(5.0));
    agent.tick(at(15.0));
    agent.request(OTHER).unwrap();
    let on_loss = ControllerLoss::Abort;
    agent.on(Event::Accepted { run: OTHER, on_loss }, at(15.0));
    agent.on(
        Event::StartGiven {
            run: OTHER,
            start: Start::Now,
        },
        at(15.0),
    );
    for second in 16..46 {
        assert_eq!(agent.tick(at(f64::from(second))), [], "no timer of run 1");
    }
    let end = TaskEnd::Completed;
    assert_eq!(agent.on(Event::TaskEnded { run: RUN, end }, at(46.0)), []);
    assert_eq!((agent.state(), agent.leaked()), (State::Running, 0));
}

#[test]
fn e6_aborts_are_idempotent_and_name_their_run() {
    let mut agent = running(ControllerLoss::Abort);
    assert_eq!(agent.abort(Some(OTHER), at(0.5)), Err(UnknownRun(OTHER)));
    assert_eq!(agent.state(), State::Running);
    agent.abort(Some(RUN), at(1.0)).unwrap();
    assert_eq!(agent.abort(Some(RUN), at(5.0)), Ok(vec![]));
    assert_eq!(agent.deadline(), Some(at(6.0)), "not extended");
    assert_eq!(Lifecycle::default().abort(None, at(0.0)), Ok(vec![]));
    assert_eq!(Lifecycle::default().abort(Some(RUN), at(0.0)), Err(UnknownRun(RUN)));
}

#[test]
fn e6_an_abort_of_a_run_that_just_ended_changes_nothing() {
    let mut agent = running(ControllerLoss::Abort);
    let end = TaskEnd::Completed;
    agent.on(Event::TaskEnded { run: RUN, end }, at(1.0));
    assert_eq!(agent.abort(Some(RUN), at(1.0)), Ok(vec![]));
}

#[test]
fn f1_f2_and_f11_a_lost_controller_is_handled_as_the_plan_says() {
    let lost = Event::ControllerLost { run: RUN };
    let mut agent = ready(ControllerLoss::FinishAndKeep);
    agent.on(lost.clone(), at(1.0));
    assert_eq!(
        states(&agent),
        [State::Ready, State::Idle],
        "before the start, every loss ends the run"
    );
    let mut agent = running(ControllerLoss::Abort);
    agent.on(lost.clone(), at(1.0));
    assert_eq!(agent.state(), State::Aborting);
    let mut agent = running(ControllerLoss::FinishAndKeep);
    agent.on(lost, at(1.0));
    assert_eq!((agent.state(), agent.deadline()), (State::Running, None));
}

#[test]
fn f9_f10_and_d33_a_controller_may_attach_again_within_its_grace() {
    let lost = Event::ControllerLost { run: RUN };
    let mut agent = running(ControllerLoss::Grace(at(10.0)));
    agent.on(lost.clone(), at(1.0));
    assert_eq!((agent.state(), agent.deadline()), (State::Running, Some(at(11.0))));
    agent.on(Event::ControllerAttached { run: RUN }, at(6.0));
    assert_eq!(agent.deadline(), None);
    agent.on(lost, at(20.0));
    assert_eq!(agent.tick(at(29.9)), []);
    agent.tick(at(30.0));
    assert_eq!(agent.state(), State::Aborting);
}

#[test]
fn f8_a_shutdown_aborts_the_run_and_exits_once_idle() {
    assert_eq!(Lifecycle::default().on(Event::ShutDown, at(0.0)), [Effect::Exit]);
    let mut agent = running(ControllerLoss::Abort);
    let effects = agent.on(Event::ShutDown, at(1.0));
    assert!(!effects.contains(&Effect::Exit));
    let end = TaskEnd::Cancelled;
    let effects = agent.on(Event::TaskEnded { run: RUN, end }, at(2.0));
    assert_eq!(effects.last(), Some(&Effect::Exit));
    assert_eq!(agent.request(OTHER), Err(Busy::ShuttingDown));
}

#[derive(Clone, Debug)]
enum Step {
    Request,
    Abort(bool),
    Event(u8, bool),
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Request),
        any::<bool>().prop_map(Step::Abort),
        (0..12_u8, any::<bool>()).prop_map(|(event, current)| Step::Event(event, current)),
        (0..20_000_u16).prop_map(Step::Wait),
    ]
}

fn event(number: u8, run: RunId) -> Event {
    let start = |start| Event::StartGiven { run, start };
    let end = |end| Event::TaskEnded { run, end };
    let accepted = |on_loss| Event::Accepted { run, on_loss };
    match number {
        0 => accepted(ControllerLoss::Abort),
        1 => accepted(ControllerLoss::Grace(Duration::from_secs(3))),
        2 => accepted(ControllerLoss::FinishAndKeep),
        3 => Event::Refused {
            run,
            message: "no".to_owned(),
        },
        4 => start(Start::Now),
        5 => start(Start::In(Duration::from_secs(4))),
        6 => start(Start::Past(Duration::from_secs(3))),
        7 => Event::ControllerLost { run },
        8 => Event::ControllerAttached { run },
        9 => end(TaskEnd::Completed),
        10 => end(TaskEnd::Failed("no".to_owned())),
        _ => end(TaskEnd::Cancelled),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a2_any_events_keep_the_agent_in_a_legal_state_and_a_final_abort_makes_it_idle(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        let mut agent = Lifecycle::default();
        let mut now = Duration::ZERO;
        let mut next = 0;
        let mut ends: Vec<RunId> = Vec::new();
        let mut taken = 0;
        let mut seen = Vec::new();
        for step in steps {
            let effects = match step {
                Step::Request => {
                    next += 1;
                    let asked = agent.request(RunId(next));
                    taken += usize::from(asked.is_ok());
                    asked.unwrap_or_default()
                }
                Step::Abort(current) => {
                    let run = if current { agent.run() } else { Some(RunId(99_999)) };
                    agent.abort(run, now).unwrap_or_default()
                }
                Step::Event(number, current) => {
                    let run = agent.run().filter(|_| current).unwrap_or(RunId(next / 2));
                    agent.on(event(number, run), now)
                }
                Step::Wait(millis) => {
                    now += Duration::from_millis(u64::from(millis));
                    agent.tick(now)
                }
            };
            seen.extend(effects);
            prop_assert!(State::ALL.contains(&agent.state()));
            prop_assert_ne!(agent.state(), State::Failed, "FAILED does not linger");
            if agent.state() != State::Idle {
                prop_assert!(agent.run().is_some());
            }
        }
        seen.extend(agent.abort(None, now).unwrap());
        for _ in 0..32 {
            now += Duration::from_millis(500);
            seen.extend(agent.tick(now));
        }
        prop_assert_eq!((agent.state(), agent.run()), (State::Idle, None));
        for effect in &seen {
            prop_assert!(!matches!(effect, Effect::LogRefused(_)), "an illegal transition: {:?}", effect);
            if let Effect::End { run, .. } = effect {
                prop_assert!(!ends.contains(run), "one terminal event for each run");
                ends.push(*run);
            }
        }
        prop_assert_eq!(ends.len(), taken);
    }
}

#[test]
fn a4_only_the_checked_function_writes_the_state() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![folder];
    let mut writes = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // Spelled so that this file does not count.
            let write = concat!("self.", "state = ");
            writes.extend(text.matches(write).map(|_| path.file_name().unwrap().to_owned()));
        }
    }
    assert_eq!(writes, ["state.rs"], "`StateLog::transition` alone");
}
