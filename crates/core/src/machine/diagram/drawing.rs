//! A drawing as data: where the states, the lines between them and their labels are, in pixels.
//!
//! Every renderer draws this and computes no place of its own.

use crate::machine::model::{StateIndex, TransitionIndex};

/// A place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// From the left.
    pub x: i32,
    /// From the top.
    pub y: i32,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Its left.
    pub x: i32,
    /// Its top.
    pub y: i32,
    /// From left to right.
    pub width: i32,
    /// From top to bottom.
    pub height: i32,
}

impl Area {
    /// The first column right of it.
    pub fn right(&self) -> i32 {
        self.x + self.width
    }

    /// The first row below it.
    pub fn bottom(&self) -> i32 {
        self.y + self.height
    }

    /// The middle.
    pub fn center(&self) -> Point {
        Point {
            x: self.x + self.width / 2,
            y: self.y + self.height / 2,
        }
    }

    /// The same rectangle elsewhere.
    pub(super) fn moved(self, by: Point) -> Self {
        Self {
            x: self.x + by.x,
            y: self.y + by.y,
            ..self
        }
    }
}

/// How a state is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateShape {
    /// A rounded box.
    Atomic,
    /// A box with a header and states inside.
    Compound,
    /// A box with a header and regions side by side.
    Parallel,
    /// A compound state right inside a parallel one: no border of its own.
    Region,
    /// A box with a double border.
    Final,
    /// A circle with `H`.
    ShallowHistory,
    /// A circle with `H*`.
    DeepHistory,
}

/// What a row below the name of a state shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// An action that entering the state triggers.
    Action,
    /// A transition without a target.
    Internal,
}

/// A row below the name of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it shows.
    pub kind: NoteKind,
    /// Its text.
    pub text: String,
}

/// A state in a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnState {
    /// Which state.
    pub state: StateIndex,
    /// Its dotted path; the machine's id for the root.
    pub id: String,
    /// The state around it.
    pub parent: Option<StateIndex>,
    /// How it is drawn.
    pub shape: StateShape,
    /// Its box.
    pub area: Area,
    /// Its name, cut if it is long.
    pub name: String,
    /// The rows below its name.
    pub notes: Vec<Note>,
    /// The dot of the initial state: an arrow leads from it straight to the box.
    pub dot: Option<Point>,
}

/// The label of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnLabel {
    /// The room it takes.
    pub area: Area,
    /// Its rows of text.
    pub rows: Vec<String>,
}

/// A line with an arrow: one target of one transition, or where a history state leads by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnLine {
    /// The transition; none for the default of a history state.
    pub transition: Option<TransitionIndex>,
    /// The state it leaves from.
    pub source: StateIndex,
    /// The state it leads to.
    pub target: StateIndex,
    /// Its corners from the source's border to the target's. Transitions with the same ends share one line.
    pub points: Vec<Point>,
    /// What sets it off: a descriptor, `always`, `onDone`, `after 3d`, or `default` for a history state.
    pub event: String,
    /// Its guard as people would write it, shortened.
    pub guard: Option<String>,
    /// Its event and guard. A transition with several targets has its label on the first line.
    pub label: Option<DrawnLabel>,
}

/// The sizes of fonts and the heights of rows that a drawing is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSizes {
    /// The font size of names.
    pub name: i32,
    /// The height of the row with the name.
    pub name_row: i32,
    /// The font size of notes.
    pub note: i32,
    /// The height of a note's row.
    pub note_row: i32,
    /// The font size of labels.
    pub label: i32,
    /// The height of a label's row.
    pub label_row: i32,
    /// From the border of a box to its text.
    pub inset: i32,
}

/// A machine as a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The width of everything.
    pub width: i32,
    /// The height of everything.
    pub height: i32,
    /// The sizes of its texts.
    pub text: TextSizes,
    /// The states in document order; the root first.
    pub states: Vec<DrawnState>,
    /// The lines, state by state.
    pub lines: Vec<DrawnLine>,
    /// The lines between the regions of parallel states, from top to bottom.
    pub separators: Vec<(Point, Point)>,
}
