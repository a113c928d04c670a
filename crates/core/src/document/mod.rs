//! Documents: reading their text ([`source`]), checking them, and working with JSON values ([`json`], [`patch`]).
//!
//! Reading a document finds everything that is wrong in one run, each finding with its place and its remedy.
//!
//! What may stand in a document is plain data: a [`Shape`] describes one value, a [`Table`] a map with known keys. A
//! [`Reader`] checks a [`Spot`](crate::document::source::Spot) against them and notes [`Findings`]: unknown keys with the nearest
//! known one, missing keys, values of the wrong kind or out of bounds. Files, configurations of actions and bodies of
//! requests are all read this way, whatever they are written in.

mod check;
mod fields;
mod findings;
pub mod json;
mod names;
pub mod patch;
mod reader;
mod schema;
mod shape;
pub mod source;

#[cfg(test)]
mod tests;

pub use fields::{Fields, millis};
pub use findings::{Finding, Findings, Severity};
pub use names::Names;
pub use reader::{Reader, Stage, quoted, scalar};
pub use schema::schema;
pub use shape::{Key, Shape, Table};
