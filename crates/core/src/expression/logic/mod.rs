//! `JSONLogic`: the language of guards and conditions.
//!
//! A rule is compiled once into a tree and evaluated against a [`Scope`](crate::expression::scope::Scope) with
//! [`Fuel`]. Evaluation is total: it ends within its fuel, never panics, reads nothing but the scope, and gives the
//! same answer every time. Where the original implementation and JavaScript define a meaning, that is the meaning here;
//! the differences are these:
//! - A whole number of 64 bits stays exact, where JavaScript rounds beyond 2^53.
//! - Lists and objects equal each other by content, there being no identity to compare.
//! - A text has no members, and a list or object is no path.
//! - Positions in a text (`substr`, `length`) count characters, so no character is ever cut in half.
//! - A number that is not finite acts as JavaScript's in arithmetic and comparisons, is falsy, and is null wherever it
//!   becomes a value.
//! - In sums and products null, `false` and the empty text are 0 and `true` is 1.
//! - Comparisons chain (`{"<": [1, 2, 3]}`), and an argument that is not written as a list but computes one stands for
//!   all its items (`{"max": {"var": "prices"}}`).
//! - A rule that cannot mean anything (an unknown operator, a comparison of one thing) is refused when compiled.

mod coerce;
mod compile;
mod error;
mod evaluate;
mod frame;
mod fuel;
mod iterate;
#[cfg(test)]
mod limits;
mod node;
mod number;
mod operand;
mod operator;
mod place;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use compile::{ITERATORS_NESTED_MAX, Logic, RULE_DEPTH_MAX};
pub use error::{EvaluateError, LogicError};
pub use fuel::{BYTES_DEFAULT, Fuel, STEPS_DEFAULT, VALUE_DEPTH_MAX};
