//! Properties of the restart machine under every sequence of checks, children and waits.

use proptest::prelude::*;

use super::restart::{
    Check, Circuit, DETECTION_WINDOW_MILLIS, DETECTIONS_MAX, Permit, Progress, RESTART_MAX_MILLIS, RestartEvent,
    RestartLimits, RestartMachine, UNDECIDED_MAX_MILLIS,
};
use crate::time::Timestamp;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Happening {
    Check(u8),
    Child(u8),
    Wait(u64),
    Keep,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0_u8..4).prop_map(Happening::Check),
        3 => (0_u8..3).prop_map(Happening::Child),
        3 => (0_u64..20_000).prop_map(Happening::Wait),
        1 => Just(Happening::Keep),
    ]
}

fn check(number: u8) -> Check<'static> {
    [Check::Good, Check::Bad("bad"), Check::Undecided, Check::Unready][usize::from(number % 4)]
}

fn child(number: u8) -> Progress {
    [Progress::Underway, Progress::Running, Progress::Failed][usize::from(number % 3)]
}

/// Plays what happens; the instants of detections, and the machine at its end.
fn play(happenings: &[Happening]) -> (Vec<Timestamp>, RestartMachine, Timestamp) {
    let mut machine = RestartMachine::new(RestartLimits::default());
    let (mut now, mut seen) = (Timestamp::from_millis(0), Vec::new());
    for happening in happenings {
        let event = match happening {
            Happening::Check(number) => machine.check(now, check(*number), || Permit::Restart),
            Happening::Child(number) => machine.advance(now, child(*number), || Permit::Restart),
            Happening::Wait(millis) => {
                now = now.plus(*millis);
                None
            }
            Happening::Keep => {
                let saved = machine.save(now);
                let restored = RestartMachine::restored(RestartLimits::default(), &saved, now);
                // What is kept holds and counts as before, so a crash gives no child a fresh budget.
                assert_eq!(restored.holds(), machine.holds());
                assert_eq!(restored.detections(now), machine.detections(now));
                machine = restored;
                None
            }
        };
        if matches!(event, Some(RestartEvent::Detected { .. })) {
            seen.push(now);
        }
    }
    (seen, machine, now)
}

proptest! {
    /// Whatever happens, no window of five minutes holds five restarts.
    #[test]
    fn restarts_never_exceed_the_budget(happenings in prop::collection::vec(happening(), 0..400)) {
        let (seen, _, _) = play(&happenings);
        for window in seen.windows(DETECTIONS_MAX) {
            let span = window[DETECTIONS_MAX - 1].since(window[0]);
            prop_assert!(span >= DETECTION_WINDOW_MILLIS, "{} ms", span);
        }
    }

    /// From wherever it stands, with a child that never moves and a rule that is never judged, it holds no child for
    /// longer than its bounds.
    #[test]
    fn nobody_is_held_for_ever(happenings in prop::collection::vec(happening(), 0..200), still in 0_u8..3) {
        let (_, mut machine, mut now) = play(&happenings);
        let end = now.plus(DETECTIONS_MAX as u64 * (RESTART_MAX_MILLIS + UNDECIDED_MAX_MILLIS + 60_000));
        while machine.holds() && now < end {
            let due = machine.due(now);
            prop_assert!(due.is_some(), "it holds and is due never");
            now = due.unwrap_or(end).max(now.plus(1));
            machine.advance(now, child(still), || Permit::Restart);
        }
        prop_assert!(!machine.holds(), "{:?}", machine.circuit());
    }

    /// With a rule that stays good and a child that runs, it ends closed, or it had escalated before.
    #[test]
    fn health_closes_every_circuit(happenings in prop::collection::vec(happening(), 0..200)) {
        let (_, mut machine, mut now) = play(&happenings);
        let escalated = matches!(machine.circuit(), Circuit::Escalated { .. });
        for _ in 0..200 {
            now = now.plus(1_000);
            machine.advance(now, Progress::Running, || Permit::Restart);
            machine.check(now, Check::Good, || Permit::Restart);
        }
        prop_assert_eq!(matches!(machine.circuit(), Circuit::Closed), !escalated);
    }
}
