//! Random expressions against a reading of them that has nothing in common with the code: every minute (or second) of a
//! window is looked at in turn.

use jiff::civil::{Date, DateTime};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use super::policy::{CATCH_UP_MAX, CatchUp, ON_TIME_MS, due};
use super::{Cron, CronField};

const SECOND_MS: i64 = 1000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Zones whose clocks change at midnight, by half an hour, by a day, against the season, or hardly ever.
const ZONES: [&str; 12] = [
    "America/New_York",
    "America/Havana",
    "America/Santiago",
    "America/St_Johns",
    "Asia/Beirut",
    "Asia/Tehran",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",
    "Pacific/Chatham",
];

/// One item of a field.
#[derive(Clone, Debug)]
enum Item {
    /// Every `step`-th value from the first to the second.
    Range(i8, i8, i8),
    /// Every `step`-th value from the first to the end of the field.
    From(i8, i8),
    /// Every `step`-th value of the field.
    All(i8),
    /// The last day of the month.
    LastDay,
    /// The last such weekday of the month.
    Last(i8),
    /// The n-th such weekday of the month.
    Nth(i8, i8),
}

/// A field with its items; `*` where there are none.
#[derive(Clone, Debug)]
struct FieldItems {
    field: CronField,
    items: Vec<Item>,
}

impl FieldItems {
    fn text(&self) -> String {
        let items: Vec<String> = self.items.iter().map(Item::text).collect();
        if items.is_empty() {
            "*".to_owned()
        } else {
            items.join(",")
        }
    }

    /// Whether a plain value is named.
    fn names(&self, value: i8) -> bool {
        self.items.is_empty() || self.items.iter().any(|item| item.names(self.field, value))
    }

    fn repeats(&self) -> bool {
        let (first, last) = self.field.range();
        let several = |item: &Item| (first..=last).filter(|value| item.names(self.field, *value)).count() > 1;
        let open = |item: &Item| match item {
            Item::Range(low, high, _) => *low == first && *high == last,
            _ => true,
        };
        self.items.is_empty() || self.items.iter().any(|item| several(item) && open(item))
    }
}

impl Item {
    fn text(&self) -> String {
        match self {
            Self::Range(first, last, 1) if first == last => format!("{first}"),
            Self::Range(first, last, 1) => format!("{first}-{last}"),
            Self::Range(first, last, step) => format!("{first}-{last}/{step}"),
            Self::From(first, step) => format!("{first}/{step}"),
            Self::All(step) => format!("*/{step}"),
            Self::LastDay => "L".to_owned(),
            Self::Last(weekday) => format!("{weekday}L"),
            Self::Nth(weekday, nth) => format!("{weekday}#{nth}"),
        }
    }

    fn names(&self, field: CronField, value: i8) -> bool {
        let (smallest, largest) = field.range();
        let stepped = |first, last, step| (first..=last).contains(&value) && (value - first) % step == 0;
        match *self {
            Self::Range(first, last, step) => stepped(first, last, step),
            Self::From(first, step) => stepped(first, largest, step),
            Self::All(step) => stepped(smallest, largest, step),
            Self::LastDay | Self::Last(_) | Self::Nth(..) => false,
        }
    }

    /// Whether a day is named by more than its number or weekday.
    fn names_day(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        match *self {
            Self::LastDay => date.day() == date.days_in_month(),
            Self::Last(day) => weekday == day && date.day() + 7 > date.days_in_month(),
            Self::Nth(day, nth) => weekday == day && (date.day() + 6) / 7 == nth,
            _ => false,
        }
    }
}

/// A whole expression: second, minute, hour, day of month, month, day of week.
#[derive(Clone, Debug)]
struct Expression([FieldItems; 6]);

impl Expression {
    fn text(&self) -> String {
        self.0.each_ref().map(FieldItems::text).join(" ")
    }

    fn matches(&self, at: DateTime) -> bool {
        let Self([second, minute, hour, ..]) = self;
        second.names(at.second()) && minute.names(at.minute()) && hour.names(at.hour()) && self.matches_day(at.date())
    }

    fn matches_day(&self, date: Date) -> bool {
        let Self([_, _, _, day, month, weekday]) = self;
        let special = |field: &FieldItems| field.items.iter().any(|item| item.names_day(date));
        let by_day = day.names(date.day()) || special(day);
        let by_weekday = weekday.names(date.weekday().to_sunday_zero_offset()) || special(weekday);
        // An unrestricted field names every day, so only where both are restricted does one suffice.
        let both_restricted = !day.items.is_empty() && !weekday.items.is_empty();
        month.names(date.month())
            && if both_restricted {
                by_day || by_weekday
            } else {
                by_day && by_weekday
            }
    }

    fn is_interval(&self) -> bool {
        let Self([second, minute, hour, ..]) = self;
        second.repeats() || minute.repeats() || hour.repeats()
    }
}

