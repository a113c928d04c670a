//! `Retry-After`: seconds, or a date in one of the three forms that HTTP knows.

use std::time::UNIX_EPOCH;

use sprag_core::time::Timestamp;

/// Milliseconds from `now` until the other side wants to hear of us again; none in the past, none when the text says
/// nothing. Absurd values are passed on: the engine caps them.
pub(super) fn parse(text: &str, now: Timestamp) -> Option<u64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix('-') {
        return is_digits(digits).then_some(0);
    }
    if is_digits(text) {
        return Some(text.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1_000));
    }
    Some(Timestamp::from_millis(date(text)?).since(now))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The date in milliseconds since 1970.
fn date(text: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT

    #[test]
    fn seconds_become_milliseconds() {
        assert_eq!(parse("120", NOW), Some(120_000));
        assert_eq!(parse(" 0 ", NOW), Some(0));
    }

    #[test]
    fn a_date_counts_from_now_in_each_of_its_three_forms() {
        for text in [
            "Sun, 06 Nov 1994 08:50:37 GMT",
            "Sunday, 06-Nov-94 08:50:37 GMT",
            "Sun Nov  6 08:50:37 1994",
        ] {
            assert_eq!(parse(text, NOW), Some(60_000), "{text}");
        }
    }

    #[test]
    fn the_past_is_now() {
        for text in [
            "Sun, 06 Nov 1994 08:49:36 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "-1",
            "-99999999999999999999",
        ] {
            assert_eq!(parse(text, NOW), Some(0), "{text}");
        }
    }

    #[test]
    fn absurd_values_are_passed_on_as_large_ones() {
        assert_eq!(parse("99999999999999999999999", NOW), Some(u64::MAX));
        assert!(parse("Fri, 31 Dec 9999 23:59:59 GMT", NOW).unwrap() > 1_000 * 60 * 60 * 24 * 365);
    }

    #[test]
    fn nonsense_says_nothing() {
        for text in ["", "soon", "1.5", "1h", "-", "1 2", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(parse(text, NOW), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_is_total(text: String) {
            let _ = parse(&text, NOW);
        }
    }
}
