//! The lines of a machine, cut at the borders that they cross. Nothing here knows a size.
//!
//! Transitions with the same ends are one bundle and share a line. A bundle has one leg in each level that it runs
//! through. In its level every leg leads down, from a child or the upper border to a child or the lower border; a leg
//! that is drawn against that is marked `upward`.

use std::collections::BTreeMap;

use super::acyclic::Cycles;
use crate::machine::diagram::measure::{LABEL, cut, width};
use crate::machine::model::{Kind, Machine, StateIndex, TransitionIndex};
use crate::machine::outline::Edge;

/// The height of a row in a label.
pub(in crate::machine::diagram) const LABEL_ROW: i32 = 15;
/// The room around a label, on each side.
const LABEL_INSET: i32 = 4;
/// Labels are broken into rows of about so many characters.
const LABEL_CHARACTERS: usize = 34;
/// What a history state leads to by default is labelled so.
pub(super) const DEFAULT: &str = "default";

/// One line's part in a bundle.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) transition: Option<TransitionIndex>,
    pub(super) event: String,
    pub(super) guard: Option<String>,
    /// The rows of its label; none for a further target of a transition.
    pub(super) rows: Vec<String>,
}

impl Member {
    /// How much room its label takes.
    pub(super) fn size(&self) -> (i32, i32) {
        let widest = self.rows.iter().map(|row| width(row, LABEL)).max();
        let Some(widest) = widest else { return (0, 0) };
        let rows = i32::try_from(self.rows.len()).unwrap_or(1);
        (widest + 2 * LABEL_INSET, rows * LABEL_ROW + LABEL_INSET)
    }
}

/// Transitions with the same ends.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) source: StateIndex,
    pub(super) target: StateIndex,
    pub(super) members: Vec<Member>,
    /// Where its legs are, from its source to its target: the level, and the position among the level's legs.
    pub(super) way: Vec<(StateIndex, usize)>,
}

impl Bundle {
    /// The room of all its labels, below each other.
    pub(super) fn label_size(&self) -> (i32, i32) {
        let sizes = self.members.iter().map(Member::size);
        sizes.fold((0, 0), |all, one| (all.0.max(one.0), all.1 + one.1))
    }
}

/// An end of a leg in its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegEnd {
    /// A child of the level's state.
    Child(StateIndex),
    /// The upper border of the level's state.
    Top,
    /// The lower border.
    Bottom,
}

/// A bundle's part in one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) bundle: usize,
    pub(super) upper: LegEnd,
    pub(super) lower: LegEnd,
    /// Whether the line leads from its lower to its upper end.
    pub(super) upward: bool,
    /// Whether the labels of the bundle are in this level, on this leg.
    pub(super) has_label: bool,
    /// Between two regions: both ends are children, and the line turns below them.
    pub(super) turns: bool,
}

/// All lines.
#[derive(Debug, Default)]
pub(super) struct Wiring {
    pub(super) bundles: Vec<Bundle>,
    /// By level.
    pub(super) legs: BTreeMap<StateIndex, Vec<Leg>>,
    /// How many legs leave each state below and above.
    pub(super) sides: BTreeMap<StateIndex, (usize, usize)>,
    /// Bundles that lead from a state to itself.
    pub(super) loops: BTreeMap<StateIndex, usize>,
}

