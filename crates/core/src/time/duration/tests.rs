//! Durations: accepted forms, refused forms, and that text and milliseconds agree.

use proptest::prelude::*;
use serde_json::json;

use super::{DurationErrorKind, Millis};

#[test]
fn every_accepted_form_gives_its_milliseconds() {
    let forms = [
        ("0", 0),
        ("1500", 1_500),
        ("007", 7),
        ("250ms", 250),
        ("30s", 30_000),
        ("1.5s", 1_500),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("3d", 259_200_000),
        ("1h30m", 5_400_000),
        ("1d2h3m4s5ms", 93_784_005),
        ("90m15s", 5_415_000),
        ("PT5M", 300_000),
        ("P3D", 259_200_000),
        ("P2W", 1_209_600_000),
        ("PT1.5S", 1_500),
        ("PT1,25S", 1_250),
        ("PT0.0010S", 1),
        ("P1DT2H3M4S", 93_784_000),
        ("PT36H", 129_600_000),
        ("36525d", 3_155_760_000_000),
    ];
    for (text, milliseconds) in forms {
        assert_eq!(Millis::parse(text).map(Millis::get), Ok(milliseconds), "{text}");
    }
}

#[test]
fn every_refused_form_says_why() {
    let forms = [
        ("", DurationErrorKind::Unreadable),
        ("soon", DurationErrorKind::Unreadable),
        ("5 m", DurationErrorKind::Unreadable),
        (" 5m", DurationErrorKind::Unreadable),
        ("5M", DurationErrorKind::Unreadable),
        ("m", DurationErrorKind::Unreadable),
        ("5m5", DurationErrorKind::Unreadable),
        ("30m1h", DurationErrorKind::Unreadable),
        ("5m5m", DurationErrorKind::Unreadable),
        ("1.5h", DurationErrorKind::Unreadable),
        ("1.5", DurationErrorKind::Unreadable),
        ("1.s", DurationErrorKind::Unreadable),
        (".5s", DurationErrorKind::Unreadable),
        ("+5m", DurationErrorKind::Unreadable),
        ("٣d", DurationErrorKind::Unreadable),
        ("P", DurationErrorKind::Unreadable),
        ("PT", DurationErrorKind::Unreadable),
        ("P1DT", DurationErrorKind::Unreadable),
        ("P1H", DurationErrorKind::Unreadable),
        ("PT1D", DurationErrorKind::Unreadable),
        ("pt5m", DurationErrorKind::Unreadable),
        ("PT5M5M", DurationErrorKind::Unreadable),
        ("PT-5M", DurationErrorKind::Unreadable),
        ("-5m", DurationErrorKind::Negative),
        ("-PT5M", DurationErrorKind::Negative),
        ("-1", DurationErrorKind::Negative),
        ("PT0.0001S", DurationErrorKind::TooFine),
        ("1.0005s", DurationErrorKind::TooFine),
        ("P1Y", DurationErrorKind::Calendar),
        ("P1M", DurationErrorKind::Calendar),
        ("P1Y2M3DT4H", DurationErrorKind::Calendar),
        ("36525d1ms", DurationErrorKind::TooLong),
        ("99999999999999999999", DurationErrorKind::TooLong),
        ("99999999999999999999d", DurationErrorKind::TooLong),
        ("18446744073709551615d", DurationErrorKind::TooLong),
    ];
    for (text, reason) in forms {
        assert_eq!(
            Millis::parse(text).map_err(|problem| problem.reason),
            Err(reason),
            "{text}"
        );
    }
}

#[test]
fn a_refusal_names_the_value_and_the_accepted_forms() {
    let problem = Millis::parse("P1M").unwrap_err();
    assert_eq!(problem.value, "P1M");
    let text = problem.to_string();
    for part in [
        "`P1M`",
        "years or months",
        "`P30D`",
        "`250ms`",
        "`PT5M`",
        "milliseconds as a number",
    ] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
}

#[test]
fn a_refusal_of_a_huge_value_stays_short() {
    let problem = Millis::parse(&"x".repeat(100_000)).unwrap_err();
    assert!(problem.to_string().len() < 200);
}

#[test]
fn numbers_are_whole_milliseconds() {
    let accepted = [json!(0), json!(30_000), json!(30_000.0), json!("30s"), json!("30000")];
    for (value, milliseconds) in accepted.iter().zip([0, 30_000, 30_000, 30_000, 30_000]) {
        assert_eq!(Millis::from_value(value).map(Millis::get), Ok(milliseconds), "{value}");
    }
    let refused = [
        (json!(-1), DurationErrorKind::Negative),
        (json!(-0.5), DurationErrorKind::Negative),
        (json!(1.5), DurationErrorKind::TooFine),
        (json!(1e300), DurationErrorKind::TooLong),
        (json!(u64::MAX), DurationErrorKind::TooLong),
        (json!(null), DurationErrorKind::Unreadable),
        (json!(true), DurationErrorKind::Unreadable),
        (json!(["5m"]), DurationErrorKind::Unreadable),
    ];
    for (value, reason) in refused {
        assert_eq!(
            Millis::from_value(&value).map_err(|problem| problem.reason),
            Err(reason),
            "{value}"
        );
    }
}

#[test]
fn the_longest_duration_is_the_last_one_accepted() {
    let longest = Millis::MAX.get();
    assert_eq!(Millis::new(longest), Ok(Millis::MAX));
    assert_eq!(Millis::new(longest + 1).unwrap_err().reason, DurationErrorKind::TooLong);
}

#[test]
fn a_duration_is_shown_in_its_shortest_form() {
    let forms = [
        ("0", "0s"),
        ("72h", "3d"),
        ("90s", "1m30s"),
        ("1500", "1s500ms"),
        ("PT26H", "1d2h"),
    ];
    for (text, shown) in forms {
        assert_eq!(Millis::parse(text).unwrap().to_string(), shown);
    }
}

#[test]
fn serde_writes_milliseconds_and_reads_numbers_and_text() {
    let duration = Millis::parse("5m").unwrap();
    assert_eq!(serde_json::to_value(duration).unwrap(), json!(300_000));
    assert_eq!(serde_json::from_value::<Millis>(json!(300_000)).unwrap(), duration);
    assert_eq!(serde_json::from_value::<Millis>(json!("PT5M")).unwrap(), duration);
    let refusal = serde_json::from_value::<Millis>(json!("later")).unwrap_err();
    assert!(refusal.to_string().contains("duration `later` cannot be read"));
}

proptest! {
    #[test]
    fn what_is_shown_reads_back_as_the_same_duration(milliseconds in 0..=Millis::MAX.get()) {
        let duration = Millis::new(milliseconds).unwrap();
        prop_assert_eq!(Millis::parse(&duration.to_string()), Ok(duration));
        prop_assert_eq!(Millis::parse(&milliseconds.to_string()), Ok(duration));
    }

    #[test]
    fn any_text_is_a_bounded_duration_or_a_refusal(text in "P?[-0-9.,]{0,25}[a-zA-Z]{0,3}[0-9.]{0,25}[a-zA-Z]{0,2}") {
        if let Ok(duration) = Millis::parse(&text) {
            prop_assert!(duration <= Millis::MAX);
        }
    }
}
