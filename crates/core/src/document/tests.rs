//! What the reader finds, and what it lets pass.

use serde_json::{Value, json};

use super::Names::Free;
use super::Shape::{Bytes, Duration, Either, Filled, Flag, List, Map, Members, Text, Whole, Word};
use super::{Fields, Key, Reader, Shape, Stage, Table};
use crate::document::source::{Format, Limits, Spot, parse};

static SERVER: Table = Table {
    name: "server",
    called: "a server",
    keys: &[
        Key::required("host", &Filled, "Where it is."),
        Key::required("port", &Whole { least: 1, most: 65_535 }, "Its port."),
        Key::optional("mode", &Word(&["fast", "safe"]), "How it works.").or("kind"),
        Key::optional("timeout", &Duration { least: 50 }, "How long it may take."),
        Key::optional("memory", &Bytes, "What it may use."),
        Key::optional("tags", &Either(&[Text, List(&Text)]), "For people."),
        Key::optional("on", &Flag, "Whether it runs."),
        Key::optional("peers", &Members(Free, &Map(&SERVER)), "Others."),
        Key::optional("old", &Shape::Refused("leave it out"), ""),
    ],
};

/// `line:column pointer code: detail (remedy)` of everything that is wrong.
fn found(text: &str, format: Format, stage: Stage) -> Vec<String> {
    let document = parse(text, format, &Limits::default()).unwrap();
    let mut reader = Reader::new(stage);
    let is_sound = reader.check(&document.root(), &Map(&SERVER));
    let findings = reader.findings.finish();
    assert_eq!(is_sound, findings.is_empty());
    let line = |found: &super::Finding| {
        let super::Finding {
            line,
            column,
            pointer,
            code,
            detail,
            remedy,
            ..
        } = found;
        format!("{line}:{column} {pointer} {code}: {detail} ({remedy})")
    };
    findings.iter().map(line).collect()
}

#[test]
fn everything_wrong_is_found_at_once_in_every_format() {
    let yaml = "hots: a\nport: 0\nmode: saef\nkind: fast\ntimeout: 1ms\nmemory: lots\ntags: 5\non: [1]\nold: 1\n";
    let expected = [
        "1:1 /hots unknown-key: a server has no key `hots` (did you mean `host`?)",
        "2:7 /port bad-value: `0` is not a whole number from 1 to 65535 (write a whole number from 1 to 65535)",
        "3:7 /mode bad-value: `saef` is not a known value (did you mean `safe`?)",
        "4:1 /kind given-twice: `kind` and `mode` are two names for the same key (keep `mode`)",
        "5:10 /timeout bad-duration: `1ms` is too short (write at least `50ms`)",
        "6:9 /memory bad-value: `\"lots\"` is not bytes as a number, or as `512KiB`, `10MiB` or `2GiB` \
         (write bytes as a number, or as `512KiB`, `10MiB` or `2GiB`)",
        "7:7 /tags wrong-type: `5` is not text, or a list of texts (write text, or a list of texts)",
        "8:5 /on wrong-type: a list is not `true` or `false` (write `true` or `false`)",
        "9:1 /old not-supported: `old` in a server cannot be honoured (leave it out)",
    ];
    let in_yaml = found(yaml, Format::Yaml, Stage::Strict);
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(in_yaml, expected);
    let toml = "hots = \"a\"\nport = 0\nmode = \"saef\"\nkind = \"fast\"\ntimeout = \"1ms\"\nmemory = \"lots\"\ntags = 5\n\
                on = [1]\nold = 1\n";
    let without_place = |lines: Vec<String>| -> Vec<String> {
        let rest = lines.iter().filter_map(|line| line.split_once(' '));
        rest.map(|(_, rest)| rest.to_owned()).collect()
    };
    assert_eq!(
        without_place(found(toml, Format::Toml, Stage::Strict)),
        without_place(in_yaml)
    );
}

#[test]
fn a_missing_key_is_said_where_its_map_is_unless_it_was_misspelt() {
    assert_eq!(
        found("host: a\npeers:\n  b: { host: x }\n", Format::Yaml, Stage::Strict),
        [
            "1:1  missing-key: a server has no `port` (add `port`)",
            "3:3 /peers/b missing-key: a server has no `port` (add `port`)",
        ]
    );
    let misspelt = found("host: a\nprot: 1\n", Format::Yaml, Stage::Strict);
    assert_eq!(misspelt.len(), 1, "{misspelt:?}");
}

