//! What holds for every document.

use proptest::prelude::*;
use serde_json::Value;

use crate::document::source::node::{Content, Node};
use crate::document::source::parse::parse_node as parse;
use crate::document::source::{DEPTH_MAX, Format, Limits};

/// Any JSON value a document can hold, a few levels deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-zé😀 :{}'\"#-]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

/// Texts of pieces that mean something to a reader: random characters hardly ever get past the first one.
fn pieces(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|chosen| chosen.concat())
}

const YAML_PIECES: &[&str] = &[
    "a",
    "b: ",
    ": ",
    "- ",
    "\n",
    "\n  ",
    " ",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ",",
    "? ",
    "&a ",
    "*a",
    "!!str ",
    "!x ",
    "|",
    ">-",
    "|2",
    "\"",
    "'",
    "\\x41",
    "#",
    " # c",
    "---\n",
    "\n...\n",
    "%TAG ! x\n",
    "<<",
    "~",
    "0x1",
    "1.5",
    "é",
    "\r",
    "\u{feff}",
    "\0",
    "{{a}}",
];

const JSON_PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"b\":",
    "\"",
    "1",
    "0",
    "-",
    ".",
    "e",
    "5",
    "true",
    "null",
    " ",
    "\n",
    "\\n",
    "\\ud83d",
    "\\ude00",
    "é",
    "\t",
    "[]",
    "{}",
    "18446744073709551616",
    "1e400",
];

/// The characters from a node's position on.
fn source_at(text: &str, node: &Node) -> String {
    let line = text.lines().nth(node.at.line as usize - 1).unwrap_or_default();
    line.chars().skip(node.at.column as usize - 1).collect()
}

fn assert_at_its_first_character(text: &str, node: &Node) {
    let source = source_at(text, node);
    let start = match &node.content {
        Content::List(_) => "[".to_owned(),
        Content::Map(_) => "{".to_owned(),
        scalar => Node {
            at: node.at,
            content: scalar.clone(),
        }
        .into_value()
        .to_string(),
    };
    assert!(source.starts_with(&start), "{} has {source:?}, not {start:?}", node.at);
    match &node.content {
        Content::List(items) => items.iter().for_each(|item| assert_at_its_first_character(text, item)),
        Content::Map(entries) => entries
            .iter()
            .for_each(|entry| assert_at_its_first_character(text, &entry.value)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_value_reads_back_from_both_formats_at_the_same_places(value in value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let json = parse(&text, Format::Json, &Limits::DEFINITION).unwrap();
            let yaml = parse(&text, Format::Yaml, &Limits::DEFINITION).unwrap();
            prop_assert_eq!(&json, &yaml);
            // As text too, because comparing maps would not see their order.
            prop_assert_eq!(&json.clone().into_value(), &value);
            prop_assert_eq!(json.clone().into_value().to_string(), value.to_string());
            prop_assert_eq!(json.clone().split().value.to_string(), value.to_string());
            assert_at_its_first_character(&text, &json);
        }
    }

    #[test]
    fn any_text_is_a_tree_or_an_error_inside_it(text in prop_oneof![any::<String>(), pieces(YAML_PIECES), pieces(JSON_PIECES)]) {
        for format in [Format::Yaml, Format::Json] {
            if let Err(error) = parse(&text, format, &Limits::DEFINITION) {
                let lines = text.replace("\r\n", "\n").replace('\r', "\n");
                let line = lines.split('\n').nth(error.at.line as usize - 1);
                let length = line.map(|line| line.chars().count());
                prop_assert!(length.is_some_and(|length| error.at.column as usize <= length + 1), "{}", error);
            }
        }
    }

    #[test]
    fn nothing_is_read_as_json_that_is_not(text in pieces(JSON_PIECES)) {
        let strict = parse(&text, Format::Json, &Limits::DEFINITION);
        let reference = serde_json::from_str::<Value>(&text);
        match (strict, reference) {
            (Ok(_), Err(error)) => prop_assert!(false, "accepted what is not JSON: {}", error),
            // The reference takes the last of two equal keys and rounds integers that are too large.
            (Err(error), Ok(_)) => {
                let stricter = ["given twice", "does not fit in 64 bits"];
                prop_assert!(stricter.iter().any(|reason| error.detail.contains(reason)), "{}", error);
            }
            _ => {}
        }
    }

    #[test]
    fn the_depth_limit_holds_for_every_mixture(levels in prop::collection::vec(any::<bool>(), 0..60)) {
        let opened: String = levels.iter().map(|list| if *list { "[" } else { "{\"a\":" }).collect();
        let closed: String = levels.iter().rev().map(|list| if *list { "]" } else { "}" }).collect();
        for format in [Format::Yaml, Format::Json] {
            let read = parse(&format!("{opened}1{closed}"), format, &Limits::DEFINITION);
            prop_assert_eq!(read.is_ok(), levels.len() <= DEPTH_MAX);
        }
    }
}
