//! Canonical form, digest, size, depth, and the reader for bytes from outside.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{JsonError, canonical, check, digest, hex, parse_bounded, size};
use crate::document::source::{DEPTH_MAX, Limits};

const BODY: Limits = Limits::body(1024);

fn parse(text: &str) -> Result<Value, JsonError> {
    parse_bounded(text.as_bytes(), &BODY)
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, level| {
        if level % 2 == 0 {
            json!([inner])
        } else {
            json!({ "a": inner })
        }
    })
}

#[test]
fn the_canonical_form_does_not_depend_on_the_order_of_keys() {
    let written = parse(r#"{ "b": [ { "z": 1, "a": 1.0 } ], "é": null, "B": "\u00e9\n" }"#).unwrap();
    let canonical = String::from_utf8(canonical(&written)).unwrap();
    assert_eq!(canonical, r#"{"B":"é\n","b":[{"a":1.0,"z":1}],"é":null}"#);
}

#[test]
fn canonical_keys_are_ordered_by_their_bytes() {
    // In UTF-16, which RFC 8785 orders by, these two are the other way round.
    let value = json!({ "\u{1f600}": 1, "\u{fb33}": 2 });
    assert_eq!(canonical(&value), "{\"\u{fb33}\":2,\"\u{1f600}\":1}".as_bytes());
}

#[test]
fn the_digest_is_sha_256() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hex(&digest(b"abc")), expected);
    assert_eq!(hex(&[0x00, 0x0f, 0xf0]), "000ff0");
}

#[test]
fn depth_counts_lists_and_maps_but_not_what_they_hold() {
    assert_eq!(check(&json!("text"), 0), Ok(()));
    assert_eq!(check(&json!([]), 0), Err(JsonError::TooDeep { limit: 0 }));
    assert_eq!(check(&json!([1, "a", {}]), 2), Ok(()));
    assert_eq!(check(&nested(DEPTH_MAX), DEPTH_MAX), Ok(()));
    assert_eq!(
        check(&nested(DEPTH_MAX + 1), DEPTH_MAX),
        Err(JsonError::TooDeep { limit: DEPTH_MAX })
    );
    assert_eq!(check(&json!([[[]], 1]), 2), Err(JsonError::TooDeep { limit: 2 }));
}

#[test]
fn the_reader_and_the_check_agree_on_the_depth() {
    for depth in [1, DEPTH_MAX, DEPTH_MAX + 1, 1_000] {
        let value = nested(depth);
        let read = parse_bounded(value.to_string().as_bytes(), &Limits::body(100_000)).map(drop);
        assert_eq!(read, check(&value, DEPTH_MAX), "{depth}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_their_offset() {
    assert_eq!(
        parse_bounded(b"{\"a\": \"\xff\"}", &BODY),
        Err(JsonError::NotUtf8 { offset: 7 })
    );
    assert_eq!(
        parse_bounded(b"\"\xed\xa0\x80\"", &BODY),
        Err(JsonError::NotUtf8 { offset: 1 })
    );
}

#[test]
fn a_body_over_its_limit_is_refused_before_it_is_read() {
    let body = vec![b' '; 1025];
    assert_eq!(
        parse_bounded(&body, &BODY),
        Err(JsonError::TooLarge {
            bytes: 1025,
            limit: 1024
        })
    );
    assert!(matches!(parse_bounded(&body[1..], &BODY), Err(JsonError::Invalid(_))));
}

#[test]
fn a_list_as_long_as_the_body_allows_is_read() {
    let body = format!("[{}1]", "1,".repeat(510));
    assert_eq!(parse(&body).unwrap().as_array().map(Vec::len), Some(511));
}

#[test]
fn what_json_leaves_open_is_refused() {
    let refused = [
        (
            r#"{"a": 1, "a": 1}"#,
            "line 1, column 10: key `a` is given twice, first at line 1, column 2",
        ),
        (
            "[1] 2",
            "line 1, column 5: `2` where the end of the document is expected",
        ),
        (
            "18446744073709551616",
            "line 1, column 1: integer `18446744073709551616` does not fit in 64 bits",
        ),
        (
            "[1e309]",
            "line 1, column 2: number `1e309` is too large for a 64-bit float",
        ),
        ("[NaN]", "line 1, column 2: `NaN` is not a JSON value"),
        (
            "\u{feff}1",
            "line 1, column 1: the document starts with a byte order mark",
        ),
    ];
    for (text, problem) in refused {
        assert_eq!(parse(text).unwrap_err().to_string(), problem);
    }
}

#[test]
fn an_escaped_nul_is_a_character_like_any_other() {
    assert_eq!(parse(r#"{"a": "\u0000"}"#), Ok(json!({ "a": "\0" })));
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_a_problem(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(value) = parse_bounded(&bytes, &BODY) {
            prop_assert_eq!(check(&value, DEPTH_MAX), Ok(()));
        }
    }

    #[test]
    fn the_size_is_the_length_of_the_compact_text(text: String, number: f64, keys: Vec<String>) {
        let map: Value = keys.into_iter().map(|key| (key, json!([number, text]))).collect();
        prop_assert_eq!(size(&map), map.to_string().len());
    }
}
