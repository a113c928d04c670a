//! Filters: one grammar for lists, bulk jobs and the command line.
//!
//! ```text
//! status = "running" AND createdAt > "2026-01-01" AND NOT (tag IN ("vip", "test"))
//! ```
//!
//! A text is parsed into a [`Filter`], which knows no field, and checked against a [`Resource`] into a [`Condition`],
//! which knows types and nothing that could be misspelt. A condition is evaluated on a [`Row`] in memory; stores turn
//! the same condition into a query of theirs. Every text gives a filter or an error, within the bounds below.

mod check;
mod condition;
mod field;
mod lexer;
mod parse;
mod print;
mod resource;

#[cfg(test)]
mod tests;

pub use check::CheckError;
pub use condition::{Comparison, Condition, Constant, FieldValue, Relation, Row};
pub use field::Field;
pub use parse::{Filter, FilterError, Literal, Operator, Parsed, Term};
pub use resource::Resource;

/// The longest filter, in bytes.
pub const BYTES_MAX: usize = 4 * 1024;
/// The deepest nesting of parentheses and `NOT`.
pub const DEPTH_MAX: usize = 16;
/// The most comparisons, each value of an `IN` counted as one.
pub const TERMS_MAX: usize = 64;

/// Why a text is no filter of a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not follow the grammar.
    #[error(transparent)]
    Parse(#[from] FilterError),
    /// It asks for something that the resource does not have.
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// The condition that `text` puts on a resource.
pub fn condition(text: &str, resource: Resource) -> Result<Condition, Error> {
    Ok(Parsed::parse(text)?.check(resource)?)
}
