//! What a reader of the schedules' documentation would check by hand.

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;

use super::policy::{CATCH_UP_MAX, CatchUp, Due, ON_TIME_MS, Overlap, due};
use super::{Cron, CronError, EXPRESSION_MAX};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

fn cron(expression: &str) -> Cron {
    Cron::parse(expression, None).unwrap()
}

fn ms(instant: &str) -> i64 {
    instant.parse::<Timestamp>().unwrap().as_millisecond()
}

/// The next `count` occurrences after `from`, as a clock in `zone` shows them.
fn fires(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
    let cron = Cron::parse(expression, Some(zone)).unwrap();
    let shown = TimeZoneDatabase::bundled().get(zone).unwrap();
    let show = |at| {
        Timestamp::from_millisecond(at)
            .unwrap()
            .to_zoned(shown.clone())
            .strftime("%F %T%:z")
            .to_string()
    };
    std::iter::successors(cron.next_after(ms(from)), |at| cron.next_after(*at))
        .take(count)
        .map(show)
        .collect()
}

/// The days of June 2025 on which `expression` fires. It begins on a Sunday and has 30 days.
fn days_of_june(expression: &str) -> Vec<i64> {
    let (cron, start, end) = (cron(expression), ms("2025-06-01T00:00:00Z"), ms("2025-07-01T00:00:00Z"));
    std::iter::successors(cron.next_after(start - 1), |at| cron.next_after(*at))
        .take_while(|at| *at < end)
        .map(|at| (at - start) / (24 * HOUR_MS) + 1)
        .collect()
}

#[test]
fn days_are_read_as_documented() {
    let table: [(&str, &[i64]); 18] = [
        ("0 0 * * 0", &[1, 8, 15, 22, 29]),
        ("0 0 * * 7", &[1, 8, 15, 22, 29]),
        ("0 0 * * sUn", &[1, 8, 15, 22, 29]),
        ("0 0 ? * 0", &[1, 8, 15, 22, 29]),
        ("0 0 * * SUN-0", &[1, 8, 15, 22, 29]),
        ("0 0 */1 * 0", &[1, 8, 15, 22, 29]),
        ("0 0 L * *", &[30]),
        ("0 0 15,l * *", &[15, 30]),
        ("0 0 * * 5L", &[27]),
        ("0 0 * * FRIL", &[27]),
        ("0 0 * * 0L,1L", &[29, 30]),
        ("0 0 * * 1#5", &[30]),
        ("0 0 * * 7#1,TUE#3", &[1, 17]),
        ("0 0 * * FRI-SUN", &[1, 6, 7, 8, 13, 14, 15, 20, 21, 22, 27, 28, 29]),
        ("0 0 * JUN SAT-0", &[1, 7, 8, 14, 15, 21, 22, 28, 29]),
        ("0 0 1-31/10 * ?", &[1, 11, 21]),
        ("0 0 20/4 6 *", &[20, 24, 28]),
        ("0 0 13 * 5", &[6, 13, 20, 27]),
    ];
    for (expression, days) in table {
        assert_eq!(days_of_june(expression), days, "{expression}");
    }
}

