//! The shape of the workspace: arrows between crates, sizes of files and functions, module docs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// No file of code is longer.
const FILE_LINES_MAX: usize = 600;
/// No function is longer.
const FUNCTION_LINES_MAX: usize = 70;

/// Entries at the top of a crate's sources at most, beside `lib.rs` or `main.rs`.
const TOP_ENTRIES_MAX: usize = 12;
/// Crates whose sources are grouped by subject.
const GROUPED: [&str; 9] = [
    "core",
    "store",
    "wire",
    "engine",
    "process",
    "runners",
    "supervisor",
    "server",
    "cli",
];

/// Methods of a type at most.
const METHODS_MAX: usize = 40;

/// Files that a start passes at most.
const START_FILES_MAX: usize = 15;
/// Fields of the lane at most.
const LANE_FIELDS_MAX: usize = 11;

/// Folders of the engine that decide.
const DECIDING: [&str; 6] = ["decide", "requests", "queue", "limits", "leases", "jobs"];
/// What nothing that decides may name: the store's traits, the clock, and the rooms that read, write and act.
const BANNED: [&str; 9] = [
    "LaneReads",
    "LaneStore",
    "CommitStore",
    "traits::Reader",
    "sprag_core::clock",
    "crate::commit",
    "crate::effects",
    "crate::lane",
    "engine::inbox",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn architecture() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// Which of our crates each crate may use, by the table in ARCHITECTURE.md. The arrows point one way.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let text = architecture();
    let section = text.split("## Crates").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let folder = cells[1].trim_matches('`');
        let name = match folder.rsplit('/').next().unwrap() {
            "cli" => "sprag".to_owned(),
            name => format!("sprag-{name}"),
        };
        let uses = cells[3].split(", ").filter(|used| *used != "–");
        (name, uses.map(|used| format!("sprag-{used}")).collect())
    };
    let arrows: BTreeMap<String, BTreeSet<String>> = rows.map(row).collect();
    assert!(arrows.len() > 10, "the table was read");
    arrows
}

#[test]
fn dependencies_between_our_crates_point_the_way_of_the_design() {
    let allowed = arrows();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        ours,
        allowed.keys().map(String::as_str).collect(),
        "a crate came or went: say so in ARCHITECTURE.md"
    );
    for package in packages {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let uses = dependency["name"].as_str().unwrap();
            let normal = dependency["kind"].is_null();
            assert!(
                !normal || !ours.contains(uses) || allowed[name].contains(uses),
                "{name} must not use {uses}"
            );
        }
    }
}

/// A file without its comments and its tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let production = text.split("#[cfg(test)]").next().unwrap();
    let code = production.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_decision_cannot_reach_the_store_the_clock_or_effects() {
    let engine = root().join("crates/engine/src");
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for path in sources() {
        let Ok(inside) = path.strip_prefix(&engine) else {
            continue;
        };
        let folder = inside.iter().next().and_then(|first| first.to_str()).unwrap();
        if !DECIDING.contains(&folder) || inside.iter().any(|part| part == "tests") {
            continue;
        }
        looked_at += 1;
        let code = code(&path);
        let named = BANNED.iter().filter(|banned| code.contains(*banned));
        wrong.extend(named.map(|banned| format!("{} names {banned}", inside.display())));
    }
    assert!(looked_at > 40, "the decisions were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_lane_is_small_and_the_path_of_a_start_is_short_and_true() {
    let lane = std::fs::read_to_string(root().join("crates/engine/src/lane/mod.rs")).unwrap();
    let fields = lane
        .split("pub struct Lane {")
        .nth(1)
        .unwrap()
        .split("\n}")
        .next()
        .unwrap();
    let fields = fields
        .lines()
        .filter(|line| line.contains(": ") && !line.trim().starts_with("//"));
    assert!((1..=LANE_FIELDS_MAX).contains(&fields.count()));

    let text = architecture();
    let path = text.split("### The path of a start").nth(1).unwrap();
    let steps = path
        .lines()
        .filter_map(|line| line.split_once(". `"))
        .filter(|(number, _)| number.parse::<u32>().is_ok());
    let files: Vec<&str> = steps.map(|(_, rest)| rest.split('`').next().unwrap()).collect();
    assert!((5..=START_FILES_MAX).contains(&files.len()), "{files:?}");
    for file in files {
        assert!(
            root().join(file).is_file(),
            "{file} is on the path of a start, and is not there"
        );
    }
}

#[test]
fn the_top_of_a_crate_has_at_most_a_dozen_entries() {
    for name in GROUPED {
        let entries = std::fs::read_dir(root().join("crates").join(name).join("src")).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|entry| !["lib.rs", "main.rs"].contains(&entry.as_str()))
            .collect();
        names.sort();
        assert!(
            (1..=TOP_ENTRIES_MAX).contains(&names.len()),
            "crates/{name}/src: group these {} by subject: {names:?}",
            names.len()
        );
    }
}

