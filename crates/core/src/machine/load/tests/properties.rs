//! Loading is total: any text gives a machine or findings.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::accepted::EVERYTHING;
use crate::document::source::{Format, Limits, parse};
use crate::machine::load::{LoadOptions, load_stored, load_text};

/// The words of the language, so that random documents get past the first line.
const WORDS: &[&str] = &[
    "id",
    "initial",
    "states",
    "on",
    "always",
    "after",
    "entry",
    "exit",
    "onDone",
    "type",
    "history",
    "target",
    "guard",
    "assign",
    "actions",
    "raise",
    "log",
    "run",
    "cancel",
    "actionId",
    "triggerState",
    "config",
    "a",
    "b",
    ".a",
    "#a",
    "a.b",
    "final",
    "parallel",
    "deep",
    "5m",
    "X",
    "done.state.a",
    "*",
    "{{variables.x}}",
    "{{",
    "var",
    "==",
    "",
];

fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(WORDS).prop_map(str::to_owned)
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..9).prop_map(Value::from),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_loaded_or_refused(text in ".{0,200}") {
        for format in [Format::Yaml, Format::Json] {
            let loaded = load_text(&text, format, &LoadOptions::default());
            prop_assert!(loaded.machine.is_some() || !loaded.findings.is_empty());
        }
    }

    #[test]
    fn any_value_is_loaded_or_refused(value in value()) {
        let loaded = load_text(&value.to_string(), Format::Json, &LoadOptions::default());
        prop_assert!(loaded.machine.is_some() || !loaded.findings.is_empty());
        let _ = load_stored(&value);
    }

    #[test]
    fn a_machine_with_one_value_replaced_is_loaded_or_refused(position in 0_usize..10_000, replacement in value()) {
        let mut definition = parse(EVERYTHING, Format::Yaml, &Limits::DEFINITION).unwrap().value;
        let pointers = pointers(&definition, "");
        let pointer = &pointers[position % pointers.len()];
        *definition.pointer_mut(pointer).unwrap() = replacement;
        let loaded = load_text(&definition.to_string(), Format::Json, &LoadOptions::default());
        if let Some(machine) = loaded.machine {
            let stored = load_stored(&machine.definition);
            prop_assert!(stored.is_ok_and(|stored| stored.digest == machine.digest));
        }
    }
}

pub(super) fn pointers(value: &Value, at: &str) -> Vec<String> {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| (at.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    let inside = members
        .into_iter()
        .flat_map(|(name, value)| pointers(value, &format!("{at}/{name}")));
    std::iter::once(at.to_owned()).chain(inside).collect()
}

#[test]
fn a_file_that_is_nearly_right_says_all_that_is_wrong_at_once() {
    let definition =
        json!({"id": "m", "initial": "a", "states": {"a": {"onn": {}, "on": {"X": "b"}, "entry": {"run": "x"}}}});
    let findings = load_text(&definition.to_string(), Format::Json, &LoadOptions::default()).findings;
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["unknown-key", "missing-target", "unknown-action"]);
}
