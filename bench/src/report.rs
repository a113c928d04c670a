//! The table and the JSON: every figure with its rounds, and every goal with its verdict.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::contender::Name;
use crate::figures::Results;
use crate::goals::{Bound, GOALS, Goal, Kind, Verdict};
use crate::run::Plan;
use crate::work::Work;

/// Prints what was measured and what it means.
pub(crate) fn print(plan: &Plan, results: &Results) {
    println!(
        "\n{} run, {} round(s), the median of each; the lowest and the highest behind it\n",
        plan.scale.word(),
        plan.rounds
    );
    println!(
        "{:<20} {:<22} {:>16} {:>12}   rounds",
        "work", "contender", "figure", "median"
    );
    for ((work, name, figure), values) in &results.values {
        let title = work.title(plan.scale);
        let median = results.median(*work, *name, *figure).map(number).unwrap_or_default();
        println!(
            "{title:<20} {:<22} {:>16} {median:>12}   {}",
            name.word(),
            figure.word(),
            range(values)
        );
    }
    println!(
        "\n{:<20} {:<10} {:>12}  {:<34} {:>8}  {:<8} {:<28} verdict",
        "work", "figure", "Sprag", "compared with", "ratio", "goal", ""
    );
    for goal in judged(plan, results) {
        println!("{}", line(plan, goal, goal.judge(results)));
    }
    for (name, reason) in &results.missing {
        println!("\nnot measured: {}: {reason}", name.word());
    }
}

/// Goals of the works that were run.
fn judged<'a>(plan: &'a Plan, results: &'a Results) -> impl Iterator<Item = &'static Goal> + 'a {
    GOALS
        .iter()
        .filter(|goal| results.median(goal.work, Name::Sprag, goal.figure).is_some())
        .filter(|goal| plan.works.contains(&goal.work))
}

fn line(plan: &Plan, goal: &Goal, verdict: Option<Verdict>) -> String {
    let title = goal.work.title(plan.scale);
    let (figure, kind, wanted) = (goal.figure.word(), goal.kind.word(), wanted(goal));
    let Some(Verdict { sprag, other, met }) = verdict else {
        return format!(
            "{title:<20} {figure:<10} {:>12}  {:<34} {:>8}  {kind:<8} {wanted:<28} not measured",
            "", "", ""
        );
    };
    let (compared, ratio) = match other {
        Some((name, value)) => (format!("{} {}", name.word(), number(value)), number(sprag / value)),
        None => (String::new(), String::new()),
    };
    let word = match goal.kind {
        Kind::Seen => "",
        _ if met => "ok",
        _ => "missed",
    };
    format!(
        "{title:<20} {figure:<10} {:>12}  {compared:<34} {ratio:>8}  {kind:<8} {wanted:<28} {word}",
        number(sprag)
    )
}

fn wanted(goal: &Goal) -> String {
    if goal.kind == Kind::Seen {
        return String::new();
    }
    match goal.bound {
        Bound::Times(times, Work::Empty, _) => format!("≥ {} × the empty file", number(times)),
        Bound::Times(times, Work::PgEmpty, _) => format!("≥ {} × the empty database", number(times)),
        Bound::TimesBest(times, _) => format!("≥ {} × the best peer", number(times)),
        Bound::Times(times, _, name) => format!("≥ {} × {}", number(times), name.word()),
        Bound::Share(share, _, name) => format!("≤ 1/{} of {}", number(1.0 / share), name.word()),
        Bound::ShareOfBest(share, _) => format!("≤ 1/{} of the best peer", number(1.0 / share)),
        Bound::Above(more, _) => format!("≤ two fsyncs + {} ms", number(more)),
        Bound::Floor(least) => format!("≥ {}", number(least)),
        Bound::Ceiling(most) => format!("≤ {}", number(most)),
    }
}

/// A number as a person reads it: thousands apart, and no more digits than say something.
pub(crate) fn number(value: f64) -> String {
    if value < 100.0 {
        let text = format!("{value:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{value:.0}");
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

fn range(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.last()) {
        (Some(low), Some(high)) if sorted.len() > 1 => format!("{} – {}", number(*low), number(*high)),
        _ => String::new(),
    }
}

/// Writes everything as JSON.
pub(crate) fn save(plan: &Plan, results: &Results, file: &Path) -> anyhow::Result<()> {
    let figures: Vec<Value> = results
        .values
        .iter()
        .map(|((work, name, figure), values)| {
            json!({
                "work": work.key(),
                "title": work.title(plan.scale),
                "contender": name.word(),
                "figure": figure.word(),
                "median": results.median(*work, *name, *figure),
                "rounds": values,
            })
        })
        .collect();
    let goals: Vec<Value> = judged(plan, results)
        .map(|goal| goal_json(plan, goal, results))
        .collect();
    let missing: Map<String, Value> = results
        .missing
        .iter()
        .map(|(name, reason)| (name.word().to_owned(), json!(reason)))
        .collect();
    let all = json!({
        "scale": plan.scale.word(), "rounds": plan.rounds, "figures": figures, "goals": goals, "missing": missing,
    });
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, format!("{all:#}\n"))?;
    Ok(())
}

fn goal_json(plan: &Plan, goal: &Goal, results: &Results) -> Value {
    let verdict = goal.judge(results);
    let other = verdict.and_then(|verdict| verdict.other);
    json!({
        "work": goal.work.key(),
        "title": goal.work.title(plan.scale),
        "figure": goal.figure.word(),
        "kind": goal.kind.word(),
        "wanted": wanted(goal),
        "sprag": verdict.map(|verdict| verdict.sprag),
        "contender": other.map(|(name, _)| name.word()),
        "other": other.map(|(_, value)| value),
        "ratio": verdict.and_then(|verdict| other.map(|(_, value)| verdict.sprag / value)),
        "met": verdict.map(|verdict| verdict.met),
    })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_shown_with_thousands_apart_and_small_ones_with_two_digits() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(12.0), "12");
        assert_eq!(number(0.0), "0");
    }
}
