//! The timelines of the first design, through the tree. They count from the end of grace, jitter is off; a tick and a
//! look may lie between what happens and its being seen.

use sprag_supervisor::testing::World;

use crate::shared::{Theatre, theatre};

/// What ticks and looks may add to each step.
const SLACK_MILLIS: u64 = 1_500;

fn near(measured: u64, wanted: u64, steps: u64) {
    let slack = SLACK_MILLIS * steps;
    assert!(
        measured >= wanted && measured <= wanted + slack,
        "{measured} ms is not {wanted} ms and at most {slack} ms"
    );
}

fn broken(theatre: &mut Theatre) {
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
}

// Seed 003, example 1.
#[test]
fn a_stop_of_two_and_a_start_of_three_seconds_are_half_open_at_six_and_closed_by_the_second_good_look() {
    let mut theatre = theatre();
    theatre.service();
    theatre.stage.script("service/pipeline", |script| {
        script.stops = [2_000].into();
        script.starts = [3_000].into();
    });
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    theatre.mends("service/pipeline");
    let half_open = theatre.until_circuit("service/pipeline", "half-open");
    near(half_open, 6_000, 1);
    let closed = theatre.until_circuit("service/pipeline", "closed");
    assert!((900..=2_100).contains(&closed), "closed {closed} ms after half-open");
    // 55.
    let (recoveries, millis) = theatre.world.metrics().recovery_millis();
    assert_eq!(recoveries, 1);
    near(millis, 7_000, 1);
}

// Seed 003, example 2; D1, D2, D6.
#[test]
fn restarts_of_two_three_four_and_six_seconds_that_never_help_escalate_at_the_fifth_detection() {
    let mut theatre = theatre();
    theatre.service();
    theatre.stage.script("service/pipeline", |script| {
        script.starts = [2_000, 3_000, 4_000, 6_000].into();
    });
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    let (mut at, mut detections) = (0, vec![0]);
    for number in 2..=4 {
        let restarts = |world: &World| world.status("service/pipeline").unwrap().restarts == number;
        at += theatre.world.run_until(60_000, restarts).unwrap();
        detections.push(at);
    }
    at += theatre.until_circuit("service/pipeline", "escalated");
    detections.push(at);
    for (place, (measured, wanted)) in detections.iter().zip([0, 3_000, 8_000, 16_000, 30_000]).enumerate() {
        near(*measured, wanted, place as u64);
    }
    assert_eq!(theatre.world.status("service/pipeline").unwrap().restarts, 4);
}

/// Breaks the pipeline again and again, `gap` apart, healed by each restart; when it escalated.
fn escalates(gap_millis: u64) -> Option<u64> {
    let mut theatre = theatre();
    broken(&mut theatre);
    let began = theatre.world.now();
    for _ in 0..8 {
        let detected = theatre.world.now();
        theatre.mends("service/pipeline");
        theatre.until_circuit("service/pipeline", "closed");
        // Its grace ends, and with it the next detection comes, a gap after the last.
        let spent = theatre.world.now().since(detected) + 5_000;
        theatre.world.run_for(gap_millis - spent);
        theatre.breaks("service/pipeline");
        let restarting_or_escalated = theatre.world.run_until(10_000, |world| {
            let circuit = world.status("service/pipeline").unwrap().circuit;
            circuit == "restarting" || circuit == "escalated"
        });
        assert!(restarting_or_escalated.is_some());
        if theatre.circuit("service/pipeline") == "escalated" {
            return Some(theatre.world.now().since(began));
        }
    }
    None
}

// D8, 52.
#[test]
fn instant_restarts_seventy_seconds_apart_escalate_at_two_hundred_and_eighty() {
    near(escalates(70_000).unwrap(), 280_000, 4);
}

// D8, 52.
#[test]
fn instant_restarts_two_minutes_apart_never_escalate() {
    assert_eq!(escalates(120_000), None);
}

// D3.
#[test]
fn bad_and_good_in_turns_do_not_flap_for_ever() {
    let mut theatre = theatre();
    broken(&mut theatre);
    let mut is_broken = true;
    let escalated = theatre.world.run_until(300_000, |world| {
        // Each look shows the opposite of the one before.
        if world.now().as_millis() % 1_000 == 0 {
            is_broken = !is_broken;
            theatre.stage.shows("service/pipeline", "broken", is_broken);
        }
        world.status("service/pipeline").unwrap().circuit == "escalated"
    });
    assert!(escalated.is_some(), "{:#?}", theatre.world.explain("service"));
}
