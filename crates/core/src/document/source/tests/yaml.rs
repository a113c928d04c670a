//! YAML: what its values mean, what is refused, and how mistakes are explained.

use serde_json::{Value, json};

use super::{assert_places, at, read, refused};
use crate::document::source::node::Content;
use crate::document::source::{Cause, Format, Position};

fn yaml(text: &str) -> Value {
    read(text, Format::Yaml).into_value()
}

#[test]
fn a_machine_file_reads_as_written() {
    let text = r#"
id: lease  # a comment
variables: { currency: EUR }
initial: waiting
states:
  waiting:
    on:
      NOTICE:
        - target: noticed
          guard: { ">=": [ { var: message.payload.days }, 30 ] }
        - target: rejected
    after: { 3d: rejected, 1000: noticed }
  noticed: { type: final }
  rejected: {type: final, output: {date: "{{variables.date}}"}}
"#;
    let expected = json!({
        "id": "lease", "variables": { "currency": "EUR" }, "initial": "waiting",
        "states": {
            "waiting": {
                "on": { "NOTICE": [
                    { "target": "noticed", "guard": { ">=": [{ "var": "message.payload.days" }, 30] } },
                    { "target": "rejected" },
                ] },
                "after": { "3d": "rejected", "1000": "noticed" },
            },
            "noticed": { "type": "final" },
            "rejected": { "type": "final", "output": { "date": "{{variables.date}}" } },
        },
    });
    // As text, because comparing maps would not see their order.
    assert_eq!(yaml(text).to_string(), expected.to_string());
}

#[track_caller]
fn assert_scalars<const N: usize>(scalars: [(&str, Value); N]) {
    for (scalar, expected) in scalars {
        assert_eq!(yaml(&format!("a: {scalar}")), json!({ "a": expected }), "{scalar}");
    }
}

#[test]
fn words_that_older_yaml_took_for_something_else_are_text() {
    let words = [
        "yes", "no", "on", "off", "y", "nUll", "tRUE", "inf", "NaN", "0b11", "-0x1F", "0xG", "0x", "0o8",
    ];
    let others = [
        "1_000",
        ".",
        "1e",
        "e3",
        "1.2.3",
        "12:30",
        "2024-01-02",
        "3d",
        "--1",
        "+",
        "it's",
        "<<",
    ];
    for text in words.into_iter().chain(others) {
        assert_scalars([(text, json!(text))]);
    }
}

#[test]
fn plain_words_and_numbers_follow_the_core_schema() {
    assert_scalars([
        ("null", json!(null)),
        ("Null", json!(null)),
        ("NULL", json!(null)),
        ("~", json!(null)),
    ]);
    assert_scalars([
        ("true", json!(true)),
        ("True", json!(true)),
        ("FALSE", json!(false)),
        ("", json!(null)),
    ]);
    assert_scalars([
        ("0", json!(0)),
        ("-17", json!(-17)),
        ("+17", json!(17)),
        ("017", json!(17)),
        ("-0", json!(0)),
    ]);
    assert_scalars([
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("0xFFFFFFFFFFFFFFFF", json!(u64::MAX)),
    ]);
    assert_scalars([
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
    ]);
    assert_scalars([
        ("1.5", json!(1.5)),
        ("1.", json!(1.0)),
        (".5", json!(0.5)),
        ("-.5", json!(-0.5)),
    ]);
    assert_scalars([
        ("1e3", json!(1000.0)),
        ("1E-400", json!(0.0)),
        ("+1.5e+3", json!(1500.0)),
    ]);
}

#[test]
fn fractions_become_the_nearest_float() {
    // A reader that is not correctly rounded takes each of these for its neighbour.
    assert_scalars([
        ("1.51e31", json!(1.51e31)),
        ("123456789012345678901.0", json!(123_456_789_012_345_680_000.0)),
    ]);
}

