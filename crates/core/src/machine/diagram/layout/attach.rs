//! Where lines meet the borders of boxes: straight below or above their neighbour if the box is there, or else spread.

use super::columns::{Side, apart};
use super::graph::{Graph, Link, Meets};

/// The least distance between two lines at a border, where there is room.
pub(super) const DISTANCE: i32 = 14;
/// The weight of a line that cannot move, and of one that is straight.
const FIXED: i64 = 1_000_000;
const STRAIGHT: i64 = 4;

/// Gives every link its ends. Lanes right of everything begin at `lanes`.
pub(super) fn attach(graph: &mut Graph, lanes: &dyn Fn(usize) -> i32) {
    let count = graph.items.len();
    let (mut below, mut above) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for number in 0..graph.links.len() {
        let link = &mut graph.links[number];
        let near = |item: usize, meets: Meets| match meets {
            Meets::At(offset) => graph.items[item].x + offset,
            Meets::Anywhere => graph.items[item].middle(),
        };
        (link.from, link.to) = (near(link.upper, link.leaves), near(link.lower, link.arrives));
        below[link.upper].push(number);
        above[link.lower].push(number);
    }
    for (item, (below, above)) in below.iter().zip(&above).enumerate() {
        if graph.items[item].is_state() {
            spread(graph, item, below, lanes, Side::Below);
            spread(graph, item, above, lanes, Side::Above);
        }
    }
}

/// Spreads the lines of one side.
fn spread(graph: &mut Graph, item: usize, links: &[usize], lanes: &dyn Fn(usize) -> i32, side: Side) {
    let is_lower = side == Side::Below;
    let far = |number: usize| {
        let link = &graph.links[number];
        match link.lane {
            Some(lane) => lanes(lane),
            None if is_lower => link.to,
            None => link.from,
        }
    };
    let fixed = |link: &Link| {
        let (meets, at) = if is_lower {
            (link.leaves, link.from)
        } else {
            (link.arrives, link.to)
        };
        (meets != Meets::Anywhere).then_some(at)
    };
    let mut order: Vec<usize> = links.to_vec();
    order.sort_by_key(|&number| (fixed(&graph.links[number]).unwrap_or_else(|| far(number)), number));
    let body = graph.items[item].body;
    let (left, right) = (graph.items[item].x + body.0, graph.items[item].x + body.1);
    let count = i32::try_from(order.len()).unwrap_or(i32::MAX - 1);
    let slot = |position: usize| left + (right - left) * (i32::try_from(position).unwrap_or(0) + 1) / (count + 1);
    let distance = DISTANCE.min((right - left) / count.max(1));
    let bounded = |position: usize, at: i32| {
        let before = distance * i32::try_from(position).unwrap_or(0);
        at.clamp(left + before, right - distance * (count - 1) + before)
    };
    let wanted: Vec<(i32, i64)> = order
        .iter()
        .enumerate()
        .map(|(position, &number)| match (fixed(&graph.links[number]), far(number)) {
            (Some(at), _) => (at, FIXED),
            (None, at) if (left..=right).contains(&at) => (bounded(position, at), STRAIGHT),
            _ => (bounded(position, slot(position)), 1),
        })
        .collect();
    for (position, at) in apart(&wanted, distance).into_iter().enumerate() {
        let link = &mut graph.links[order[position]];
        if fixed(link).is_none() {
            let end = if is_lower { &mut link.from } else { &mut link.to };
            *end = at.clamp(left, right);
        }
    }
}
