//! The compiled form of a rule.

use serde_json::Value;

use super::operand::Plain;
use super::operator::{Arithmetic, Relation};
use crate::expression::scope::Path;

/// One part of a compiled rule.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Literal(Value),
    List(Box<[Node]>),
    Var(Key, Option<Box<Node>>),
    Val(Reach),
    Exists(Reach),
    Missing(Keys),
    MissingSome { need: Box<Node>, keys: Keys },
    Compare(Relation, Box<[Node]>),
    Not(Box<Node>),
    Truth(Box<Node>),
    And(Box<[Node]>),
    Or(Box<[Node]>),
    If(Box<[Node]>),
    Coalesce(Box<[Node]>),
    Arithmetic(Arithmetic, Arguments),
    In(Box<[Node; 2]>),
    Cat(Arguments),
    Substr(Box<Substr>),
    Length(Box<Node>),
    Merge(Box<[Node]>),
    Map(Box<Iteration>),
    Filter(Box<Iteration>),
    All(Box<Iteration>),
    None(Box<Iteration>),
    Some(Box<Iteration>),
    Reduce(Box<Reduction>),
    InState(Box<str>),
}

/// A dotted path.
#[derive(Clone, Debug)]
pub(super) enum Key {
    Fixed(Path),
    Computed(Box<Node>),
}

/// A path given name by name, from here or from `up` levels further out.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    Fixed { up: usize, path: Path },
    Computed(Arguments),
}

/// The keys whose values may be missing: each as it was written, and the path it stands for.
#[derive(Clone, Debug)]
pub(super) enum Keys {
    Fixed(Box<[(Value, Path)]>),
    Computed(Arguments),
}

/// The arguments of an operator that takes any number of them.
#[derive(Clone, Debug)]
pub(super) enum Arguments {
    /// Written as a list.
    Each(Box<[Node]>),
    /// Not written as a list: if it computes one, its items are the arguments.
    Spread(Box<Node>),
}

/// A part of a text: from `start`, up to `length` characters.
#[derive(Clone, Debug)]
pub(super) struct Substr {
    pub(super) text: Node,
    pub(super) start: Node,
    pub(super) length: Option<Node>,
}

/// A body evaluated for every item of a list.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub(super) list: Node,
    pub(super) body: Node,
}

/// A body evaluated for every item of a list and what it gave for the items before.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    pub(super) list: Node,
    pub(super) body: Node,
    pub(super) initial: Node,
}

/// The path that `key` stands for: null is the whole scope, a list or object is no path.
pub(super) fn dotted(key: Plain<'_>) -> Option<Path> {
    match key {
        Plain::Null => Some(Path::default()),
        Plain::Text(text) => Some(Path::parse(text)),
        _ => segment(key).map(|text| Path::parse(&text)),
    }
}

/// The path made of `names`, and how many levels out it starts: as many as a list of one number in front says.
pub(super) fn reach(names: &[Value]) -> Option<(usize, Path)> {
    let (up, names) = match names {
        [Value::Array(level), rest @ ..] => match level.as_slice() {
            [Value::Number(level)] => (usize::try_from(level.as_i64()?.unsigned_abs()).ok()?, rest),
            _ => return None,
        },
        names => (0, names),
    };
    let path = names
        .iter()
        .map(|name| segment(name.into()))
        .collect::<Option<Path>>()?;
    Some((up, path))
}

/// One name of a path.
fn segment(name: Plain<'_>) -> Option<Box<str>> {
    match name {
        Plain::Text(text) => Some(text.into()),
        Plain::Bool(truth) => Some(truth.to_string().into()),
        Plain::Number(number) if number.is_finite() => {
            let mut text = String::new();
            number.write(&mut text);
            Some(text.into())
        }
        _ => None,
    }
}
