//! What a value of a document may look like.
//!
//! Shapes are plain data: the reader checks documents against them and the published JSON Schema is written from them,
//! so the two cannot say different things.

use serde_json::Value;

use super::names::Names;

/// A map whose keys are known.
#[derive(Debug)]
pub struct Table {
    /// Its name in the JSON Schema.
    pub name: &'static str,
    /// What a message calls such a map.
    pub called: &'static str,
    /// What may stand in it.
    pub keys: &'static [Key],
}

/// A known key.
#[derive(Debug)]
pub struct Key {
    /// As the design writes it.
    pub name: &'static str,
    /// What it may also be called.
    pub alias: Option<&'static str>,
    /// What it holds.
    pub shape: &'static Shape,
    /// Whether a map without it makes sense.
    pub required: bool,
    /// What it is for, shown by editors.
    pub about: &'static str,
}

/// Keys, a row each: `required "name" or "alias": Shape => "What it is for.";`.
#[macro_export]
macro_rules! keys {
    ($($kind:ident $name:literal $(or $alias:literal)?: $shape:expr $(=> $about:literal)?;)*) => {
        [$($crate::document::Key::$kind($name, &$shape, concat!($($about)?)) $(.or($alias))?),*]
    };
}

/// A [`Table`]: its name and what messages call it, then its [`keys!`](crate::keys).
#[macro_export]
macro_rules! table {
    ($name:literal called $called:literal; $($keys:tt)*) => {
        $crate::document::Table {
            name: $name,
            called: $called,
            keys: &$crate::keys! { $($keys)* },
        }
    };
}

/// The values that are accepted.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any value.
    Any,
    /// Nothing: a key whose value was left empty.
    Nothing,
    /// Text.
    Text,
    /// Text that is not empty and that the operating system can take: without a NUL.
    Filled,
    /// Text of so many characters. One that must have any is not blank.
    Sized {
        /// The fewest.
        least: u64,
        /// The most.
        most: u64,
    },
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
    /// Bytes as a number, or as a text such as `10MiB`.
    Bytes,
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

impl Table {
    /// The key of this name or alias.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name || key.alias == Some(name))
    }

    /// The names that are honoured.
    pub fn known(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let honoured = self.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_)));
        honoured.map(|key| key.name)
    }
}

impl Key {
    /// A key that may be left out.
    pub const fn optional(name: &'static str, shape: &'static Shape, about: &'static str) -> Self {
        Self {
            name,
            alias: None,
            shape,
            required: false,
            about,
        }
    }

    /// A key that must be there.
    pub const fn required(name: &'static str, shape: &'static Shape, about: &'static str) -> Self {
        Self {
            required: true,
            ..Self::optional(name, shape, about)
        }
    }

    /// The same key, which may be called by another name too.
    #[must_use]
    pub const fn or(self, alias: &'static str) -> Self {
        Self {
            alias: Some(alias),
            ..self
        }
    }
}

impl Shape {
    /// Whether the value is of the right kind, whatever is inside it.
    pub fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Any | Self::Refused(_) => true,
            Self::Nothing => value.is_null(),
            Self::Text | Self::Filled | Self::Sized { .. } | Self::Name(_) | Self::Word(_) => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Whole { .. } | Self::Number { .. } => value.is_number(),
            Self::Duration { .. } | Self::Bytes => value.is_number() || value.is_string(),
            Self::Rule => value.is_object() || value.is_boolean(),
            Self::Map(_) | Self::Members(..) | Self::Open => value.is_object(),
            Self::List(_) => value.is_array(),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(value)),
        }
    }

    /// What a message says is expected.
    pub fn expected(&self) -> String {
        match self {
            Self::Any | Self::Refused(_) => "a value".into(),
            Self::Nothing => "nothing".into(),
            Self::Text | Self::Filled | Self::Name(_) => "text".into(),
            Self::Sized { least, most: u64::MAX } => format!("text of at least {least} characters"),
            Self::Sized { least, most } => format!("text of {least} to {most} characters"),
            Self::Flag => "`true` or `false`".into(),
            Self::Whole { least, most: u64::MAX } => format!("a whole number from {least}"),
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Number { least } => format!("a number from {least}"),
            Self::Duration { .. } => "milliseconds as a number, or a duration such as `30s`".into(),
            Self::Bytes => "bytes as a number, or as `512KiB`, `10MiB` or `2GiB`".into(),
            Self::Word(words) => format!("`{}`", words.join("` or `")),
            Self::Rule => "a JSONLogic rule".into(),
            Self::Map(_) | Self::Members(..) | Self::Open => "a map".into(),
            Self::List(Self::Text | Self::Filled | Self::Sized { .. } | Self::Name(_) | Self::Word(_)) => {
                "a list of texts".into()
            }
            Self::List(_) => "a list".into(),
            Self::Either(shapes) => {
                let named = shapes.iter().filter(|shape| !matches!(shape, Self::Nothing));
                named.map(Self::expected).collect::<Vec<_>>().join(", or ")
            }
        }
    }
}
