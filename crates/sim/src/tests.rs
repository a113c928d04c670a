//! Seeds hold, repeat themselves, and every planted bug is caught.

use std::collections::BTreeSet;

use crate::{Invariant, Mutant, run, run_crowd};

/// Seeds in the ordinary run, over all parts; `SPRAG_SIM_SEEDS` asks for more.
const SEEDS: u64 = 2_000;
/// Parts that run beside each other.
const PARTS: u64 = 4;
/// Seeds that are run twice.
const TWICE: u64 = 60;
/// Seeds within which a planted bug must be caught.
const CAUGHT_WITHIN: u64 = 400;

fn seeds() -> u64 {
    std::env::var("SPRAG_SIM_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SEEDS)
}

/// Runs every seed of one part; a seed that fails prints how to see it again.
fn hold(part: u64) {
    let (mut crashes, mut effects, mut picked) = (0, 0, 0);
    for seed in (part..seeds()).step_by(4) {
        let report = run(seed, None);
        crashes += report.counts.crashes;
        effects += report.counts.effects;
        picked += report.counts.picked;
        if let Some(violation) = report.violation {
            let tail = report.tail.join("\n");
            panic!(
                "{tail}\nseed {seed}: {violation}\nagain: SPRAG_SIM_SEED={seed} cargo test -p sprag-sim one_seed -- --nocapture"
            );
        }
    }
    println!("part {part} of {PARTS}: {crashes} crashes, {effects} effects, {picked} refusals, every rule held");
    assert!(crashes > 0 && effects > 0, "something happened");
    assert!(picked > 0, "the store refused chosen rows");
}

#[test]
fn every_rule_holds_for_every_seed_of_the_first_part() {
    hold(0);
}

#[test]
fn every_rule_holds_for_every_seed_of_the_second_part() {
    hold(1);
}

#[test]
fn every_rule_holds_for_every_seed_of_the_third_part() {
    hold(2);
}

#[test]
fn every_rule_holds_for_every_seed_of_the_fourth_part() {
    hold(3);
}

#[test]
fn a_seed_gives_the_same_trace_twice_and_another_seed_another() {
    let mut hashes = BTreeSet::new();
    for seed in 0..TWICE {
        let first = run(seed, None);
        assert_eq!(first.hash, run(seed, None).hash, "seed {seed}");
        hashes.insert(first.hash);
    }
    assert_eq!(hashes.len() as u64, TWICE, "no two seeds are alike");
}

#[test]
fn every_planted_bug_is_caught_by_the_rule_it_breaks() {
    let mut missed = Vec::new();
    for &mutant in Mutant::ALL {
        let caught = (0..CAUGHT_WITHIN).any(|seed| {
            let violation = run(seed, Some(mutant)).violation;
            violation.is_some_and(|violation| mutant.caught_by().contains(&violation.invariant))
        });
        if !caught {
            missed.push(mutant);
        }
    }
    assert!(Mutant::ALL.len() >= 10 && missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn one_seed() {
    let seed = std::env::var("SPRAG_SIM_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let report = run(seed, None);
    println!("{}", report.tail.join("\n"));
    assert!(
        report.violation.is_none(),
        "{:?}",
        report.violation.map(|violation| violation.to_string())
    );
}

/// Seeds of several nodes in the ordinary run, over both parts; `SPRAG_SIM_CROWDS` asks for more.
const CROWDS: u64 = 400;

/// Runs every seed of one part with several nodes; a seed that fails prints how to see it again.
fn hold_crowd(part: u64) {
    let more = std::env::var("SPRAG_SIM_CROWDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let (mut crashes, mut effects, mut fenced, mut taken_over, mut told_away, mut behind, mut picked) =
        (0, 0, 0, 0, 0, 0, 0);
    for seed in (part..more.unwrap_or(CROWDS)).step_by(2) {
        let report = run_crowd(seed, None);
        crashes += report.counts.crashes;
        effects += report.counts.effects;
        fenced += report.counts.fenced;
        taken_over += report.counts.taken_over;
        told_away += report.counts.told_away;
        behind += report.counts.told_away_behind;
        picked += report.counts.picked;
        if let Some(violation) = report.violation {
            let tail = report.tail.join("\n");
            panic!(
                "{tail}\nseed {seed}: {violation}\nagain: SPRAG_SIM_SEED={seed} cargo test -p sprag-sim one_crowd -- --nocapture"
            );
        }
    }
    println!(
        "part {part} of 2: {crashes} nodes died, {taken_over} shards were taken over, {fenced} stale commits were refused, {told_away} landed without an answer, {behind} behind them too, {picked} held a row that is refused, {effects} effects, every rule held"
    );
    assert!(crashes > 0 && effects > 0, "something happened");
    assert!(taken_over > 0, "what nodes left behind was taken over");
    assert!(fenced > 0, "somebody who had lost a shard tried to write");
    assert!(told_away > 0, "somebody was not told of what it had written");
    assert!(behind > 0, "nor of what it had sent behind that");
    assert!(picked > 0, "the store refused chosen rows");
}

#[test]
fn every_rule_holds_for_every_crowd_of_the_first_part() {
    hold_crowd(0);
}

#[test]
fn every_rule_holds_for_every_crowd_of_the_second_part() {
    hold_crowd(1);
}

#[test]
fn a_crowd_gives_the_same_trace_twice() {
    for seed in 0..TWICE {
        assert_eq!(run_crowd(seed, None).hash, run_crowd(seed, None).hash, "seed {seed}");
    }
}

#[test]
fn a_fence_that_is_ignored_is_noticed_among_several_nodes() {
    let caught = (0..CAUGHT_WITHIN).any(|seed| {
        let violation = run_crowd(seed, Some(Mutant::FenceIgnored)).violation;
        violation.is_some_and(|violation| violation.invariant == Invariant::Fences)
    });
    assert!(caught);
}

#[test]
fn one_crowd() {
    let seed = std::env::var("SPRAG_SIM_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let report = run_crowd(seed, None);
    println!("{}", report.tail.join("\n"));
    assert!(
        report.violation.is_none(),
        "{:?}",
        report.violation.map(|violation| violation.to_string())
    );
}
