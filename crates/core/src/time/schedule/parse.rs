//! Reads a cron expression into a [`Calendar`] and tells fixed times from interval jobs.
//!
//! What is accepted is described in [the module](super). Only ASCII is read, names in any case.

use super::bits::Bits;
use super::calendar::{Calendar, MonthDays, Weekdays};
use super::error::{CronError, FieldProblem};
use super::field::CronField;

/// The longest expression that is read, in bytes. Every second of a minute listed one by one fits twice.
pub const EXPRESSION_MAX: usize = 512;

/// How an expression behaves when the clock changes; see [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Named times: each fires once on its day, whatever the clock does.
    Fixed,
    /// A repetition: fires whenever the wall clock shows a matching time.
    Interval,
}

/// Reads `expression`.
pub(super) fn parse(expression: &str) -> Result<(Calendar, Pace), CronError> {
    if expression.len() > EXPRESSION_MAX {
        return Err(CronError::TooLong {
            length: expression.len(),
        });
    }
    let text = resolve_name(expression.trim_ascii())?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    match *fields.as_slice() {
        [minute, hour, day_of_month, month, day_of_week] => {
            read_fields(["0", minute, hour, day_of_month, month, day_of_week])
        }
        [second, minute, hour, day_of_month, month, day_of_week] => {
            read_fields([second, minute, hour, day_of_month, month, day_of_week])
        }
        _ => Err(CronError::FieldCount {
            expression: text.to_owned(),
            found: fields.len(),
        }),
    }
}

/// The five fields that a name such as `@daily` stands for; other text as it is.
fn resolve_name(text: &str) -> Result<&str, CronError> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    match text.to_ascii_lowercase().as_str() {
        "@hourly" => Ok("0 * * * *"),
        "@daily" | "@midnight" => Ok("0 0 * * *"),
        "@weekly" => Ok("0 0 * * 0"),
        "@monthly" => Ok("0 0 1 * *"),
        "@yearly" | "@annually" => Ok("0 0 1 1 *"),
        _ => Err(CronError::UnknownName { name: text.to_owned() }),
    }
}

fn read_fields(texts: [&str; 6]) -> Result<(Calendar, Pace), CronError> {
    let [second, minute, hour, day_of_month, month, day_of_week] = texts;
    let second = Values::read(CronField::Second, second)?;
    let minute = Values::read(CronField::Minute, minute)?;
    let hour = Values::read(CronField::Hour, hour)?;
    let day_of_month = Values::read(CronField::DayOfMonth, day_of_month)?;
    let month = Values::read(CronField::Month, month)?;
    let day_of_week = Values::read(CronField::DayOfWeek, day_of_week)?;
    let repeats = second.repeats || minute.repeats || hour.repeats;
    let calendar = Calendar {
        seconds: second.plain,
        minutes: minute.plain,
        hours: hour.plain,
        months: month.plain,
        month_days: day_of_month.restricted.then_some(MonthDays {
            numbers: day_of_month.plain,
            last: day_of_month.last_day,
        }),
        weekdays: day_of_week.restricted.then_some(Weekdays {
            every: day_of_week.plain,
            nth: day_of_week.nth,
            last: day_of_week.last,
        }),
    };
    Ok((calendar, if repeats { Pace::Interval } else { Pace::Fixed }))
}

/// What one field says.
#[derive(Default)]
struct Values {
    /// The values it names, Sunday as 0.
    plain: Bits,
    /// Whether it is anything but `*`, `*/1` or `?`.
    restricted: bool,
    /// Whether an item of a time field stands for a repetition.
    repeats: bool,
    /// `L` in the day of month.
    last_day: bool,
    /// `5L` in the day of week.
    last: Bits,
    /// `5#1` to `5#5` in the day of week.
    nth: [Bits; 5],
}

impl Values {
    fn read(field: CronField, text: &str) -> Result<Self, CronError> {
        let everything = matches!(text, "*" | "*/1") || (text == "?" && field.is_day());
        let mut values = Self {
            restricted: !everything,
            ..Self::default()
        };
        if everything {
            values.add_range(field, &Range::whole(field));
            return Ok(values);
        }
        for item in text.split(',') {
            if item.is_empty() {
                return Err(refuse(
                    field,
                    text,
                    FieldProblem::EmptyItem,
                    "remove the comma too many",
                ));
            }
            values.read_item(field, item)?;
        }
        Ok(values)
    }

    fn read_item(&mut self, field: CronField, item: &str) -> Result<(), CronError> {
        if item.contains('?') {
            let remedy = "write `?` only as the whole day of month or day of week";
            return Err(refuse(field, item, FieldProblem::MisplacedAny, remedy));
        }
        if field == CronField::DayOfMonth && item.eq_ignore_ascii_case("L") {
            self.last_day = true;
            return Ok(());
        }
        if field == CronField::DayOfWeek {
            if let Some((day, ordinal)) = item.split_once('#') {
                return self.read_nth(item, day, ordinal);
            }
            if let Some(day) = item.strip_suffix(['L', 'l']) {
                return self.read_last(item, day);
            }
        }
        let range = Range::read(field, item)?;
        self.add_range(field, &range);
        Ok(())
    }