#[test]
fn a_refusal_says_what_is_wrong_and_what_to_write() {
    let table = [
        ("60 * * * *", "minute `60` is out of range; write 0 to 59"),
        ("0 300 * * *", "hour `300` is out of range; write 0 to 23"),
        (
            "* * * FOO *",
            "month `FOO` is not a value; write 1 to 12, or JAN to DEC",
        ),
        (
            "0 0 15W * *",
            "day of month `15W` is not a value; write 1 to 31, or L for the last day",
        ),
        ("+5 * * * *", "minute `+5` is not a value; write 0 to 59"),
        (
            "1,,2 * * * *",
            "minute `1,,2` has an empty item; remove the comma too many",
        ),
        (
            "*/90 * * * *",
            "minute `*/90` has a step that cannot be taken; write a step of 1 to 60",
        ),
        (
            "*/0 * * * * *",
            "second `*/0` has a step that cannot be taken; write a step of 1 to 60",
        ),
        (
            "0 22-2 * * *",
            "hour `22-2` is a range that runs backwards; split it where it wraps around, as in `22-23,0-2`",
        ),
        (
            "0 0 * * 7-2",
            "day of week `7-2` is a range that runs backwards; split it where it wraps around, as in `7,0-2`",
        ),
        (
            "0 0 * * 1#6",
            "day of week `1#6` does not say which one of the month; write 1 to 5 after the #, such as `FRI#2` for the \
             second Friday",
        ),
        (
            "0 0 * * L",
            "day of week `L` does not say the last of what; write `5L` for the last Friday, or `6` for Saturday",
        ),
        (
            "? * * * *",
            "minute `?` has a `?` where it means nothing; write `?` only as the whole day of month or day of week",
        ),
        (
            "* * * *",
            "cron expression `* * * *` has the wrong number of fields, 4; write five (minute, hour, day of month, \
             month, day of week), or six with seconds first",
        ),
        (
            "@reboot",
            "cron expression `@reboot` is not a known name; write @hourly, @daily, @midnight, @weekly, @monthly, \
             @yearly or @annually",
        ),
    ];
    for (expression, message) in table {
        assert_eq!(Cron::parse(expression, None).unwrap_err().to_string(), message);
    }
}

#[test]
fn an_overlong_expression_is_refused_before_it_is_read() {
    let fits = format!("0 0 * * 1{}", " ".repeat(EXPRESSION_MAX - 9));
    assert!(Cron::parse(&fits, None).is_ok());
    let length = EXPRESSION_MAX + 1;
    assert_eq!(
        Cron::parse(&format!("{fits} "), None),
        Err(CronError::TooLong { length })
    );
}

#[test]
fn an_unknown_time_zone_is_refused() {
    for name in ["Mars/Olympus", "", "Etc/Unknown", "+02:00"] {
        let refusal = Cron::parse("0 0 * * *", Some(name)).unwrap_err();
        assert_eq!(refusal, CronError::UnknownZone { name: name.to_owned() });
    }
    let message = Cron::parse("0 0 * * *", Some("Mars/Olympus")).unwrap_err().to_string();
    assert_eq!(
        message,
        "time zone `Mars/Olympus` is not known; write an IANA name such as `Europe/Berlin`"
    );
}

#[test]
fn the_expression_is_shown_as_written() {
    assert_eq!(cron(" @Daily ").to_string(), " @Daily ");
    assert_eq!(cron("0 0 * * *"), cron("0 0 * * *"));
    assert_ne!(
        cron("0 0 * * *"),
        Cron::parse("0 0 * * *", Some("Europe/Berlin")).unwrap()
    );
}

#[test]
fn the_next_occurrence_is_strictly_later_also_within_a_second() {
    let every_second = cron("* * * * * *");
    for (after, next) in [
        (0, 1000),
        (1, 1000),
        (999, 1000),
        (1000, 2000),
        (-1, 0),
        (-1000, 0),
        (-1001, -1000),
    ] {
        assert_eq!(every_second.next_after(after), Some(next));
    }
}

#[test]
fn times_beyond_the_calendar_give_no_occurrence_and_no_panic() {
    let every_second = Cron::parse("* * * * * *", Some("Europe/Berlin")).unwrap();
    assert_eq!(every_second.next_after(i64::MAX), None);
    assert_eq!(every_second.next_after(Timestamp::MAX.as_millisecond()), None);
    assert_eq!(every_second.next_after(i64::MIN), Some(Timestamp::MIN.as_millisecond()));
    let ages = due(&every_second, i64::MIN, i64::MAX, CatchUp::All);
    assert_eq!((ages.fire.len(), ages.next), (CATCH_UP_MAX, None));
    let late = due(&every_second, i64::MAX - 1, i64::MAX, CatchUp::All);
    assert_eq!(
        late,
        Due {
            fire: vec![i64::MAX - 1],
            skipped: 0,
            next: None
        }
    );
}

