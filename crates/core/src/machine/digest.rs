//! What makes two definitions the same: their content, and the order of their states, which decides what is tried and
//! entered first. The order of all other keys says nothing.

use super::model::Machine;
use crate::document::json;

/// SHA-256 of the canonical definition followed by the paths of its states in document order, each after a NUL.
pub(super) fn digest(machine: &Machine) -> [u8; 32] {
    let mut bytes = json::canonical(&machine.definition);
    for state in machine.states.iter().skip(1) {
        // Neither canonical JSON nor a path holds a NUL, so nothing can be mistaken for something else.
        bytes.push(0);
        bytes.extend_from_slice(state.path.as_bytes());
    }
    json::digest(&bytes)
}
