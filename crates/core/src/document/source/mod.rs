//! Files as people write them: YAML, JSON or TOML in, one value with the position of everything in it out.
//!
//! All formats give the same tree, so everything that reads documents is written once and can point at the
//! line and column it speaks of. Parsing is total: any text gives a tree or an error, within the given limits.

mod error;
mod format;
mod json;
mod limits;
mod lines;
mod nearest;
mod node;
mod number;
mod parse;
mod scalar;
mod toml;
mod tree;
mod yaml;

#[cfg(test)]
mod tests;

pub use error::{Cause, ParseError};
pub use format::Format;
pub use limits::{DEFINITION_BYTES_MAX, DEFINITION_NODES_MAX, DEPTH_MAX, Limits};
pub use nearest::nearest;
pub use node::Position;
pub use parse::{parse, parse_all, parse_value};
pub use tree::{Document, Place, Spot, shown};
