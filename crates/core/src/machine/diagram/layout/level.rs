//! One state with its children laid out: its size, where its children are, and how its legs run.
//!
//! All places are relative to the upper left corner of the state's box.

use std::collections::BTreeMap;

use super::attach::{DISTANCE, attach};
use super::boxes::{BoxText, LOOP};
use super::build::{Chain, GraphBuilder, RoutedLeg};
use super::channel::{Turn, tracks};
use super::columns;
use super::graph::{Element, ElementKind, Graph, Meets};
use super::order::order;
use super::rank::Ranking;
use super::wiring::{Leg, LegEnd, Wiring};
use crate::machine::diagram::drawing::{Area, Point, StateShape};
use crate::machine::model::{Kind, Machine, StateIndex};

/// From the border of a state to its children.
const PADDING: i32 = 18;
/// The room left of an initial state, for its dot and arrow.
pub(super) const DOT_ROOM: i32 = 30;
/// Between a layer and the first track, and between tracks.
const CLEARANCE: i32 = 14;
/// What a box leaves free below its text.
const UNDER_TEXT: i32 = 4;
const CLEARANCE_LABEL: i32 = 9;
const TRACK: i32 = 10;
/// Between lanes right of everything.
const LANE: i32 = 8;
/// How far from its corners lines may meet a box.
const CORNER: i32 = 12;
/// The width that a drawing should not exceed, and that no level should be narrower than.
const SCREEN: i32 = 1_180;
const LEVEL_MIN: i32 = 420;
/// Boxes grow with the lines that meet them up to so many.
const LINES_MAX: i32 = 40;

/// A state with everything inside.
#[derive(Debug)]
pub(super) struct Laid {
    pub(super) content: BoxText,
    pub(super) width: i32,
    pub(super) height: i32,
    /// The room that its dot takes on its left, and a line back to itself on its right.
    pub(super) left: i32,
    pub(super) right: i32,
    /// How high the label of the line back to itself is.
    loop_height: i32,
    /// The upper left corners of its children's boxes.
    pub(super) children: Vec<(StateIndex, Point)>,
    /// Where bundles cross its border.
    pub(super) ports: BTreeMap<usize, i32>,
    pub(super) legs: Vec<LaidLeg>,
    /// Where lines separate its regions: from top to bottom.
    pub(super) separators: Vec<i32>,
    /// Where its regions begin and end.
    pub(super) regions: (i32, i32),
}

/// A leg, drawn from above to below.
#[derive(Debug, Default)]
pub(super) struct LaidLeg {
    pub(super) points: Vec<Point>,
    pub(super) label: Option<Area>,
}

/// What a level is laid out with.
pub(super) struct Laying<'a> {
    pub(super) machine: &'a Machine,
    pub(super) wiring: &'a Wiring,
    /// The levels inside it are there already.
    pub(super) done: &'a BTreeMap<StateIndex, Laid>,
    /// The width that it should keep to.
    pub(super) width_max: i32,
}

/// The width that each state should keep to.
pub(super) fn widths(machine: &Machine) -> Vec<i32> {
    let mut widths = vec![SCREEN; machine.states.len()];
    for index in machine.indexes().skip(1) {
        let parent = machine.state(index).parent.unwrap_or(StateIndex::ROOT);
        let around = widths[parent.position()] - 2 * PADDING;
        let regions = i32::try_from(machine.state(parent).children.len()).unwrap_or(1).max(1);
        let is_parallel = machine.state(parent).kind == Kind::Parallel;
        let share = if is_parallel { around / regions } else { around };
        widths[index.position()] = share.max(LEVEL_MIN);
    }
    widths
}

