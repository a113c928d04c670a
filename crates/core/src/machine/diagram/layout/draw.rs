//! From laid out levels to one drawing: every place relative to the whole, and the legs of every line put together.

use std::collections::{BTreeMap, BTreeSet};

use super::boxes::{BoxText, LOOP, NAME_ROW, NOTE_ROW, TEXT_INSET};
use super::level::{DOT_ROOM, Laid, LaidLeg, Laying, widths};
use super::wiring::{Bundle, LABEL_ROW, Leg, LegEnd, Member, Wiring};
use crate::machine::diagram::drawing::{
    Area, Drawing, DrawnLabel, DrawnLine, DrawnState, Point, StateShape, TextSizes,
};
use crate::machine::diagram::measure::{LABEL, NAME, NOTE};
use crate::machine::model::{Kind, Machine, StateIndex};
use crate::machine::outline::{Edge, edges};

/// Around everything.
const MARGIN: i32 = 16;
/// How far a line that leads back to its own state goes aside, and how high it is.
const LOOP_WIDTH: i32 = LOOP - 4;
const LOOP_HEIGHT: i32 = 16;
/// From the dot of an initial state to its box.
const DOT: i32 = DOT_ROOM - 8;

const TEXT: TextSizes = TextSizes {
    name: NAME.size,
    name_row: NAME_ROW,
    note: NOTE.size,
    note_row: NOTE_ROW,
    label: LABEL.size,
    label_row: LABEL_ROW,
    inset: TEXT_INSET,
};

/// Draws a machine.
pub(in crate::machine::diagram) fn draw(machine: &Machine) -> Drawing {
    let edges = edges(machine);
    let wiring = Wiring::of(machine, &edges);
    let laid = lay_all(machine, &wiring, &edges);
    let mut sheet = Sheet {
        machine,
        wiring: &wiring,
        areas: vec![Area::default(); machine.states.len()],
        laid,
    };
    sheet.place_boxes();
    sheet.drawing()
}

/// Lays out every level, those inside first.
fn lay_all(machine: &Machine, wiring: &Wiring, edges: &[Edge<'_>]) -> BTreeMap<StateIndex, Laid> {
    let mut by_source: BTreeMap<StateIndex, Vec<&Edge<'_>>> = BTreeMap::new();
    for edge in edges {
        by_source.entry(edge.source()).or_default().push(edge);
    }
    let entered = machine.states.iter().filter(|state| state.kind != Kind::Parallel);
    let initial: BTreeSet<StateIndex> = entered.flat_map(|state| state.initial.iter().copied()).collect();
    let widths = widths(machine);
    let mut done = BTreeMap::new();
    for index in machine.indexes().rev() {
        let laying = Laying {
            machine,
            wiring,
            done: &done,
            width_max: widths[index.position()],
        };
        let content = BoxText::of(machine, index, &by_source);
        let laid = laying.lay(index, content, initial.contains(&index));
        let (top, bottom) = laid.regions;
        for (child, _) in &laid.children {
            // Regions are equally high: what leads to their lower border is drawn to where it is then.
            if let Some(region) = done
                .get_mut(child)
                .filter(|region| region.content.shape == StateShape::Region)
            {
                region.height = region.height.max(bottom - top);
            }
        }
        done.insert(index, laid);
    }
    done
}

struct Sheet<'a> {
    machine: &'a Machine,
    wiring: &'a Wiring,
    laid: BTreeMap<StateIndex, Laid>,
    areas: Vec<Area>,
}

