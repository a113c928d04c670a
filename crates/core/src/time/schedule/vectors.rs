//! Schedules held to the answers of three other cron implementations: where they agree, and where they do not.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use super::Cron;

/// The three implementations whose answers are recorded.
const OTHERS: [&str; 3] = ["croner", "croniter", "cron-parser"];

/// What an implementation makes of a case.
#[derive(Debug, PartialEq)]
enum Answer {
    Rejects,
    Times(Vec<String>),
}

/// Cases of one class that we answer just as `agrees` do, and as no others do.
struct Row {
    class: &'static str,
    agrees: &'static [&'static str],
    cases: usize,
    why: &'static str,
}

/// Every recorded disagreement, and whose side we take.
const SIDES: [Row; 16] = [
    Row {
        class: "a value with a step, `5/15`",
        agrees: &["croniter", "cron-parser"],
        cases: 2,
        why: "common, and it can mean only one thing",
    },
    Row {
        class: "a list with a day that February lacks",
        agrees: &["croniter", "cron-parser"],
        cases: 1,
        why: "croner misses 1 March, which is a fault",
    },
    Row {
        class: "@midnight",
        agrees: &["croner", "croniter"],
        cases: 2,
        why: "an old name for @daily",
    },
    Row {
        class: "the last weekday of the month, `5L`",
        agrees: &["croner", "cron-parser"],
        cases: 2,
        why: "common, and it can mean only one thing",
    },
    Row {
        class: "a range that wraps, `22-2`",
        agrees: &["croner", "cron-parser"],
        cases: 5,
        why: "as likely a slip as a range over midnight; the refusal says how to write the latter",
    },
    Row {
        class: "a change that is only crossed",
        agrees: &["croner", "croniter"],
        cases: 9,
        why: "cron-parser gives up at a change of half an hour, which is a fault",
    },
    Row {
        class: "one fixed time, skipped",
        agrees: &["croner", "croniter"],
        cases: 23,
        why: "it fires at the first instant after the gap; cron-parser moves it by the gap or drops the day",
    },
    Row {
        class: "several fixed times, one skipped",
        agrees: &["croniter"],
        cases: 8,
        why: "each is a fixed time of its own, so `30 2,14` loses no run that `30 2` keeps; the others leave it out",
    },
    Row {
        class: "one fixed time, repeated",
        agrees: &["croner", "cron-parser"],
        cases: 16,
        why: "it fires once, the first time; croniter fires twice",
    },
    Row {
        class: "one fixed time, repeated",
        agrees: &["croner"],
        cases: 2,
        why: "at Havana's repeated midnight cron-parser takes the second time",
    },
    Row {
        class: "several fixed times, one repeated",
        agrees: &["cron-parser"],
        cases: 7,
        why: "each is a fixed time of its own and fires once; the others fire twice",
    },
    Row {
        class: "an interval job, a time skipped",
        agrees: &["croner"],
        cases: 7,
        why: "the wall clock never shows it; the others fire at the change or a gap later",
    },
    Row {
        class: "an interval job, a time skipped",
        agrees: &["croner", "cron-parser"],
        cases: 9,
        why: "the wall clock never shows it; croniter fires at the change",
    },
    Row {
        class: "an interval job, a time skipped",
        agrees: &["croner", "croniter"],
        cases: 1,
        why: "cron-parser also drops a time after the gap that the wall clock does show",
    },
    Row {
        class: "an interval job, a time repeated",
        agrees: &["croner", "croniter"],
        cases: 14,
        why: "the wall clock shows it twice; cron-parser fires once",
    },
    Row {
        class: "an interval job, a time repeated",
        agrees: &["croner"],
        cases: 1,
        why: "the wall clock shows it twice, also when it is set back by half an hour",
    },
];

fn load(name: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/specs/cron")
        .join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap()
}

