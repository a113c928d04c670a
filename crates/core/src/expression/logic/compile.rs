//! From a rule to a tree that is quick to evaluate.
//!
//! Everything about a rule that is known without data is settled here: operators by name, the number of their
//! arguments, literal paths split, constant lists built, and the bounds that keep evaluation small.

use std::collections::BTreeSet;
use std::slice;

use serde_json::Value;

use super::error::LogicError;
use super::fuel::is_deeper;
use super::node::{Arguments, Iteration, Key, Keys, Reduction, RuleNode, Substr, ValuePath, dotted, reach};
use super::operator::{self, Function, Loop, RuleOperator, Shape};
use super::place::RulePlace;
use crate::expression::scope::Path;

/// How deep operators and lists may be nested in a rule.
pub const RULE_DEPTH_MAX: usize = 64;

/// How many iterators' bodies may be nested in each other.
pub const ITERATORS_NESTED_MAX: usize = 2;

/// A compiled `JSONLogic` rule.
#[derive(Clone, Debug)]
pub struct Logic {
    pub(super) root: RuleNode,
    paths: BTreeSet<Path>,
    states: BTreeSet<Box<str>>,
}

impl Logic {
    /// Compiles `rule`, or says what in it makes no sense or is nested too deep.
    pub fn compile(rule: &Value) -> Result<Self, LogicError> {
        let mut compiler = Compiler::default();
        let root = compiler.node(rule, &RulePlace::START)?;
        let Compiler { paths, states } = compiler;
        Ok(Self { root, paths, states })
    }

    /// The paths into the scope that the rule names literally (`var`, `val`, `exists`, `missing`, `missing_some`), each
    /// once, in alphabetical order. What leads into an iterator's item is not among them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    /// The states that the rule asks for with `in_state`, each once, in alphabetical order.
    pub fn in_states(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(AsRef::as_ref)
    }
}

/// What is collected while a rule is compiled.
#[derive(Default)]
struct Compiler {
    paths: BTreeSet<Path>,
    states: BTreeSet<Box<str>>,
}

/// The arguments of an operator as they are written, and where.
struct Given<'a> {
    name: &'a str,
    argument: &'a Value,
    place: RulePlace<'a>,
}

impl<'a> Given<'a> {
    /// A single argument may be written without its list.
    fn is_bare(&self) -> bool {
        !self.argument.is_array()
    }

    fn values(&self) -> &'a [Value] {
        match self.argument {
            Value::Array(values) => values,
            single => slice::from_ref(single),
        }
    }

    fn place_of(&self, position: usize) -> RulePlace<'_> {
        if self.is_bare() {
            self.place
        } else {
            self.place.item(position)
        }
    }

    fn check(&self, shape: Shape) -> Result<(), LogicError> {
        let (name, count) = (self.name, self.values().len());
        let detail = match shape {
            Shape::AtLeastOne if count == 0 => format!("`{name}` needs an argument"),
            Shape::One if count != 1 => format!("`{name}` takes one argument, not {count}"),
            Shape::List(_) if self.is_bare() => format!("`{name}` takes a list of arguments"),
            Shape::List(least) if count < least => format!("`{name}` needs {least} arguments or more, not {count}"),
            _ => return Ok(()),
        };
        Err(self.place.error(detail))
    }
}

impl Compiler {
    fn node(&mut self, rule: &Value, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        match rule {
            Value::Array(items) => self.list(items, place),
            Value::Object(members) => match members.iter().next() {
                Some((name, argument)) if members.len() == 1 => self.operation(name, argument, place),
                _ => object(rule, place),
            },
            scalar => Ok(RuleNode::Literal(scalar.clone())),
        }
    }