impl Sheet<'_> {
    fn place_boxes(&mut self) {
        for (&index, laid) in &self.laid {
            let area = &mut self.areas[index.position()];
            (area.width, area.height) = (laid.width, laid.height);
            if index == StateIndex::ROOT {
                (area.x, area.y) = (MARGIN, MARGIN);
            }
            // States are in document order, so a state has its place before those inside.
            let corner = corner(*area);
            for (child, at) in &laid.children {
                let inside = &mut self.areas[child.position()];
                (inside.x, inside.y) = (corner.x + at.x, corner.y + at.y);
            }
        }
    }

    fn drawing(&self) -> Drawing {
        let root = self.areas[StateIndex::ROOT.position()];
        let right = self.laid.get(&StateIndex::ROOT).map_or(0, |laid| laid.right);
        let mut drawing = Drawing {
            width: root.right() + right + MARGIN,
            height: root.bottom() + MARGIN,
            text: TEXT,
            states: Vec::new(),
            lines: Vec::new(),
            separators: Vec::new(),
        };
        for (&index, laid) in &self.laid {
            drawing.states.push(self.state(index, laid));
            let area = self.areas[index.position()];
            drawing.separators.extend(laid.separators.iter().map(|x| {
                let at = |y: i32| Point {
                    x: area.x + x,
                    y: area.y + y,
                };
                (at(laid.regions.0), at(laid.regions.1))
            }));
        }
        for bundle in &self.wiring.bundles {
            drawing.lines.extend(self.lines(bundle));
        }
        drawing
    }

    fn state(&self, index: StateIndex, laid: &Laid) -> DrawnState {
        let area = self.areas[index.position()];
        let is_leaf = self.machine.state(index).children.is_empty();
        let middle = if is_leaf { area.height / 2 } else { NAME_ROW / 2 };
        DrawnState {
            state: index,
            id: self.machine.display_path(index).to_owned(),
            parent: self.machine.state(index).parent,
            shape: laid.content.shape,
            area,
            name: laid.content.name.clone(),
            notes: laid.content.notes.clone(),
            dot: (laid.left > 0).then_some(Point {
                x: area.x - DOT,
                y: area.y + middle,
            }),
        }
    }

    /// The lines of a bundle: one for each member, all along the same way.
    fn lines(&self, bundle: &Bundle) -> Vec<DrawnLine> {
        let (points, room) = if bundle.source == bundle.target {
            self.back(bundle)
        } else {
            self.way(bundle)
        };
        let mut top = room.y;
        let line = |member: &Member| {
            let (width, height) = member.size();
            let aside = if bundle.source == bundle.target {
                0
            } else {
                (room.width - width) / 2
            };
            let area = Area {
                x: room.x + aside,
                y: top,
                width,
                height,
            };
            top += height;
            DrawnLine {
                transition: member.transition,
                source: bundle.source,
                target: bundle.target,
                points: points.clone(),
                event: member.event.clone(),
                guard: member.guard.clone(),
                label: (!member.rows.is_empty()).then(|| DrawnLabel {
                    area,
                    rows: member.rows.clone(),
                }),
            }
        };
        bundle.members.iter().map(line).collect()
    }

    /// From a state back to itself, on its right.
    fn back(&self, bundle: &Bundle) -> (Vec<Point>, Area) {
        let area = self.areas[bundle.source.position()];
        let (width, height) = bundle.label_size();
        let middle = area.center().y;
        let (top, bottom) = (middle - LOOP_HEIGHT / 2, middle + LOOP_HEIGHT / 2);
        let corner = |x: i32, y: i32| Point { x, y };
        let (near, far) = (area.right(), area.right() + LOOP_WIDTH);
        let points = vec![
            corner(near, top),
            corner(far, top),
            corner(far, bottom),
            corner(near, bottom),
        ];
        let label = Area {
            x: area.right() + LOOP,
            y: middle - height / 2,
            width,
            height,
        };
        (points, label)
    }

    /// From its source to its target through all levels between, and the room for its labels.
    fn way(&self, bundle: &Bundle) -> (Vec<Point>, Area) {
        let (mut points, mut label) = (Vec::new(), Area::default());
        for &(level, number) in &bundle.way {
            let leg = self.wiring.legs.get(&level).and_then(|legs| legs.get(number));
            let laid = self.laid.get(&level).and_then(|laid| laid.legs.get(number));
            let (Some(leg), Some(laid)) = (leg, laid) else { continue };
            let area = self.areas[level.position()];
            let mut piece = self.piece(leg, laid, area);
            if leg.upward {
                piece.reverse();
            }
            points.extend(piece);
            if leg.has_label {
                label = laid.label.map_or(label, |room| room.moved(corner(area)));
            }
        }
        (without_detours(&points), label)
    }

    /// The points of a leg from above to below, with its ends on the borders that they meet.
    fn piece(&self, leg: &Leg, laid: &LaidLeg, area: Area) -> Vec<Point> {
        let by = corner(area);
        let mut points: Vec<Point> = laid
            .points
            .iter()
            .map(|point| Point {
                x: point.x + by.x,
                y: point.y + by.y,
            })
            .collect();
        let border = |end: LegEnd, is_upper: bool| match end {
            LegEnd::Top => area.y,
            LegEnd::Bottom => area.bottom(),
            LegEnd::Child(child) if is_upper => self.areas[child.position()].bottom(),
            LegEnd::Child(child) => self.areas[child.position()].y,
        };
        if let Some(first) = points.first_mut() {
            first.y = border(leg.upper, true);
        }
        if let Some(last) = points.last_mut() {
            last.y = border(leg.lower, leg.turns);
        }
        points
    }
}

fn corner(area: Area) -> Point {
    Point { x: area.x, y: area.y }
}

/// The points without those that lie between their neighbours.
fn without_detours(points: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(points.len());
    for &point in points {
        if kept.last() == Some(&point) {
            continue;
        }
        if let [.., before, last] = kept.as_slice() {
            let straight = (before.x == last.x && last.x == point.x) || (before.y == last.y && last.y == point.y);
            if straight {
                kept.pop();
            }
        }
        kept.push(point);
    }
    kept
}