impl Laying<'_> {
    /// Lays out a state whose children are done.
    pub(super) fn lay(&self, index: StateIndex, content: BoxText, is_initial: bool) -> Laid {
        let mut laid = Laid {
            width: content.width.max(self.room_for_lines(index)),
            height: content.height,
            content,
            left: if is_initial { DOT_ROOM } else { 0 },
            right: 0,
            loop_height: 0,
            children: Vec::new(),
            ports: BTreeMap::new(),
            legs: Vec::new(),
            separators: Vec::new(),
            regions: (0, 0),
        };
        if let Some(&bundle) = self.wiring.loops.get(&index) {
            let label = self.wiring.bundles[bundle].label_size();
            laid.right = LOOP + label.0;
            laid.loop_height = label.1;
        }
        if !self.machine.state(index).children.is_empty() {
            self.lay_children(index, &mut laid);
        }
        laid
    }

    /// The width at which all lines on one side of a box stand apart. A history state stays a circle.
    fn room_for_lines(&self, index: StateIndex) -> i32 {
        let Some(&(below, above)) = self.wiring.sides.get(&index) else {
            return 0;
        };
        let lines = i32::try_from(below.max(above)).unwrap_or(LINES_MAX).min(LINES_MAX);
        let is_circle = self.machine.is_history(index);
        if is_circle {
            0
        } else {
            2 * CORNER + (lines - 1) * DISTANCE
        }
    }

    fn lay_children(&self, index: StateIndex, laid: &mut Laid) {
        let legs = self.wiring.legs.get(&index).map_or(&[][..], Vec::as_slice);
        let routes: Vec<RoutedLeg> = legs.iter().map(|&leg| self.route(index, leg)).collect();
        let items = self.items(index);
        let rows = self.rows(index, &routes, &items);
        let is_parallel = self.machine.state(index).kind == Kind::Parallel;
        // Regions begin right below the header: they have headers of their own.
        let above = if is_parallel { 2 * CLEARANCE } else { CLEARANCE };
        let header = (laid.content.width - PADDING, laid.content.height - above);
        let (mut graph, chains) = GraphBuilder::new(header, items, &rows, is_parallel).build(&routes);
        order(&mut graph);
        columns::place(&mut graph);
        attach(&mut graph, &|_| 0);
        columns::straighten(&mut graph);
        let edge = graph.right();
        let lane = move |lane: usize| edge + LANE * (i32::try_from(lane).unwrap_or(0) + 2);
        attach(&mut graph, &lane);
        let header = HeaderRow {
            height: header.1,
            text: laid.content.height - UNDER_TEXT,
        };
        let rows = Rows::of(&graph, &lane, header);
        let lanes = graph.links.iter().filter_map(|link| link.lane).max();
        laid.width = laid.width.max(lanes.map_or(edge, lane) + 2 * PADDING);
        laid.height = rows.height + PADDING;
        let mut emit = Emit {
            graph: &graph,
            rows: &rows,
            lane: &lane,
            height: laid.height,
        };
        self.place_children(index, &mut emit, laid);
        for (route, chain) in routes.iter().zip(&chains) {
            emit.ports(route.leg, chain, laid);
            laid.legs.push(emit.leg(route, chain));
        }
    }

    /// The children as items: a box with what is left and right of it.
    fn items(&self, index: StateIndex) -> Vec<Element> {
        let children = self.machine.state(index).children.iter().enumerate();
        let item = |(place, child): (usize, &StateIndex)| {
            let size = self.done.get(child).map_or((0, 0), |laid| {
                (laid.left + laid.width + laid.right, laid.height.max(laid.loop_height))
            });
            let mut item = Element::plain(ElementKind::State(place), 0, size);
            if let Some(laid) = self.done.get(child) {
                let corner = CORNER.min(laid.width / 4);
                item.center = laid.left + laid.width / 2;
                item.body = (laid.left + corner, laid.left + laid.width - corner);
            }
            item
        };
        children.map(item).collect()
    }

    fn route(&self, index: StateIndex, leg: Leg) -> RoutedLeg {
        let siblings = &self.machine.state(index).children;
        let end = |end: LegEnd| match end {
            LegEnd::Child(child) => {
                let laid = self.done.get(&child);
                let port = laid.and_then(|laid| laid.ports.get(&leg.bundle).map(|at| laid.left + at));
                let place = siblings.binary_search(&child).unwrap_or(0);
                Some((place, port.map_or(Meets::Anywhere, Meets::At)))
            }
            LegEnd::Top | LegEnd::Bottom => None,
        };
        let label = self.wiring.bundles[leg.bundle].label_size();
        RoutedLeg {
            leg,
            upper: end(leg.upper),
            lower: end(leg.lower),
            label: if leg.has_label { label } else { (0, 0) },
        }
    }

    fn rows(&self, index: StateIndex, routes: &[RoutedLeg], items: &[Element]) -> Vec<usize> {
        let state = self.machine.state(index);
        if state.kind == Kind::Parallel {
            return vec![0; items.len()];
        }
        let mut labels = vec![0; items.len()];
        let mut links = Vec::new();
        for route in routes {
            if let Some((lower, _)) = route.lower {
                labels[lower] += route.label.0;
                links.extend(route.upper.map(|(upper, _)| (upper, lower)));
            }
        }
        let fits = |(item, labels): (&Element, i32)| item.width.max(labels.min(self.width_max / 2)) + PADDING;
        let widths: Vec<i32> = items.iter().zip(labels).map(fits).collect();
        let finals = state
            .children
            .iter()
            .map(|&child| self.machine.state(child).kind == Kind::Final);
        let ranking = Ranking {
            widths: &widths,
            links: &links,
            initial: super::wiring::initial(self.machine, index),
            is_final: &finals.collect::<Vec<bool>>(),
            width_max: self.width_max,
        };
        ranking.rows()
    }

    /// Where the boxes of the children begin, and what separates regions.
    fn place_children(&self, index: StateIndex, emit: &mut Emit<'_>, laid: &mut Laid) {
        let siblings = &self.machine.state(index).children;
        let mut ends: Vec<(i32, i32)> = Vec::new();
        for item in &emit.graph.items {
            if let ElementKind::State(place) = item.kind
                && let Some((child, inside)) = siblings.get(place).and_then(|child| self.done.get_key_value(child))
            {
                let y = emit.top(item, is_region(inside), inside.height);
                laid.children.push((
                    *child,
                    Point {
                        x: PADDING + item.x + inside.left,
                        y,
                    },
                ));
                ends.push((PADDING + item.x, PADDING + item.x + item.width));
            }
        }
        if self.machine.state(index).kind == Kind::Parallel {
            ends.sort_unstable();
            laid.separators = ends
                .windows(2)
                .map(|pair| i32::midpoint(pair[0].1, pair[1].0))
                .collect();
            let layer = emit
                .graph
                .items
                .iter()
                .find(|item| item.is_state())
                .map(|item| item.layer);
            laid.regions = layer.map_or((0, 0), |layer| emit.rows.layers[layer]);
        }
    }
}

