//! TOML: what is read, where it stands, and what is refused.

use serde_json::json;

use super::{assert_places, at, read, refused};
use crate::document::source::Format;

#[test]
fn tables_and_values_keep_their_order_and_their_places() {
    let text = "z = 0x1f\n[b.c]\nlist = [\"ü\", -1.5, true]\n[[a]]\nx = { y = 1 }\n";
    assert_eq!(
        read(text, Format::Toml).into_value().to_string(),
        json!({"z": 31, "b": {"c": {"list": ["ü", -1.5, true]}}, "a": [{"x": {"y": 1}}]}).to_string()
    );
    let expected = [
        ("", 1, 1),
        ("/z:", 1, 1),
        ("/z", 1, 5),
        ("/b:", 2, 2),
        ("/b", 2, 2),
        ("/b/c:", 2, 4),
        ("/b/c", 2, 1),
        ("/b/c/list:", 3, 1),
        ("/b/c/list", 3, 8),
        ("/b/c/list/0", 3, 9),
        ("/b/c/list/1", 3, 14),
        ("/b/c/list/2", 3, 20),
        ("/a:", 4, 3),
        ("/a", 4, 1),
        ("/a/0", 4, 1),
        ("/a/0/x:", 5, 1),
        ("/a/0/x", 5, 5),
        ("/a/0/x/y:", 5, 7),
        ("/a/0/x/y", 5, 11),
    ];
    assert_places(text, Format::Toml, &expected);
}

#[test]
fn a_date_is_its_text() {
    assert_eq!(
        read("a = 1979-05-27", Format::Toml).into_value(),
        json!({"a": "1979-05-27"})
    );
}

#[test]
fn what_json_cannot_hold_is_refused_where_it_stands() {
    for (text, column, detail) in [
        ("a = [1, inf]", 9, "`inf` is not a number"),
        ("a = -nan", 5, "is not a number"),
        ("a = 1\na = 2", 1, "duplicate key"),
        ("a = 99999999999999999999", 5, "99999999999999999999"),
        ("a = ", 5, ""),
    ] {
        let error = refused(text, Format::Toml);
        let line = if text.contains('\n') { 2 } else { 1 };
        assert_eq!(error.at, at(line, column), "{text}: {error}");
        assert!(error.detail.contains(detail), "{text}: {error}");
    }
}
