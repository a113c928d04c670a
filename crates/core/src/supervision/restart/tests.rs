//! The timelines of the first design, on the pure machine. Times count from the end of grace; jitter is off.

use super::*;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000).plus(millis)
}

fn yes() -> Permit {
    Permit::Restart
}

/// A machine whose grace ends at 0 with its first detection.
fn detected() -> RestartMachine {
    let mut machine = RestartMachine::new(RestartLimits::default());
    let start = Timestamp::from_millis(1_000_000 - 5_000);
    assert_eq!(machine.check(start, Check::Bad("broken"), yes), None);
    let event = machine.check(at(0), Check::Bad("broken"), yes);
    assert!(matches!(
        event,
        Some(RestartEvent::Detected {
            number: 1,
            opened: true,
            ..
        })
    ));
    machine
}

/// Lets the child run again at `millis`, and the rest pass; when the circuit became half-open.
fn restarted(machine: &mut RestartMachine, millis: u64) -> u64 {
    let Some(RestartEvent::Resting { millis: rest }) = machine.advance(at(millis), Progress::Running, yes) else {
        panic!("it does not rest");
    };
    let until = millis + rest;
    assert_eq!(machine.due(at(millis)), Some(at(until)));
    assert_eq!(machine.advance(at(until - 1), Progress::Running, yes), None);
    assert_eq!(
        machine.advance(at(until), Progress::Running, yes),
        Some(RestartEvent::HalfOpened)
    );
    until
}

/// Detections in milliseconds when the nth restart takes `restarts[n]` and never helps.
fn detections(limits: RestartLimits, restarts: &[u64]) -> (Vec<u64>, Option<u64>) {
    let mut machine = RestartMachine::new(limits);
    let start = Timestamp::from_millis(1_000_000 - 5_000);
    machine.check(start, Check::Bad("broken"), yes);
    let (mut seen, mut now) = (Vec::new(), 0);
    for restart in restarts.iter().chain([&0]) {
        match machine.check(at(now), Check::Bad("broken"), yes) {
            Some(RestartEvent::Detected { .. }) => seen.push(now),
            Some(RestartEvent::Escalated { .. }) => return (seen, Some(now)),
            other => panic!("{other:?} at {now}"),
        }
        now = restarted(&mut machine, now + restart);
    }
    (seen, None)
}

// Seed 003, example 1.
#[test]
fn a_restart_of_five_seconds_is_half_open_at_six_and_closes_on_the_second_good_check() {
    let mut machine = detected();
    assert_eq!(machine.advance(at(2_000), Progress::Underway, yes), None);
    assert_eq!(restarted(&mut machine, 5_000), 6_000);
    assert_eq!(machine.check(at(6_000), Check::Good, yes), None);
    assert!(machine.holds());
    let closed = machine.check(at(7_000), Check::Good, yes);
    // 55.
    assert_eq!(closed, Some(RestartEvent::Closed { open_millis: 7_000 }));
    assert!(!machine.holds());
}

// Seed 003, example 2; D1, D2, 50, 51.
#[test]
fn the_fifth_detection_escalates_after_restarts_that_never_help() {
    let (seen, escalated) = detections(RestartLimits::default(), &[2_000, 3_000, 4_000, 6_000]);
    assert_eq!(seen, [0, 3_000, 8_000, 16_000]);
    assert_eq!(escalated, Some(30_000));
}

