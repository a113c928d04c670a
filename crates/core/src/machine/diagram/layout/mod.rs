//! From a machine to a drawing: a layered layout, level by level.
//!
//! Each state with states inside is one level: its children stand in layers, labels in layers of their own between
//! them, and lines turn in the channels between layers. A level is laid out once the levels inside it are, so there
//! they are boxes of known size. A transition over several levels crosses each border at a port, which both levels know.
//!
//! Own code, not the crate `dagre` (0.1, 17,000 lines): that one draws straight polylines, knows neither ports nor lines
//! to a state with states inside, orders by hash, and moves much of a drawing for a small edit. Integers only, nothing
//! is random and ties follow the document, so the same machine has the same drawing on every computer.

mod acyclic;
mod attach;
mod boxes;
mod build;
mod channel;
mod columns;
mod draw;
mod graph;
mod level;
mod order;
mod rank;
mod wiring;

pub(super) use boxes::{NAME_ROW, NOTE_ROW, TEXT_INSET};
pub(super) use draw::draw;
pub(super) use wiring::LABEL_ROW;
