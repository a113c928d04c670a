//! Loading, by example: every finding with its place, and files that load as they are.

mod accepted;
mod action_errors;
mod cycles;
mod errors;
mod properties;
mod schema;
mod stored;
mod targets;
mod warnings;

use super::{ConfigCheck, DefinitionLimits, LoadOptions, Loaded, UnknownType, load_text};
use crate::action::{ConfigProblem, Fault, SecretRules};
use crate::document::source::Format;
use crate::document::{Finding, Severity};
use crate::machine::Machine;

/// Knows one type, `email`, which needs `to` and takes no secret there. Nobody may name the secret `locked`.
struct Mailer;

impl SecretRules for Mailer {
    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        pointer != "/to"
    }

    fn allows_secret(&self, _machine: &str, name: &str) -> bool {
        name != "locked"
    }
}

impl ConfigCheck for Mailer {
    fn check(&self, kind: &str, config: &serde_json::Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        if kind != "email" {
            return Err(UnknownType {
                nearest: (kind == "emial").then(|| "email".to_owned()),
            });
        }
        let bad = |pointer: &str, detail: &str| ConfigProblem {
            pointer: pointer.to_owned(),
            detail: detail.to_owned(),
            remedy: "write an address".to_owned(),
            fault: Fault::Definition,
        };
        Ok(match config.get("to") {
            None => vec![bad("/to", "`to` is missing")],
            Some(to) if to == "nobody" => vec![bad("/to", "`nobody` is not an address")],
            Some(to) if to.is_object() => vec![bad("/to/address", "an address is missing")],
            Some(_) => Vec::new(),
        })
    }
}

fn load(text: &str) -> Loaded {
    load_text(
        text,
        Format::Yaml,
        &LoadOptions {
            limits: small(),
            runners: &Mailer,
        },
    )
}

/// Limits that a table of examples can go over.
fn small() -> DefinitionLimits {
    DefinitionLimits {
        bytes: 4096,
        depth: 16,
        states: 12,
        transitions: 12,
        actions_per_state: 2,
        nesting: 3,
    }
}

fn machine(text: &str) -> Machine {
    let loaded = load(text);
    loaded
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", loaded.findings))
}

/// Checks that each case has exactly this one finding of that severity.
///
/// Cases are divided by `---`. The first line of one is the code, the pointer (`-` for the whole file), a piece of the
/// detail and perhaps one of the remedy; what follows is the rest of a file begun with `start`, in which `«` marks where
/// the finding must point.
fn check(start: &str, cases: &str, severity: Severity) {
    for case in cases.trim_start().split("---\n") {
        let (head, rest) = case.split_once('\n').expect("a head and a file");
        let mut head = head.split(" | ");
        let (code, pointer) = head
            .next()
            .and_then(|head| head.split_once(' '))
            .expect("a code and a pointer");
        let (detail, remedy) = (head.next().expect("a detail"), head.next().unwrap_or_default());
        let marked = format!("{start}{rest}");
        let (before, _) = marked.split_once('«').expect("a marked place");
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let findings = load(&marked.replacen('«', "", 1)).findings;
        let shown = || format!("{case}\n{findings:#?}");
        let of_kind: Vec<&Finding> = findings.iter().filter(|finding| finding.severity == severity).collect();
        let [finding] = of_kind.as_slice() else {
            panic!("not one {severity:?}: {}", shown())
        };
        assert_eq!(finding.code, code, "{}", shown());
        assert_eq!(
            (finding.line as usize, finding.column as usize),
            (line, column),
            "{}",
            shown()
        );
        assert_eq!(finding.pointer, pointer.trim_matches('-'), "{}", shown());
        assert!(finding.detail.contains(detail), "detail: {}", shown());
        assert!(
            finding.remedy.contains(remedy) && !finding.remedy.is_empty(),
            "remedy: {}",
            shown()
        );
    }
}