// 50: with a larger budget the rests reach the cap and stay there.
#[test]
fn a_larger_budget_reaches_the_cap() {
    let limits = RestartLimits {
        detections_max: 200,
        window_millis: u64::MAX,
        ..RestartLimits::default()
    };
    let (seen, escalated) = detections(limits, &[0; 100]);
    assert_eq!(escalated, None);
    let gaps: Vec<u64> = seen.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(&gaps[..8], [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    assert_eq!(gaps.last(), Some(&60_000));
}

/// When a rule that is broken every `gap` seconds, healed by instant restarts in between, escalates.
fn escalates(gap: u64) -> Option<u64> {
    let mut machine = RestartMachine::new(RestartLimits::default());
    let mut second = 0;
    while second < 3_600 {
        let now = second * 1_000;
        // Bad for the grace before each multiple of the gap, good otherwise.
        let check = if second % gap == 0 || second % gap > gap - 6 {
            Check::Bad("broken")
        } else {
            Check::Good
        };
        match machine.check(at(now), check, yes) {
            Some(RestartEvent::Escalated { .. }) => return Some(second),
            Some(RestartEvent::Detected { .. }) => {
                machine.advance(at(now), Progress::Running, yes);
            }
            _ => {}
        }
        machine.advance(at(now + 1_000), Progress::Running, yes);
        second += 1;
    }
    None
}

// D8, 52.
#[test]
fn detections_seventy_seconds_apart_escalate_and_two_minutes_apart_never_do() {
    // The first detection is at 70 s (there is no grace before 0), so the fifth is 280 s after it.
    assert_eq!(escalates(70), Some(350));
    assert_eq!(escalates(120), None);
}

// D3.
#[test]
fn bad_and_good_in_turns_do_not_flap_for_ever() {
    let mut machine = detected();
    let mut now = 0;
    for turn in 0..10 {
        now = restarted(&mut machine, now);
        assert_eq!(machine.check(at(now), Check::Good, yes), None);
        now += 1_000;
        match machine.check(at(now), Check::Bad("again"), yes) {
            Some(RestartEvent::Detected { last, .. }) => assert_eq!(last, turn == 2, "the warning comes at the fourth"),
            Some(RestartEvent::Escalated { cause }) => {
                assert_eq!(turn, 3);
                assert_eq!(cause, "child infrastructure repeatedly failing: again");
                return;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it flaps");
}

// D7, 46.
#[test]
fn grace_is_cleared_by_the_first_good_check_and_the_next_incident_gets_its_own() {
    let mut machine = RestartMachine::new(RestartLimits::default());
    for (second, check) in [
        (0, Check::Bad("x")),
        (4, Check::Bad("x")),
        (5, Check::Good),
        (6, Check::Bad("x")),
    ] {
        assert_eq!(machine.check(at(second * 1_000), check, yes), None, "at {second} s");
    }
    assert_eq!(machine.check(at(10_999), Check::Bad("x"), yes), None);
    assert!(machine.check(at(11_000), Check::Bad("x"), yes).is_some());
}

// 83.
#[test]
fn grace_starts_anew_when_not_everybody_was_ready_and_runs_on_when_a_value_was_missing() {
    let mut machine = RestartMachine::new(RestartLimits::default());
    machine.check(at(0), Check::Bad("x"), yes);
    machine.check(at(3_000), Check::Unready, yes);
    machine.check(at(4_000), Check::Bad("x"), yes);
    assert_eq!(machine.check(at(8_900), Check::Undecided, yes), None);
    assert_eq!(machine.check(at(8_999), Check::Bad("x"), yes), None);
    assert!(machine.check(at(9_000), Check::Bad("x"), yes).is_some());
}

// 53, 86, D16.
#[test]
fn what_may_not_be_restarted_escalates_at_once_and_spends_nothing() {
    let mut machine = RestartMachine::new(RestartLimits::default());
    let refuse = || Permit::Refuse("invalid child configuration: no `command`".to_owned());
    machine.check(at(0), Check::Bad("x"), yes);
    let event = machine.check(at(5_000), Check::Bad("x"), refuse);
    assert!(
        matches!(event, Some(RestartEvent::Escalated { cause }) if cause.starts_with("invalid child configuration"))
    );
    assert_eq!(machine.detections(at(5_000)), 0);
    assert!(!machine.holds());
}

// D4.
#[test]
fn a_child_that_never_comes_back_leaves_no_latched_circuit() {
    let mut machine = detected();
    assert_eq!(machine.advance(at(299_999), Progress::Underway, yes), None);
    let event = machine.advance(at(300_000), Progress::Underway, yes);
    assert!(matches!(event, Some(RestartEvent::Escalated { .. })));

    let mut machine = detected();
    assert_eq!(machine.advance(at(500), Progress::Failed, yes), None);
    let event = machine.advance(at(1_000), Progress::Failed, yes);
    assert!(matches!(
        event,
        Some(RestartEvent::Detected {
            number: 2,
            opened: false,
            ..
        })
    ));
}

// D4: nobody is held for ever by a rule that cannot be judged.
#[test]
fn a_half_open_circuit_that_nobody_can_judge_is_released() {
    let mut machine = detected();
    let half_open = restarted(&mut machine, 0);
    machine.check(at(half_open), Check::Undecided, yes);
    assert_eq!(machine.advance(at(half_open + 59_999), Progress::Running, yes), None);
    let event = machine.advance(at(half_open + 60_000), Progress::Running, yes);
    assert_eq!(event, Some(RestartEvent::Released { open_millis: 61_000 }));
}

// 85.
#[test]
fn only_a_reset_ends_an_escalation_and_it_clears_the_window() {
    let mut machine = detected();
    machine.advance(at(300_000), Progress::Underway, yes);
    machine.abandon();
    assert!(matches!(machine.circuit(), Circuit::Escalated { .. }));
    assert!(machine.reset());
    assert_eq!(machine.detections(at(300_000)), 0);
    assert!(!machine.reset());
}

// 57.
#[test]
fn an_abandoned_circuit_holds_nobody_and_claims_no_recovery() {
    let mut machine = detected();
    machine.abandon();
    assert_eq!(machine.circuit(), &Circuit::Closed);
    assert_eq!(machine.detections(at(0)), 1);
}

#[test]
fn a_machine_that_was_kept_goes_on_where_it_stood() {
    let mut machine = detected();
    machine.advance(at(4_000), Progress::Running, yes);
    let saved = machine.save(at(4_400));
    let text = serde_json::to_string(&saved).unwrap();
    let saved: Saved = serde_json::from_str(&text).unwrap();
    let mut elsewhere = RestartMachine::restored(RestartLimits::default(), &saved, at(900_000));
    assert_eq!(elsewhere.due(at(900_000)), Some(at(900_600)));
    assert_eq!(elsewhere.detections(at(900_000)), 1);
    elsewhere.advance(at(900_600), Progress::Running, yes);
    let event = elsewhere.check(at(900_600), Check::Bad("x"), yes);
    assert!(matches!(
        event,
        Some(RestartEvent::Detected {
            number: 2,
            opened: false,
            ..
        })
    ));
    assert!(matches!(
        elsewhere.circuit(),
        Circuit::Open {
            stage: RestartStage::Restarting { rest_millis: 2_000, .. },
            ..
        }
    ));
}
