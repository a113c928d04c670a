//! What names stand for at a point of an evaluation.
//!
//! Outside iterators a path leads into the scope. Inside, it leads into the current item, as the original has it; only
//! `val` can reach further out.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::error::EvaluateError;
use super::fuel::Fuel;
use super::number::Numeric;
use super::operand::Operand;
use crate::expression::scope::{Path, Scope, walk};

/// The innermost view and those around it.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    root: &'a dyn Scope,
    view: View<'a>,
    /// The frame of the iterator this one is an item of, and the item's position.
    outer: Option<(&'a Frame<'a>, usize)>,
}

#[derive(Clone, Copy)]
enum View<'a> {
    Root,
    Item(&'a Value),
    Reduction { current: &'a Value, accumulator: &'a Value },
}

impl<'a> Frame<'a> {
    /// The frame outside all iterators.
    pub(super) fn new(root: &'a dyn Scope) -> Self {
        Self {
            root,
            view: View::Root,
            outer: None,
        }
    }

    /// The frame for `item`, found at `position`.
    pub(super) fn item(&'a self, item: &'a Value, position: usize) -> Self {
        self.inner(View::Item(item), position)
    }

    /// The frame for the item `current`, found at `position`, and what the items before it came to.
    pub(super) fn reduction(&'a self, current: &'a Value, position: usize, accumulator: &'a Value) -> Self {
        self.inner(View::Reduction { current, accumulator }, position)
    }

    fn inner(&'a self, view: View<'a>, position: usize) -> Self {
        Self {
            root: self.root,
            view,
            outer: Some((self, position)),
        }
    }

    /// Whether the state that `target` names is active.
    pub(super) fn in_state(&self, target: &str) -> bool {
        self.root.in_state(target)
    }

    /// The value at `path`, or none where it leads nowhere.
    #[inline]
    pub(super) fn lookup(&self, path: &Path, fuel: &mut Fuel) -> Result<Option<Operand<'a>>, EvaluateError> {
        Ok(match self.view {
            View::Root => match self.root.lookup(path) {
                Some(Cow::Borrowed(value)) => Some(Operand::Borrowed(value)),
                Some(Cow::Owned(value)) => {
                    fuel.weigh(&value)?;
                    Some(value.into())
                }
                None => None,
            },
            View::Item(item) => walk(item, path.segments()).map(Operand::Borrowed),
            View::Reduction { current, accumulator } => reduction(current, accumulator, path, fuel)?,
        })
    }

    /// The value at `path` as seen `up` levels further out. Each iterator is two levels: one knows the position of the
    /// item as `index`, the next is what is around the iterator.
    pub(super) fn reach(&self, up: usize, path: &Path, fuel: &mut Fuel) -> Result<Option<Operand<'a>>, EvaluateError> {
        match (up, self.outer) {
            (0, _) => self.lookup(path, fuel),
            (_, None) => Ok(None),
            (1, Some((_, position))) => Ok(index(position, path)),
            (_, Some((outer, _))) => outer.reach(up - 2, path, fuel),
        }
    }
}

/// What `path` finds in the view of a `reduce`.
fn reduction<'a>(
    current: &'a Value,
    accumulator: &'a Value,
    path: &Path,
    fuel: &mut Fuel,
) -> Result<Option<Operand<'a>>, EvaluateError> {
    let Some((first, rest)) = path.segments().split_first() else {
        fuel.produce(0)?;
        let mut members = Map::new();
        for (name, value) in [("current", current), ("accumulator", accumulator)] {
            fuel.produce(name.len())?;
            members.insert(name.into(), fuel.copy(value)?);
        }
        return Ok(Some(Value::Object(members).into()));
    };
    let found = match first.as_ref() {
        "current" => walk(current, rest),
        "accumulator" => walk(accumulator, rest),
        _ => None,
    };
    Ok(found.map(Operand::Borrowed))
}

/// What `path` finds beside the items of an iterator.
fn index(position: usize, path: &Path) -> Option<Operand<'static>> {
    let is_index = path.root() == Some("index") && path.segments().len() == 1;
    is_index.then_some(Operand::Number(Numeric::Whole(position as i128)))
}
