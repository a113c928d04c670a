//! Where everything stands.
//!
//! States stand below each other in document order, states inside a state within its box. Every transition leaves from
//! a row of its own in its source's box, so no two labels ever share a place; it runs along a lane in the gutter of the
//! innermost state around both its ends and comes back to the row of its target's name. Heights do not depend on
//! widths, so rows are placed first, then lanes, then columns.

use std::collections::BTreeMap;

use crate::machine::model::{Depth, Kind, Machine, StateIndex};
use crate::machine::outline::{Edge, edges};

/// The height of a row of text.
pub(super) const ROW: u32 = 20;
/// From a box's border to its text.
pub(super) const TEXT_INSET: u32 = 10;
/// From a box's border to the boxes inside; the dot of the beginning stands there.
const INSET: u32 = 26;
const GAP: u32 = 14;
const LANE: u32 = 12;
const MARGIN: u32 = 12;
/// The width of a character that every font has, and of all others, which may be wide.
const CHARACTER: u32 = 8;
const CHARACTER_WIDE: u32 = 14;
const LABEL_CHARACTERS_MAX: usize = 80;
/// Where more transitions run side by side than this, they share the last lane.
const LANES_MAX: usize = 200;

/// A state's box.
#[derive(Debug, Default)]
pub(super) struct Box {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Class, text and middle of every row.
    pub(super) rows: Vec<(&'static str, String, u32)>,
}

impl Box {
    fn right(&self) -> u32 {
        self.x + self.width
    }

    /// The middle of the row with its name, where arrows arrive.
    fn name_row(&self) -> u32 {
        self.y + ROW / 2
    }
}

/// An arrow.
#[derive(Debug)]
pub(super) struct Arrow {
    source: StateIndex,
    target: StateIndex,
    /// The state whose gutter it runs in; none for the space around the root.
    gutter: Option<StateIndex>,
    lane_number: usize,
    /// Where its label begins, and the label. Of several arrows of one transition only the first has it.
    pub(super) label: Option<(u32, String)>,
    pub(super) from: (u32, u32),
    pub(super) to: (u32, u32),
    /// Where its lane is.
    pub(super) lane: u32,
}

/// A machine's picture.
#[derive(Debug)]
pub(super) struct Layout {
    /// By state.
    pub(super) boxes: Vec<Box>,
    pub(super) lines: Vec<Arrow>,
    pub(super) size: (u32, u32),
}

impl Layout {
    pub(super) fn of(machine: &Machine) -> Self {
        let mut layout = Self {
            boxes: machine.states.iter().map(|_| Box::default()).collect(),
            lines: Vec::new(),
            size: (0, 0),
        };
        let mut by_source: BTreeMap<StateIndex, Vec<Edge<'_>>> = BTreeMap::new();
        for edge in edges(machine) {
            by_source.entry(edge.source()).or_default().push(edge);
        }
        let bottom = layout.place_rows(machine, StateIndex::ROOT, MARGIN, &by_source);
        for line in &mut layout.lines {
            line.to.1 = layout.boxes.get(line.target.position()).map_or(0, Box::name_row);
        }
        let gutters = layout.place_lanes();
        layout.measure(machine, &gutters);
        layout.place_columns(machine, StateIndex::ROOT, MARGIN);
        let right = layout.finish_lines(machine, &gutters);
        layout.size = (right + MARGIN, bottom + MARGIN);
        layout
    }

    /// Places the rows of a state and of those inside, from `top` on; gives where its box ends.
    fn place_rows(
        &mut self,
        machine: &Machine,
        index: StateIndex,
        top: u32,
        edges: &BTreeMap<StateIndex, Vec<Edge<'_>>>,
    ) -> u32 {
        let state = machine.state(index);
        let mut rows = vec![("t", title(machine, index), top + ROW / 2)];
        let mut y = top + ROW;
        let row = |y: &mut u32| {
            *y += ROW;
            *y - ROW / 2
        };
        for definition in state.triggers.iter().filter_map(|&action| machine.actions.get(action)) {
            let text = format!("▸ {} ({})", definition.action_id, definition.kind);
            rows.push(("n", cut(&text), row(&mut y)));
        }
        for edge in edges.get(&index).into_iter().flatten() {
            if edge.transition.targets.is_empty() {
                rows.push(("l", cut(&edge.label()), row(&mut y)));
            } else {
                let at = row(&mut y);
                self.start_lines(machine, index, &edge.transition.targets, &cut(&edge.label()), at);
            }
        }
        if !state.history_default.is_empty() {
            let at = row(&mut y);
            self.start_lines(machine, index, &state.history_default, "default", at);
        }
        for &child in &state.children {
            y = self.place_rows(machine, child, y + GAP, edges);
        }
        let bottom = y + if state.children.is_empty() { ROW / 4 } else { GAP };
        if let Some(placed) = self.boxes.get_mut(index.position()) {
            (placed.y, placed.height, placed.rows) = (top, bottom - top, rows);
        }
        bottom
    }

