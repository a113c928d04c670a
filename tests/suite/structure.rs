//! The shape of the workspace: arrows between crates, sizes of files and functions, module docs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// No file of code is longer.
const FILE_LINES_MAX: usize = 600;
/// No function is longer.
const FUNCTION_LINES_MAX: usize = 70;

/// Which of our crates each crate may use. The arrows point one way.
const ARROWS: [(&str, &[&str]); 15] = [
    ("sprag-core", &[]),
    ("sprag-store", &["sprag-core"]),
    ("sprag-wire", &["sprag-core"]),
    ("sprag-engine", &["sprag-core", "sprag-store", "sprag-wire"]),
    ("sprag-process", &[]),
    ("sprag-runners", &["sprag-core", "sprag-process"]),
    ("sprag-supervisor", &["sprag-core", "sprag-process", "sprag-store"]),
    (
        "sprag-server",
        &[
            "sprag-core",
            "sprag-store",
            "sprag-engine",
            "sprag-supervisor",
            "sprag-wire",
        ],
    ),
    (
        "sprag",
        &[
            "sprag-core",
            "sprag-store",
            "sprag-engine",
            "sprag-runners",
            "sprag-server",
            "sprag-supervisor",
            "sprag-wire",
        ],
    ),
    ("sprag-sim", &["sprag-core", "sprag-store", "sprag-engine"]),
    ("sprag-tests", &["sprag-core"]),
    (
        "sprag-bench",
        &[
            "sprag-core",
            "sprag-store",
            "sprag-engine",
            "sprag-runners",
            "sprag-supervisor",
            "sprag-tests",
        ],
    ),
    ("sprag-embedding", &["sprag-core", "sprag-store", "sprag-engine"]),
    ("sprag-pipeline", &[]),
    ("sprag-worker", &["sprag-core", "sprag-supervisor"]),
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

#[test]
fn dependencies_between_our_crates_point_the_way_of_the_design() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ARROWS
        .iter()
        .map(|(name, uses)| (*name, uses.iter().copied().collect()))
        .collect();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        ours,
        allowed.keys().copied().collect(),
        "a crate came or went: say so in ARROWS"
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
