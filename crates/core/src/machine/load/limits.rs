//! How large a definition may be.

use crate::document::source::{DEFINITION_BYTES_MAX, DEFINITION_NODES_MAX, DEPTH_MAX, Limits};
use crate::machine::state_set::STATES_CEILING;

/// The bounds of a definition. Going over one is a finding of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionLimits {
    /// Bytes of the file, and of the definition as JSON.
    pub bytes: usize,
    /// Lists and maps nested in each other.
    pub depth: usize,
    /// States, the root not counted.
    pub states: usize,
    /// Transitions.
    pub transitions: usize,
    /// Actions that one state triggers.
    pub actions_per_state: usize,
    /// States nested in each other, the root not counted.
    pub nesting: usize,
}

impl Default for DefinitionLimits {
    fn default() -> Self {
        Self {
            bytes: DEFINITION_BYTES_MAX,
            depth: DEPTH_MAX,
            states: 500,
            transitions: 2_000,
            actions_per_state: 64,
            nesting: 8,
        }
    }
}

impl DefinitionLimits {
    /// The bounds of the text.
    pub(super) fn of_text(&self) -> Limits {
        Limits {
            bytes: self.bytes,
            depth: self.depth,
            nodes: DEFINITION_NODES_MAX,
        }
    }

    /// How many states below the root there may be.
    pub(super) fn states_max(&self) -> usize {
        self.states.min(STATES_CEILING - 1)
    }
}