#[test]
fn quotes_and_tags_decide_before_the_schema_does() {
    assert_scalars([
        ("'5'", json!("5")),
        ("\"true\"", json!("true")),
        ("''", json!("")),
        ("|\n  5\n", json!("5\n")),
    ]);
    assert_scalars([
        ("!!str 5", json!("5")),
        ("!!str", json!("")),
        ("!<tag:yaml.org,2002:str> 5", json!("5")),
    ]);
    assert_scalars([
        ("!!int '5'", json!(5)),
        ("!!float 5", json!(5.0)),
        ("!!bool 'true'", json!(true)),
    ]);
    assert_scalars([
        ("!!null ''", json!(null)),
        ("!!seq [1]", json!([1])),
        ("!!map {b: 1}", json!({ "b": 1 })),
    ]);
}

#[test]
fn yaml_keys_are_the_text_that_is_written() {
    let text = "on: 1\nyes: 2\n1000: 3\n1.50: 4\ntrue: 5\nnull: 6\n~: 7\n0x1F: 8\n'<<': 9\n\"\": 10\n? ask\n: 11\n!!str 12: 12";
    let node = read(text, Format::Yaml);
    let Content::Map(entries) = &node.content else {
        panic!("not a map")
    };
    let keys: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "on", "yes", "1000", "1.50", "true", "null", "~", "0x1F", "<<", "", "ask", "12"
        ]
    );
}

#[track_caller]
fn assert_refused(text: &str, place: Position, detail: &str) {
    let error = refused(text, Format::Yaml);
    assert_eq!((error.at, error.detail.as_str()), (place, detail), "{text:?}");
    assert_eq!(error.cause, Cause::Syntax);
}

#[test]
fn what_yaml_readers_take_differently_is_refused() {
    let documents = [
        ("", 1, 1, "the document is empty"),
        ("# nothing\n", 1, 1, "the document is empty"),
        ("---\n", 1, 1, "the document is empty"),
        ("a: 1\n---\nb: 2", 2, 1, "a second document starts here"),
        ("a: 1\n...\n---\n", 3, 1, "a second document starts here"),
        (
            "é: 1\nb: 2\né: 3",
            3,
            1,
            "key `é` is given twice, first at line 1, column 1",
        ),
        (
            "{1: a, '1': b}",
            1,
            8,
            "key `1` is given twice, first at line 1, column 2",
        ),
        ("a: {<<: {b: 1}}", 1, 5, "merge key `<<` is not supported"),
        ("? [a, b]\n: c", 1, 3, "a key is a list or a map"),
        (": c", 1, 1, "a key is missing before `:`"),
        ("a: &x b\n*x : c", 2, 1, "an alias is used as a key"),
        ("&x a: b", 1, 1, "a key has an anchor"),
        ("a: *x", 1, 4, "alias `*x` has no anchor before it"),
        ("a: &x [b, *x]", 1, 11, "alias `*x` is inside the value that it names"),
        ("a: é\u{0}", 1, 5, "control character `\\u{0}`"),
        ("a: 1\r\nb: \u{1b}", 2, 4, "control character `\\u{1b}`"),
        ("a: 1\n\u{feff}b: 2", 2, 1, "control character `\\u{feff}`"),
    ];
    for (text, line, column, detail) in documents {
        assert_refused(text, at(line, column), detail);
    }
}

#[test]
fn tags_and_numbers_without_a_json_meaning_are_refused() {
    let documents = [
        ("a: !color red", 1, 4, "tag `!color` is not supported"),
        ("a: ! red", 1, 4, "tag `!` is not supported"),
        ("a: !!set {b}", 1, 4, "tag `!!set` is not supported"),
        ("a: !!map [b]", 1, 4, "tag `!!map` is not supported"),
        ("!!int 5: b", 1, 1, "tag `!!int` is not supported"),
        (
            "%TAG !! tag:example.com,2000:\n---\na: !!int 5",
            3,
            4,
            "tag `tag:example.com,2000:int` is not supported",
        ),
        ("a: !!int x", 1, 4, "`x` is not what its tag `!!int` says"),
        ("a: !!int 1.5", 1, 4, "`1.5` is not what its tag `!!int` says"),
        ("a: .nan", 1, 4, "`.nan` is not a number JSON can hold"),
        ("a: [-.Inf]", 1, 5, "`-.Inf` is not a number JSON can hold"),
        (
            "a: 18446744073709551616",
            1,
            4,
            "integer `18446744073709551616` does not fit in 64 bits",
        ),
        (
            "a: -9223372036854775809",
            1,
            4,
            "integer `-9223372036854775809` does not fit in 64 bits",
        ),
        (
            "a: 0x10000000000000000",
            1,
            4,
            "integer `10000000000000000` does not fit in 64 bits",
        ),
        ("a: 1e309", 1, 4, "number `1e309` is too large for a 64-bit float"),
    ];
    for (text, line, column, detail) in documents {
        assert_refused(text, at(line, column), detail);
    }
}

