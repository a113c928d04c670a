//! Many workers: what is visited, and that one in trouble costs the others nothing. Counts, not times.

use sprag_supervisor::collector::CollectorOptions;
use sprag_supervisor::testing::{Clockwork, Crowd, World, beside, crowd, steady};
use sprag_supervisor::{Options, Setup};

// 45.
#[test]
fn a_tick_visits_those_who_are_marked_and_a_sweep_misses_nobody() {
    let mut crowd = crowd(1_000).unwrap();
    crowd.world.run_for(20_000);
    let (mut visited, mut ticks) = (0, 0);
    for _ in 0..100 {
        visited += crowd.world.step().visited;
        ticks += 1;
    }
    // Ten looks at each in ten seconds, and one sweep: no more visits than reasons for one.
    assert!(
        (10_000..=13_000).contains(&visited),
        "{visited} visits in {ticks} ticks"
    );
}

#[test]
fn a_sweep_visits_whom_nothing_happens_to() {
    let hour = 3_600_000;
    let options = Options {
        collector: CollectorOptions {
            interval_millis: hour,
            stale_millis: hour * 2,
            abandon_millis: hour * 3,
            ..CollectorOptions::default()
        },
        ..Options::default()
    };
    let clockwork = Clockwork::default();
    let mut world = World::with(Setup::new(steady(), clockwork.clock()).options(options), &clockwork).unwrap();
    world.declare(beside(50, "steady"));
    world.run_until(60_000, |world| world.counts().healthy == 50).unwrap();
    world.run_for(20_000);
    let visited: usize = (0..100).map(|_| world.step().visited).sum();
    assert!((50..=60).contains(&visited), "{visited} visits in ten seconds");
}

/// The longest time that any of some workers was not asked for its next step, in milliseconds.
fn longest_gap(crowd: &mut Crowd, names: &[String], millis: u64) -> u64 {
    let mut last: Vec<(u64, u64)> = names.iter().map(|name| (crowd.stage.read(name).asked, 0)).collect();
    let mut longest = 0;
    for tick in 1..=millis / 100 {
        crowd.world.step();
        for (name, (asked, since)) in names.iter().zip(&mut last) {
            let now = crowd.stage.script(name, |script| script.asked);
            if now > *asked {
                longest = longest.max(tick - *since);
                (*asked, *since) = (now, tick);
            }
        }
    }
    let waiting = last.iter().map(|(_, since)| millis / 100 - since).max();
    longest.max(waiting.unwrap_or(0)) * 100
}

#[test]
fn one_slow_or_panicking_worker_among_ten_thousand_delays_no_other_by_more_than_an_interval() {
    let mut crowd = crowd(10_000).unwrap();
    let names: Vec<String> = (10..10_000).step_by(97).map(|number| format!("w{number}")).collect();
    crowd.world.run_for(3_000);
    let healthy = longest_gap(&mut crowd, &names, 10_000);
    crowd.stage.script("w1", |script| script.panics = true);
    crowd.stage.script("w2", |script| script.hangs = true);
    crowd.stage.script("w3", |script| script.never_starts = true);
    crowd.stage.script("w3", |script| script.is_up = false);
    crowd.stage.script("w4", |script| script.look_millis = 4_000);
    let troubled = longest_gap(&mut crowd, &names, 20_000);
    assert!(
        healthy <= 1_200,
        "looked at each second, asked in the next tick: {healthy} ms"
    );
    assert!(
        troubled <= healthy + 100,
        "{troubled} ms, and {healthy} ms without them"
    );
    assert_eq!(crowd.world.counts().healthy, 9_999);
}

// 45.
#[test]
fn an_action_in_progress_makes_no_tick_visit_more_than_an_idle_worker_does() {
    let visits = |starts: u64| {
        let mut crowd = crowd(10).unwrap();
        crowd.world.run_for(5_000);
        crowd.stage.script("w0", |script| script.starts = [starts].into());
        crowd.world.restart("w0").unwrap();
        let acting =
            |world: &World| world.explain("w0").unwrap().action.in_progress() && world.state("w0") == "starting";
        assert!(starts == 0 || crowd.world.run_until(5_000, acting).is_some());
        (0..50).map(|_| crowd.world.step().visited).sum::<usize>()
    };
    let (idle, acting) = (visits(0), visits(60_000));
    assert!(
        acting <= idle,
        "{acting} visits in five seconds, and {idle} without the action"
    );
}
