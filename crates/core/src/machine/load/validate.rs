//! Checks a file against the tables: keys that are unknown, missing or given twice, and values of the wrong shape.

use std::collections::BTreeMap;

use super::reader::{Spot, shown};
use super::shape::{Names, Shape, Table};
use crate::duration::Millis;
use crate::machine::findings::{Findings, Place};
use crate::source::Content;
use crate::text::Problem;

/// Names everything in `spot` that does not have the shape.
pub(in crate::machine) fn validate(spot: &Spot<'_>, shape: &Shape, findings: &mut Findings) {
    if matches!(shape, Shape::Rule) && spot.text().is_some() {
        // The name of a rule that is defined elsewhere, as other tools write it. Whoever compiles the rule says so.
        return;
    }
    if !shape.fits(spot.node) {
        let detail = format!("{} stands where {} is expected", spot.node.kind(), shape.expected());
        findings.error(
            &spot.place(),
            "wrong-type",
            detail,
            format!("write {}", shape.expected()),
        );
        return;
    }
    match shape {
        Shape::Map(table) => fields(spot, table, findings),
        Shape::Members(names, inner) => {
            for (name, member) in spot.members() {
                check_key(name, &member, *names, findings);
                validate(&member, inner, findings);
            }
        }
        Shape::List(inner) => spot.items().for_each(|item| validate(&item, inner, findings)),
        Shape::Either(shapes) => {
            if let Some(shape) = shapes.iter().find(|shape| shape.fits(spot.node)) {
                validate(spot, shape, findings);
            }
        }
        Shape::Name(names) => name(spot, *names, findings),
        Shape::Word(words) => word(spot, words, findings),
        Shape::Whole { .. } | Shape::Number { .. } => number(spot, shape, findings),
        Shape::Duration { least } => duration(spot, *least, findings),
        Shape::Any | Shape::Nothing | Shape::Text | Shape::Flag | Shape::Rule | Shape::Open | Shape::Refused(_) => {}
    }
}

fn fields(spot: &Spot<'_>, table: &Table, findings: &mut Findings) {
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, member) in spot.members() {
        let Some(key) = table.key(name) else {
            unknown(name, &member, table, findings);
            continue;
        };
        if let Some(other) = given.insert(key.name, name) {
            let detail = format!("`{name}` and `{other}` are two names for the same key");
            findings.error(
                &member.key_place(),
                "given-twice",
                detail,
                format!("keep `{}`", key.name),
            );
        }
        if let Shape::Refused(remedy) = key.shape {
            let detail = format!("`{name}` in {} cannot be honoured", table.called);
            findings.error(&member.key_place(), "not-supported", detail, *remedy);
        }
        validate(&member, key.shape, findings);
    }
    for key in table
        .keys
        .iter()
        .filter(|key| key.required && !given.contains_key(key.name))
    {
        let detail = format!("{} has no `{}`", table.called, key.name);
        findings.error(&spot.key_place(), "missing-key", detail, format!("add `{}`", key.name));
    }
}

fn unknown(name: &str, member: &Spot<'_>, table: &Table, findings: &mut Findings) {
    let known = || {
        table
            .keys
            .iter()
            .filter(|key| !matches!(key.shape, Shape::Refused(_)))
            .map(|key| key.name)
    };
    let remedy = match findings.nearest(name, known()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("remove it; known are `{}`", known().collect::<Vec<_>>().join("`, `")),
    };
    let detail = format!("{} has no key `{}`", table.called, shown(name));
    findings.error(&member.key_place(), "unknown-key", detail, remedy);
}

fn check_key(name: &str, member: &Spot<'_>, names: Names, findings: &mut Findings) {
    if names.accept(name) {
        return;
    }
    if let Some(problem) = names.problem(name) {
        return not_a_name(name, problem, &member.key_place(), findings);
    }
    let (code, detail) = match names {
        Names::Duration => ("bad-duration", format!("`{}` is not a duration", shown(name))),
        Names::Descriptor => ("bad-name", format!("`{}` describes no event", shown(name))),
        _ => ("bad-name", format!("`{}` cannot be a name here", shown(name))),
    };
    findings.error(&member.key_place(), code, detail, names.rule());
}

fn name(spot: &Spot<'_>, names: Names, findings: &mut Findings) {
    let name = spot.text().unwrap_or_default();
    if names.accept(name) {
        return;
    }
    match names.problem(name) {
        Some(problem) => not_a_name(name, problem, &spot.place(), findings),
        None => findings.error(
            &spot.place(),
            "bad-name",
            format!("`{}` cannot be a name here", shown(name)),
            names.rule(),
        ),
    }
}

fn not_a_name(name: &str, problem: Problem, place: &Place, findings: &mut Findings) {
    let detail = format!("`{}` cannot be a name: it {problem}", shown(name));
    let remedy = "use a printable text of 1 to 512 bytes";
    findings.error(place, "bad-name", detail, remedy);
}

fn word(spot: &Spot<'_>, words: &[&'static str], findings: &mut Findings) {
    let word = spot.text().unwrap_or_default();
    if words.contains(&word) {
        return;
    }
    let remedy = match findings.nearest(word, words.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("write `{}`", words.join("` or `")),
    };
    findings.error(
        &spot.place(),
        "bad-value",
        format!("`{}` is not a known value", shown(word)),
        remedy,
    );
}

fn number(spot: &Spot<'_>, shape: &Shape, findings: &mut Findings) {
    let Content::Number(number) = &spot.node.content else {
        return;
    };
    let within = match shape {
        Shape::Whole { least, most } => number.as_u64().is_some_and(|number| (*least..=*most).contains(&number)),
        Shape::Number { least } => number
            .as_f64()
            .is_some_and(|number| number.is_finite() && number >= f64::from(*least)),
        _ => true,
    };
    if !within {
        let detail = format!("`{number}` is not {}", shape.expected());
        findings.error(
            &spot.place(),
            "bad-value",
            detail,
            format!("write {}", shape.expected()),
        );
    }
}

fn duration(spot: &Spot<'_>, least: u64, findings: &mut Findings) {
    match Millis::from_value(&spot.node.to_value()) {
        Ok(duration) if duration.get() >= least => {}
        Ok(duration) => {
            let detail = format!("`{duration}` is too short");
            findings.error(&spot.place(), "bad-duration", detail, "write at least `1ms`");
        }
        Err(problem) => {
            let detail = format!("duration `{}` {}", shown(&problem.value), problem.reason);
            findings.error(&spot.place(), "bad-duration", detail, Names::Duration.rule());
        }
    }
}
