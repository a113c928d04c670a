//! Machine files as people write them: YAML or JSON in, one tree with the position of every value out.
//!
//! Both formats give the same tree, so everything that reads definitions is written once and can point at the
//! line and column it speaks of. Reading is total: any text gives a tree or an error, within the given limits.

mod document;
mod error;
mod format;
mod json;
mod limits;
mod lines;
mod nearest;
mod node;
mod number;
mod scalar;
mod spot;
mod yaml;

#[cfg(test)]
mod tests;

pub use document::parse;
pub use error::{Cause, ParseError};
pub use format::Format;
pub use limits::{DEFINITION_BYTES_MAX, DEFINITION_NODES_MAX, DEPTH_MAX, Limits};
pub use nearest::nearest;
pub use node::{Content, Entry, Node, Position};
pub use spot::{Place, Spot, shown};
