//! Where values stand, in both formats, and how to find them again.

use serde_json::json;

use super::{assert_places, at, read};
use crate::document::source::Format;

#[test]
fn positions_in_block_style_are_exact() {
    let text = "é: ü # note - x\nlist:\n- one\n- - two\n  -  # empty - entry\n-\nempty:\nfar:\n    - { ж: [ñ, ö: 5] }\n? asked\n: - 'x'";
    let expected = [
        ("", 1, 1),
        ("/é:", 1, 1),
        ("/é", 1, 4),
        ("/list:", 2, 1),
        ("/list", 3, 1),
        ("/list/0", 3, 3),
        ("/list/1", 4, 3),
        ("/list/1/0", 4, 5),
        ("/list/1/1", 5, 3),
        ("/list/2", 6, 1),
        ("/empty:", 7, 1),
        ("/empty", 7, 1),
        ("/far:", 8, 1),
        ("/far", 9, 5),
        ("/far/0", 9, 7),
        ("/far/0/ж:", 9, 9),
        ("/far/0/ж", 9, 12),
        ("/far/0/ж/0", 9, 13),
        ("/far/0/ж/1", 9, 16),
        ("/far/0/ж/1/ö:", 9, 16),
        ("/far/0/ж/1/ö", 9, 19),
        ("/asked:", 10, 3),
        ("/asked", 11, 3),
        ("/asked/0", 11, 5),
    ];
    assert_places(text, Format::Yaml, &expected);
    let other_breaks = [text.replace('\n', "\r\n"), text.replace('\n', "\r")];
    for text in other_breaks {
        assert_places(&text, Format::Yaml, &expected);
    }
}

#[test]
fn block_text_anchors_and_tags_have_the_positions_the_tree_documents() {
    let text = "a: |\n  first\n  second\nb: &x !!str 5\nc: *x\nd: {e, f: }";
    let expected = [
        ("", 1, 1),
        ("/a:", 1, 1),
        ("/a", 2, 3),
        ("/b:", 4, 1),
        ("/b", 4, 4),
        ("/c:", 5, 1),
        ("/c", 5, 4),
        ("/d:", 6, 1),
        ("/d", 6, 4),
        ("/d/e:", 6, 5),
        ("/d/e", 6, 5),
        ("/d/f:", 6, 8),
        ("/d/f", 6, 8),
    ];
    assert_places(text, Format::Yaml, &expected);
}

#[test]
fn positions_in_json_count_characters_and_all_line_breaks() {
    let text = "{\"é😀\": [\"ж\",\t1],\r\n \"b\":\r  {\"c\":\nnull}}";
    let expected = [
        ("", 1, 1),
        ("/é😀:", 1, 2),
        ("/é😀", 1, 8),
        ("/é😀/0", 1, 9),
        ("/é😀/1", 1, 14),
        ("/b:", 2, 2),
        ("/b", 3, 3),
        ("/b/c:", 3, 4),
        ("/b/c", 4, 1),
    ];
    assert_places(text, Format::Json, &expected);
}

#[test]
fn a_pointer_leads_to_its_value_or_to_the_nearest_one_around_it() {
    let text = r#"{"a/b": {"~": [10, {"": 11}]}, "0": 12, "~1": 13}"#;
    let document = read(text, Format::Json).split();
    let found = [
        ("", "", 1),
        ("/a~1b/~0/0", "/a~1b/~0/0", 16),
        ("/a~1b/~0/1/", "/a~1b/~0/1/", 25),
        ("/0", "/0", 37),
        ("/~01", "/~01", 47),
        ("a", "", 1),
        ("/a", "", 1),
        ("/a~1b/~0/2", "/a~1b/~0", 15),
        ("/a~1b/~0/00", "/a~1b/~0", 15),
        ("/a~1b/~0/+1/x", "/a~1b/~0", 15),
        ("/0/0", "/0", 37),
    ];
    for (asked, pointer, column) in found {
        let place = document.root().inside(asked);
        assert_eq!((place.pointer.as_str(), place.at), (pointer, at(1, column)), "{asked}");
    }
}

#[test]
fn what_was_added_to_a_document_stands_where_the_value_around_it_does() {
    let mut document = read("a: 1\nb:\n  c: 2\n", Format::Yaml).split();
    document.value["b"]["d"] = json!({"e": [5]});
    let place = document.root().inside("/b/d/e/0");
    assert_eq!((place.pointer.as_str(), place.at), ("/b/d/e/0", at(3, 3)));
    assert_eq!(document.root().inside("/b/c").at, at(3, 6));
}

#[test]
fn a_part_keeps_its_places() {
    let document = read("a: 1\nb:\n  c: [2, 3]\n", Format::Yaml).split();
    let part = document.root().member("b").unwrap().to_document();
    assert_eq!(part.value, json!({"c": [2, 3]}));
    assert_eq!(part.root().inside("/c/1").at, at(3, 10));
}
