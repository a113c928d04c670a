//! The acceptance criteria of supervision are numbered, and so are the defects of its first designs: every number stands
//! above a test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many criteria there are.
const CRITERIA: u32 = 86;
/// How many defects.
const DEFECTS: u32 = 17;
/// Where their tests are.
const PLACES: [&str; 4] = [
    "crates/core/src/supervision",
    "crates/supervisor/src",
    "crates/supervisor/tests",
    "tests/suite",
];

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = PLACES.iter().map(|place| root.join(place)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The numbers of a comment such as `// 48, 49, D10: what is meant.`: criteria up to its words, defects anywhere.
fn numbers(comment: &str) -> Vec<String> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_defect = |word: &str| word.strip_prefix('D').is_some_and(is_number);
    let words = || {
        let words = comment.split_whitespace();
        words.map(|word| word.trim_end_matches([',', '.', ';', ':']))
    };
    let criteria = words().take_while(|word| is_number(word) || is_defect(word));
    let criteria = criteria.filter(|word| is_number(word));
    criteria
        .chain(words().filter(|word| is_defect(word)))
        .map(str::to_owned)
        .collect()
}

/// The numbers above tests of one file, those inside their bodies, and those of examples that must not compile.
fn found_in(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    let mut is_test = false;
    for (place, line) in lines.iter().enumerate() {
        let stands_above = |rest: &[&str]| {
            let code = rest.iter().find(|line| !line.starts_with("//"));
            code.is_some_and(|code| {
                code.starts_with("#[test") || code.starts_with("#[tokio::test") || *code == "#[cfg(test)]"
            })
        };
        is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
        let Some(comment) = line.strip_prefix("// ") else {
            if line.contains("(33.):") {
                found.push("33".to_owned());
            }
            continue;
        };
        let rest = lines.get(place..).unwrap_or_default();
        if stands_above(rest) || is_test {
            found.extend(numbers(comment));
        }
    }
    found
}

#[test]
fn every_criterion_and_every_defect_of_supervision_stands_above_a_test() {
    let found: BTreeSet<String> = sources()
        .iter()
        .flat_map(|path| found_in(&std::fs::read_to_string(path).unwrap()))
        .collect();
    let criteria = (1..=CRITERIA).map(|number| number.to_string());
    let defects = (1..=DEFECTS).map(|number| format!("D{number}"));
    let missing: Vec<String> = criteria
        .chain(defects)
        .filter(|number| !found.contains(number))
        .collect();
    assert!(missing.is_empty(), "nothing tests {missing:?}");
}

#[test]
fn numbers_are_read_up_to_the_words() {
    assert_eq!(numbers("48, 49, D10, 32."), ["48", "49", "32", "D10"]);
    assert_eq!(numbers("Example 2; D1, D2."), ["D1", "D2"]);
    assert_eq!(numbers("51 of an earlier life: 7"), ["51"]);
    assert_eq!(numbers("The timers of 3 seconds"), Vec::<String>::new());
    assert_eq!(found_in("// 7.\n#[test]\nfn a() {}"), ["7"]);
    assert_eq!(found_in("// 7.\nfn a() {}"), Vec::<String>::new());
}
