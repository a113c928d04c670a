//! Schedules: cron expressions read in a time zone, and what to do about occurrences that were missed.
//!
//! # Expressions
//!
//! Five fields (minute, hour, day of month, month, day of week), or six with seconds first, or one of `@hourly`,
//! `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`. A field is a list of items divided by commas:
//!
//! | item | means |
//! |---|---|
//! | `*` | every value; `?` says the same in the two day fields |
//! | `7`, `JAN`, `fri` | one value; 0 and 7 are both Sunday |
//! | `9-17`, `MON-FRI` | a range; as the end of a range Sunday counts as 7, so `FRI-SUN` is three days |
//! | `*/15`, `9-17/2`, `5/15` | every n-th value of all, of a range, or from a value to the end of the field |
//! | `L` | in the day of month: the last day of the month |
//! | `5L`, `FRIL` | in the day of week: the last Friday of the month |
//! | `2#3`, `TUE#3` | in the day of week: the third Tuesday of the month |
//!
//! A range that runs backwards (`22-2`) is refused: it is as likely a slip as a range over midnight, and the refusal
//! says how to write the latter (`22-23,0-2`). A step larger than its field (`*/90` in the minute) is refused as well,
//! because it would run every hour and look as if it did not. A field that is `*`, `*/1` or `?` is unrestricted. When
//! the day of month and the day of week are both restricted, a day that meets **either** matches.
//!
//! # Clock changes
//!
//! An expression is either a list of **fixed times** or an **interval job**. It is an interval job when its second,
//! minute or hour field repeats: when one of that field's items is `*`, `*/n`, `a/n`, or a range over the whole field
//! (`0-23`, `0-59/20`), and stands for two values or more. Everything else, `15 1,2,3 * * *` and `0 0-4 * * *`
//! included, names fixed times, and each of them is judged on its own:
//!
//! * A fixed time that the clock skips fires at the first instant after the gap: in New York `30 2 * * *` fires at
//!   03:00 on the day of the change. Fixed times that so meet one another, or one that is due at that instant anyway,
//!   are one occurrence. The day is that of the skipped time, also where a gap runs to midnight or swallows a day.
//! * A fixed time that the clock shows twice fires once, the first time.
//! * An interval job follows the wall clock: it fires whenever the clock shows a time that matches. So a skipped
//!   time is left out (in New York `0 */2 * * *` goes from 00:00 to 04:00) and a repeated one fires both times, which
//!   keeps `*/15 * * * *` at a steady fifteen minutes across either change.
//!
//! # What always holds
//!
//! Nothing here reads a clock, and zone data is the copy compiled in, so one build gives one answer on every node.
//! Occurrences are whole seconds, strictly increasing. Every search has a bound.

mod bits;
mod calendar;
mod cron;
mod error;
mod field;
mod parse;
mod policy;
mod stretch;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use cron::Cron;
pub use error::{CronError, FieldProblem};
pub use field::CronField;
pub use parse::EXPRESSION_MAX;
pub use policy::{CATCH_UP_MAX, CatchUp, Due, ON_TIME_MS, Overlap, due};
