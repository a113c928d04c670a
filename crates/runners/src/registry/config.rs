//! Reading a runner's configuration: every problem at once, each with its place and its remedy.
//!
//! The same code reads a configuration as it was written, for `validate`, and as it was rendered, for an attempt. As
//! written, a text that holds `{{` may become anything and passes every check.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::action::runner::{ConfigProblem, Fault};
use sprag_core::document::source::Spot;
use sprag_core::document::{Finding, Reader, Shape, Stage};

/// The code of what this server's configuration lacks.
pub(crate) const NOT_CONFIGURED: &str = "not-configured";

/// Reads a whole configuration, which may hold only `known` keys: what `read` makes of it, or everything that is wrong.
/// As written, values that are still templates may leave `Err` with no problems.
pub(crate) fn read<T>(
    config: &Value,
    stage: Stage,
    known: &[&str],
    read: impl FnOnce(&mut Reader, &Spot<'_>) -> Option<T>,
) -> Result<T, Vec<ConfigProblem>> {
    static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));
    let root = Spot::bare(if config.is_null() { &EMPTY } else { config });
    let mut reader = Reader::new(stage);
    let read = if reader.knows(&root, known) {
        read(&mut reader, &root)
    } else {
        None
    };
    let problems: Vec<ConfigProblem> = reader.findings.in_order().into_iter().map(problem).collect();
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => Err(problems),
    }
}

fn problem(finding: Finding) -> ConfigProblem {
    let Finding {
        code,
        pointer,
        detail,
        remedy,
        ..
    } = finding;
    let fault = if code == NOT_CONFIGURED {
        Fault::Unconfigured
    } else {
        Fault::Definition
    };
    ConfigProblem {
        pointer,
        detail,
        remedy,
        fault,
    }
}

/// The codes listed under `key`, each within `range`; an empty list is a problem, since nothing could satisfy it.
pub(crate) fn codes(reader: &mut Reader, object: &Spot<'_>, key: &str, range: RangeInclusive<u16>) -> Option<Vec<u16>> {
    let expected = format!("a list of whole numbers from {} to {}", range.start(), range.end());
    let spot = object.get(key)?;
    let Value::Array(items) = spot.value else {
        reader.wrong(&spot, &expected);
        return None;
    };
    if items.is_empty() {
        let remedy = "list at least one code, or leave the key out";
        reader.refuse(&spot.place(), format!("`{key}` is empty"), remedy);
    }
    let code = Shape::Whole {
        least: u64::from(*range.start()),
        most: u64::from(*range.end()),
    };
    let listed = spot.items().filter(|item| reader.check(item, &code));
    Some(
        listed
            .filter_map(|item| u16::try_from(item.value.as_u64()?).ok())
            .collect(),
    )
}

/// The outcome of an attempt whose rendered configuration cannot be used.
pub(crate) fn refused(problems: &[ConfigProblem]) -> Outcome {
    let message = problems.first().map_or_else(String::new, |problem| {
        let place = if problem.pointer.is_empty() {
            "config"
        } else {
            &problem.pointer
        };
        format!("{place}: {}; {}", problem.detail, problem.remedy)
    });
    let problems: Vec<Value> = problems
        .iter()
        .map(
            |ConfigProblem {
                 pointer,
                 detail,
                 remedy,
                 fault: _,
             }| json!({"pointer": pointer, "detail": detail, "remedy": remedy}),
        )
        .collect();
    let error = ActionError::new(kind::INVALID_CONFIGURATION, message).with_details(json!({"problems": problems}));
    Outcome::NotDone(Failure::new(error))
}

/// Whether `pointer` is one of these places of a configuration, or inside one.
pub(crate) fn is_within(pointer: &str, places: &[&str]) -> bool {
    places.iter().any(|place| {
        let rest = pointer.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
