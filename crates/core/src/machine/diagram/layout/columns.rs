//! Where everything stands from left to right, once its order in its layer is known.
//!
//! Each layer in turn is placed exactly: as near to its neighbours above and below as gaps allow, by the sum of
//! distances, long lines weighing most. The sum of distances, unlike their squares, makes most lines straight.

use super::graph::{Element, ElementKind, Graph, Meets, Neighbours};

const STATES: i32 = 30;
const LINES: i32 = 14;
const OTHERS: i32 = 16;
/// From the header to the first line through the border.
const HEADER: i32 = 10;
/// How often layers are placed by one side, and by both.
const SWEEPS: usize = 6;
const STRAIGHTENED: usize = 4;
/// Further than any place.
const FAR: i32 = 1_000_000_000;
/// How many links may be looked at in all.
const WORK_MAX: usize = 600_000;

/// Gives every item a column; the leftmost begins at 0.
pub(super) fn place(graph: &mut Graph) {
    let neighbours = graph.neighbours();
    pack(graph);
    let sweeps = sweeps(graph);
    let layers = graph.layers.len();
    for _ in 0..sweeps {
        for layer in 0..layers {
            settle(graph, &neighbours, layer, (true, false));
        }
        for layer in (0..layers).rev() {
            settle(graph, &neighbours, layer, (false, true));
        }
    }
    settle_all(graph, &neighbours, 2 * sweeps);
    start_at_zero(graph);
}

/// Moves everything once more, now that lines have their places at the borders of boxes: most become straight.
pub(super) fn straighten(graph: &mut Graph) {
    let free: Vec<(Meets, Meets)> = graph.links.iter().map(|link| (link.leaves, link.arrives)).collect();
    for link in &mut graph.links {
        link.leaves = Meets::At(link.from - graph.items[link.upper].x);
        link.arrives = Meets::At(link.to - graph.items[link.lower].x);
    }
    let neighbours = graph.neighbours();
    settle_all(graph, &neighbours, STRAIGHTENED.min(sweeps(graph)));
    for (link, (leaves, arrives)) in graph.links.iter_mut().zip(free) {
        (link.leaves, link.arrives) = (leaves, arrives);
    }
    start_at_zero(graph);
}

fn sweeps(graph: &Graph) -> usize {
    (WORK_MAX / graph.links.len().max(1) / 4).clamp(1, SWEEPS)
}

fn settle_all(graph: &mut Graph, neighbours: &Neighbours, sweeps: usize) {
    let layers = graph.layers.len();
    for sweep in 0..sweeps {
        for step in 0..layers {
            let layer = if sweep % 2 == 0 { step } else { layers - 1 - step };
            settle(graph, neighbours, layer, (true, true));
        }
    }
}

/// The gap between two items that stand side by side.
pub(super) fn gap(left: &Element, right: &Element) -> i32 {
    match (left.kind, right.kind) {
        (ElementKind::Header, _) => HEADER,
        (ElementKind::State(_), ElementKind::State(_)) => STATES,
        (ElementKind::Pass | ElementKind::Port, ElementKind::Pass | ElementKind::Port) => LINES,
        _ => OTHERS,
    }
}

/// Everything as far left as it goes, each layer in the middle of the widest.
fn pack(graph: &mut Graph) {
    let mut widths = Vec::with_capacity(graph.layers.len());
    for layer in &graph.layers {
        let offsets = offsets(&graph.items, layer);
        for (&item, &offset) in layer.iter().zip(&offsets) {
            graph.items[item].x = offset;
        }
        widths.push(
            layer
                .last()
                .map_or(0, |&last| graph.items[last].x + graph.items[last].width),
        );
    }
    let widest = widths.iter().max().copied().unwrap_or(0);
    for (layer, width) in graph.layers.iter().zip(widths) {
        for &item in layer {
            graph.items[item].x += (widest - width) / 2;
        }
    }
}

/// The least distances from the first item of a layer.
fn offsets(items: &[Element], layer: &[usize]) -> Vec<i32> {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut x = 0;
    for (position, &item) in layer.iter().enumerate() {
        if let Some(&left) = position.checked_sub(1).and_then(|left| layer.get(left)) {
            x += items[left].width + gap(&items[left], &items[item]);
        }
        offsets.push(x);
    }
    offsets
}

/// Places one layer, by its neighbours above, below, or both.
fn settle(graph: &mut Graph, neighbours: &Neighbours, layer: usize, (above, below): (bool, bool)) {
    let members = std::mem::take(&mut graph.layers[layer]);
    let offsets = offsets(&graph.items, &members);
    let mut wishes: Vec<Wishes> = Vec::with_capacity(members.len());
    let mut has_wish = false;
    for (&item, &offset) in members.iter().zip(&offsets) {
        let mut wanted = Vec::new();
        if above {
            wanted.extend(
                neighbours.above[item]
                    .iter()
                    .map(|&link| wish(graph, link, Side::Above)),
            );
        }
        if below {
            wanted.extend(
                neighbours.below[item]
                    .iter()
                    .map(|&link| wish(graph, link, Side::Below)),
            );
        }
        match (wanted.is_empty(), above && below) {
            // Without a line it stands next to the others: it wants nothing but to be on their side.
            (true, true) => wanted.push((if has_wish { -FAR } else { FAR }, 0)),
            (true, false) => wanted.push((graph.items[item].x, 1)),
            (false, _) => has_wish = true,
        }
        for one in &mut wanted {
            one.0 -= offset;
        }
        wanted.sort_unstable();
        let is_centered = graph.items[item].is_state();
        wishes.push(Wishes::new(wanted, graph.items[item].x - offset, is_centered));
    }
    if above && below && !has_wish {
        graph.layers[layer] = members;
        return;
    }
    for ((&item, offset), shift) in members.iter().zip(&offsets).zip(in_order(wishes)) {
        graph.items[item].x = shift + offset;
    }
    graph.layers[layer] = members;
}

