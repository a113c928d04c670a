//! What can be wrong with a template, and what can go wrong when it is rendered.
//!
//! Both say where: a JSON pointer into the template's value. Neither ever shows a value of a late-bound root, because
//! errors are stored and shown where secrets must not be.

use std::fmt;

use super::limits::{DEPTH_MAX, Overrun};

/// One problem of a template, found when it is compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}{}", At(pointer))]
pub struct TemplateError {
    /// Where in the template's value, as a JSON pointer; empty for the value itself.
    pub pointer: String,
    /// Where in the string, in bytes, where that is known.
    pub offset: Option<usize>,
    /// What is wrong and what to write instead.
    pub detail: String,
}

/// Why a template could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}{}", At(pointer))]
pub struct RenderError {
    /// Where in the template's value, as a JSON pointer; empty for the value itself.
    pub pointer: String,
    /// What happened there.
    pub kind: RenderErrorKind,
}

/// What happened to a template that could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderErrorKind {
    /// A value that the expression needs does not exist.
    #[error("`{path}` has no value; where it may be missing, write `{path} | default(…)`")]
    Missing {
        /// The path that leads nowhere, or the whole expression where no single path is to blame.
        path: String,
    },
    /// An expression inside a text gave null.
    #[error("`{expression}` is null, which has no text; write `| default(\"…\", true)` to replace it")]
    Null {
        /// The expression as written.
        expression: String,
    },
    /// The expression could not be evaluated with these values.
    #[error("`{expression}` cannot be evaluated: {detail}")]
    Failed {
        /// The expression as written.
        expression: String,
        /// Why.
        detail: String,
    },
    /// The expression does more with a secret than it may.
    #[error("{detail}")]
    SecretMisused {
        /// What is wrong.
        detail: String,
    },
    /// The rendered value is too large.
    #[error("the rendered value is larger than `{limit}` bytes")]
    TooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    /// The rendered value, or one that an expression names, nests too deep.
    #[error("a value nests deeper than `{limit}` levels")]
    TooDeep {
        /// The bound, in levels.
        limit: usize,
    },
    /// The values that the expression names are too large to work on. A bare path has no such bound.
    #[error("the values that `{expression}` names are larger than `{limit}` bytes")]
    InputTooLarge {
        /// The expression as written.
        expression: String,
        /// The bound, in bytes.
        limit: usize,
    },
    /// The expression takes more work than one expression may.
    #[error("`{expression}` takes too much work")]
    OutOfFuel {
        /// The expression as written.
        expression: String,
    },
}

impl From<Overrun> for RenderErrorKind {
    fn from(overrun: Overrun) -> Self {
        match overrun {
            Overrun::Bytes(limit) => Self::TooLarge { limit },
            Overrun::Depth => Self::TooDeep { limit: DEPTH_MAX },
        }
    }
}

/// A problem inside one string, before it is known where in the template that string stands.
#[derive(Debug)]
pub(super) struct StringProblem {
    pub(super) offset: usize,
    pub(super) detail: String,
}

impl StringProblem {
    pub(super) fn new(offset: usize, detail: impl Into<String>) -> Self {
        Self {
            offset,
            detail: detail.into(),
        }
    }
}

/// Says where, unless the value itself is meant.
struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, " (at `{}`)", self.0)
        }
    }
}
