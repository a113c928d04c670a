//! JSON: what is read and what is refused.

use serde_json::{Value, json};

use super::{at, read, refused};
use crate::document::source::Format;

fn json_text(text: &str) -> Value {
    read(text, Format::Json).into_value()
}

#[test]
fn a_json_document_reads_as_written() {
    let text =
        "\t{ \"b\" : [ -0, 1.5e+2, 18446744073709551615, -9223372036854775808 ],\r\n \"a\":{\"\":null}, \"c\":true }\n";
    let expected = r#"{"b":[0,150.0,18446744073709551615,-9223372036854775808],"a":{"":null},"c":true}"#;
    assert_eq!(json_text(text).to_string(), expected);
}

#[test]
fn json_escapes_become_their_characters() {
    let text = r#""\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00\u0000 é€😀""#;
    assert_eq!(json_text(text), json!("\"\\/\u{8}\u{c}\n\r\té€😀\0 é€😀"));
}

#[test]
fn what_is_not_json_is_refused_where_it_stands() {
    let documents = [
        ("", 1, 1, "the document ends where a value is expected"),
        (" \n ", 2, 2, "the document ends where a value is expected"),
        ("\u{feff}{}", 1, 1, "the document starts with a byte order mark"),
        ("{} {}", 1, 4, "`{` where the end of the document is expected"),
        ("[1,]", 1, 3, "nothing follows the `,` before `]`"),
        ("{\"é\":1 , }", 1, 8, "nothing follows the `,` before `}`"),
        ("[,]", 1, 2, "`,` where a value is expected"),
        ("[1 2]", 1, 4, "`2` where `,` or `]` is expected"),
        ("{\"a\" 1}", 1, 6, "`1` where `:` is expected"),
        ("{a: 1}", 1, 2, "`a` where a key in double quotes is expected"),
        ("{\"a\": 1", 1, 8, "the document ends where `,` or `}` is expected"),
        ("['a']", 1, 2, "`'` where a value is expected"),
        ("[1, // one\n2]", 1, 5, "`/` where a value is expected"),
        (
            "{\"a\":1,\"b\":2,\n\"a\":3}",
            2,
            1,
            "key `a` is given twice, first at line 1, column 2",
        ),
        (
            "{\"a\":1,\"\\u0061\":3}",
            1,
            8,
            "key `a` is given twice, first at line 1, column 2",
        ),
        ("[True]", 1, 2, "`True` is not a JSON value"),
        ("nullx", 1, 1, "`nullx` is not a JSON value"),
        ("01", 1, 1, "`01` is not a JSON number"),
        ("-", 1, 1, "`-` is not a JSON number"),
        ("1.", 1, 1, "`1.` is not a JSON number"),
        ("1e+", 1, 1, "`1e+` is not a JSON number"),
        ("+1", 1, 1, "`+` where a value is expected"),
        (".5", 1, 1, "`.` where a value is expected"),
        ("0x1F", 1, 2, "`x` where the end of the document is expected"),
        (
            "18446744073709551616",
            1,
            1,
            "integer `18446744073709551616` does not fit in 64 bits",
        ),
        ("-1e309", 1, 1, "number `-1e309` is too large for a 64-bit float"),
        ("\"ab", 1, 1, "text without a closing quote"),
        ("\"é\n\"", 1, 3, "control character `\\u{a}` inside text"),
        ("\"é\\q\"", 1, 3, "`\\` starts no escape that JSON knows"),
        ("\"\\u12g4\"", 1, 2, "escape is not `\\u` and four hexadecimal digits"),
        ("\"\\u+123\"", 1, 2, "escape is not `\\u` and four hexadecimal digits"),
        ("\"\\ud83d\"", 1, 2, "escape is half of a surrogate pair"),
        ("\"\\ude00\\ud83d\"", 1, 2, "escape is half of a surrogate pair"),
        ("\"\\ud83d\\u0041\"", 1, 2, "escape is half of a surrogate pair"),
        ("\u{1b}1", 1, 1, "`\\u{1b}` where a value is expected"),
        ("\u{a0}1", 1, 1, "`\u{a0}` where a value is expected"),
    ];
    for (text, line, column, detail) in documents {
        let error = refused(text, Format::Json);
        assert_eq!(
            (error.at, error.detail.as_str()),
            (at(line, column), detail),
            "{text:?}"
        );
    }
}