fn plain_item(field: CronField) -> BoxedStrategy<Item> {
    let (smallest, largest) = field.range();
    let bounds = || (smallest..=largest, smallest..=largest).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        3 => (smallest..=largest).prop_map(|value| Item::Range(value, value, 1)),
        2 => bounds().prop_map(|(first, last)| Item::Range(first, last, 1)),
        1 => (bounds(), 1..=7_i8).prop_map(|((first, last), step)| Item::Range(first, last, step)),
        1 => (smallest..=largest, 1..=7_i8).prop_map(|(first, step)| Item::From(first, step)),
        1 => (2..=7_i8).prop_map(Item::All),
    ]
    .boxed()
}

fn item(field: CronField) -> BoxedStrategy<Item> {
    let plain = plain_item(field);
    match field {
        CronField::DayOfMonth => prop_oneof![6 => plain, 1 => Just(Item::LastDay)].boxed(),
        CronField::DayOfWeek => prop_oneof![
            6 => plain,
            1 => (0..=6_i8).prop_map(Item::Last),
            1 => (0..=6_i8, 1..=5_i8).prop_map(|(day, nth)| Item::Nth(day, nth)),
        ]
        .boxed(),
        _ => plain,
    }
}

/// A field that is `*` in one case of two.
fn items(field: CronField) -> impl Strategy<Value = FieldItems> {
    let items = prop_oneof![Just(Vec::new()), prop::collection::vec(item(field), 1..=3)];
    items.prop_map(move |items| FieldItems { field, items })
}

/// An expression that fires at whole minutes.
fn by_minutes() -> impl Strategy<Value = Expression> {
    let second = FieldItems {
        field: CronField::Second,
        items: vec![Item::Range(0, 0, 1)],
    };
    (
        Just(second),
        items(CronField::Minute),
        items(CronField::Hour),
        items(CronField::DayOfMonth),
        items(CronField::Month),
        items(CronField::DayOfWeek),
    )
        .prop_map(|fields| Expression(fields.into()))
}

/// Named times of every night, which is when clocks change.
fn by_night() -> impl Strategy<Value = Expression> {
    let values = |values: Vec<i8>| values.into_iter().map(|value| Item::Range(value, value, 1)).collect();
    let minutes = prop::collection::vec(select(&[0, 15, 30, 45][..]), 1..=2);
    let hours = prop::collection::vec(prop_oneof![3 => 0..=4_i8, 1 => Just(23)], 1..=5);
    (minutes, hours).prop_map(move |(minutes, hours)| {
        let field = |field, items| FieldItems { field, items };
        Expression([
            field(CronField::Second, values(vec![0])),
            field(CronField::Minute, values(minutes)),
            field(CronField::Hour, values(hours)),
            field(CronField::DayOfMonth, vec![]),
            field(CronField::Month, vec![]),
            field(CronField::DayOfWeek, vec![]),
        ])
    })
}

fn by_seconds() -> impl Strategy<Value = Expression> {
    (by_minutes(), items(CronField::Second)).prop_map(|(Expression([_, rest @ ..]), second)| {
        let [minute, hour, day, month, weekday] = rest;
        Expression([second, minute, hour, day, month, weekday])
    })
}

