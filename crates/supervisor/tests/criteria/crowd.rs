//! Many workers: what is visited, and that one in trouble costs the others nothing. Counts, not times.

use sprag_supervisor::testing::crowd;

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
fn one_slow_or_panicking_worker_among_ten_thousand_delays_no_other() {
    let mut crowd = crowd(10_000).unwrap();
    crowd.stage.script("w1", |script| script.panics = true);
    crowd.stage.script("w2", |script| script.hangs = true);
    crowd.stage.script("w3", |script| script.never_starts = true);
    crowd.stage.script("w3", |script| script.is_up = false);
    crowd.world.run_for(5_000);
    let names: Vec<String> = (10..10_000).step_by(97).map(|number| format!("w{number}")).collect();
    let before: Vec<u64> = names.iter().map(|name| crowd.stage.read(name).asked).collect();
    crowd.world.run_for(10_000);
    for (name, before) in names.iter().zip(before) {
        let asked = crowd.stage.read(name).asked - before;
        assert!(
            (9..=13).contains(&asked),
            "{name} was asked {asked} times in ten seconds"
        );
    }
    assert_eq!(crowd.world.counts().healthy, 9_999);
}