    fn read_nth(&mut self, item: &str, day: &str, ordinal: &str) -> Result<(), CronError> {
        let day = read_value(CronField::DayOfWeek, item, day)? % 7;
        let slot = read_number(ordinal).and_then(|ordinal| usize::try_from(ordinal).ok()?.checked_sub(1));
        let Some(days) = slot.and_then(|slot| self.nth.get_mut(slot)) else {
            let remedy = "write 1 to 5 after the #, such as `FRI#2` for the second Friday";
            return Err(refuse(CronField::DayOfWeek, item, FieldProblem::BadOrdinal, remedy));
        };
        days.insert(day);
        Ok(())
    }

    fn read_last(&mut self, item: &str, day: &str) -> Result<(), CronError> {
        if day.is_empty() {
            let remedy = "write `5L` for the last Friday, or `6` for Saturday";
            return Err(refuse(CronField::DayOfWeek, item, FieldProblem::BareLast, remedy));
        }
        self.last.insert(read_value(CronField::DayOfWeek, item, day)? % 7);
        Ok(())
    }

    fn add_range(&mut self, field: CronField, range: &Range) {
        let sunday_is_zero = |value| {
            if field == CronField::DayOfWeek {
                value % 7
            } else {
                value
            }
        };
        let members: Bits = range.values().map(sunday_is_zero).collect();
        self.repeats |= field.is_time_of_day() && range.open && members.count() > 1;
        self.plain = self.plain.union(members);
    }
}

/// `*`, `7`, `9-17`, each with or without a step.
struct Range {
    first: i8,
    last: i8,
    step: i8,
    /// Whether it is written as all of the field or runs to its end, not as named values.
    open: bool,
}

impl Range {
    fn whole(field: CronField) -> Self {
        let (first, last) = field.range();
        Self {
            first,
            last,
            step: 1,
            open: true,
        }
    }

    fn read(field: CronField, item: &str) -> Result<Self, CronError> {
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(read_step(field, item, step)?)),
            None => (item, None),
        };
        let range = if base == "*" {
            Self::whole(field)
        } else if let Some((first, last)) = base.split_once('-') {
            Self::between(field, item, first, last)?
        } else {
            Self::from_value(field, read_value(field, item, base)?, step)
        };
        Ok(Self {
            step: step.unwrap_or(1),
            ..range
        })
    }

    /// One value, which a step extends to the end of the field.
    fn from_value(field: CronField, first: i8, step: Option<i8>) -> Self {
        let last = if step.is_some() {
            field.range().1.max(first)
        } else {
            first
        };
        Self {
            first,
            last,
            step: 1,
            open: step.is_some(),
        }
    }

    fn between(field: CronField, item: &str, first: &str, last: &str) -> Result<Self, CronError> {
        let (first, mut last) = (read_value(field, item, first)?, read_value(field, item, last)?);
        if field == CronField::DayOfWeek && last == 0 && first > 0 {
            last = 7;
        }
        let (smallest, largest) = field.range();
        if first > last {
            let (before, after) = (span(first, largest), span(smallest, last));
            let remedy = format!("split it where it wraps around, as in `{before},{after}`");
            return Err(refuse(field, item, FieldProblem::Backwards, &remedy));
        }
        Ok(Self {
            first,
            last,
            step: 1,
            open: first == smallest && last >= largest,
        })
    }

    fn values(&self) -> impl Iterator<Item = i8> + use<> {
        (self.first..=self.last).step_by(usize::try_from(self.step).unwrap_or(1).max(1))
    }
}

/// A range as text, short where it is one value.
fn span(first: i8, last: i8) -> String {
    if first < last {
        format!("{first}-{last}")
    } else {
        first.to_string()
    }
}

fn read_value(field: CronField, item: &str, text: &str) -> Result<i8, CronError> {
    let smallest = field.range().0;
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return read_number(text)
            .filter(|number| (smallest..=field.largest()).contains(number))
            .ok_or_else(|| {
                refuse(
                    field,
                    item,
                    FieldProblem::OutOfRange,
                    &format!("write {}", field.allowed()),
                )
            });
    }
    (smallest..)
        .zip(field.names())
        .find(|(_, name)| name.eq_ignore_ascii_case(text))
        .map(|(value, _)| value)
        .ok_or_else(|| {
            refuse(
                field,
                item,
                FieldProblem::NotAValue,
                &format!("write {}", field.allowed()),
            )
        })
}

fn read_step(field: CronField, item: &str, text: &str) -> Result<i8, CronError> {
    let (smallest, largest) = field.range();
    let longest = largest - smallest + 1;
    read_number(text)
        .filter(|step| (1..=longest).contains(step))
        .ok_or_else(|| {
            refuse(
                field,
                item,
                FieldProblem::BadStep,
                &format!("write a step of 1 to {longest}"),
            )
        })
}

/// Decimal digits only: no sign, no other script's digits.
fn read_number(text: &str) -> Option<i8> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

fn refuse(field: CronField, value: &str, problem: FieldProblem, remedy: &str) -> CronError {
    CronError::Field {
        field,
        value: value.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    }
}
