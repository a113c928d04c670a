//! Why a schedule was refused. Every message names what is wrong and says what to write instead.

use thiserror::Error;

use super::field::CronField;
use super::parse::EXPRESSION_MAX;

/// Why an expression or its time zone was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CronError {
    /// The expression is longer than [`EXPRESSION_MAX`] bytes.
    #[error("cron expression of {length} bytes is too long; write at most {EXPRESSION_MAX}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The expression has neither five nor six fields.
    #[error(
        "cron expression `{expression}` has the wrong number of fields, {found}; write five (minute, hour, day of \
         month, month, day of week), or six with seconds first"
    )]
    FieldCount {
        /// The expression.
        expression: String,
        /// How many fields it has.
        found: usize,
    },
    /// The expression starts with `@` and is none of the names there are.
    #[error(
        "cron expression `{name}` is not a known name; write @hourly, @daily, @midnight, @weekly, @monthly, @yearly or \
         @annually"
    )]
    UnknownName {
        /// The name as written.
        name: String,
    },
    /// A field cannot be read.
    #[error("{field} `{value}` {problem}; {remedy}")]
    Field {
        /// The field.
        field: CronField,
        /// The item that is wrong, or the whole field.
        value: String,
        /// What is wrong with it.
        problem: FieldProblem,
        /// What to write instead.
        remedy: String,
    },
    /// The time zone is not in the compiled-in zone data.
    #[error("time zone `{name}` is not known; write an IANA name such as `Europe/Berlin`")]
    UnknownZone {
        /// The name as written.
        name: String,
    },
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FieldProblem {
    /// Neither a number nor a name of this field.
    #[error("is not a value")]
    NotAValue,
    /// A number this field does not have.
    #[error("is out of range")]
    OutOfRange,
    /// Two commas in a row, or one at an end.
    #[error("has an empty item")]
    EmptyItem,
    /// A step that is not a number, is zero, or is larger than the field.
    #[error("has a step that cannot be taken")]
    BadStep,
    /// A range whose end comes before its start.
    #[error("is a range that runs backwards")]
    Backwards,
    /// An occurrence in the month that is not 1 to 5.
    #[error("does not say which one of the month")]
    BadOrdinal,
    /// `L` without a day of the week.
    #[error("does not say the last of what")]
    BareLast,
    /// `?` in a list, or outside the two day fields.
    #[error("has a `?` where it means nothing")]
    MisplacedAny,
}
