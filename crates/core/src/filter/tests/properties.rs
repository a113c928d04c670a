//! What holds of all filters and all texts.

use proptest::prelude::*;

use super::super::*;

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<String>().prop_map(Literal::Text),
        any::<i64>().prop_map(Literal::Whole),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Literal::Fraction),
        any::<bool>().prop_map(Literal::Bool),
    ]
}

fn operator() -> impl Strategy<Value = Operator> {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    proptest::sample::select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

fn term() -> impl Strategy<Value = Term> {
    let field = "[a-zA-Z_][a-zA-Z0-9_.]{0,8}".prop_filter("no keyword", |name| {
        !["and", "or", "not", "in", "true", "false"].contains(&name.to_ascii_lowercase().as_str())
    });
    let comparison = prop_oneof![
        (operator(), literal()).prop_map(|(operator, value)| (operator, vec![value])),
        proptest::collection::vec(literal(), 1..4).prop_map(|values| (Operator::In, values)),
    ];
    (field, comparison).prop_map(|(field, (operator, values))| Term {
        field,
        operator,
        values,
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    term().prop_map(Filter::Term).prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Filter::And),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #[test]
    fn parsing_what_is_printed_gives_the_same_filter(filter in filter()) {
        let printed = filter.to_string();
        prop_assume!(printed.len() <= BYTES_MAX);
        match Parsed::parse(&printed) {
            Ok(parsed) => prop_assert_eq!(parsed.filter, filter, "{}", printed),
            Err(FilterError::TooManyTerms { .. }) => {}
            Err(error) => prop_assert!(false, "{}: {}", printed, error),
        }
    }

    #[test]
    fn parsing_and_checking_are_total(text: String) {
        for resource in [Resource::Executions, Resource::Actions, Resource::DeadLetters, Resource::Jobs] {
            let _ = condition(&text, resource);
        }
    }

    #[test]
    fn near_misses_of_filters_are_total_too(text in "[a-zA-Z0-9\"'()=<>!,. \\\\]{0,60}") {
        let _ = Parsed::parse(&text);
    }
}