fn zone_named(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

fn instant(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

/// All occurrences after `from` and before `until`.
fn enumerate(cron: &Cron, from: i64, until: i64) -> Vec<i64> {
    std::iter::successors(cron.next_after(from), |at| cron.next_after(*at))
        .take_while(|at| *at < until)
        .collect()
}

/// Every `step` after `from` and before `until`, both multiples of it, that `fires` says yes to.
fn scan(from: i64, until: i64, step: i64, fires: impl Fn(i64) -> bool) -> Vec<i64> {
    (1..(until - from) / step)
        .map(|index| from + index * step)
        .filter(|at| fires(*at))
        .collect()
}

/// Whether `expression` fires at the whole minute `at` in `zone`, by the rules for clock changes.
fn fires_in_zone(expression: &Expression, zone: &TimeZone, at: i64) -> bool {
    let shown = zone.to_datetime(instant(at));
    if expression.is_interval() {
        return expression.matches(shown);
    }
    let minute = SignedDuration::from_mins(1);
    let mut skipped = zone.to_datetime(instant(at - MINUTE_MS)).checked_add(minute).unwrap();
    while skipped < shown {
        if expression.matches(skipped) {
            return true;
        }
        skipped = skipped.checked_add(minute).unwrap();
    }
    expression.matches(shown) && zone.to_ambiguous_timestamp(shown).earlier().unwrap() == instant(at)
}

/// A window of sixty hours around the first clock change after `near`.
fn window_around_change(zone: &TimeZone, near: i64) -> (i64, i64) {
    let change = zone
        .following(instant(near))
        .next()
        .map_or(near, |change| change.timestamp().as_millisecond());
    let start = change.div_euclid(HOUR_MS) * HOUR_MS - 30 * HOUR_MS;
    (start, start + 60 * HOUR_MS)
}

/// Whole minutes from 1990 to 2037.
fn whole_minute() -> impl Strategy<Value = i64> {
    (10_519_200..35_238_240_i64).prop_map(|minute| minute * MINUTE_MS)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn in_utc_the_next_occurrences_are_those_a_scan_of_every_minute_finds(
        expression in by_minutes(), from in whole_minute(),
    ) {
        let cron = Cron::parse(&expression.text(), None).unwrap();
        let until = from + 35 * DAY_MS;
        let expected = scan(from, until, MINUTE_MS, |at| expression.matches(TimeZone::UTC.to_datetime(instant(at))));
        prop_assert_eq!(enumerate(&cron, from, until), expected);
    }

    #[test]
    fn in_utc_the_next_occurrences_are_those_a_scan_of_every_second_finds(
        expression in by_seconds(), from in whole_minute(),
    ) {
        let cron = Cron::parse(&expression.text(), None).unwrap();
        // Begins where the expression first fires, because most windows of three hours are empty.
        let from = cron.next_after(from).unwrap_or(from) - 10 * SECOND_MS;
        let until = from + 3 * HOUR_MS;
        let expected = scan(from, until, SECOND_MS, |at| expression.matches(TimeZone::UTC.to_datetime(instant(at))));
        prop_assert_eq!(enumerate(&cron, from, until), expected);
    }

    #[test]
    fn around_a_clock_change_the_occurrences_are_those_the_rules_give_minute_by_minute(
        expression in prop_oneof![by_minutes(), by_night()],
        zone in select(&ZONES[..]),
        near in whole_minute(),
        lead in prop_oneof![Just(0), 0..3600_i64],
    ) {
        let cron = Cron::parse(&expression.text(), Some(zone)).unwrap();
        let zone = zone_named(zone);
        let (start, until) = window_around_change(&zone, near);
        let from = start + lead * MINUTE_MS;
        let expected = scan(from, until, MINUTE_MS, |at| fires_in_zone(&expression, &zone, at));
        prop_assert_eq!(cron.count_between(from, until), expected.len() as u64);
        prop_assert_eq!(enumerate(&cron, from, until), expected);
    }

    #[test]
    fn whoever_asks_at_whatever_moment_gets_the_same_occurrences(
        expression in prop_oneof![by_minutes(), by_night()],
        zone in select(&ZONES[..]),
        near in whole_minute(),
        offset in 0..60 * HOUR_MS,
    ) {
        let cron = Cron::parse(&expression.text(), Some(zone)).unwrap();
        let (from, until) = window_around_change(&zone_named(zone), near);
        let asked = from + offset;
        let expected = enumerate(&cron, from, until).into_iter().find(|at| *at > asked);
        prop_assert_eq!(cron.next_after(asked).filter(|at| *at < until), expected);
    }

    #[test]
    fn no_occurrence_is_lost_or_fired_twice_over_successive_calls(
        expression in by_minutes(),
        zone in select(&ZONES[..]),
        start in whole_minute(),
        gaps in prop::collection::vec(prop_oneof![0..3 * MINUTE_MS, 0..3 * HOUR_MS, 0..5 * DAY_MS], 1..12),
        catch_up in select(&[CatchUp::Skip, CatchUp::One, CatchUp::All][..]),
    ) {
        let cron = Cron::parse(&expression.text(), Some(zone)).unwrap();
        let mut nominal = cron.next_after(start);
        let mut now = nominal.unwrap_or(start) - MINUTE_MS;
        let mut last_fired = i64::MIN;
        for gap in gaps {
            let Some(at) = nominal else { break };
            now += gap;
            let result = due(&cron, at, now, catch_up);
            let all = enumerate(&cron, at - 1, now + 1);
            prop_assert!(result.next.is_none_or(|next| next > now));
            prop_assert_eq!(result.next, cron.next_after(now));
            prop_assert_eq!(result.fire.len() as u64 + result.skipped, all.len() as u64);
            prop_assert_eq!(&result.fire, &expected_to_fire(&all, now, catch_up));
            for fired in result.fire {
                prop_assert!(fired > last_fired);
                last_fired = fired;
            }
            nominal = result.next;
        }
    }
}

/// Of all occurrences since the nominal time, those that fire at `now`.
fn expected_to_fire(all: &[i64], now: i64, catch_up: CatchUp) -> Vec<i64> {
    let (missed, on_time): (Vec<i64>, Vec<i64>) = all.iter().partition(|at| now - **at > ON_TIME_MS);
    let keep = match catch_up {
        CatchUp::Skip => 0,
        CatchUp::One => 1,
        CatchUp::All => CATCH_UP_MAX,
    };
    missed.into_iter().rev().take(keep).rev().chain(on_time).collect()
}
