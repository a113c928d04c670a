//! What a value of a machine file may look like.
//!
//! Shapes are plain data: the loader checks files against them and the published JSON Schema is written from them, so
//! the two cannot say different things.

use crate::duration::Millis;
use crate::source::{Content, Node};
use crate::text;

/// A map whose keys are known.
#[derive(Debug)]
pub(in crate::machine) struct Table {
    /// Its name in the JSON Schema.
    pub(in crate::machine) name: &'static str,
    /// What a message calls such a map.
    pub(in crate::machine) called: &'static str,
    /// What may stand in it.
    pub(in crate::machine) keys: &'static [Key],
}

/// A known key.
#[derive(Debug)]
pub(in crate::machine) struct Key {
    /// As the design writes it.
    pub(in crate::machine) name: &'static str,
    /// What it may also be called.
    pub(in crate::machine) alias: Option<&'static str>,
    /// What it holds.
    pub(in crate::machine) shape: &'static Shape,
    /// Whether a map without it makes sense.
    pub(in crate::machine) required: bool,
    /// What it is for, shown by editors.
    pub(in crate::machine) about: &'static str,
}

/// The values that are accepted.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) enum Shape {
    /// Any value.
    Any,
    /// Nothing: a key whose value was left empty.
    Nothing,
    /// Text.
    Text,
    /// Text that names something.
    Name(Names),
    /// True or false.
    Flag,
    /// A whole number.
    Whole {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A number that is no less than this one.
    Number {
        /// The smallest.
        least: u32,
    },
    /// Milliseconds as a number, or a duration as text.
    Duration {
        /// The shortest, in milliseconds.
        least: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A `JSONLogic` rule.
    Rule,
    /// A map with these keys.
    Map(&'static Table),
    /// A map of named values.
    Members(Names, &'static Shape),
    /// A map of anything.
    Open,
    /// A list of such values.
    List(&'static Shape),
    /// The first of these that fits the value's kind.
    Either(&'static [Shape]),
    /// A key that other tools know and that cannot be honoured here; with what to do instead.
    Refused(&'static str),
}

/// How a name may be spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Names {
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
    /// Any printable text.
    Free,
}

/// The characters that [`text::is_printable`] refuses, as the part of a regular expression.
macro_rules! unprintable {
    () => {
        r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    };
}

/// The longest id of a machine.
const MACHINE_ID_CHARACTERS_MAX: usize = 128;

impl Table {
    /// The key of this name or alias.
    pub(in crate::machine) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name || key.alias == Some(name))
    }
}

impl Key {
    /// A key that may be left out.
    pub(in crate::machine) const fn optional(name: &'static str, shape: &'static Shape, about: &'static str) -> Self {
        Self {
            name,
            alias: None,
            shape,
            required: false,
            about,
        }
    }

    /// A key that must be there.
    pub(in crate::machine) const fn required(name: &'static str, shape: &'static Shape, about: &'static str) -> Self {
        Self {
            required: true,
            ..Self::optional(name, shape, about)
        }
    }

    /// The same key, which may be called by another name too.
    pub(in crate::machine) const fn or(self, alias: &'static str) -> Self {
        Self {
            alias: Some(alias),
            ..self
        }
    }
}

impl Shape {
    /// Whether the value is of the right kind, whatever is inside it.
    pub(super) fn fits(&self, node: &Node) -> bool {
        match self {
            Self::Any | Self::Refused(_) => true,
            Self::Nothing => node.content == Content::Null,
            Self::Text | Self::Name(_) | Self::Word(_) => matches!(node.content, Content::Text(_)),
            Self::Flag => matches!(node.content, Content::Bool(_)),
            Self::Whole { .. } | Self::Number { .. } => matches!(node.content, Content::Number(_)),
            Self::Duration { .. } => matches!(node.content, Content::Number(_) | Content::Text(_)),
            Self::Rule => matches!(node.content, Content::Map(_) | Content::Bool(_)),
            Self::Map(_) | Self::Members(..) | Self::Open => matches!(node.content, Content::Map(_)),
            Self::List(_) => matches!(node.content, Content::List(_)),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(node)),
        }
    }

    /// What a message says is expected.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Any | Self::Refused(_) => "a value".into(),
            Self::Nothing => "nothing".into(),
            Self::Text | Self::Name(_) => "text".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Whole { least, most: u64::MAX } => format!("a whole number from {least}"),
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Number { least } => format!("a number from {least}"),
            Self::Duration { .. } => "milliseconds as a number, or a duration such as `30s`".into(),
            Self::Word(words) => words
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(" or "),
            Self::Rule => "a JSONLogic rule".into(),
            Self::Map(_) | Self::Members(..) | Self::Open => "a map".into(),
            Self::List(_) => "a list".into(),
            Self::Either(shapes) => {
                let named = shapes.iter().filter(|shape| !matches!(shape, Self::Nothing));
                named.map(Self::expected).collect::<Vec<_>>().join(", or ")
            }
        }
    }
}

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
            Self::Free => is_name(name),
        }
    }

    /// The regular expression that says the same to editors, where one can.
    pub(in crate::machine) fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Machine => Some("^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"),
            Self::State => Some(concat!("^[^.#", unprintable!(), "][^.", unprintable!(), "]{0,511}$")),
            Self::Identifier => Some("^[A-Za-z_][A-Za-z0-9_]{0,511}$"),
            Self::Event => Some(concat!("^[^*", unprintable!(), "]{1,512}$")),
            Self::Descriptor => Some(concat!(r"^(\*|[^*", unprintable!(), r"]{1,512}(\.\*)?)$")),
            Self::Free => Some(concat!("^[^", unprintable!(), "]{1,512}$")),
            Self::Duration => None,
        }
    }

    /// What is wrong with the text itself, whatever it names: machine names and durations have rules of their own.
    pub(super) fn problem(self, name: &str) -> Option<text::Problem> {
        match self {
            Self::Machine | Self::Duration => None,
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
            Self::Free => "use a printable text of 1 to 512 bytes",
        }
    }
}

fn is_name(name: &str) -> bool {
    text::check_name(name).is_ok()
}
