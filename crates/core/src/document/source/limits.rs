//! How much one document may ask of its reader.
//!
//! Both readers spend from one [`Budget`], so a limit means the same in YAML and in JSON, and is checked before the
//! memory it guards is taken.

use super::error::{Cause, ParseError};
use super::node::{Node, Position};

/// The bytes of a definition.
pub const DEFINITION_BYTES_MAX: usize = 1024 * 1024;
/// The values of a definition, those that YAML aliases copy included.
pub const DEFINITION_NODES_MAX: usize = 100_000;
/// The lists and maps that may be nested in each other.
pub const DEPTH_MAX: usize = 32;
/// No caller gets deeper than this, whatever it asks for: the readers, and everything that walks a tree, recurse.
const DEPTH_CEILING: usize = 128;

/// The bounds of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text, and bytes of text that aliases may copy.
    pub bytes: usize,
    /// Lists and maps nested in each other; a document that is one scalar has depth 0.
    pub depth: usize,
    /// Values in the tree, those that aliases copy included.
    pub nodes: usize,
}

impl Limits {
    /// The bounds of a machine file.
    pub const DEFINITION: Self = Self {
        bytes: DEFINITION_BYTES_MAX,
        depth: DEPTH_MAX,
        nodes: DEFINITION_NODES_MAX,
    };

    /// The bounds of a request body of at most `bytes`. A JSON value takes at least one byte, so this bounds the
    /// values as well.
    pub const fn body(bytes: usize) -> Self {
        Self {
            bytes,
            depth: DEPTH_MAX,
            nodes: bytes,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFINITION
    }
}

/// What a document may still spend.
pub(super) struct Budget {
    limits: Limits,
    depth_open: usize,
    nodes_left: usize,
    copied_bytes_left: usize,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        let limits = Limits {
            depth: limits.depth.min(DEPTH_CEILING),
            ..*limits
        };
        Self {
            limits,
            depth_open: 0,
            nodes_left: limits.nodes,
            copied_bytes_left: limits.bytes,
        }
    }

    /// Takes the values that are about to be added at `at`.
    pub(super) fn spend(&mut self, at: Position, nodes: usize) -> Result<(), ParseError> {
        self.nodes_left = self.nodes_left.checked_sub(nodes).ok_or_else(|| {
            let detail = format!("the document has more than `{}` values", self.limits.nodes);
            ParseError::new(at, Cause::TooManyNodes, detail)
        })?;
        Ok(())
    }

    /// Opens a list or map at `at`.
    pub(super) fn enter(&mut self, at: Position) -> Result<(), ParseError> {
        self.fits_below(at, 1)?;
        self.depth_open += 1;
        Ok(())
    }

    /// Closes the innermost list or map.
    pub(super) fn leave(&mut self) {
        self.depth_open = self.depth_open.saturating_sub(1);
    }

    /// Takes what a copy of a value of this weight costs where an alias at `at` asks for it.
    pub(super) fn copy(&mut self, at: Position, weight: Weight) -> Result<(), ParseError> {
        self.fits_below(at, weight.depth)?;
        self.spend(at, weight.nodes)?;
        self.copied_bytes_left = self.copied_bytes_left.checked_sub(weight.bytes).ok_or_else(|| {
            let detail = format!("aliases copy more than `{}` bytes", self.limits.bytes);
            ParseError::new(at, Cause::TooLarge, detail)
        })?;
        Ok(())
    }

    /// The refusal of a list or map at `at` that is nested too deep.
    pub(super) fn too_deep(&self, at: Position) -> ParseError {
        let detail = format!("lists and maps are nested deeper than `{}` levels", self.limits.depth);
        ParseError::new(at, Cause::TooDeep, detail)
    }

    fn fits_below(&self, at: Position, depth: usize) -> Result<(), ParseError> {
        if self.depth_open + depth > self.limits.depth {
            Err(self.too_deep(at))
        } else {
            Ok(())
        }
    }
}

/// What a value costs to copy.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    pub(super) nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Weight {
    pub(super) fn of(node: &Node) -> Self {
        use super::node::Content::{Bool, List, Map, Null, Number, Text};
        let leaf = Self {
            nodes: 1,
            bytes: 0,
            depth: 0,
        };
        match &node.content {
            Null | Bool(_) | Number(_) => leaf,
            Text(text) => Self {
                bytes: text.len(),
                ..leaf
            },
            List(items) => items
                .iter()
                .fold(Self { depth: 1, ..leaf }, |sum, item| sum.holding(Self::of(item))),
            Map(entries) => entries.iter().fold(Self { depth: 1, ..leaf }, |sum, entry| {
                let value = Self::of(&entry.value);
                sum.holding(Self {
                    bytes: value.bytes + entry.key.len(),
                    ..value
                })
            }),
        }
    }

    fn holding(self, inner: Self) -> Self {
        Self {
            nodes: self.nodes + inner.nodes,
            bytes: self.bytes + inner.bytes,
            depth: self.depth.max(inner.depth + 1),
        }
    }
}