fn list(value: &Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Our first `count` occurrences for a case.
fn ours(case: &Value, count: usize) -> Answer {
    let Ok(cron) = Cron::parse(text(case, "expr"), Some(text(case, "tz"))) else {
        return Answer::Rejects;
    };
    let from: Timestamp = text(case, "from").parse().unwrap();
    let times = std::iter::successors(cron.next_after(from.as_millisecond()), |at| cron.next_after(*at));
    Answer::Times(
        times
            .take(count)
            .map(|at| Timestamp::from_millisecond(at).unwrap().to_string())
            .collect(),
    )
}

fn theirs(case: &Value, name: &str) -> Answer {
    if case[name].is_string() {
        Answer::Rejects
    } else {
        Answer::Times(list(&case[name]))
    }
}

#[test]
fn every_agreed_vector_is_met() {
    let Some(file) = load("vectors.json") else { return };
    let cases = file["vectors"].as_array().unwrap();
    for case in cases {
        let expected = list(&case["next"]);
        assert_eq!(ours(case, expected.len()), Answer::Times(expected), "{case}");
    }
    assert_eq!(cases.len(), 552);
}

#[test]
fn every_expression_that_all_reject_is_refused_with_the_value_and_a_remedy() {
    let Some(file) = load("vectors.json") else { return };
    let invalid = list(&file["invalid"]);
    for expression in &invalid {
        let message = Cron::parse(expression, None).unwrap_err().to_string();
        let value = message.split('`').nth(1).unwrap();
        assert!(!value.is_empty() && expression.contains(value), "{message}");
        assert!(
            message.contains("; write ") || message.contains("; remove "),
            "{message}"
        );
        let fields = [
            "second",
            "minute",
            "hour",
            "day of month",
            "month",
            "day of week",
            "cron expression",
        ];
        assert!(fields.iter().any(|field| message.starts_with(field)), "{message}");
    }
    assert_eq!(invalid.len(), 33);
}

#[test]
fn expressions_that_only_some_accept_by_oversight_are_refused() {
    let Some(file) = load("disagreements.json") else { return };
    let cases = file["accepted_by_some"].as_array().unwrap();
    for case in cases {
        assert!(Cron::parse(text(case, "expr"), None).is_err(), "{case}");
    }
    assert_eq!(cases.len(), 4);
}

#[test]
fn valid_expressions_that_never_occur_are_known_for_it() {
    let Some(file) = load("disagreements.json") else { return };
    let cases = list(&file["valid_but_never_occurs"]);
    for expression in &cases {
        let cron = Cron::parse(expression, None).unwrap();
        assert!(cron.never_fires() && cron.next_after(0).is_none(), "{expression}");
    }
    assert_eq!(cases.len(), 3);
}

#[test]
fn in_every_disagreement_we_take_the_side_the_table_says() {
    let Some(file) = load("disagreements.json") else { return };
    let mut found: BTreeMap<(&str, Vec<&str>), usize> = BTreeMap::new();
    for case in file["cases"].as_array().unwrap() {
        let count = OTHERS
            .iter()
            .filter_map(|name| case[*name].as_array())
            .map(Vec::len)
            .max()
            .unwrap();
        let answer = ours(case, count);
        let agrees = OTHERS.into_iter().filter(|name| theirs(case, name) == answer).collect();
        *found.entry((class(case), agrees)).or_default() += 1;
    }
    for Row {
        class,
        agrees,
        cases,
        why,
    } in &SIDES
    {
        let key = (*class, agrees.to_vec());
        assert_eq!(found.remove(&key), Some(*cases), "{class}, as {agrees:?}: {why}");
    }
    assert!(found.is_empty(), "not in the table: {found:?}");
}

/// What a case is about, told from its tag and its text and not by our own reading of the expression.
fn class(case: &Value) -> &'static str {
    let expression = text(case, "expr");
    let (skipped, repeated) = (case["meets"][0] == "skipped", case["meets"][0] == "repeated");
    let interval = text(case, "tag").ends_with("-interval");
    match (text(case, "tag"), expression) {
        ("basic", "5/15 * * * *") => "a value with a step, `5/15`",
        ("basic", "0 0 */10 * *") => "a list with a day that February lacks",
        ("basic", "@midnight") => "@midnight",
        ("extension-last", _) => "the last weekday of the month, `5L`",
        ("range-wrap", _) => "a range that wraps, `22-2`",
        _ if skipped && interval => "an interval job, a time skipped",
        _ if repeated && interval => "an interval job, a time repeated",
        (_, "15 1,2,3 * * *") if skipped => "several fixed times, one skipped",
        (_, "15 1,2,3 * * *") if repeated => "several fixed times, one repeated",
        _ if skipped => "one fixed time, skipped",
        _ if repeated => "one fixed time, repeated",
        _ => "a change that is only crossed",
    }
}
