//! Every error says where, what was found and what would do.

use super::super::*;

fn error(text: &str) -> String {
    condition(text, Resource::Executions).expect_err(text).to_string()
}

#[test]
fn what_does_not_follow_the_grammar_is_pointed_at() {
    let errors = [
        ("", "column 1: found the end, expected a field, `NOT` or `(`"),
        (
            "status",
            "column 7: found the end, expected `=`, `!=`, `<`, `<=`, `>`, `>=` or `IN`",
        ),
        (
            "status == \"x\"",
            "column 9: found `=`, expected a value: a text in double quotes, a number, `true` or `false`",
        ),
        (
            "status = running",
            "column 10: found `running`, expected a value: a text in double quotes, a number, `true` or `false`",
        ),
        (
            "status = 'x'",
            "column 10: found `'`, expected a text in double quotes, as in \"running\"",
        ),
        (
            "status = \"x",
            "column 12: found the end, expected the closing `\"` of the text",
        ),
        (
            "key = \"\\x\"",
            "column 9: found `x`, expected one of `\"`, `\\`, `/`, `n`, `r`, `t`, `u` after `\\`",
        ),
        (
            "key = \"\\ud800\"",
            "column 10: found `d`, expected four hexadecimal digits of a character after `\\u`",
        ),
        ("(key = \"x\"", "column 11: found the end, expected `AND`, `OR` or `)`"),
        (
            "key = \"x\" key",
            "column 11: found `key`, expected `AND`, `OR` or the end",
        ),
        (
            "key IN \"x\"",
            "column 8: found the text \"x\", expected `(` after `IN`",
        ),
        (
            "key IN ()",
            "column 9: found `)`, expected a value: a text in double quotes, a number, `true` or `false`",
        ),
        ("key ! \"x\"", "column 6: found ` `, expected `=` after `!`"),
        (
            "version = 99999999999999999999",
            "column 11: found `99999999999999999999`, expected a number of 64 bits",
        ),
        (
            "version = 1e999",
            "column 11: found `1e999`, expected a number of 64 bits",
        ),
        (
            "key = \"x\" AND",
            "column 14: found the end, expected a field, `NOT` or `(`",
        ),
        (
            "key = \"x\"; DROP TABLE execution",
            "column 10: found `;`, expected a field, a value, a sign or a parenthesis",
        ),
    ];
    for (text, expected) in errors {
        assert_eq!(error(text), expected);
    }
}

#[test]
fn what_does_not_exist_is_answered_with_the_nearest() {
    let errors = [
        (
            "stauts = \"running\"",
            "column 1: executions have no field `stauts`; did you mean `status`?",
        ),
        (
            "key = \"x\" OR created_at = \"x\"",
            "column 14: executions have no field `created_at`; did you mean `createdAt`?",
        ),
        (
            "status = \"runing\"",
            "column 1: `status` is never \"runing\"; did you mean \"running\"?",
        ),
        (
            "status = \"xyz\"",
            "column 1: `status` is never \"xyz\"; it is one of `running`, `paused`, `failed`, `completed`, `cancelled`",
        ),
        (
            "status > \"running\"",
            "column 1: `status` takes `=`, `!=` and `IN`, not `>`",
        ),
        ("tag < \"x\"", "column 1: `tag` takes `=`, `!=` and `IN`, not `<`"),
        (
            "version = \"1\"",
            "column 1: `version` takes a whole number, not the text \"1\"",
        ),
        (
            "version = 1.5",
            "column 1: `version` takes a whole number, not the number 1.5",
        ),
        (
            "key = true",
            "column 1: `key` takes a text in double quotes, not `true`",
        ),
        (
            "createdAt > \"yesterday\"",
            "column 1: `createdAt` takes an instant such as \"2026-01-31T12:00:00Z\" or a day such as \"2026-01-31\", not the text \"yesterday\"",
        ),
        (
            "id = \"act_1\"",
            "column 1: `id`: `act_1` is not an id of the form `exe_` and 26 characters of 0-9a-z without i, l, o, u",
        ),
    ];
    for (text, expected) in errors {
        assert_eq!(error(text), expected);
    }
    let nothing_near = error("qqqqqq = 1");
    assert!(nothing_near.contains("they have `id`, `machine`"), "{nothing_near}");
    assert!(
        condition("status = \"dead\"", Resource::DeadLetters).is_err(),
        "all of them are"
    );
}

#[test]
fn length_depth_and_number_of_terms_are_bounded() {
    let long = format!("key = \"{}\"", "x".repeat(BYTES_MAX));
    assert_eq!(
        error(&long),
        format!("the filter has {} bytes; at most 4096 are allowed", long.len())
    );
    let nested = |depth: usize| format!("{}key = \"x\"{}", "(".repeat(depth), ")".repeat(depth));
    assert!(condition(&nested(DEPTH_MAX), Resource::Executions).is_ok());
    assert_eq!(
        error(&nested(DEPTH_MAX + 1)),
        "column 17: the filter is nested deeper than 16 levels"
    );
    assert!(error(&format!("{}key = \"x\"", "NOT ".repeat(1_000))).ends_with("deeper than 16 levels"));
    let terms = |count: usize| vec!["version = 1"; count].join(" OR ");
    assert!(condition(&terms(TERMS_MAX), Resource::Executions).is_ok());
    assert!(error(&terms(TERMS_MAX + 1)).contains("more than 64 comparisons"));
    let list = format!("version IN ({})", vec!["1"; TERMS_MAX + 1].join(","));
    assert!(error(&list).contains("more than 64 comparisons"));
}

#[test]
fn control_characters_do_not_reach_the_terminal_of_whoever_reads_the_error() {
    let shown = error("status = \"\u{1b}[31m\"");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}