    fn list(&mut self, items: &[Value], place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        check_depth(place)?;
        let mut nodes = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            nodes.push(self.node(item, &place.item(position).deeper())?);
        }
        Ok(match literals(&nodes) {
            Some(values) => RuleNode::Literal(Value::Array(values)),
            None => RuleNode::List(nodes.into()),
        })
    }

    fn operation(&mut self, name: &str, argument: &Value, around: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        check_depth(around)?;
        let place = around.member(name).deeper();
        let Some((operator, shape)) = operator::named(name) else {
            return Err(place.error(unknown(name)));
        };
        let given = Given { name, argument, place };
        given.check(shape)?;
        match operator {
            RuleOperator::Apply(function) => self.function(function, &given),
            RuleOperator::Iterate(kind) => self.iteration(kind, &given),
            RuleOperator::Reduce => self.reduction(&given),
            RuleOperator::Preserve => literal(argument, &given.place),
        }
    }

    fn function(&mut self, function: Function, given: &Given<'_>) -> Result<RuleNode, LogicError> {
        let Given { name, place, .. } = given;
        if place.reducing && matches!(function, Function::Cat | Function::Merge) {
            let detail = format!("`{name}` inside `reduce` grows with every item; use it outside");
            return Err(place.error(detail));
        }
        let nodes = self.arguments(given)?;
        Ok(match function {
            Function::Var => self.var(nodes, place)?,
            Function::Val => RuleNode::Val(self.reach(spread(nodes, given), place)?),
            Function::Exists => RuleNode::Exists(self.reach(spread(nodes, given), place)?),
            Function::Missing => RuleNode::Missing(self.keys(spread(nodes, given), place)?),
            Function::MissingSome => self.missing_some(nodes, place)?,
            Function::InState => self.in_state(nodes, place)?,
            Function::Compare(relation) => RuleNode::Compare(relation, nodes.into()),
            Function::Arithmetic(arithmetic) => RuleNode::Arithmetic(arithmetic, spread(nodes, given)),
            Function::Cat => RuleNode::Cat(spread(nodes, given)),
            Function::And => RuleNode::And(nodes.into()),
            Function::Or => RuleNode::Or(nodes.into()),
            Function::If => RuleNode::If(nodes.into()),
            Function::Coalesce => RuleNode::Coalesce(nodes.into()),
            Function::Merge => RuleNode::Merge(nodes.into()),
            Function::Not => RuleNode::Not(Box::new(first(nodes))),
            Function::Truth => RuleNode::Truth(Box::new(first(nodes))),
            Function::Length => RuleNode::Length(Box::new(first(nodes))),
            Function::In => contained(nodes),
            Function::Substr => substr(nodes),
            // It gives what it is given, and writes nothing anywhere.
            Function::Log => first(nodes),
        })
    }

    fn arguments(&mut self, given: &Given<'_>) -> Result<Vec<RuleNode>, LogicError> {
        let values = given.values().iter().enumerate();
        values
            .map(|(position, value)| self.node(value, &given.place_of(position)))
            .collect()
    }

    fn iteration(&mut self, kind: Loop, given: &Given<'_>) -> Result<RuleNode, LogicError> {
        check_iterator(given)?;
        if let ([_, Value::Null, ..], Loop::Map | Loop::Filter) = (given.values(), kind) {
            return Err(no_body(given));
        }
        let mut values = given.values().iter();
        let list = self.argument(values.next(), &given.place_of(0))?;
        let body = self.argument(values.next(), &given.place_of(1).body())?;
        let iteration = Box::new(Iteration { list, body });
        Ok(match kind {
            Loop::All => RuleNode::All(iteration),
            Loop::Filter => RuleNode::Filter(iteration),
            Loop::Map => RuleNode::Map(iteration),
            Loop::None => RuleNode::None(iteration),
            Loop::Some => RuleNode::Some(iteration),
        })
    }

    fn reduction(&mut self, given: &Given<'_>) -> Result<RuleNode, LogicError> {
        check_iterator(given)?;
        let mut values = given.values().iter();
        let list = self.argument(values.next(), &given.place_of(0))?;
        let body = self.argument(values.next(), &given.place_of(1).reduction())?;
        let initial = self.argument(values.next(), &given.place_of(2))?;
        Ok(RuleNode::Reduce(Box::new(Reduction { list, body, initial })))
    }

    /// One argument; what is not given is null.
    fn argument(&mut self, value: Option<&Value>, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        self.node(value.unwrap_or(&Value::Null), place)
    }

    fn var(&mut self, nodes: Vec<RuleNode>, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        let mut nodes = nodes.into_iter();
        let key = match or_null(nodes.next()) {
            RuleNode::Literal(key) => {
                let path = dotted((&key).into()).ok_or_else(|| no_path(place))?;
                self.note(0, &path, place);
                Key::Fixed(path)
            }
            computed => Key::Computed(Box::new(computed)),
        };
        Ok(RuleNode::Var(key, nodes.next().map(Box::new)))
    }

    fn reach(&mut self, names: Arguments, place: &RulePlace<'_>) -> Result<ValuePath, LogicError> {
        let Some(literal) = literal_arguments(&names) else {
            return Ok(ValuePath::Computed(names));
        };
        let (up, path) = reach(&literal).ok_or_else(|| no_path(place))?;
        self.note(up, &path, place);
        Ok(ValuePath::Fixed { up, path })
    }

    fn keys(&mut self, keys: Arguments, place: &RulePlace<'_>) -> Result<Keys, LogicError> {
        let Some(literal) = literal_arguments(&keys) else {
            return Ok(Keys::Computed(keys));
        };
        let mut fixed = Vec::new();
        for key in unwrapped(literal) {
            let path = dotted((&key).into()).ok_or_else(|| no_path(place))?;
            self.note(0, &path, place);
            fixed.push((key, path));
        }
        Ok(Keys::Fixed(fixed.into()))
    }

    fn missing_some(&mut self, nodes: Vec<RuleNode>, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        let mut nodes = nodes.into_iter();
        let need = Box::new(or_null(nodes.next()));
        let keys = self.keys(Arguments::Spread(Box::new(or_null(nodes.next()))), place)?;
        Ok(RuleNode::MissingSome { need, keys })
    }

    fn in_state(&mut self, nodes: Vec<RuleNode>, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
        let RuleNode::Literal(Value::String(target)) = first(nodes) else {
            return Err(place.error("`in_state` takes the name of a state as a literal text"));
        };
        let target: Box<str> = target.into();
        self.states.insert(target.clone());
        Ok(RuleNode::InState(target))
    }

    /// Remembers `path` if, from `up` levels out of `place`, it leads into the scope.
    fn note(&mut self, up: usize, path: &Path, place: &RulePlace<'_>) {
        if up == place.bodies * 2 {
            self.paths.insert(path.clone());
        }
    }
}

