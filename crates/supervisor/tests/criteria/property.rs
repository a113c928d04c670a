//! From every reachable (state, desired, parent) a worker reaches its goal or an explained wait in bounded ticks.

use proptest::prelude::*;
use sprag_supervisor::{Goal, ShutdownOutcome};

use crate::shared::{Theatre, over, puppet, rule, theatre};

/// One thing that happens to the tree.
#[derive(Clone, Debug)]
enum Happening {
    Wait(u64),
    Break(usize),
    Mend(usize),
    Fall(usize),
    Hang(usize),
    Unhang(usize),
    Unlook(usize),
    Panic(usize),
    NeverStop(usize),
    NeverStart(usize),
    Rebuild(usize),
    Stop(usize),
    Start(usize),
    Restart(usize),
    Omit,
    Declare,
}

const PATHS: [&str; 3] = ["p", "p/a", "p/b"];

fn happening() -> impl Strategy<Value = Happening> {
    let who = 0..PATHS.len();
    prop_oneof![
        6 => (1_u64..60).prop_map(|tenths| Happening::Wait(tenths * 100)),
        1 => Just(Happening::Wait(70_000)),
        2 => who.clone().prop_map(Happening::Break),
        1 => who.clone().prop_map(Happening::Mend),
        1 => who.clone().prop_map(Happening::Fall),
        1 => who.clone().prop_map(Happening::Hang),
        1 => who.clone().prop_map(Happening::Unhang),
        1 => who.clone().prop_map(Happening::Unlook),
        1 => who.clone().prop_map(Happening::Panic),
        1 => who.clone().prop_map(Happening::NeverStop),
        1 => who.clone().prop_map(Happening::NeverStart),
        1 => who.clone().prop_map(Happening::Rebuild),
        1 => who.clone().prop_map(Happening::Stop),
        1 => who.clone().prop_map(Happening::Start),
        1 => who.prop_map(Happening::Restart),
        1 => Just(Happening::Omit),
        1 => Just(Happening::Declare),
    ]
}

fn tree() -> Vec<sprag_supervisor::ChildSpec> {
    let mut child = puppet("b");
    child.states.insert("stopped".to_owned(), Goal::Stopped);
    let mut parent = over("p", vec![puppet("a"), child]);
    parent.rules = vec![rule("a"), rule("b")];
    vec![parent]
}

fn play(theatre: &mut Theatre, happening: &Happening) {
    let script = |who: &usize, change: fn(&mut sprag_supervisor::testing::Script)| {
        theatre.stage.script(PATHS[*who], change);
    };
    match happening {
        Happening::Wait(millis) => return theatre.world.run_for(*millis),
        Happening::Break(who) => theatre.breaks(PATHS[*who]),
        Happening::Mend(who) => theatre.mends(PATHS[*who]),
        Happening::Fall(who) => script(who, |script| script.is_up = false),
        Happening::Hang(who) => script(who, |script| script.hangs = true),
        Happening::Unhang(who) => script(who, |script| script.hangs = false),
        Happening::Unlook(who) => script(who, |script| script.unseen = true),
        Happening::Panic(who) => script(who, |script| script.panics = true),
        Happening::NeverStop(who) => script(who, |script| script.never_stops = true),
        Happening::NeverStart(who) => script(who, |script| script.never_starts = true),
        Happening::Rebuild(who) => script(who, |script| script.wants_rebuild = true),
        // Nobody may be there: then the wish is refused, which is fine.
        Happening::Stop(who) => drop(theatre.world.stop(PATHS[*who])),
        Happening::Start(who) => drop(theatre.world.start(PATHS[*who])),
        Happening::Restart(who) => drop(theatre.world.restart(PATHS[*who])),
        Happening::Omit => theatre.declare(vec![]),
        Happening::Declare => theatre.declare(tree()),
    }
    theatre.world.step();
}

/// Everybody is where it is to be, or says what it waits for.
fn settled(theatre: &Theatre) -> Option<String> {
    theatre.world.list().into_iter().find_map(|status| {
        let there = match status.goal {
            Goal::Running => status.phase.is_operational(),
            Goal::Stopped => status.phase.is_down(),
            Goal::Removed => false,
        };
        let explained = status.waiting.is_some() || status.circuit != "closed" || status.state == "failed";
        (!there && !explained).then(|| format!("{status:#?}"))
    })
}

/// Nothing misbehaves any more.
fn heal(theatre: &Theatre) {
    for path in PATHS {
        theatre.stage.script(path, |script| {
            script.hangs = false;
            script.unseen = false;
            script.panics = false;
            script.never_stops = false;
            script.never_starts = false;
        });
        theatre.mends(path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn everybody_reaches_its_goal_or_an_explained_wait(happenings in prop::collection::vec(happening(), 1..30)) {
        let mut theatre = theatre();
        theatre.declare(tree());
        for happening in &happenings {
            play(&mut theatre, happening);
        }
        // In trouble: goals or explained waits, within the longest of all bounds.
        theatre.world.run_until(60_000, |_| false);
        let stuck = settled(&theatre);
        prop_assert!(stuck.is_none(), "{}", stuck.unwrap_or_default());
        // Healed, and given up children started by hand: everybody runs, within the panic window and the rests.
        heal(&theatre);
        theatre.declare(tree());
        theatre.world.run_for(400_000);
        for path in PATHS.iter().rev() {
            theatre.world.start(path).unwrap();
        }
        theatre.world.run_for(60_000);
        let healthy = theatre.world.counts().healthy;
        prop_assert_eq!(healthy, 3, "{:#?}", theatre.world.list());
    }

    #[test]
    fn every_shutdown_ends_within_the_budget_and_a_second(happenings in prop::collection::vec(happening(), 1..30)) {
        let mut theatre = theatre();
        theatre.declare(tree());
        for happening in &happenings {
            play(&mut theatre, happening);
        }
        theatre.world.shut_down();
        let ended = theatre.world.run_until(21_000, |world| world.outcome().is_some());
        prop_assert!(ended.is_some(), "{:#?}", theatre.world.list());
        let outcome = theatre.world.outcome();
        // Who was cut before, by leaving the declaration, may still be up: it would not stop, or could not be asked to.
        let script = theatre.stage.read("p");
        let was_cut = script.never_stops || script.panics;
        prop_assert!(outcome != Some(ShutdownOutcome::Clean) || !script.is_up || was_cut);
    }
}