#[test]
fn no_type_has_too_many_methods() {
    let mut methods: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for name in GROUPED {
        let src = root().join("crates").join(name).join("src");
        for path in sources().iter().filter(|path| path.starts_with(&src)) {
            for (owner, count) in inherent_methods(&code(path)) {
                *methods.entry((name, owner)).or_default() += count;
            }
        }
    }
    assert!(methods.len() > 300, "the types were found");
    methods.retain(|_, count| *count > METHODS_MAX);
    assert!(methods.is_empty(), "split these by subject: {methods:#?}");
}

/// The types of a file with the number of their inherent methods, by indentation.
fn inherent_methods(code: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut is_inherent = false;
    for line in code.lines() {
        if line.starts_with("impl") {
            let owner = owner_of(line);
            is_inherent = owner.is_some();
            found.extend(owner.map(|owner| (owner, 0)));
        } else if line.starts_with('}') {
            is_inherent = false;
        } else if is_inherent
            && line.starts_with("    ")
            && !line.starts_with("     ")
            && line.contains("fn ")
            && let Some((_, count)) = found.last_mut()
        {
            *count += 1;
        }
    }
    found
}

/// The type of an inherent `impl`; none for the `impl` of a trait.
fn owner_of(line: &str) -> Option<String> {
    if line.contains(" for ") {
        return None;
    }
    let rest = line.strip_prefix("impl")?;
    let generics = rest.strip_prefix('<').and_then(|rest| rest.split_once("> "));
    let name = generics.map_or(rest, |(_, name)| name).trim_start();
    name.split(|character: char| !character.is_alphanumeric())
        .next()
        .map(str::to_owned)
}

#[test]
fn the_measure_of_methods_measures() {
    let text = "impl<'a, T: B<C>> One<'a> {\n    pub fn a(&self) {\n        fn inner() {}\n    }\n    fn b() {}\n}\nimpl X for One {\n    fn c() {}\n}\n";
    assert_eq!(inherent_methods(text), [("One".to_owned(), 2)]);
}

#[test]
fn core_does_no_io_and_holds_no_runtime() {
    let metadata = metadata();
    let core = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "sprag-core")
        .unwrap();
    for dependency in core["dependencies"].as_array().unwrap() {
        let name = dependency["name"].as_str().unwrap();
        assert!(
            !["tokio", "reqwest", "rusqlite", "hyper", "axum", "rand"].contains(&name),
            "core uses {name}"
        );
    }
}

/// Every file of Rust code in the workspace.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = ["bench", "crates", "examples", "tests"]
        .map(|folder| root().join(folder))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "the walk found the workspace");
    found
}

#[test]
fn no_file_is_too_long_and_each_says_what_it_is_for() {
    let mut wrong = Vec::new();
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.lines().count() > FILE_LINES_MAX {
            wrong.push(format!("{}: {} lines", path.display(), text.lines().count()));
        }
        if !text.starts_with("//!") {
            wrong.push(format!("{}: no module doc", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_function_is_too_long() {
    let mut wrong = Vec::new();
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (name, lines) in functions(&text) {
            if lines > FUNCTION_LINES_MAX {
                wrong.push(format!("{}: {lines} lines: {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Functions with their length, by indentation: formatted code closes a function where it opened it.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.trim_start();
        if let Some((start, at, name)) = &open {
            let is_declared_only = indent == *at && trimmed.starts_with([')', '-']) && trimmed.ends_with(';');
            if is_declared_only {
                open = None;
            } else if indent == *at && trimmed.starts_with('}') {
                found.push((name.clone(), number - start));
                open = None;
            }
        } else if is_function(trimmed) {
            open = Some((number, indent, trimmed.to_owned()));
        }
    }
    found
}

fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with("pub"));
    let first = words.find(|word| !["const", "async", "unsafe"].contains(word));
    first == Some("fn") && !line.ends_with(';') && !line.ends_with('}')
}

#[test]
fn the_measure_of_functions_measures() {
    let text = "fn a() {\n    1\n}\nfn declared(\n    a: u8,\n) -> u8;\npub(crate) async fn b() {\n}\n";
    assert_eq!(
        functions(text),
        [("fn a() {".to_owned(), 2), ("pub(crate) async fn b() {".to_owned(), 1)]
    );
}

#[test]
fn the_command_line_writes_in_one_place() {
    let cli = root().join("crates/cli");
    let ways = ["println!", "print!(", "dbg!(", "io::stdout", "io::stderr"];
    for path in sources().iter().filter(|path| path.starts_with(cli.join("src"))) {
        if path.ends_with("src/output/terminal.rs") {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for way in ways {
            assert!(!text.contains(way), "{}: `{way}`: use `output`", path.display());
        }
    }
    // Its own settings of clippy take the place of the workspace's, so they must hold all of them.
    let settings = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let (all, ours) = (settings(root().join("clippy.toml")), settings(cli.join("clippy.toml")));
    for line in all.lines().filter(|line| !line.starts_with('#')) {
        assert!(ours.contains(line), "crates/cli/clippy.toml lacks `{line}`");
    }
}