fn is_region(laid: &Laid) -> bool {
    laid.content.shape == StateShape::Region
}

/// Where layers begin and end, and where the tracks between them are.
struct Rows {
    /// The top and the bottom of every layer.
    layers: Vec<(i32, i32)>,
    /// By link: where it turns below its upper end, and above its lower end. The same unless it has a lane.
    turns: Vec<(i32, i32)>,
    height: i32,
}

/// The layer of a box's own text.
#[derive(Clone, Copy)]
struct HeaderRow {
    height: i32,
    /// Where the text ends. It may reach below the layer: lines that turn there turn below it.
    text: i32,
}

impl Rows {
    fn of(graph: &Graph, lane: &dyn Fn(usize) -> i32, header: HeaderRow) -> Self {
        let mut rows = Self {
            layers: Vec::new(),
            turns: vec![(0, 0); graph.links.len()],
            height: 0,
        };
        let mut channels: Vec<Vec<(usize, bool, Turn)>> = vec![Vec::new(); graph.layers.len() + 1];
        for (number, link) in graph.links.iter().enumerate() {
            let (upper, lower) = (graph.items[link.upper].layer, graph.items[link.lower].layer);
            match link.lane.map(lane) {
                None => channels[upper].push((
                    number,
                    true,
                    Turn {
                        from: link.from,
                        to: link.to,
                    },
                )),
                Some(at) => {
                    channels[upper].push((
                        number,
                        true,
                        Turn {
                            from: link.from,
                            to: at,
                        },
                    ));
                    channels[lower - 1].push((number, false, Turn { from: at, to: link.to }));
                }
            }
        }
        let mut y = 0;
        for (layer, channel) in channels.iter().enumerate().take(graph.layers.len()) {
            let tallest = graph.layers[layer]
                .iter()
                .map(|&item| graph.items[item].height)
                .max()
                .unwrap_or(0);
            // The header keeps its height: ports beside it may be taller.
            let height = if layer == 0 { header.height } else { tallest };
            rows.layers.push((y, y + height));
            let below = y + height + Self::clearance(graph, layer);
            let has_turns = channel.iter().any(|(_, _, turn)| turn.from != turn.to);
            let turns = if layer == 0 && has_turns {
                below.max(header.text)
            } else {
                below
            };
            y = rows.turn(channel, turns) + Self::clearance(graph, layer + 1);
        }
        rows.height = rows.layers.last().map_or(0, |layer| layer.1);
        rows
    }

    fn clearance(graph: &Graph, layer: usize) -> i32 {
        let items = graph.layers.get(layer).map_or(&[][..], Vec::as_slice);
        let has_label = items.iter().any(|&item| graph.items[item].kind == ElementKind::Label);
        if has_label { CLEARANCE_LABEL } else { CLEARANCE }
    }