    fn start_lines(&mut self, machine: &Machine, source: StateIndex, targets: &[StateIndex], label: &str, y: u32) {
        for (position, &target) in targets.iter().enumerate() {
            let holds = |around: &StateIndex| *around != target && machine.is_descendant(target, *around);
            self.lines.push(Arrow {
                source,
                target,
                gutter: machine.ancestors(source).find(holds),
                lane_number: 0,
                label: (position == 0).then(|| (0, label.to_owned())),
                from: (0, y),
                to: (0, 0),
                lane: 0,
            });
        }
    }

    /// Gives every line the first lane of its gutter that is free where it runs, short lines first.
    fn place_lanes(&mut self) -> BTreeMap<Option<StateIndex>, Gutter> {
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        order.sort_by_key(|&line| self.lines.get(line).map(|line| line.from.1.abs_diff(line.to.1)));
        let mut gutters: BTreeMap<Option<StateIndex>, Gutter> = BTreeMap::new();
        for position in order {
            let Some(line) = self.lines.get_mut(position) else {
                continue;
            };
            let gutter = gutters.entry(line.gutter).or_default();
            let span = (line.from.1.min(line.to.1), line.from.1.max(line.to.1));
            line.lane_number = gutter.take(span);
            let label = line.label.as_ref().map_or(0, |(_, label)| width_of(label));
            gutter.labels = gutter.labels.max(label);
        }
        gutters
    }

    /// How wide every box must be, from the innermost out.
    fn measure(&mut self, machine: &Machine, gutters: &BTreeMap<Option<StateIndex>, Gutter>) {
        for index in machine.indexes().rev() {
            let column = self.column(machine, index);
            let gutter = gutters.get(&Some(index)).map_or(0, Gutter::width);
            let inside = if column == 0 { 0 } else { 2 * INSET + column + gutter };
            if let Some(placed) = self.boxes.get_mut(index.position()) {
                let texts = placed.rows.iter().map(|(_, text, _)| width_of(text) + 2 * TEXT_INSET);
                placed.width = texts.max().unwrap_or(0).max(inside);
            }
        }
    }

    /// The width of the widest box inside.
    fn column(&self, machine: &Machine, index: StateIndex) -> u32 {
        let children = machine.state(index).children.iter();
        let widths = children.filter_map(|child| self.boxes.get(child.position()));
        widths.map(|placed| placed.width).max().unwrap_or(0)
    }

    /// Places a state and those inside; all states of a column are equally wide, so that labels line up.
    fn place_columns(&mut self, machine: &Machine, index: StateIndex, x: u32) {
        if let Some(placed) = self.boxes.get_mut(index.position()) {
            placed.x = x;
        }
        let column = self.column(machine, index);
        for &child in &machine.state(index).children {
            self.place_columns(machine, child, x + INSET);
        }
        for &child in &machine.state(index).children {
            if let Some(placed) = self.boxes.get_mut(child.position()) {
                placed.width = column;
            }
        }
    }

    /// Where lines begin, turn and end; gives the right end of everything.
    fn finish_lines(&mut self, machine: &Machine, gutters: &BTreeMap<Option<StateIndex>, Gutter>) -> u32 {
        let edge = |boxes: &[Box], state: StateIndex| boxes.get(state.position()).map_or(0, Box::right);
        let mut end = edge(&self.boxes, StateIndex::ROOT);
        for line in &mut self.lines {
            let gutter = gutters.get(&line.gutter);
            // The gutter begins where the column of the state around ends; the root's own is right of the root.
            let begin = match line.gutter.and_then(|around| machine.state(around).children.first()) {
                Some(&first) => edge(&self.boxes, first),
                None => edge(&self.boxes, StateIndex::ROOT),
            };
            let lane = u32::try_from(line.lane_number).unwrap_or(u32::MAX);
            line.lane = begin + gutter.map_or(0, |gutter| gutter.labels) + 2 * LANE + lane * LANE;
            line.from.0 = edge(&self.boxes, line.source);
            line.to.0 = edge(&self.boxes, line.target);
            if let Some((x, _)) = &mut line.label {
                *x = begin + LANE;
            }
            end = end.max(line.lane);
        }
        end
    }
}

/// The space right of a column, where lines turn.
#[derive(Debug, Default)]
struct Gutter {
    /// The rows taken in every lane.
    lanes: Vec<Vec<(u32, u32)>>,
    /// The width of the longest label.
    labels: u32,
}

impl Gutter {
    fn take(&mut self, span: (u32, u32)) -> usize {
        let is_free = |taken: &Vec<(u32, u32)>| taken.iter().all(|other| other.1 < span.0 || span.1 < other.0);
        let free = self.lanes.iter().position(is_free);
        let lane = free.unwrap_or(self.lanes.len().min(LANES_MAX - 1));
        match self.lanes.get_mut(lane) {
            Some(taken) => taken.push(span),
            None => self.lanes.push(vec![span]),
        }
        lane
    }