/// A side of a layer or a box.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
}

/// Where a link wants the item at one end to begin, and how much.
fn wish(graph: &Graph, link: usize, side: Side) -> (i32, i64) {
    let link = &graph.links[link];
    let ((own, meets), (other, other_meets)) = match side {
        Side::Above => ((link.lower, link.arrives), (link.upper, link.leaves)),
        Side::Below => ((link.upper, link.leaves), (link.lower, link.arrives)),
    };
    let (own, other) = (&graph.items[own], &graph.items[other]);
    let inside = match meets {
        Meets::At(offset) => offset,
        Meets::Anywhere => own.center,
    };
    let wanted = match other_meets {
        Meets::At(offset) => other.x + offset,
        // A line that is already below its box stays there: it can leave the box where it is.
        Meets::Anywhere => (own.x + inside).clamp(other.x + other.body.0, other.x + other.body.1),
    };
    let wanted = if other_meets == Meets::Anywhere && own.kind == ElementKind::Label {
        i32::midpoint(wanted, other.middle())
    } else {
        wanted
    };
    let weight = match (own.kind, other.kind) {
        (ElementKind::Pass, ElementKind::Pass) => 8,
        (ElementKind::Pass, ElementKind::Label | ElementKind::Port)
        | (ElementKind::Label | ElementKind::Port, ElementKind::Pass) => 5,
        _ => 2,
    };
    (wanted - inside, weight)
}

/// Items that touch, and where they want to be together.
struct Wishes {
    /// Places with their weights, sorted.
    wanted: Vec<(i32, i64)>,
    current: i32,
    is_centered: bool,
    count: usize,
    place: i32,
}

impl Wishes {
    fn new(wanted: Vec<(i32, i64)>, current: i32, is_centered: bool) -> Self {
        let mut wishes = Self {
            wanted,
            current,
            is_centered,
            count: 1,
            place: 0,
        };
        wishes.place = wishes.median();
        wishes
    }

    /// The place with the least sum of distances. Where a range is equally good, a box takes its middle, and a line the
    /// place that is nearest to where it is, so that it stays straight on one side.
    fn median(&self) -> i32 {
        let half: i64 = self.wanted.iter().map(|&(_, weight)| weight).sum();
        let mut sum = 0;
        for (position, &(place, weight)) in self.wanted.iter().enumerate() {
            sum += weight;
            if 2 * sum > half {
                return place;
            }
            if 2 * sum == half {
                let next = self.wanted.get(position + 1).map_or(place, |&(next, _)| next);
                return if self.is_centered {
                    (place + next).div_euclid(2)
                } else {
                    self.current.clamp(place, next)
                };
            }
        }
        self.current
    }

    fn join(&mut self, right: Self) {
        let left = std::mem::take(&mut self.wanted);
        self.wanted = merge(left, right.wanted);
        self.count += right.count;
        self.is_centered = self.is_centered && right.is_centered;
        self.place = self.median();
    }
}

fn merge(left: Vec<(i32, i64)>, right: Vec<(i32, i64)>) -> Vec<(i32, i64)> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let next = if one <= other { left.next() } else { right.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// The best places that never decrease: items whose wishes are in the wrong order are placed together.
fn in_order(wishes: Vec<Wishes>) -> Vec<i32> {
    let mut groups: Vec<Wishes> = Vec::with_capacity(wishes.len());
    for mut group in wishes {
        while let Some(left) = groups.pop_if(|left| left.place > group.place) {
            let mut joined = left;
            joined.join(group);
            group = joined;
        }
        groups.push(group);
    }
    groups
        .into_iter()
        .flat_map(|group| std::iter::repeat_n(group.place, group.count))
        .collect()
}

/// Moves everything so that the leftmost item begins at 0, and lines through the upper border right of the header.
fn start_at_zero(graph: &mut Graph) {
    let left = graph
        .items
        .iter()
        .filter(|item| item.kind != ElementKind::Header)
        .map(|item| item.x)
        .min();
    let left = left.unwrap_or(0);
    for item in &mut graph.items {
        item.x -= left;
    }
    let Some(top) = graph.layers.first().cloned() else {
        return;
    };
    let offsets = offsets(&graph.items, &top);
    for (&item, &least) in top.iter().zip(&offsets) {
        let item = &mut graph.items[item];
        item.x = if item.kind == ElementKind::Header {
            0
        } else {
            item.x.max(least)
        };
    }
}

/// Places on one side of a box, in order and apart: each as near to `wanted` as the others allow.
pub(super) fn apart(wanted: &[(i32, i64)], distance: i32) -> Vec<i32> {
    let offset = |position: usize| i32::try_from(position).unwrap_or(i32::MAX / 64) * distance;
    let wishes = wanted.iter().enumerate().map(|(position, &(place, weight))| {
        let place = place - offset(position);
        Wishes::new(vec![(place, weight)], place, false)
    });
    let places = in_order(wishes.collect());
    places
        .into_iter()
        .enumerate()
        .map(|(position, place)| place + offset(position))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_where_they_are_wanted_or_share_what_is_too_near() {
        assert_eq!(apart(&[(0, 1), (50, 1)], 10), [0, 50]);
        assert_eq!(apart(&[(20, 9), (20, 1), (20, 1)], 10), [20, 30, 40]);
        let crowded = apart(&[(5, 1), (4, 1), (3, 1)], 10);
        assert!(crowded.is_sorted() && crowded.windows(2).all(|pair| pair[1] - pair[0] == 10));
    }
}