/// The keys of `missing`: all its arguments, or the items of the first if that is a list.
pub(super) fn unwrapped(mut keys: Vec<Value>) -> Vec<Value> {
    match keys.first_mut() {
        Some(Value::Array(items)) => std::mem::take(items),
        _ => keys,
    }
}

/// An object that is not an operation stands for itself.
fn object(rule: &Value, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
    let names = rule.as_object().into_iter().flat_map(|members| members.keys());
    if let Some(name) = names.into_iter().find(|name| operator::is_unmistakable(name)) {
        let detail = format!("operator `{name}` must be the only member of its object");
        return Err(place.member(name).error(detail));
    }
    literal(rule, place)
}

/// Refuses iterators that are nested too deep or go over a literal null.
fn check_iterator(given: &Given<'_>) -> Result<(), LogicError> {
    let Given { name, place, .. } = given;
    if place.bodies >= ITERATORS_NESTED_MAX {
        let detail = format!("`{name}` nests iterators more than {ITERATORS_NESTED_MAX} deep");
        return Err(place.error(detail));
    }
    match given.values() {
        [Value::Null, ..] => Err(given.place_of(0).error(format!("`{name}` has no list to go over"))),
        _ => Ok(()),
    }
}

fn no_body(given: &Given<'_>) -> LogicError {
    let name = given.name;
    given.place_of(1).error(format!("`{name}` has no body to evaluate"))
}

fn literal(value: &Value, place: &RulePlace<'_>) -> Result<RuleNode, LogicError> {
    if is_deeper(value, RULE_DEPTH_MAX.saturating_sub(place.depth)) {
        return Err(too_deep(place));
    }
    Ok(RuleNode::Literal(value.clone()))
}

fn check_depth(place: &RulePlace<'_>) -> Result<(), LogicError> {
    if place.depth < RULE_DEPTH_MAX {
        Ok(())
    } else {
        Err(too_deep(place))
    }
}

fn too_deep(place: &RulePlace<'_>) -> LogicError {
    place.error(format!("nested more than {RULE_DEPTH_MAX} deep"))
}

fn no_path(place: &RulePlace<'_>) -> LogicError {
    place.error("path is neither a text nor a number")
}

fn unknown(name: &str) -> String {
    match operator::nearest(name) {
        Some(nearest) => format!("unknown operator `{name}`, the nearest is `{nearest}`"),
        None => format!("unknown operator `{name}`"),
    }
}

/// The values of `nodes`, if all are known.
fn literals(nodes: &[RuleNode]) -> Option<Vec<Value>> {
    let literal = |node: &RuleNode| match node {
        RuleNode::Literal(value) => Some(value.clone()),
        _ => None,
    };
    nodes.iter().map(literal).collect()
}

fn literal_arguments(arguments: &Arguments) -> Option<Vec<Value>> {
    match arguments {
        Arguments::Each(nodes) => literals(nodes),
        Arguments::Spread(node) => match node.as_ref() {
            RuleNode::Literal(Value::Array(values)) => Some(values.clone()),
            single => literals(slice::from_ref(single)),
        },
    }
}

fn spread(nodes: Vec<RuleNode>, given: &Given<'_>) -> Arguments {
    if given.is_bare() {
        Arguments::Spread(Box::new(first(nodes)))
    } else {
        Arguments::Each(nodes.into())
    }
}

fn contained(nodes: Vec<RuleNode>) -> RuleNode {
    let mut nodes = nodes.into_iter();
    RuleNode::In(Box::new([or_null(nodes.next()), or_null(nodes.next())]))
}

fn substr(nodes: Vec<RuleNode>) -> RuleNode {
    let mut nodes = nodes.into_iter();
    RuleNode::Substr(Box::new(Substr {
        text: or_null(nodes.next()),
        start: or_null(nodes.next()),
        length: nodes.next(),
    }))
}

/// The first argument; what is not given is null.
fn first(nodes: Vec<RuleNode>) -> RuleNode {
    or_null(nodes.into_iter().next())
}

fn or_null(node: Option<RuleNode>) -> RuleNode {
    node.unwrap_or(RuleNode::Literal(Value::Null))
}