impl Wiring {
    /// The wiring of a machine with these transitions.
    pub(super) fn of(machine: &Machine, edges: &[Edge<'_>]) -> Self {
        let mut wiring = Self {
            bundles: bundles(machine, edges),
            ..Self::default()
        };
        let cycles = cycles(machine, &wiring.bundles);
        for number in 0..wiring.bundles.len() {
            wiring.lay(machine, &cycles, number);
        }
        wiring
    }

    fn lay(&mut self, machine: &Machine, cycles: &BTreeMap<StateIndex, Cycles>, number: usize) {
        let (source, target) = (self.bundles[number].source, self.bundles[number].target);
        if source == target {
            self.loops.insert(source, number);
            return;
        }
        if machine.is_descendant(target, source) {
            self.enter(machine, number, source, target, false);
        } else if machine.is_descendant(source, target) {
            self.leave(machine, number, source, target, false);
        } else {
            self.cross(machine, cycles, number, (source, target));
        }
        self.place_label(machine, number);
    }

    /// Between two states of which none is inside the other.
    fn cross(
        &mut self,
        machine: &Machine,
        cycles: &BTreeMap<StateIndex, Cycles>,
        number: usize,
        (source, target): (StateIndex, StateIndex),
    ) {
        let (around, from, to) = meeting(machine, source, target);
        let turns = machine.state(around).kind == Kind::Parallel;
        let down = turns
            || cycles
                .get(&around)
                .is_none_or(|cycles| cycles.runs_down(place(machine, from), place(machine, to)));
        self.leave(machine, number, source, from, !down);
        let (upper, lower) = if down { (from, to) } else { (to, from) };
        let leg = Leg {
            bundle: number,
            upper: LegEnd::Child(upper),
            lower: LegEnd::Child(lower),
            upward: !down,
            has_label: false,
            turns,
        };
        self.push(around, leg);
        self.enter(machine, number, to, target, !down || turns);
    }

    /// From a state out to the border of a state around it, through all levels between.
    fn leave(&mut self, machine: &Machine, number: usize, source: StateIndex, border: StateIndex, upward: bool) {
        let mut child = source;
        while child != border {
            let Some(level) = machine.state(child).parent else {
                return;
            };
            let (upper, lower) = if upward {
                (LegEnd::Top, LegEnd::Child(child))
            } else {
                (LegEnd::Child(child), LegEnd::Bottom)
            };
            self.push(level, Leg::plain(number, upper, lower, upward));
            child = level;
        }
    }

    /// From the border of a state to a state inside, through all levels between.
    fn enter(&mut self, machine: &Machine, number: usize, border: StateIndex, target: StateIndex, upward: bool) {
        if target == border {
            return;
        }
        let mut way: Vec<StateIndex> = machine
            .ancestors(target)
            .take_while(|&around| around != border)
            .collect();
        way.reverse();
        way.push(target);
        let mut level = border;
        for child in way {
            let (upper, lower) = if upward {
                (LegEnd::Child(child), LegEnd::Bottom)
            } else {
                (LegEnd::Top, LegEnd::Child(child))
            };
            self.push(level, Leg::plain(number, upper, lower, upward));
            level = child;
        }
    }

    fn push(&mut self, level: StateIndex, leg: Leg) {
        let legs = self.legs.entry(level).or_default();
        self.bundles[leg.bundle].way.push((level, legs.len()));
        legs.push(leg);
        if let LegEnd::Child(child) = leg.upper {
            self.sides.entry(child).or_default().0 += 1;
        }
        if let LegEnd::Child(child) = leg.lower {
            self.sides.entry(child).or_default().1 += 1;
        }
    }

    /// Labels are near the source: on the first leg of a level with layers, or where the line turns between regions.
    fn place_label(&mut self, machine: &Machine, number: usize) {
        let way = &self.bundles[number].way;
        let turns = |&&(level, leg): &&(StateIndex, usize)| self.legs.get(&level).is_some_and(|legs| legs[leg].turns);
        let layered = |(level, _): &&(StateIndex, usize)| machine.state(*level).kind != Kind::Parallel;
        let best = way.iter().find(turns).or_else(|| way.iter().find(layered));
        let Some(&(level, leg)) = best.or(way.first()) else {
            return;
        };
        if let Some(leg) = self.legs.get_mut(&level).and_then(|legs| legs.get_mut(leg)) {
            leg.has_label = self.bundles[number].label_size().0 > 0;
        }
    }
}

impl Leg {
    fn plain(bundle: usize, upper: LegEnd, lower: LegEnd, upward: bool) -> Self {
        Self {
            bundle,
            upper,
            lower,
            upward,
            has_label: false,
            turns: false,
        }
    }
}

/// The innermost state around both, and its children in which they are.
fn meeting(machine: &Machine, source: StateIndex, target: StateIndex) -> (StateIndex, StateIndex, StateIndex) {
    let holds = |around: StateIndex, state: StateIndex| around == state || machine.is_descendant(state, around);
    let up = |from: StateIndex, other: StateIndex| {
        let mut child = from;
        while let Some(parent) = machine.state(child).parent {
            if holds(parent, other) {
                return (parent, child);
            }
            child = parent;
        }
        (StateIndex::ROOT, child)
    };
    let (around, from) = up(source, target);
    (around, from, up(target, source).1)
}

/// The place of a child among its siblings.
fn place(machine: &Machine, child: StateIndex) -> usize {
    let parent = machine.state(child).parent.unwrap_or(StateIndex::ROOT);
    let siblings = &machine.state(parent).children;
    siblings.binary_search(&child).unwrap_or(0)
}

/// The cycles among the children of every state.
fn cycles(machine: &Machine, bundles: &[Bundle]) -> BTreeMap<StateIndex, Cycles> {
    let mut links: BTreeMap<StateIndex, Vec<(usize, usize)>> = BTreeMap::new();
    for bundle in bundles {
        let (source, target) = (bundle.source, bundle.target);
        let nested = machine.is_descendant(source, target) || machine.is_descendant(target, source);
        if source != target && !nested {
            let (around, from, to) = meeting(machine, source, target);
            let link = (place(machine, from), place(machine, to));
            links.entry(around).or_default().push(link);
        }
    }
    let decide = |(around, links): (StateIndex, Vec<(usize, usize)>)| {
        let children = machine.state(around).children.len();
        (around, Cycles::of(children, initial(machine, around), &links))
    };
    links.into_iter().map(decide).collect()
}

/// The place of the child that is entered first.
pub(super) fn initial(machine: &Machine, around: StateIndex) -> Option<usize> {
    let &target = machine.state(around).initial.first()?;
    let mut child = target;
    while machine.state(child).parent? != around {
        child = machine.state(child).parent?;
    }
    Some(place(machine, child))
}

fn bundles(machine: &Machine, edges: &[Edge<'_>]) -> Vec<Bundle> {
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut known: BTreeMap<(StateIndex, StateIndex), usize> = BTreeMap::new();
    let mut add = |source: StateIndex, target: StateIndex, member: Member| {
        let number = *known.entry((source, target)).or_insert_with(|| {
            bundles.push(Bundle {
                source,
                target,
                members: Vec::new(),
                way: Vec::new(),
            });
            bundles.len() - 1
        });
        bundles[number].members.push(member);
    };
    for edge in edges {
        for (position, &target) in edge.transition.targets.iter().enumerate() {
            add(edge.source(), target, member(edge, position == 0));
        }
    }
    for state in machine.indexes() {
        for &target in &machine.state(state).history_default {
            let default = Member {
                transition: None,
                event: DEFAULT.to_owned(),
                guard: None,
                rows: vec![DEFAULT.to_owned()],
            };
            add(state, target, default);
        }
    }
    bundles
}

fn member(edge: &Edge<'_>, is_first: bool) -> Member {
    let guard = edge.guard();
    let text = edge.label();
    Member {
        transition: Some(edge.index),
        event: edge.event.clone(),
        rows: if is_first { rows(&text) } else { Vec::new() },
        guard,
    }
}

/// A label in rows: broken at blanks, and in words that are too long for a row.
fn rows(text: &str) -> Vec<String> {
    let text = cut(text, 4 * LABEL_CHARACTERS);
    let mut rows: Vec<String> = Vec::new();
    let mut row = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let mut characters = word.chars().count();
        if length > 0 && length + 1 + characters > LABEL_CHARACTERS {
            rows.push(std::mem::take(&mut row));
            length = 0;
        }
        if length > 0 {
            row.push(' ');
            characters += 1;
        }
        row.push_str(&cut(word, 2 * LABEL_CHARACTERS));
        length += characters;
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_broken_at_blanks_and_every_row_is_bounded() {
        assert_eq!(rows("GO"), ["GO"]);
        let long = rows("PAYMENT_CONFIRMED [event.payload.amount >= variables.total]");
        assert_eq!(
            long,
            ["PAYMENT_CONFIRMED", "[event.payload.amount >=", "variables.total]"]
        );
        assert!(
            rows(&"x".repeat(300))
                .iter()
                .all(|row| row.chars().count() <= 2 * LABEL_CHARACTERS)
        );
    }
}