#[test]
fn a_skipped_fixed_time_fires_at_the_first_instant_after_the_gap() {
    let nights = fires("30 2 * * *", "America/New_York", "2025-03-08T12:00:00Z", 2);
    assert_eq!(nights, ["2025-03-09 03:00:00-04:00", "2025-03-10 02:30:00-04:00"]);
}

#[test]
fn fixed_times_that_meet_at_the_end_of_a_gap_are_one_occurrence() {
    let nights = fires("15,45 1,2,3 * * *", "America/New_York", "2025-03-09T06:15:00Z", 3);
    assert_eq!(
        nights,
        [
            "2025-03-09 01:45:00-05:00",
            "2025-03-09 03:00:00-04:00",
            "2025-03-09 03:15:00-04:00"
        ]
    );
    let hours = fires("0 0-4 * * *", "America/New_York", "2025-03-09T05:30:00Z", 3);
    assert_eq!(
        hours,
        [
            "2025-03-09 01:00:00-05:00",
            "2025-03-09 03:00:00-04:00",
            "2025-03-09 04:00:00-04:00"
        ]
    );
}

#[test]
fn a_fixed_time_on_a_day_that_never_was_fires_when_the_next_begins() {
    // Samoa went from 29 to 31 December 2011.
    let noon = fires("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", 2);
    assert_eq!(noon, ["2011-12-31 00:00:00+14:00", "2012-12-30 12:00:00+14:00"]);
    let midnight = fires("0 0 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 2);
    assert_eq!(midnight, ["2011-12-31 00:00:00+14:00", "2012-01-01 00:00:00+14:00"]);
}

#[test]
fn a_repeated_fixed_time_fires_the_first_time_only() {
    let nights = fires("30 1 * * *", "America/New_York", "2025-11-01T12:00:00Z", 2);
    assert_eq!(nights, ["2025-11-02 01:30:00-04:00", "2025-11-03 01:30:00-05:00"]);
    // Asked between the two, or for a schedule that begins there, the answer is the next day as well.
    let later = fires("30 1 * * *", "America/New_York", "2025-11-02T06:00:00Z", 1);
    assert_eq!(later, ["2025-11-03 01:30:00-05:00"]);
}

#[test]
fn an_interval_job_follows_the_wall_clock() {
    let spring = fires("0 */2 * * *", "America/New_York", "2025-03-09T04:00:00Z", 2);
    assert_eq!(spring, ["2025-03-09 00:00:00-05:00", "2025-03-09 04:00:00-04:00"]);
    let autumn = fires("*/30 1 * * *", "America/New_York", "2025-11-02T05:00:00Z", 4);
    let hour = [
        "2025-11-02 01:30:00-04:00",
        "2025-11-02 01:00:00-05:00",
        "2025-11-02 01:30:00-05:00",
    ];
    assert_eq!(autumn[..3], hour);
    assert_eq!(autumn[3], "2025-11-03 01:00:00-05:00");
}

#[test]
fn what_repeats_is_an_interval_however_it_is_written() {
    let gap_end = "2025-03-09 03:00:00-04:00";
    let table = [
        ("30 2 * * *", true),
        ("30 2,14 * * *", true),
        ("30 2-2 * * *", true),
        ("10-50/20 2 * * *", true),
        // A step that leaves one value repeats nothing.
        ("30 2/22 * * *", true),
        ("30 */2 * * *", false),
        ("30 0/2 * * *", false),
        ("30 0-23/2 * * *", false),
        ("30 0-23 * * *", false),
        ("30 5,*/2 * * *", false),
        ("10/20 2 * * *", false),
        ("0-59 2 * * *", false),
        ("* 30 2 * * *", false),
    ];
    for (expression, fixed) in table {
        let next = fires(expression, "America/New_York", "2025-03-09T06:59:59Z", 1);
        assert_eq!(next[0] == gap_end, fixed, "{expression} fires at {}", next[0]);
    }
}

#[test]
fn the_rarest_date_is_still_found() {
    // 29 February is a Saturday in 2076 and then, as 2100 is no leap year, not before 2116.
    let leap_saturday = cron("0 0 * 2 6#5");
    let found: Vec<_> = std::iter::successors(leap_saturday.next_after(ms("2064-03-01T00:00:00Z")), |at| {
        leap_saturday.next_after(*at)
    })
    .take(2)
    .map(|at| Timestamp::from_millisecond(at).unwrap().to_string())
    .collect();
    assert_eq!(found, ["2076-02-29T00:00:00Z", "2116-02-29T00:00:00Z"]);
    assert!(!leap_saturday.never_fires());
}

#[test]
fn a_schedule_that_cannot_fire_says_so() {
    for expression in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * * 30-31 2 ?"] {
        let never = Cron::parse(expression, Some("Europe/Berlin")).unwrap();
        assert!(never.never_fires(), "{expression}");
        assert_eq!(never.next_after(0), None, "{expression}");
    }
    for expression in ["0 0 29 2 *", "0 0 L 2 *", "0 0 30 2 1", "0 0 * 2 1#5", "0 0 31 2,3 *"] {
        assert!(!cron(expression).never_fires(), "{expression}");
    }
}

