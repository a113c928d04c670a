//! The grammar, its errors, and that printing and parsing lead back.

mod errors;
mod properties;

use super::*;

fn parsed(text: &str) -> Filter {
    Parsed::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .filter
}

fn term(field: &str, operator: Operator, values: &[Literal]) -> Filter {
    Filter::Term(Term {
        field: field.to_owned(),
        operator,
        values: values.to_vec(),
    })
}

fn text(text: &str) -> Literal {
    Literal::Text(text.to_owned())
}

#[test]
fn or_binds_weaker_than_and_and_not_binds_strongest() {
    let [a, b, c] = ["a", "b", "c"].map(|name| term(name, Operator::Equal, &[Literal::Whole(1)]));
    assert_eq!(
        parsed("NOT a = 1 AND b = 1 OR c = 1"),
        Filter::Or(vec![
            Filter::And(vec![Filter::Not(Box::new(a.clone())), b.clone()]),
            c.clone()
        ])
    );
    assert_eq!(
        parsed("a=1 and not(b=1 or c=1)"),
        Filter::And(vec![a, Filter::Not(Box::new(Filter::Or(vec![b, c])))])
    );
}

#[test]
fn every_kind_of_value_is_read() {
    let values = [
        ("\"a \\\"b\\\" \\\\ \\n\\r\\t\\u00e9 ü\"", text("a \"b\" \\ \n\r\té ü")),
        ("\"\"", text("")),
        ("-9223372036854775808", Literal::Whole(i64::MIN)),
        ("0", Literal::Whole(0)),
        ("1.5", Literal::Fraction(1.5)),
        ("-2e3", Literal::Fraction(-2000.0)),
        ("TRUE", Literal::Bool(true)),
        ("false", Literal::Bool(false)),
    ];
    for (written, value) in values {
        assert_eq!(
            parsed(&format!("f >= {written}")),
            term("f", Operator::GreaterOrEqual, &[value])
        );
    }
    assert_eq!(
        parsed("f IN ( 1 ,\"x\")"),
        term("f", Operator::In, &[Literal::Whole(1), text("x")])
    );
}

#[test]
fn a_day_is_its_first_instant_and_an_instant_may_have_a_zone() {
    let at = |written: &str| {
        let text = format!("createdAt = \"{written}\"");
        match condition(&text, Resource::Jobs).unwrap() {
            Condition::Is(only) => only.constants,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(at("2026-01-01"), at("2026-01-01T00:00:00Z"));
    assert_eq!(at("2026-01-01T01:00:00+01:00"), at("2026-01-01"));
    assert_eq!(at("1970-01-02"), [Constant::Number(86_400_000)]);
}

#[test]
fn the_words_of_a_status_become_the_numbers_that_are_stored() {
    for resource in [Resource::Executions, Resource::Actions, Resource::Jobs] {
        for (word, number) in resource.statuses() {
            assert_eq!(
                condition(&format!("status = \"{word}\""), resource).unwrap(),
                Condition::number(Field::Status, *number)
            );
        }
    }
}

struct Sample;

impl Row for Sample {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::Machine => FieldValue::Text("order"),
            Field::Version => FieldValue::Number(3),
            Field::Status => FieldValue::Number(0),
            _ => FieldValue::Absent,
        }
    }
}

struct Tagged(Vec<String>);

impl Row for Tagged {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::Tag => FieldValue::Texts(&self.0),
            _ => FieldValue::Absent,
        }
    }
}

#[test]
fn what_is_absent_equals_nothing_and_differs_from_everything() {
    let holds = |text: &str| condition(text, Resource::Executions).unwrap().holds(&Sample);
    assert!(holds(
        "machine = \"order\" AND version > 2 AND version <= 3 AND status != \"paused\""
    ));
    assert!(holds("NOT key = \"x\""));
    assert!(holds("key != \"x\""));
    for absent in ["key = \"\"", "key < \"x\"", "key >= \"\"", "key IN (\"\", \"x\")"] {
        assert!(!holds(absent), "{absent}");
        assert!(holds(&format!("NOT {absent}")), "{absent}");
    }
}

#[test]
fn a_tag_is_any_of_the_tags() {
    let row = Tagged(vec!["red".to_owned(), "blue".to_owned()]);
    let holds = |text: &str| condition(text, Resource::Executions).unwrap().holds(&row);
    assert!(holds("tag = \"red\" AND tag = \"blue\" AND tag IN (\"x\", \"blue\")"));
    assert!(!holds("tag = \"green\" OR tag != \"red\""));
    assert!(holds("tag != \"green\""));
}

#[test]
fn what_every_row_must_meet_is_told_apart_from_alternatives() {
    let text = "machine = \"a\" AND (version = 1 OR version = 2) AND (key = \"k\" AND NOT status = \"paused\")";
    let condition = condition(text, Resource::Executions).unwrap();
    let fields: Vec<Field> = condition.required().iter().map(|test| test.field).collect();
    assert_eq!(fields, [Field::Machine, Field::Key]);
}
