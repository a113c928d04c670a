//! The documentation and the product agree: every code that the sources emit has a page with an example, every finding
//! has a row, every link leads somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use sprag_core::action::error::kind;
use sprag_tests::binary;

/// Literals with the shape of a finding's code that are something else.
const NOT_FINDINGS: [&str; 9] = [
    "best-effort",
    "declared-or-risk",
    "docusign-hmac",
    "fail-fast",
    "finish-and-keep",
    "kebab-case",
    "on-failure",
    "retry-after",
    "standard-webhooks",
];

/// Where the codes of findings are written.
const FINDING_SOURCES: [&str; 8] = [
    "crates/agent/src/plan",
    "crates/core/src/document",
    "crates/core/src/machine/load",
    "crates/core/src/machine/lint",
    "crates/core/src/machine/testing",
    "crates/core/src/operation",
    "crates/supervisor/src/services",
    "crates/cli/src/config",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every file with this extension at or below a path of the workspace.
fn files(path: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(path)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing at {path}");
    found
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The production code of every source file at or below a path: no folder or file of tests, nothing after `cfg(test)`.
fn code(path: &str) -> Vec<String> {
    let is_test = |path: &PathBuf| {
        path.components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with("tests"))
    };
    let sources = files(path, "rs").into_iter().filter(|path| !is_test(path));
    sources
        .map(|path| read(path).split("#[cfg(test)]").next().unwrap_or_default().to_owned())
        .collect()
}

/// The literals of a text that follow a marker, which ends with a quote.
fn after(text: &str, marker: &str) -> Vec<String> {
    assert!(marker.ends_with('"'));
    let parts = text.split(marker).skip(1);
    parts
        .filter_map(|part| part.split('"').next().map(str::to_owned))
        .collect()
}

/// The literals of a text that look like a code. With `Hyphen::Needed`, one word alone does not.
fn literals(text: &str, hyphen: Hyphen) -> Vec<String> {
    let is_code = |part: &&str| {
        let mut words = part.split('-');
        let is_plain = words.all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        is_plain && (hyphen == Hyphen::Optional || part.contains('-'))
    };
    text.split('"').filter(is_code).map(str::to_owned).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Hyphen {
    Needed,
    Optional,
}

/// The part of a text from one marker to the next occurrence of another.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("`{from}` is gone"));
    rest.split_once(to).map_or(rest, |(part, _)| part)
}

/// Every code that the product emits: refusals of the API, errors of commands, log lines and notes, errors of actions.
fn emitted() -> BTreeSet<String> {
    let mut found: BTreeSet<String> = kind::KNOWN.iter().map(|kind| (*kind).to_owned()).collect();
    for file in [
        "crates/engine/src/requests/codes.rs",
        "crates/server/src/problem/codes.rs",
    ] {
        let text = read(file);
        let lines = text
            .lines()
            .filter(|line| line.starts_with("    ") && line.ends_with(';'));
        found.extend(lines.flat_map(|line| after(line, " = \"")));
    }
    for text in code("crates/cli/src") {
        found.extend(after(&text, ".code(\""));
        found.extend(after(&text, "testing::run(&arguments, \""));
    }
    for text in code("crates").iter().filter(|text| text.contains("tracing::")) {
        found.extend(after(text, "code = \""));
    }
    for text in code("crates/store/src")
        .iter()
        .filter(|text| text.contains("fn code(&self)"))
    {
        found.extend(literals(between(text, "fn code(&self)", "\n    }\n"), Hyphen::Optional));
    }
    let failures = read("crates/cli/src/failure.rs");
    found.extend(after(&failures, "code: Some(\""));
    let unnamed = between(&failures, "let code = match (&self.code, self.exit) {", "};");
    found.extend(literals(unnamed, Hyphen::Optional));
    found.extend(after(&read("crates/engine/src/read/notes.rs"), "code: \""));
    for text in code("crates/core/src/machine/simulate") {
        found.extend(after(&text, "Refused::new(\""));
    }
    found.remove("x-invalid");
    found
}

#[test]
fn every_emitted_code_has_a_page_and_every_page_a_code() {
    let name = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let pages: BTreeSet<String> = files("docs/errors", "md").into_iter().map(name).collect();
    let emitted = emitted();
    let missing: Vec<_> = emitted.difference(&pages).collect();
    let unused: Vec<_> = pages.difference(&emitted).collect();
    assert!(missing.is_empty(), "codes without a page in docs/errors: {missing:?}");
    assert!(unused.is_empty(), "pages of codes that nothing emits: {unused:?}");
    for kind in [
        "body-invalid",
        "store-locked",
        "log-held",
        "configuration-invalid",
        "timeout",
        "clock-ahead",
    ] {
        assert!(emitted.contains(kind), "the collector misses `{kind}`");
    }
}

#[test]
fn every_page_of_a_code_says_what_to_do_and_shows_an_example() {
    let mut wrong = Vec::new();
    for path in files("docs/errors", "md") {
        let text = read(&path);
        let code = path.file_stem().unwrap().to_string_lossy().into_owned();
        let kinds = ["Status ", "Exit code ", "Log. ", "Note. ", "Action error. "];
        let begins = kinds
            .iter()
            .any(|kind| text.starts_with(&format!("# {code}\n\n{kind}")));
        let example = text.split_once("\n## Example\n").map_or("", |(_, example)| example);
        if !begins {
            wrong.push(format!("{code}: does not begin with its code and kind"));
        }
        if !text.contains("\n## What to do\n") {
            wrong.push(format!("{code}: no section `What to do`"));
        }
        if !example.contains("```") || !example.contains(&code) {
            wrong.push(format!("{code}: no example that shows the code"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The codes in the first column of the tables of a page.
fn rows(page: &str) -> BTreeSet<String> {
    let text = read(page);
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let firsts = rows.filter_map(|line| line.split('|').nth(1).map(str::to_owned));
    firsts
        .flat_map(|first| after(&first.replace('`', "\""), "\""))
        .collect()
}

#[test]
fn every_finding_has_a_row() {
    let known: BTreeSet<String> = rows("docs/findings.md")
        .union(&rows("docs/actions/testing.md"))
        .cloned()
        .collect();
    let mut missing = BTreeSet::new();
    for text in FINDING_SOURCES.iter().flat_map(|path| code(path)) {
        let codes = literals(&text, Hyphen::Needed).into_iter();
        let codes = codes.filter(|code| !NOT_FINDINGS.contains(&code.as_str()) && !known.contains(code));
        missing.extend(codes.filter(|code| !root().join(format!("docs/errors/{code}.md")).exists()));
    }
    assert!(
        missing.is_empty(),
        "findings without a row in docs/findings.md: {missing:?}"
    );
    let advice = after(&code("crates/engine/src/read/health/advice.rs").concat(), "code: \"");
    let known = rows("docs/health.md");
    assert!(!advice.is_empty());
    assert!(
        advice.iter().all(|code| known.contains(code)),
        "{advice:?} are not all in docs/health.md"
    );
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The targets of the links of a page, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let parts = prose.split("](").skip(1);
    parts
        .filter_map(|part| part.split(')').next().map(str::to_owned))
        .collect()
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let mut broken = Vec::new();
    let tops = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    for page in files("docs", "md").into_iter().chain(tops) {
        let text = read(&page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, place) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.with_file_name(file)
            };
            let is_there = target.exists() && (place.is_empty() || has_heading(&read(&target), place));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

fn has_heading(text: &str, place: &str) -> bool {
    text.lines().any(|line| line.starts_with('#') && anchor(line) == place)
}

/// The machines that a page shows in full.
fn machines(text: &str) -> Vec<String> {
    let blocks = text.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next().map(str::to_owned));
    blocks.filter(|block| block.starts_with("id: ")).collect()
}

#[test]
fn every_machine_of_the_documentation_passes_lint() {
    let folder = tempfile::tempdir().unwrap();
    let pages = files("docs", "md")
        .into_iter()
        .filter(|page| !page.starts_with(root().join("docs/errors")));
    let shown: Vec<String> = pages.flat_map(|page| machines(&read(page))).collect();
    assert!(shown.len() >= 5, "the walk found the machines");
    for (number, machine) in shown.iter().enumerate() {
        let file = folder.path().join(format!("{number}.yaml"));
        std::fs::write(&file, machine).unwrap();
        let lint = ["machine", "lint", "--strict", file.to_str().unwrap()];
        let output = Command::new(binary("sprag"))
            .args(lint)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{machine}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Words that hide who does what, or that are not the field's own.
const UNCLEAR: [&str; 10] = [
    "whoever",
    "nobody",
    "somebody",
    "whatever",
    "mend",
    "is told",
    "stands there",
    "go on",
    "goes on",
    "out of reach",
];

#[test]
fn the_documentation_names_its_actors() {
    let mut wrong = Vec::new();
    let tops = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    let readmes = ["examples", "clients/python", "clients/typescript", "bench"]
        .into_iter()
        .flat_map(|folder| files(folder, "md"))
        .filter(|page| !page.components().any(|part| part.as_os_str() == "node_modules"));
    for page in files("docs", "md").into_iter().chain(tops).chain(readmes) {
        let prose: String = read(&page).split("```").step_by(2).collect();
        let prose = prose.to_lowercase();
        let words = UNCLEAR.iter().filter(|word| holds(&prose, word));
        wrong.extend(words.map(|word| format!("{}: `{word}`", page.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a text holds these words, not as parts of others.
fn holds(text: &str, words: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (text[..at].chars().last(), text[at + words.len()..].chars().next());
        !is_letter(before) && !is_letter(after)
    })
}