    fn width(&self) -> u32 {
        let lanes = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
        self.labels + 2 * LANE + lanes * LANE
    }
}

fn title(machine: &Machine, index: StateIndex) -> String {
    let state = machine.state(index);
    match state.kind {
        Kind::History(Depth::Shallow) => cut(&format!("H {}", state.name)),
        Kind::History(Depth::Deep) => cut(&format!("H* {}", state.name)),
        _ => cut(&state.name),
    }
}

fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let mut cut: String = characters.by_ref().take(LABEL_CHARACTERS_MAX).collect();
    if characters.next().is_some() {
        cut.push('…');
    }
    cut
}

fn width_of(text: &str) -> u32 {
    let width = |character: char| {
        if character.is_ascii() {
            CHARACTER
        } else {
            CHARACTER_WIDE
        }
    };
    text.chars().map(width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::source::Format;
    use crate::machine::{LoadOptions, load_text};

    const MACHINE: &str = "
id: m
initial: a
on: { RESET: .a }
states:
  a: { on: { GO: p, STAY: { target: a, reenter: true }, LOOK: { actions: [{ log: hm }] } } }
  p:
    type: parallel
    onDone: z
    states:
      l: { initial: one, states: { one: { on: { N: two } }, two: { type: final } } }
      r: { initial: one, states: { one: { on: { N: two, OUT: z } }, two: { type: final } } }
  z: { type: final }
";

    fn layout() -> (Machine, Layout) {
        let machine = load_text(MACHINE, Format::Yaml, &LoadOptions::default())
            .machine
            .unwrap();
        let layout = Layout::of(&machine);
        (machine, layout)
    }

    #[test]
    fn a_state_lies_within_the_state_around_it_and_beside_its_siblings() {
        let (machine, layout) = layout();
        for index in machine.indexes().skip(1) {
            let placed = &layout.boxes[index.position()];
            let around = &layout.boxes[machine.state(index).parent.unwrap().position()];
            assert!(around.x < placed.x && placed.right() < around.right());
            assert!(around.y < placed.y && placed.y + placed.height < around.y + around.height);
            for other in machine
                .indexes()
                .filter(|&other| machine.state(other).parent == machine.state(index).parent)
            {
                let other_box = &layout.boxes[other.position()];
                let apart = placed.y + placed.height < other_box.y || other_box.y + other_box.height < placed.y;
                assert!(other == index || apart);
            }
        }
    }

    #[test]
    fn no_two_transitions_share_a_row_or_a_piece_of_a_lane() {
        let (_, layout) = layout();
        assert_eq!(layout.lines.len(), 7);
        for (position, line) in layout.lines.iter().enumerate() {
            assert!(line.from.0 < line.lane && line.to.0 < line.lane && line.lane < layout.size.0);
            for other in &layout.lines[position + 1..] {
                assert_ne!(line.from.1, other.from.1, "labels have rows of their own");
                let span = |line: &Arrow| (line.from.1.min(line.to.1), line.from.1.max(line.to.1));
                let apart = span(line).1 < span(other).0 || span(other).1 < span(line).0;
                assert!(line.lane != other.lane || apart);
            }
        }
    }

    #[test]
    fn a_line_runs_in_the_gutter_of_the_innermost_state_around_both_ends() {
        let (machine, layout) = layout();
        let gutter = |label: &str| {
            let line = layout
                .lines
                .iter()
                .find(|line| line.label.as_ref().is_some_and(|found| found.1 == label));
            line.unwrap()
                .gutter
                .map(|around| machine.display_path(around).to_owned())
        };
        assert_eq!(gutter("N").as_deref(), Some("p.l"));
        assert_eq!(gutter("OUT").as_deref(), Some("m"));
        assert_eq!(gutter("RESET"), None);
    }
}