#[test]
fn null_is_a_value_or_the_same_as_no_key() {
    let text = "host: a\nport: 1\ntags:\n";
    assert_eq!(
        found(text, Format::Yaml, Stage::Strict),
        ["3:1 /tags wrong-type: `null` is not text, or a list of texts (write text, or a list of texts)"]
    );
    assert_eq!(found(text, Format::Yaml, Stage::Lenient), Vec::<String>::new());
    assert_eq!(
        found("host:\nport: 1\n", Format::Yaml, Stage::Lenient),
        ["1:1  missing-key: a server has no `host` (add `host`)"]
    );
}

#[test]
fn what_is_still_a_template_passes_every_check() {
    let text = r#"{"host": "{{a}}", "port": "{{b}}", "on": "{{c}}", "timeout": "x{{d}}", "peers": {"{{e}}": "{{f}}"}}"#;
    assert_eq!(found(text, Format::Json, Stage::Written), Vec::<String>::new());
    let wrong = found(text, Format::Json, Stage::Rendered);
    assert_eq!(wrong.len(), 4, "{wrong:?}");
    assert!(
        wrong
            .iter()
            .all(|line| !line.contains("{{b}}") && !line.contains("{{c}}")),
        "a text of a rendered document may be a secret: {wrong:?}"
    );
}

#[test]
fn fields_are_read_by_kind_and_what_does_not_fit_is_not_there() {
    let value = json!({"host": "h", "port": 80, "kind": "fast", "memory": "1KiB", "tags": "a", "on": "yes",
        "timeout": "1s", "peers": {"x": {"host": "y", "port": 1}}});
    let fields = Fields::new(Spot::bare(&value), &SERVER);
    assert_eq!(fields.text("host"), Some("h"));
    assert_eq!(fields.whole::<u16>("port"), Some(80));
    assert_eq!(fields.word("mode", &[("fast", 1), ("safe", 2)]), Some(1));
    assert_eq!(fields.bytes("memory"), Some(1024));
    assert_eq!(fields.texts("tags"), Some(vec!["a".to_owned()]));
    assert_eq!(fields.flag("on"), None);
    assert_eq!(fields.millis("timeout"), Some(1_000));
    assert_eq!(fields.object("peers").map(|peers| peers.len()), Some(1));
}

fn read(value: &Value) -> (Option<String>, Vec<String>, Vec<String>) {
    let mut reader = Reader::new(Stage::Lenient);
    let root = Spot::bare(value);
    reader.knows(&root, &["to", "cc", "size"]);
    let to = reader
        .required_text(&root, "to", "`ann@example.com`")
        .map(str::to_owned);
    let cc = reader
        .text_or_texts(&root, "cc")
        .into_iter()
        .map(str::to_owned)
        .collect();
    reader.whole(&root, "size", 1, 9);
    let findings = reader.findings.finish();
    let lines = findings
        .iter()
        .map(|found| format!("{} {}; {}", found.pointer, found.detail, found.remedy));
    (to, cc, lines.collect())
}

#[test]
fn what_is_read_one_by_one_is_judged_the_same_way() {
    let (to, cc, wrong) = read(&json!({"to": "a", "cc": ["b", "c"], "size": 9}));
    assert_eq!((to.as_deref(), cc.len(), wrong.len()), (Some("a"), 2, 0));
    let (to, cc, mut wrong) = read(&json!({"to": null, "cc": ["b", 5], "size": "x", "c/c": 1, "zzzzzz": 1}));
    assert_eq!((to, cc.len()), (None, 1));
    wrong.sort_unstable();
    assert_eq!(
        wrong,
        [
            "/cc/1 `5` is not text; write text",
            "/c~1c unknown key `c/c`; did you mean `cc`?",
            "/size `\"x\"` is not a whole number from 1 to 9; write a whole number from 1 to 9",
            "/to `to` is missing; add `to`, such as `ann@example.com`",
            "/zzzzzz unknown key `zzzzzz`; remove it; known are `to`, `cc`, `size`",
        ]
    );
}
