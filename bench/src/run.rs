//! The run: round after round, work after work, one contender after another, so that a noisy minute is everybody's.

use anyhow::Context;

use crate::contender::{Contenders, Name, Task};
use crate::figures::{Figure, Figures, Results};
use crate::stopwatch::Stopwatch;
use crate::target::Target;
use crate::work::{Scale, Work};

/// What is to be measured.
pub(crate) struct Plan {
    pub(crate) works: Vec<Work>,
    pub(crate) scale: Scale,
    pub(crate) rounds: usize,
    pub(crate) peers: bool,
}

/// Measures everything. A peer that fails is named and left out from then on; Sprag or the probe failing ends the run.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<Results> {
    let target = Target::start()?;
    let mut contenders = Contenders::default();
    let mut results = Results::default();
    let watch = Stopwatch::start();
    for round in 1..=plan.rounds {
        for work in &plan.works {
            let title = work.title(plan.scale);
            for name in work.contenders() {
                let wanted = plan.peers || !name.is_peer();
                if !wanted || results.missing.contains_key(name) {
                    continue;
                }
                let task = Task {
                    work: *work,
                    count: work.count(*name, plan.scale),
                    scale: plan.scale,
                    target: &target,
                };
                let measured = contenders.run(*name, &task);
                let seconds = watch.elapsed().as_secs();
                match measured {
                    Ok(figures) => {
                        eprintln!(
                            "{seconds:>4} s  round {round}  {title}: {}: {}",
                            name.word(),
                            shown(&figures)
                        );
                        results.add(*work, *name, figures);
                    }
                    Err(error) if name.is_peer() => missing(&mut results, *name, &title, &error),
                    Err(error) => return Err(error).context(format!("{title}: {}", name.word())),
                }
            }
        }
    }
    Ok(results)
}

fn missing(results: &mut Results, name: Name, title: &str, error: &anyhow::Error) {
    eprintln!("{} is left out ({title}): {error:#}", name.word());
    results.missing.insert(name, format!("{title}: {error:#}"));
}

fn shown(figures: &Figures) -> String {
    let shown = |(figure, value): (&Figure, &f64)| format!("{} {}", crate::report::number(*value), figure.word());
    figures.iter().map(shown).collect::<Vec<_>>().join(", ")
}
