//! What a tick costs by itself, for each worker that is visited, and for each that is not, at several sizes.
//!
//! Nanoseconds are of the tick alone, on a paused clock; what a tick costs by itself is shared by those it visits.
//! Instructions are counted by callgrind as the difference between a long and a short run, so what it takes to begin
//! cancels out; they hold the look as well, which a pool would do, and not what as many ticks cost without workers: that
//! stands beside them.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::json;
use sprag_supervisor::collector::CollectorOptions;
use sprag_supervisor::testing::{Clockwork, World, beside, steady};
use sprag_supervisor::{Options, Setup};

use super::{number, own};
use crate::figures::{Figure, Figures};
use crate::stopwatch::Stopwatch;

/// What the workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mood {
    /// Each is looked at, and so visited, once a second.
    Active,
    /// Nothing happens to anybody.
    Idle,
}

impl Mood {
    const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
        }
    }
}

/// Ticks in a second.
const TICKS_PER_SECOND: u64 = 10;
/// Nobody is looked at within the time of a measurement, in milliseconds.
const LONG_MILLIS: u64 = 100 * 60 * 60 * 1_000;
/// Visits that are measured, at least.
const VISITS: u64 = 400_000;
/// The same under callgrind, which is fifty times slower.
const COUNTED_VISITS: u64 = 40_000;

/// How long a tick without workers is measured, in seconds of the paused clock.
const ALONE_SECONDS: u64 = 10_000;
/// The same under callgrind.
const ALONE_COUNTED_SECONDS: u64 = 1_000;

/// All figures of a size.
pub(crate) fn figures(workers: u64) -> anyhow::Result<Figures> {
    let mut figures = Figures::new();
    let alone = own(&arguments(0, ALONE_SECONDS, Mood::Active))?;
    figures.insert(Figure::TickNanos, number(&alone, "nanos")? / number(&alone, "ticks")?);
    let tick = said(counted_tick());
    figures.extend(tick.map(|tick| (Figure::TickInstructions, tick)));
    for (mood, nanos, instructions) in [
        (Mood::Active, Figure::ActiveNanos, Figure::ActiveInstructions),
        (Mood::Idle, Figure::IdleNanos, Figure::IdleInstructions),
    ] {
        let measured = own(&arguments(workers, seconds(workers, VISITS), mood))?;
        figures.insert(nanos, number(&measured, "nanos")? / number(&measured, "times")?);
        let counted = tick.and_then(|tick| said(counted(workers, mood, tick)));
        figures.extend(counted.map(|counted| (instructions, counted)));
    }
    Ok(figures)
}

/// What was counted. Where nothing can be, it is said and the rest is measured all the same.
fn said(counted: anyhow::Result<f64>) -> Option<f64> {
    counted
        .inspect_err(|error| eprintln!("instructions are not counted: {error:#}"))
        .ok()
}

/// How long it takes until there were so many visits of active workers.
fn seconds(workers: u64, visits: u64) -> u64 {
    (visits / workers.max(1)).max(4)
}

fn arguments(workers: u64, seconds: u64, mood: Mood) -> Vec<String> {
    let words = [
        "tick-workers".to_owned(),
        workers.to_string(),
        seconds.to_string(),
        mood.word().to_owned(),
    ];
    words.to_vec()
}

/// Instructions of a tick without workers.
fn counted_tick() -> anyhow::Result<f64> {
    let run = difference(0, ALONE_COUNTED_SECONDS, Mood::Active)?;
    Ok(run.instructions / run.ticks)
}

/// Instructions for each visit, or for each idle worker and tick, beyond what the ticks cost by themselves.
fn counted(workers: u64, mood: Mood, tick: f64) -> anyhow::Result<f64> {
    let run = difference(workers, seconds(workers, COUNTED_VISITS), mood)?;
    ensure!(run.times > 0.0, "the longer run did not do more");
    Ok((run.instructions - tick * run.ticks) / run.times)
}

/// What a run took, and how often what is measured happened in it.
struct Counted {
    instructions: f64,
    ticks: f64,
    times: f64,
}

/// What a run of twice the length has more.
fn difference(workers: u64, seconds: u64, mood: Mood) -> anyhow::Result<Counted> {
    let first = under_callgrind(workers, seconds, mood)?;
    let second = under_callgrind(workers, seconds * 2, mood)?;
    Ok(Counted {
        instructions: second.instructions - first.instructions,
        ticks: second.ticks - first.ticks,
        times: second.times - first.times,
    })
}

fn under_callgrind(workers: u64, seconds: u64, mood: Mood) -> anyhow::Result<Counted> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(arguments(workers, seconds, mood))
        .output()
        .context("valgrind is missing: install it to have instructions counted")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "callgrind failed: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let collected = collected.context("callgrind did not say how much it collected")?.1;
    let measured: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(Counted {
        instructions: collected.trim().parse()?,
        ticks: number(&measured, "ticks")?,
        times: number(&measured, "times")?,
    })
}

/// The measurement itself, in a process of its own: prints how long the ticks took and how often it happened.
pub(crate) fn measure(workers: u64, seconds: u64, mood: Mood) -> anyhow::Result<()> {
    let clockwork = Clockwork::default();
    let options = Options {
        collector: match mood {
            Mood::Active => CollectorOptions::default(),
            Mood::Idle => CollectorOptions {
                interval_millis: LONG_MILLIS,
                stale_millis: LONG_MILLIS * 2,
                abandon_millis: LONG_MILLIS * 3,
                ..CollectorOptions::default()
            },
        },
        ..Options::default()
    };
    let count = usize::try_from(workers)?;
    let mut world = World::with(Setup::new(steady(), clockwork.clock()).options(options), &clockwork)?;
    world.declare(beside(count, "steady"));
    let up = world.run_until(120_000, |world| world.counts().healthy == count);
    ensure!(up.is_some(), "not everybody came up: {:?}", world.counts());
    world.run_for(3_000);
    let (mut nanos, mut visited) = (0, 0);
    let ticks = seconds * TICKS_PER_SECOND;
    for _ in 0..ticks {
        world.wait_a_tick();
        let watch = Stopwatch::start();
        visited += world.tick_alone().visited;
        nanos += watch.elapsed().as_nanos();
    }
    let times = match mood {
        Mood::Active => u64::try_from(visited)?,
        Mood::Idle => ticks * workers,
    };
    let nanos = u64::try_from(nanos)?;
    println!("{}", json!({ "nanos": nanos, "ticks": ticks, "times": times }));
    Ok(())
}
