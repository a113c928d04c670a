//! Formats known by name, and names nearly known.

use crate::document::source::{Format, nearest};

#[test]
fn the_format_is_known_by_name_and_guessed_by_content() {
    let names = [
        ("a/b.yaml", Some(Format::Yaml)),
        ("b.YML", Some(Format::Yaml)),
        ("b.json", Some(Format::Json)),
        ("b.yaml.bak", None),
        ("json", None),
        ("", None),
    ];
    for (name, format) in names {
        assert_eq!(Format::of_path(name), format, "{name}");
    }
    let json = ["{\"a\": 1}", "\n { }", "[\"a\"]", "[[1]]", "\u{feff}{\"a\": 1}"];
    let yaml = ["a: 1", "{a: 1}", "[a]", "- {}", "# {}", ""];
    assert!(json.iter().all(|text| Format::sniff(text) == Format::Json));
    assert!(yaml.iter().all(|text| Format::sniff(text) == Format::Yaml));
}

#[test]
fn the_nearest_name_is_the_one_most_likely_meant() {
    let known = [
        "target",
        "guard",
        "assign",
        "actions",
        "reenter",
        "description",
        "on",
        "onDone",
        "retryPolicy",
    ];
    let words = [
        ("targett", Some("target")),
        ("taregt", Some("target")),
        ("gard", Some("guard")),
        ("guards", Some("guard")),
        ("TARGET", Some("target")),
        ("ondone", Some("onDone")),
        ("retry_policy", Some("retryPolicy")),
        ("no", Some("on")),
        ("descripton", Some("description")),
        ("colour", None),
        ("x", None),
        ("", None),
        ("target", Some("target")),
    ];
    for (word, expected) in words {
        assert_eq!(nearest(word, known), expected, "{word}");
    }
    assert_eq!(nearest("x", ["y"]), None);
    assert_eq!(nearest("abcd", ["abxy"]), None);
    assert_eq!(nearest("abcdef", ["abcdxy"]), Some("abcdxy"));
    assert_eq!(nearest(&"a".repeat(1_000_000), known), None);
}

#[test]
fn equally_near_names_are_chosen_without_regard_to_their_order() {
    assert_eq!(nearest("bat", ["cat", "Bat", "hat"]), Some("Bat"));
    assert_eq!(nearest("rat", ["hat", "cat"]), Some("cat"));
    assert_eq!(nearest("rat", ["cat", "hat"]), Some("cat"));
}
