//! Drawings of machines: as geometry, as an SVG picture of it, and as text for Mermaid and Graphviz.
//!
//! The same machine always gives the same text, whatever its names hold: every name is escaped for its format.

mod dot;
mod drawing;
mod layout;
mod measure;
mod mermaid;
mod svg;
#[cfg(test)]
mod tests;

pub use drawing::{Area, Drawing, DrawnLabel, DrawnLine, DrawnState, Note, NoteKind, Point, StateShape, TextSizes};

use std::str::FromStr;

use crate::words;

use super::model::Machine;

words! {
    /// The formats of a diagram.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DiagramFormat as word {
        /// A picture that browsers show.
        #[default]
        Svg => "svg",
        /// A Mermaid `stateDiagram-v2`.
        Mermaid => "mermaid",
        /// Graphviz' language.
        Dot => "dot",
    }
}

/// A word that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a format of a diagram; use `svg`, `mermaid` and `dot`")]
pub struct UnknownFormat {
    /// What was given.
    pub given: String,
}

impl FromStr for DiagramFormat {
    type Err = UnknownFormat;

    fn from_str(given: &str) -> Result<Self, UnknownFormat> {
        let named = Self::ALL.into_iter().find(|format| format.word() == given);
        named.ok_or_else(|| UnknownFormat {
            given: given.to_owned(),
        })
    }
}

/// Lays a machine out.
pub fn drawing(machine: &Machine) -> Drawing {
    layout::draw(machine)
}

/// Draws a machine.
pub fn diagram(machine: &Machine, format: DiagramFormat) -> String {
    match format {
        DiagramFormat::Svg => svg::write(&drawing(machine), &machine.id),
        DiagramFormat::Mermaid => mermaid::write(machine),
        DiagramFormat::Dot => dot::write(machine),
    }
}

/// A word for a state that both text formats take as a name: its index keeps it unique, its path makes it readable.
fn node(machine: &Machine, state: super::model::StateIndex) -> String {
    let path = machine.display_path(state);
    let plain: String = path
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("s{}_{plain}", state.position())
}
