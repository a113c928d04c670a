//! How compiling and evaluating a rule can fail.

use thiserror::Error;

/// A rule that is refused, and where in it the fault lies.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{detail} at `{pointer}`")]
pub struct LogicError {
    /// The JSON pointer of the faulty part within the rule; empty for the rule itself.
    pub pointer: String,
    /// What is wrong, as a lowercase fragment.
    pub detail: String,
}

/// An evaluation that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EvaluateError {
    /// The fuel ran out: too many steps, too much produced, or a value nested too deep.
    #[error("expression takes too many steps or produces too large a value")]
    TooLarge,
}

impl EvaluateError {
    /// The stable public code of this error.
    pub fn code(self) -> &'static str {
        match self {
            Self::TooLarge => "expression-too-large",
        }
    }
}