    /// Gives the lines of a channel their tracks from `y` on, and tells where the channel ends.
    fn turn(&mut self, channel: &[(usize, bool, Turn)], y: i32) -> i32 {
        let bent: Vec<&(usize, bool, Turn)> = channel.iter().filter(|(_, _, turn)| turn.from != turn.to).collect();
        let turns: Vec<Turn> = bent.iter().map(|(_, _, turn)| *turn).collect();
        let tracks = tracks(&turns);
        let track = |track: usize| y + TRACK * i32::try_from(track).unwrap_or(0);
        for ((number, is_upper, _), &at) in bent.iter().zip(&tracks) {
            let turn = &mut self.turns[*number];
            if *is_upper {
                turn.0 = track(at);
            }
            turn.1 = track(at);
        }
        tracks.iter().max().map_or(y, |&last| track(last))
    }
}

/// From layers and columns to points.
struct Emit<'a> {
    graph: &'a Graph,
    rows: &'a Rows,
    lane: &'a dyn Fn(usize) -> i32,
    height: i32,
}

impl Emit<'_> {
    /// The top of a box in its layer: in the middle, regions from its beginning.
    fn top(&self, item: &Element, is_region: bool, height: i32) -> i32 {
        let (top, bottom) = self.rows.layers[item.layer];
        if is_region {
            top
        } else {
            top + (bottom - top - height) / 2
        }
    }

    /// Where a bundle crosses the border of this level.
    fn ports(&self, leg: Leg, chain: &Chain, laid: &mut Laid) {
        for (end, item) in [(leg.upper, chain.items.first()), (leg.lower, chain.items.last())] {
            if let (LegEnd::Top | LegEnd::Bottom, Some(&item)) = (end, item) {
                laid.ports.insert(leg.bundle, PADDING + self.graph.items[item].middle());
            }
        }
    }

    fn leg(&self, route: &RoutedLeg, chain: &Chain) -> LaidLeg {
        let points = if route.leg.turns {
            self.turned(chain)
        } else {
            self.straight(route, chain)
        };
        let label = chain.label.map(|label| {
            let item = &self.graph.items[label];
            let (top, bottom) = self.rows.layers[item.layer];
            Area {
                x: PADDING + item.x,
                y: top + (bottom - top - item.height) / 2,
                width: item.width,
                height: item.height,
            }
        });
        LaidLeg { points, label }
    }

    /// From above to below. Where it meets a box its end is only near: the caller knows the boxes.
    fn straight(&self, route: &RoutedLeg, chain: &Chain) -> Vec<Point> {
        let mut points = Vec::new();
        let (Some(&first), Some(&last)) = (chain.links.first(), chain.links.last()) else {
            return points;
        };
        let (upper, lower) = (&self.graph.links[first], &self.graph.links[last]);
        let start = route
            .upper
            .map_or(0, |_| self.rows.layers[self.graph.items[upper.upper].layer].1);
        points.push(point(upper.from, start));
        for &number in &chain.links {
            self.bend(number, &mut points);
        }
        let end = route
            .lower
            .map_or(self.height, |_| self.rows.layers[self.graph.items[lower.lower].layer].0);
        points.push(point(lower.to, end));
        points
    }

    fn bend(&self, number: usize, points: &mut Vec<Point>) {
        let (link, turns) = (&self.graph.links[number], self.rows.turns[number]);
        if let Some(lane) = link.lane {
            let at = (self.lane)(lane);
            points.extend(
                [(link.from, turns.0), (at, turns.0), (at, turns.1), (link.to, turns.1)].map(|(x, y)| point(x, y)),
            );
        } else if link.from != link.to {
            points.extend([point(link.from, turns.0), point(link.to, turns.1)]);
        }
    }

    /// Down, through the label, and up again.
    fn turned(&self, chain: &Chain) -> Vec<Point> {
        let &[down, up] = chain.links.as_slice() else {
            return Vec::new();
        };
        let item = &self.graph.items[self.graph.links[down].lower];
        let (top, bottom) = self.rows.layers[item.layer];
        let y = i32::midpoint(top, bottom);
        let start = |link: usize| self.rows.layers[self.graph.items[self.graph.links[link].upper].layer].1;
        let mut points = vec![point(self.graph.links[down].from, start(down))];
        self.bend(down, &mut points);
        points.push(point(self.graph.links[down].to, y));
        let mut back = vec![point(self.graph.links[up].from, start(up))];
        self.bend(up, &mut back);
        back.push(point(self.graph.links[up].to, y));
        points.extend(back.into_iter().rev());
        points
    }
}

fn point(x: i32, y: i32) -> Point {
    Point { x: PADDING + x, y }
}