#[test]
fn an_interval_that_the_clock_always_skips_has_no_next_occurrence() {
    let skipped = Cron::parse("*/5 2 * 3 0#2", Some("America/New_York")).unwrap();
    assert_eq!(skipped.next_after(ms("2025-01-01T00:00:00Z")), None);
    assert!(!skipped.never_fires());
}

#[test]
fn no_zone_changes_its_clock_twice_within_a_day() {
    let (zones, end) = (TimeZoneDatabase::bundled(), ms("2100-01-01T00:00:00Z"));
    for name in zones.available() {
        let zone = zones.get(name.as_str()).unwrap();
        let changes: Vec<i64> = zone
            .following(Timestamp::MIN)
            .map(|change| change.timestamp().as_millisecond())
            .take_while(|at| *at < end)
            .collect();
        assert!(
            changes.windows(2).all(|pair| pair[1] - pair[0] > 26 * HOUR_MS),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_done_before_the_nominal_time() {
    let early = due(&cron("0 * * * *"), HOUR_MS, HOUR_MS - 1, CatchUp::All);
    assert_eq!(
        early,
        Due {
            fire: vec![],
            skipped: 0,
            next: Some(HOUR_MS)
        }
    );
}

#[test]
fn an_occurrence_up_to_a_minute_late_fires_whatever_the_catch_up() {
    for catch_up in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
        for late in [0, 1, ON_TIME_MS] {
            let now = due(&cron("0 * * * *"), HOUR_MS, HOUR_MS + late, catch_up);
            assert_eq!(
                now,
                Due {
                    fire: vec![HOUR_MS],
                    skipped: 0,
                    next: Some(2 * HOUR_MS)
                }
            );
        }
    }
}

#[test]
fn missed_occurrences_are_caught_up_with_as_asked() {
    // Hours 1 to 4 were missed and hour 5 is on time.
    let now = 5 * HOUR_MS + ON_TIME_MS;
    let at = |hours: &[i64]| hours.iter().map(|hour| hour * HOUR_MS).collect::<Vec<_>>();
    let table: [(CatchUp, &[i64], u64); 3] = [
        (CatchUp::Skip, &[5], 4),
        (CatchUp::One, &[4, 5], 3),
        (CatchUp::All, &[1, 2, 3, 4, 5], 0),
    ];
    for (catch_up, hours, skipped) in table {
        let expected = Due {
            fire: at(hours),
            skipped,
            next: Some(6 * HOUR_MS),
        };
        assert_eq!(due(&cron("0 * * * *"), HOUR_MS, now, catch_up), expected);
    }
    // A millisecond later hour 5 is missed as well.
    let expected = Due {
        fire: at(&[5]),
        skipped: 4,
        next: Some(6 * HOUR_MS),
    };
    assert_eq!(due(&cron("0 * * * *"), HOUR_MS, now + 1, CatchUp::One), expected);
}

#[test]
fn a_nominal_time_the_expression_no_longer_gives_still_counts() {
    let promised = HOUR_MS + 30 * MINUTE_MS;
    let on_time = due(&cron("0 * * * *"), promised, promised, CatchUp::Skip);
    assert_eq!(
        on_time,
        Due {
            fire: vec![promised],
            skipped: 0,
            next: Some(2 * HOUR_MS)
        }
    );
    let late = due(&cron("0 0 30 2 *"), promised, 9 * HOUR_MS, CatchUp::One);
    assert_eq!(
        late,
        Due {
            fire: vec![promised],
            skipped: 0,
            next: None
        }
    );
}

#[test]
fn times_that_meet_at_the_end_of_a_gap_are_counted_once() {
    // Five hours a night, of which 02:00 and 03:00 meet.
    let hours = Cron::parse("0 0-4 * * *", Some("America/New_York")).unwrap();
    let (midnight, morning) = (ms("2025-03-09T05:00:00Z"), ms("2025-03-09T12:00:00Z"));
    assert_eq!(due(&hours, midnight, morning, CatchUp::Skip).skipped, 4);
    // 02:15 and 02:45 meet where nothing else is due.
    let quarters = Cron::parse("15,45 1,2 * * *", Some("America/New_York")).unwrap();
    assert_eq!(
        due(&quarters, ms("2025-03-09T06:15:00Z"), morning, CatchUp::Skip).skipped,
        3
    );
}

#[test]
fn no_more_than_the_latest_hundred_are_caught_up_with() {
    let (start, count) = (HOUR_MS, 150);
    let now = start + (count - 1) * MINUTE_MS + ON_TIME_MS + 1;
    let result = due(&cron("* * * * *"), start, now, CatchUp::All);
    // The last of the 150 is more than a minute late, and the next one is on time.
    let expected: Vec<i64> = (50..=count).map(|minute| start + minute * MINUTE_MS).collect();
    assert_eq!(result.fire, expected);
    assert_eq!((result.fire.len(), result.skipped), (CATCH_UP_MAX + 1, 50));
}

#[test]
fn ten_years_of_missed_seconds_are_counted_and_not_stepped_through() {
    let every_second = Cron::parse("* * * * * *", Some("Europe/Berlin")).unwrap();
    let (start, now) = (ms("2015-01-01T00:00:00Z"), ms("2025-01-01T00:00:00Z"));
    let result = due(&every_second, start, now, CatchUp::All);
    let on_time = 61;
    assert_eq!(result.fire.len(), CATCH_UP_MAX + on_time);
    let seconds = u64::try_from((now - start) / 1000 + 1).unwrap();
    assert_eq!(result.skipped, seconds - result.fire.len() as u64);
    assert_eq!(result.fire.last(), Some(&now));
    assert_eq!(result.next, Some(now + 1000));
}

#[test]
fn policies_have_the_names_and_defaults_of_the_definition() {
    let overlaps = serde_json::to_string(&[Overlap::default(), Overlap::Queue, Overlap::Allow]).unwrap();
    assert_eq!(overlaps, r#"["skip","queue","allow"]"#);
    let catch_ups = serde_json::to_string(&[CatchUp::default(), CatchUp::Skip, CatchUp::All]).unwrap();
    assert_eq!(catch_ups, r#"["one","skip","all"]"#);
    assert_eq!(serde_json::from_str::<CatchUp>(r#""all""#).unwrap(), CatchUp::All);
    assert!(serde_json::from_str::<Overlap>(r#""Skip""#).is_err());
}