#[test]
fn common_yaml_mistakes_are_explained() {
    let tab = "a tab is used for indentation";
    let colon = "no value can start at this `:`";
    let documents = [
        ("a:\n\tb: c", 2, 1, tab),
        ("a:\n  b: c\n \td: e", 3, 2, tab),
        ("a: b\n\n\tc: d", 3, 1, tab),
        ("a:\n  - b\n\t- c", 3, 1, tab),
        ("\ta: b", 1, 1, tab),
        (" \t- a", 1, 2, tab),
        ("\ta: b\n\tc: d", 1, 1, tab),
        ("a: note: b", 1, 8, colon),
        ("a: b\n  c: d", 2, 4, colon),
        ("to: {{variables.email}}", 1, 5, "a template is not in quotes"),
        ("to: [x, {{ a | default('b') }} c]", 1, 9, "a template is not in quotes"),
        ("a: @home", 1, 4, "plain text cannot start with `@`"),
    ];
    for (text, line, column, detail) in documents {
        let error = refused(text, Format::Yaml);
        assert_eq!(
            (error.at, error.detail.as_str()),
            (at(line, column), detail),
            "{text:?}"
        );
        assert!(error.remedy.is_some(), "{text:?}");
    }
}

#[test]
fn tabs_that_do_not_indent_a_block_are_blanks() {
    assert_eq!(yaml("{\n\t\"a\": [\n\t\t{ b: 1 }\t]\n}"), json!({ "a": [{ "b": 1 }] }));
    assert_eq!(yaml("a: \tb\t# c\n\t\nd: 'e\tf'"), json!({ "a": "b", "d": "e\tf" }));
}

#[test]
fn broken_yaml_is_refused_inside_the_document() {
    let documents = [
        ("[a, b", 1, 6),
        ("a: \"b", 1, 4),
        ("a: 'b'c", 1, 7),
        ("- a\nb: c", 2, 1),
        ("a: [b]]", 1, 7),
    ];
    for (text, line, column) in documents {
        let error = refused(text, Format::Yaml);
        assert_eq!(error.at, at(line, column), "{text:?}");
        assert!(error.detail.starts_with("not valid YAML: "), "{}", error.detail);
    }
}

#[test]
fn yaml_may_start_with_a_byte_order_mark_and_a_version() {
    assert_eq!(
        yaml("\u{feff}%YAML 1.2\n--- # here\na: yes\n...\n"),
        json!({ "a": "yes" })
    );
    assert_places("\u{feff}a: b", Format::Yaml, &[("", 1, 1), ("/a:", 1, 1), ("/a", 1, 4)]);
}

#[test]
fn an_alias_is_a_copy_of_what_its_anchor_names() {
    let text = "base: &b { x: [1] }\nuses: [*b, &n 5, *n]\nlater: *b";
    assert_eq!(
        yaml(text),
        json!({ "base": { "x": [1] }, "uses": [{ "x": [1] }, 5, 5], "later": { "x": [1] } })
    );
    // The alias stands where it is written, what is inside it where the anchor is.
    let document = read(text, Format::Yaml).split();
    assert_eq!(document.root().inside("/later").at, at(3, 8));
    assert_eq!(document.root().inside("/later/x/0").at, at(1, 16));
}
