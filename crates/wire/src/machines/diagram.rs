//! A machine as a drawing: boxes, lines and labels with their places in pixels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::machine::{
    Area, Drawing, DrawnLabel, DrawnLine, DrawnState, Machine, Note, NoteKind, Point, StateShape, TextSizes,
};

/// The drawing of a machine. All places are in pixels from the upper left corner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagram {
    /// The name of the machine.
    pub machine: String,
    /// The width of the whole drawing.
    pub width: i32,
    /// The height of the whole drawing.
    pub height: i32,
    /// The sizes of texts that the places are computed for.
    pub text: DiagramText,
    /// The states. A state follows the state around it.
    pub states: Vec<DiagramState>,
    /// The lines with arrows.
    pub lines: Vec<DiagramLine>,
    /// The lines between the regions of parallel states.
    pub separators: Vec<DiagramSeparator>,
}

/// The sizes of fonts and the heights of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagramText {
    /// The font size of the names of states, which are semi-bold.
    pub name: i32,
    /// The height of the row with the name.
    pub name_row: i32,
    /// The font size of the notes below a name.
    pub note: i32,
    /// The height of a note's row.
    pub note_row: i32,
    /// The font size of labels.
    pub label: i32,
    /// The height of a label's row.
    pub label_row: i32,
    /// The distance from the left border of a box to its text.
    pub inset: i32,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramArea {
    /// The left border.
    pub x: i32,
    /// The upper border.
    pub y: i32,
    /// The width.
    pub width: i32,
    /// The height.
    pub height: i32,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramPoint {
    /// The distance from the left.
    pub x: i32,
    /// The distance from the top.
    pub y: i32,
}

/// How a state is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DiagramShape {
    /// A rounded box.
    Atomic,
    /// A box with a header and states inside.
    Compound,
    /// A box with a header and regions side by side.
    Parallel,
    /// A compound state directly inside a parallel state. It has no border.
    Region,
    /// A box with a double border.
    Final,
    /// A circle with `H`.
    ShallowHistory,
    /// A circle with `H*`.
    DeepHistory,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramState {
    /// The dotted path of the state. The root has the name of the machine.
    pub id: String,
    /// The position of the state around it in `states`. The root has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// How it is drawn.
    pub shape: DiagramShape,
    /// Its box.
    pub area: DiagramArea,
    /// The name to show, shortened if it is long.
    pub name: String,
    /// The rows below the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<DiagramNote>,
    /// The center of the dot of an initial state. An arrow leads from it to the left border.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dot: Option<DiagramPoint>,
}

/// A row below the name of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramNote {
    /// What it shows.
    pub kind: DiagramNoteKind,
    /// The text.
    pub text: String,
}

/// What a note shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DiagramNoteKind {
    /// An action that entering the state triggers.
    Action,
    /// A transition without a target.
    Internal,
}

/// A line with an arrow: one target of one transition, or the default of a history state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramLine {
    /// The number of the transition. Lines of one transition have the same number. The default of a history state has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<usize>,
    /// The position of the source in `states`.
    pub from: usize,
    /// The position of the target in `states`.
    pub to: usize,
    /// The event of the transition, `always`, `onDone`, `after 3d`, or `default` for a history state.
    pub event: String,
    /// The guard in readable form, shortened if it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The corners from the border of the source to the border of the target. Lines with the same ends have the same points.
    pub points: Vec<DiagramPoint>,
    /// The label. Only the first line of a transition has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<DiagramLabel>,
}

/// The label of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramLabel {
    /// The room that it takes.
    pub area: DiagramArea,
    /// The rows of text.
    pub rows: Vec<String>,
}

/// A line between two regions of a parallel state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagramSeparator {
    /// The upper end.
    pub from: DiagramPoint,
    /// The lower end.
    pub to: DiagramPoint,
}

impl Diagram {
    /// The drawing of a machine, as the API shows it.
    pub fn of(machine: &Machine, drawing: Drawing) -> Self {
        let Drawing {
            width,
            height,
            text,
            states,
            lines,
            separators,
        } = drawing;
        let separator = |(from, to): (Point, Point)| DiagramSeparator {
            from: from.into(),
            to: to.into(),
        };
        Self {
            machine: machine.id.clone(),
            width,
            height,
            text: text.into(),
            states: states.into_iter().map(DiagramState::from).collect(),
            lines: lines.into_iter().map(DiagramLine::from).collect(),
            separators: separators.into_iter().map(separator).collect(),
        }
    }
}

impl From<TextSizes> for DiagramText {
    fn from(sizes: TextSizes) -> Self {
        let TextSizes {
            name,
            name_row,
            note,
            note_row,
            label,
            label_row,
            inset,
        } = sizes;
        Self {
            name,
            name_row,
            note,
            note_row,
            label,
            label_row,
            inset,
        }
    }
}

impl From<Area> for DiagramArea {
    fn from(Area { x, y, width, height }: Area) -> Self {
        Self { x, y, width, height }
    }
}

impl From<Point> for DiagramPoint {
    fn from(Point { x, y }: Point) -> Self {
        Self { x, y }
    }
}

impl From<StateShape> for DiagramShape {
    fn from(shape: StateShape) -> Self {
        match shape {
            StateShape::Atomic => Self::Atomic,
            StateShape::Compound => Self::Compound,
            StateShape::Parallel => Self::Parallel,
            StateShape::Region => Self::Region,
            StateShape::Final => Self::Final,
            StateShape::ShallowHistory => Self::ShallowHistory,
            StateShape::DeepHistory => Self::DeepHistory,
        }
    }
}

impl From<Note> for DiagramNote {
    fn from(Note { kind, text }: Note) -> Self {
        let kind = match kind {
            NoteKind::Action => DiagramNoteKind::Action,
            NoteKind::Internal => DiagramNoteKind::Internal,
        };
        Self { kind, text }
    }
}

impl From<DrawnState> for DiagramState {
    fn from(drawn: DrawnState) -> Self {
        // `states` of a drawing has one entry for each state, in document order, so the position needs no field.
        let DrawnState {
            state: _,
            id,
            parent,
            shape,
            area,
            name,
            notes,
            dot,
        } = drawn;
        Self {
            id,
            parent: parent.map(sprag_core::machine::StateIndex::position),
            shape: shape.into(),
            area: area.into(),
            name,
            notes: notes.into_iter().map(DiagramNote::from).collect(),
            dot: dot.map(DiagramPoint::from),
        }
    }
}

impl From<DrawnLine> for DiagramLine {
    fn from(drawn: DrawnLine) -> Self {
        let DrawnLine {
            transition,
            source,
            target,
            points,
            event,
            guard,
            label,
        } = drawn;
        Self {
            transition: transition.map(sprag_core::machine::TransitionIndex::position),
            from: source.position(),
            to: target.position(),
            event,
            guard,
            points: points.into_iter().map(DiagramPoint::from).collect(),
            label: label.map(|DrawnLabel { area, rows }| DiagramLabel {
                area: area.into(),
                rows,
            }),
        }
    }
}
