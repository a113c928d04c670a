//! Where an expression finds its values.
//!
//! Guards, conditions and templates never see a whole context copied for them: they ask a [`Scope`] for the paths
//! they name, and get borrowed values wherever the scope has them at hand.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

/// Up to this many members, comparing names one by one is quicker than hashing the one sought.
const SCANNED_MEMBERS_MAX: usize = 16;

/// A dotted path, split once when the expression is compiled: `message.payload.daysAhead`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Box<[Box<str>]>);

impl Path {
    /// Splits `text` at its dots. The empty text is the empty path: the whole scope.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self(text.split('.').map(Box::from).collect())
    }

    /// The names along the way, outermost first.
    pub fn segments(&self) -> &[Box<str>] {
        &self.0
    }

    /// The outermost name, if the path has one.
    pub fn root(&self) -> Option<&str> {
        self.0.first().map(AsRef::as_ref)
    }
}

impl FromIterator<Box<str>> for Path {
    /// The path along these names, dots in them included.
    fn from_iter<I: IntoIterator<Item = Box<str>>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// The values an expression may name.
pub trait Scope {
    /// The value at `path`, or `None` where the path leads nowhere. The empty path is the whole scope.
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>>;

    /// Whether the state that `target` names is active (the operator `in_state`).
    fn in_state(&self, target: &str) -> bool {
        let _ = target;
        false
    }
}

impl Scope for Value {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        walk(self, path.segments()).map(Cow::Borrowed)
    }
}

/// Follows `segments` down from `value`: names into objects, decimal positions into lists.
pub fn walk<'a>(value: &'a Value, segments: &[Box<str>]) -> Option<&'a Value> {
    segments.iter().try_fold(value, |at, segment| match at {
        Value::Object(members) => member(members, segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The member called `name`.
fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if members.len() > SCANNED_MEMBERS_MAX {
        return members.get(name);
    }
    members.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}
