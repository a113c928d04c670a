//! Documents that ask for too much.

use super::{at, refused};
use crate::document::source::{Cause, Format, Limits, Position, parse};

#[test]
fn a_thousand_levels_are_refused_at_the_first_one_too_many() {
    let flow = "[".repeat(1_000);
    let dashes = "- ".repeat(1_000);
    let objects = "{\"a\":".repeat(1_000);
    let block = (0..1_000)
        .map(|level| format!("{}a:", " ".repeat(level)))
        .collect::<Vec<_>>()
        .join("\n");
    // YAML's scanner gives up at 256 brackets, before the reader sees any of them.
    let documents = [
        (&flow, Format::Json, at(1, 33)),
        (&objects, Format::Json, at(1, 161)),
        (&flow, Format::Yaml, at(1, 256)),
        (&"[".repeat(200), Format::Yaml, at(1, 33)),
        (&dashes, Format::Yaml, at(1, 65)),
        (&block, Format::Yaml, at(33, 33)),
    ];
    for (text, format, place) in documents {
        let error = refused(text, format);
        assert_eq!(
            (error.cause, error.at),
            (Cause::TooDeep, place),
            "{format:?} {}",
            &text[..20]
        );
        assert_eq!(error.detail, "lists and maps are nested deeper than `32` levels");
    }
}

#[test]
fn no_limit_a_caller_sets_lets_a_document_exhaust_the_stack() {
    let limits = Limits {
        depth: usize::MAX,
        ..Limits::DEFINITION
    };
    for format in [Format::Json, Format::Yaml] {
        let error = parse(&"[".repeat(100_000), format, &limits).unwrap_err();
        assert_eq!(error.cause, Cause::TooDeep);
    }
}

/// Lines that each name themselves `a<level>` and hold what `inside` makes of the level before.
fn levels(count: usize, inside: impl Fn(usize) -> String) -> String {
    let lines = (1..count).map(|level| format!("a{level}: &a{level} [{}]", inside(level - 1)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn aliases_that_multiply_are_refused() {
    let laughs = levels(20, |below| vec![format!("*a{below}"); 9].join(", "));
    let error = refused(&format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{laughs}"), Format::Yaml);
    assert_eq!(error.cause, Cause::TooManyNodes);
    assert_eq!(error.detail, "the document has more than `100000` values");
}

#[test]
fn aliases_that_nest_are_refused() {
    let nested = levels(40, |below| format!("*a{below}"));
    let error = refused(&format!("a0: &a0 x\n{nested}"), Format::Yaml);
    // The document's map is the first level, so 31 lists fit into it.
    assert_eq!((error.cause, error.at), (Cause::TooDeep, at(33, 12)));
}

#[test]
fn aliases_that_copy_long_text_are_refused() {
    let copies = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(1_000));
    let error = refused(&copies, Format::Yaml);
    assert_eq!((error.cause, error.at), (Cause::TooLarge, at(2, 45)));
    let keys = format!("a: &a {{ {}: 1 }}\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(1_000));
    assert_eq!(refused(&keys, Format::Yaml).cause, Cause::TooLarge);
}

#[test]
fn anchors_inside_anchors_are_counted_as_well() {
    let opened = "&a [".repeat(30);
    let kept = format!("{opened}{}{}", "1, ".repeat(10_000), "]".repeat(30));
    assert_eq!(refused(&kept, Format::Yaml).cause, Cause::TooManyNodes);
}

#[test]
fn bytes_and_values_are_counted_to_the_last_one() {
    let limits = Limits {
        bytes: 9,
        depth: 1,
        nodes: 4,
    };
    for format in [Format::Json, Format::Yaml] {
        assert!(parse("[1, 2, 3]", format, &limits).is_ok());
        let too_large = parse("[1, 2, 3] ", format, &limits).unwrap_err();
        assert_eq!((too_large.cause, too_large.at), (Cause::TooLarge, Position::START));
        let too_many = parse("[1,2,3,4]", format, &limits).unwrap_err();
        assert_eq!((too_many.cause, too_many.at), (Cause::TooManyNodes, at(1, 8)));
        let too_deep = parse("[1, [2]]", format, &limits).unwrap_err();
        assert_eq!((too_deep.cause, too_deep.at), (Cause::TooDeep, at(1, 5)));
    }
}

#[test]
fn a_message_shows_a_long_value_cut() {
    let error = refused(&format!("a: {}", "9".repeat(100_000)), Format::Yaml);
    assert_eq!(
        error.detail,
        format!("integer `{}…` does not fit in 64 bits", "9".repeat(40))
    );
}
