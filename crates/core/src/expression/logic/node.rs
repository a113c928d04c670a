//! The compiled form of a rule.

use serde_json::Value;

use super::operand::OperandValue;
use super::operator::{Arithmetic, Relation};
use crate::expression::scope::Path;

/// One part of a compiled rule.
#[derive(Clone, Debug)]
pub(super) enum RuleNode {
    Literal(Value),
    List(Box<[RuleNode]>),
    Var(Key, Option<Box<RuleNode>>),
    Val(ValuePath),
    Exists(ValuePath),
    Missing(Keys),
    MissingSome { need: Box<RuleNode>, keys: Keys },
    Compare(Relation, Box<[RuleNode]>),
    Not(Box<RuleNode>),
    Truth(Box<RuleNode>),
    And(Box<[RuleNode]>),
    Or(Box<[RuleNode]>),
    If(Box<[RuleNode]>),
    Coalesce(Box<[RuleNode]>),
    Arithmetic(Arithmetic, Arguments),
    In(Box<[RuleNode; 2]>),
    Cat(Arguments),
    Substr(Box<Substr>),
    Length(Box<RuleNode>),
    Merge(Box<[RuleNode]>),
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
    Computed(Box<RuleNode>),
}

/// A path given name by name, from here or from `up` levels further out.
#[derive(Clone, Debug)]
pub(super) enum ValuePath {
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
    Each(Box<[RuleNode]>),
    /// Not written as a list: if it computes one, its items are the arguments.
    Spread(Box<RuleNode>),
}

/// A part of a text: from `start`, up to `length` characters.
#[derive(Clone, Debug)]
pub(super) struct Substr {
    pub(super) text: RuleNode,
    pub(super) start: RuleNode,
    pub(super) length: Option<RuleNode>,
}

/// A body evaluated for every item of a list.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub(super) list: RuleNode,
    pub(super) body: RuleNode,
}

/// A body evaluated for every item of a list and what it gave for the items before.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    pub(super) list: RuleNode,
    pub(super) body: RuleNode,
    pub(super) initial: RuleNode,
}

/// The path that `key` stands for: null is the whole scope, a list or object is no path.
pub(super) fn dotted(key: OperandValue<'_>) -> Option<Path> {
    match key {
        OperandValue::Null => Some(Path::default()),
        OperandValue::Text(text) => Some(Path::parse(text)),
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
fn segment(name: OperandValue<'_>) -> Option<Box<str>> {
    match name {
        OperandValue::Text(text) => Some(text.into()),
        OperandValue::Bool(truth) => Some(truth.to_string().into()),
        OperandValue::Number(number) if number.is_finite() => {
            let mut text = String::new();
            number.write(&mut text);
            Some(text.into())
        }
        _ => None,
    }
}
