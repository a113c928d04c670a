//! What is written in the box of a state, and how much room that takes.

use std::collections::BTreeMap;

use crate::machine::diagram::drawing::{Note, NoteKind, StateShape};
use crate::machine::diagram::measure::{NAME, NOTE, cut, width};
use crate::machine::model::{Depth, Kind, Machine, StateIndex};
use crate::machine::outline::Edge;

/// From the border of a box to its text.
pub(in crate::machine::diagram) const TEXT_INSET: i32 = 14;
/// The height of the row with the name.
pub(in crate::machine::diagram) const NAME_ROW: i32 = 32;
/// The height of every row below it.
pub(in crate::machine::diagram) const NOTE_ROW: i32 = 17;
const NOTES_INSET: i32 = 7;
const NAME_CHARACTERS_MAX: usize = 40;
const NOTE_CHARACTERS_MAX: usize = 56;
const WIDTH_MIN: i32 = 72;
const HEIGHT_MIN: i32 = 36;
const HISTORY: i32 = 28;
/// The room right of a state for the turn of a line that leads back to it.
pub(super) const LOOP: i32 = 22;

/// The texts of a box, and the least room for them.
#[derive(Debug)]
pub(super) struct BoxText {
    pub(super) shape: StateShape,
    pub(super) name: String,
    pub(super) notes: Vec<Note>,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl BoxText {
    /// The content of a state, with its own transitions.
    pub(super) fn of(machine: &Machine, index: StateIndex, edges: &BTreeMap<StateIndex, Vec<&Edge<'_>>>) -> Self {
        let shape = shape(machine, index);
        let name = match shape {
            StateShape::ShallowHistory => "H".to_owned(),
            StateShape::DeepHistory => "H*".to_owned(),
            _ => cut(&machine.state(index).name, NAME_CHARACTERS_MAX),
        };
        if machine.is_history(index) {
            return Self {
                shape,
                name,
                notes: Vec::new(),
                width: HISTORY,
                height: HISTORY,
            };
        }
        let notes = notes(machine, index, edges);
        let texts = notes.iter().map(|note| width(&note.text, NOTE));
        let widest = texts.max().unwrap_or(0).max(width(&name, NAME));
        Self {
            shape,
            width: WIDTH_MIN.max(widest + 2 * TEXT_INSET),
            height: HEIGHT_MIN.max(height_of(notes.len())),
            name,
            notes,
        }
    }
}

fn height_of(notes: usize) -> i32 {
    let inset = if notes == 0 { 0 } else { NOTES_INSET };
    NAME_ROW + inset + i32::try_from(notes).unwrap_or(i32::MAX / NOTE_ROW - NAME_ROW) * NOTE_ROW
}

fn shape(machine: &Machine, index: StateIndex) -> StateShape {
    let state = machine.state(index);
    let is_region = state
        .parent
        .is_some_and(|parent| machine.state(parent).kind == Kind::Parallel);
    match state.kind {
        Kind::Atomic => StateShape::Atomic,
        Kind::Final => StateShape::Final,
        Kind::Compound if is_region => StateShape::Region,
        Kind::Compound => StateShape::Compound,
        Kind::Parallel => StateShape::Parallel,
        Kind::History(Depth::Shallow) => StateShape::ShallowHistory,
        Kind::History(Depth::Deep) => StateShape::DeepHistory,
    }
}

fn notes(machine: &Machine, index: StateIndex, edges: &BTreeMap<StateIndex, Vec<&Edge<'_>>>) -> Vec<Note> {
    let state = machine.state(index);
    let triggered = state.triggers.iter().filter_map(|&action| machine.actions.get(action));
    let actions = triggered.map(|definition| Note {
        kind: NoteKind::Action,
        text: cut(
            &format!("▸ {} ({})", definition.action_id, definition.kind),
            NOTE_CHARACTERS_MAX,
        ),
    });
    let own = edges.get(&index).into_iter().flatten();
    let internal = own.filter(|edge| edge.transition.targets.is_empty()).map(|edge| Note {
        kind: NoteKind::Internal,
        text: cut(&edge.label(), NOTE_CHARACTERS_MAX),
    });
    actions.chain(internal).collect()
}
