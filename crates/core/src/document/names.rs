//! How names in documents may be spelled.

use crate::text;
use crate::time::duration::Millis;

/// How a name may be spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The id of a machine.
    Machine,
    /// The name of a state.
    State,
    /// An actionId or the name of a variable.
    Identifier,
    /// The type of an event.
    Event,
    /// Which events are meant: a type, `prefix.*` or `*`.
    Descriptor,
    /// A duration.
    Duration,
    /// The name of a service: it stands in paths, in file names and in the conditions of rules.
    Service,
    /// The name of an operation or of a subject.
    Operation,
    /// Any printable text.
    Free,
    /// Any text.
    Any,
}

/// The characters that [`text::is_printable`] refuses, as the part of a regular expression.
macro_rules! unprintable {
    () => {
        r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    };
}

/// The longest id of a machine.
const MACHINE_ID_CHARACTERS_MAX: usize = 128;
/// The longest name of a service.
const SERVICE_CHARACTERS_MAX: usize = 64;
/// The longest name of an operation.
const OPERATION_CHARACTERS_MAX: usize = 64;

impl Names {
    /// Whether a name is spelled so.
    pub(super) fn accept(self, name: &str) -> bool {
        let mut characters = name.chars();
        let first = characters.next();
        match self {
            Self::Machine => {
                let starts = first.is_some_and(|first| first == '_' || first.is_ascii_alphanumeric());
                let goes_on = characters.all(|c| matches!(c, '_' | '.' | '-') || c.is_ascii_alphanumeric());
                starts && goes_on && name.len() <= MACHINE_ID_CHARACTERS_MAX
            }
            Self::State => first.is_some_and(|first| first != '#') && !name.contains('.') && is_name(name),
            Self::Identifier => {
                let starts = first.is_some_and(|first| first == '_' || first.is_ascii_alphabetic());
                starts && characters.all(|c| c == '_' || c.is_ascii_alphanumeric()) && is_name(name)
            }
            Self::Event => !name.contains('*') && is_name(name),
            Self::Descriptor => name == "*" || Self::Event.accept(name.strip_suffix(".*").unwrap_or(name)),
            Self::Duration => Millis::parse(name).is_ok(),
            Self::Service => {
                let starts = first.is_some_and(|first| first.is_ascii_alphabetic());
                let goes_on = characters.all(|c| matches!(c, '-' | '_') || c.is_ascii_alphanumeric());
                starts && goes_on && name.len() <= SERVICE_CHARACTERS_MAX
            }
            Self::Operation => {
                let fits = |c: char| matches!(c, '.' | '_' | '-') || c.is_ascii_lowercase() || c.is_ascii_digit();
                (1..=OPERATION_CHARACTERS_MAX).contains(&name.len()) && name.chars().all(fits)
            }
            Self::Free => is_name(name),
            Self::Any => true,
        }
    }

    /// The regular expression that says the same to editors, where one can.
    pub fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Machine => Some("^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"),
            Self::State => Some(concat!("^[^.#", unprintable!(), "][^.", unprintable!(), "]{0,511}$")),
            Self::Identifier => Some("^[A-Za-z_][A-Za-z0-9_]{0,511}$"),
            Self::Event => Some(concat!("^[^*", unprintable!(), "]{1,512}$")),
            Self::Descriptor => Some(concat!(r"^(\*|[^*", unprintable!(), r"]{1,512}(\.\*)?)$")),
            Self::Free => Some(concat!("^[^", unprintable!(), "]{1,512}$")),
            Self::Service => Some("^[A-Za-z][A-Za-z0-9_-]{0,63}$"),
            Self::Operation => Some("^[a-z0-9._-]{1,64}$"),
            Self::Duration | Self::Any => None,
        }
    }

    /// What is wrong with the text itself, whatever it names: machine names and durations have rules of their own.
    pub(super) fn problem(self, name: &str) -> Option<text::Problem> {
        match self {
            Self::Machine | Self::Service | Self::Operation | Self::Duration | Self::Any => None,
            Self::State | Self::Identifier | Self::Event | Self::Descriptor | Self::Free => {
                text::check_name(name).err()
            }
        }
    }

    /// What a name must be like, for a message.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::Machine => {
                "use letters, digits, `_`, `.` and `-`, beginning with a letter, a digit or `_`; at most 128"
            }
            Self::State => "use a name that is not empty, has no dot and does not begin with `#`",
            Self::Identifier => "use letters, digits and `_`, not beginning with a digit",
            Self::Event => "use a type that is not empty and has no `*`",
            Self::Descriptor => "write an event's type, `prefix.*` or `*`",
            Self::Duration => "write milliseconds, or a duration such as `250ms`, `30s`, `5m`, `2h`, `3d` or `PT5M`",
            Self::Service => "use letters, digits, `-` and `_`, beginning with a letter; at most 64",
            Self::Operation => "use lower-case letters, digits, `.`, `_` and `-`; at most 64",
            Self::Free => "use a printable text of 1 to 512 bytes",
            Self::Any => "use any text",
        }
    }
}

fn is_name(name: &str) -> bool {
    text::check_name(name).is_ok()
}
