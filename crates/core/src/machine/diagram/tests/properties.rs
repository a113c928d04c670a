//! What holds for every drawing: nothing covers anything else, and every transition has its line.

use std::time::Instant;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::machines::{Sketch, machine};
use crate::machine::diagram::measure::{NAME, width};
use crate::machine::diagram::{Area, DiagramFormat, Drawing, DrawnState, Point, StateShape, diagram, drawing};
use crate::machine::{Machine, StateIndex};

/// The least distance of a child to the border around it.
const MARGIN: i32 = 8;
/// How long a drawing of the largest usual machine may take before a test takes it for hanging.
const HANG_MILLIS: u128 = 10_000;

fn covers(one: Area, other: Area) -> bool {
    one.x < other.right() && other.x < one.right() && one.y < other.bottom() && other.y < one.bottom()
}

fn contains(outer: Area, inner: Area, margin: i32) -> bool {
    outer.x + margin <= inner.x
        && outer.y + margin <= inner.y
        && inner.right() + margin <= outer.right()
        && inner.bottom() + margin <= outer.bottom()
}

/// The area that a piece of a line covers, without its ends.
fn piece(from: Point, to: Point) -> Area {
    Area {
        x: from.x.min(to.x),
        y: from.y.min(to.y),
        width: (from.x - to.x).abs().max(1),
        height: (from.y - to.y).abs().max(1),
    }
}

fn is_leaf(state: &DrawnState) -> bool {
    !matches!(
        state.shape,
        StateShape::Compound | StateShape::Parallel | StateShape::Region
    )
}

fn is_inside(machine: &Machine, inner: StateIndex, outer: StateIndex) -> bool {
    inner == outer || machine.is_descendant(inner, outer)
}

fn boxes_are_apart(drawing: &Drawing) -> Result<(), String> {
    for (position, one) in drawing.states.iter().enumerate() {
        if let Some(parent) = one.parent {
            let around = &drawing.states[parent.position()];
            if !contains(around.area, one.area, MARGIN) {
                return Err(format!("`{}` is not inside `{}`", one.id, around.id));
            }
        }
        let siblings = drawing.states[position + 1..]
            .iter()
            .filter(|other| other.parent == one.parent);
        if let Some(other) = siblings.into_iter().find(|other| covers(one.area, other.area)) {
            return Err(format!("`{}` covers `{}`", one.id, other.id));
        }
    }
    Ok(())
}

fn labels_are_free(drawing: &Drawing) -> Result<(), String> {
    let labelled: Vec<_> = drawing
        .lines
        .iter()
        .filter_map(|line| line.label.as_ref().map(|label| (line, label)))
        .collect();
    for (position, (line, label)) in labelled.iter().enumerate() {
        for state in &drawing.states {
            if covers(label.area, state.area) && (is_leaf(state) || !contains(state.area, label.area, 0)) {
                return Err(format!("label {:?} covers `{}`", label.rows, state.id));
            }
        }
        for (_, other) in &labelled[position + 1..] {
            if covers(label.area, other.area) {
                return Err(format!("label {:?} covers {:?}", label.rows, other.rows));
            }
        }
        for other in &drawing.lines {
            let is_own = (other.source, other.target) == (line.source, line.target);
            let under = |pair: &[Point]| covers(label.area, piece(pair[0], pair[1]));
            if !is_own && other.points.windows(2).any(under) {
                return Err(format!("label {:?} is on the line of `{}`", label.rows, other.event));
            }
        }
    }
    Ok(())
}

fn lines_are_whole(machine: &Machine, drawing: &Drawing) -> Result<(), String> {
    let targets: usize = machine
        .transitions
        .iter()
        .map(|transition| transition.targets.len())
        .sum();
    let defaults: usize = machine.states.iter().map(|state| state.history_default.len()).sum();
    if drawing.lines.len() != targets + defaults {
        return Err(format!("{} lines for {targets} targets", drawing.lines.len()));
    }
    for line in &drawing.lines {
        let touches = |state: StateIndex, at: Option<&Point>| {
            let Area { x, y, .. } = drawing.states[state.position()].area;
            let area = drawing.states[state.position()].area;
            at.is_some_and(|at| {
                let within = (x..=area.right()).contains(&at.x) && (y..=area.bottom()).contains(&at.y);
                within && (at.x == x || at.x == area.right() || at.y == y || at.y == area.bottom())
            })
        };
        if !touches(line.source, line.points.first()) || !touches(line.target, line.points.last()) {
            return Err(format!(
                "the line of `{}` does not touch its boxes: {:?}",
                line.event, line.points
            ));
        }
        for pair in line.points.windows(2) {
            if pair[0].x != pair[1].x && pair[0].y != pair[1].y {
                return Err(format!("the line of `{}` is askew: {pair:?}", line.event));
            }
            lies_on_nothing(machine, drawing, (line.source, line.target), (pair[0], pair[1]))
                .map_err(|what| format!("the line of `{}` crosses {what}", line.event))?;
        }
    }
    Ok(())
}

/// A piece of a line crosses no box without states inside, and no name.
fn lies_on_nothing(
    machine: &Machine,
    drawing: &Drawing,
    (source, target): (StateIndex, StateIndex),
    (from, to): (Point, Point),
) -> Result<(), String> {
    let piece = piece(from, to);
    for state in &drawing.states {
        let area = if is_leaf(state) {
            Area {
                x: state.area.x + 2,
                y: state.area.y + 2,
                width: state.area.width - 4,
                height: state.area.height - 4,
            }
        } else {
            Area {
                x: state.area.x + 14,
                y: state.area.y + 8,
                width: width(&state.name, NAME),
                height: 18,
            }
        };
        if covers(piece, area) {
            return Err(format!("`{}`", state.id));
        }
        let is_outside = !is_inside(machine, source, state.state) && !is_inside(machine, target, state.state);
        if is_outside && covers(piece, state.area) {
            return Err(format!("the border of `{}`", state.id));
        }
    }
    Ok(())
}

fn is_sound(machine: &Machine) -> Result<Drawing, String> {
    let drawn = drawing(machine);
    boxes_are_apart(&drawn)?;
    labels_are_free(&drawn)?;
    lines_are_whole(machine, &drawn)?;
    let sheet = Area {
        x: 0,
        y: 0,
        width: drawn.width,
        height: drawn.height,
    };
    let labels = drawn
        .lines
        .iter()
        .filter_map(|line| line.label.as_ref().map(|label| label.area));
    match drawn
        .states
        .iter()
        .map(|state| state.area)
        .chain(labels)
        .find(|&area| !contains(sheet, area, 0))
    {
        Some(area) => Err(format!("{area:?} is outside of the drawing")),
        None => Ok(drawn),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_covers_anything_else(seed in any::<u64>(), states in 1_usize..40, transitions in 0_usize..80) {
        let machine = machine(&Sketch::random(seed, states, transitions).definition());
        let drawn = is_sound(&machine).map_err(TestCaseError::fail)?;
        prop_assert_eq!(drawn, drawing(&machine));
    }
}

/// A state in both drawings, and how far it moved within the state around it.
fn moves<'a>(before: &'a Drawing, after: &Drawing) -> Vec<(&'a DrawnState, Point)> {
    let place = |drawing: &Drawing, state: &DrawnState| {
        let around = state
            .parent
            .map_or(Area::default(), |parent| drawing.states[parent.position()].area);
        (state.area.x - around.x, state.area.y - around.y)
    };
    let known = before.states.iter().filter_map(|state| {
        let same = after.states.iter().find(|other| other.id == state.id)?;
        let (from, to) = (place(before, state), place(after, same));
        Some((
            state,
            Point {
                x: to.0 - from.0,
                y: to.1 - from.1,
            },
        ))
    });
    known.collect()
}

/// How many states move otherwise than most of their siblings do: a wider drawing moves all of them together.
fn moved(before: &Drawing, after: &Drawing) -> usize {
    let moves = moves(before, after);
    let is_apart = |(state, by): &&(&DrawnState, Point)| {
        let siblings = || moves.iter().filter(|(other, _)| other.parent == state.parent);
        let alike = |by: Point| siblings().filter(|(_, other)| *other == by).count();
        siblings().any(|(_, other)| alike(*other) > alike(*by))
    };
    moves.iter().filter(is_apart).count()
}

/// How many pairs of siblings there are, and of how many the left one is the right one afterwards.
fn switched(before: &Drawing, after: &Drawing) -> (usize, usize) {
    let after_all: Vec<&DrawnState> = before
        .states
        .iter()
        .filter_map(|state| after.states.iter().find(|other| other.id == state.id))
        .collect();
    let (mut pairs, mut switched) = (0, 0);
    for (one, one_after) in before.states.iter().zip(&after_all) {
        for (other, other_after) in before.states.iter().zip(&after_all) {
            if one.parent == other.parent && one.area.right() < other.area.x {
                pairs += 1;
                switched += usize::from(other_after.area.right() < one_after.area.x);
            }
        }
    }
    (pairs, switched)
}

#[test]
fn one_more_state_moves_few_others() {
    let (mut states, mut movers, mut pairs, mut switchers) = (0, 0, 0, 0);
    for seed in 0..60 {
        let sketch = Sketch::random(seed, 24, 30);
        let before = drawing(&machine(&sketch.definition()));
        let after = drawing(&machine(&sketch.with_one_more(seed).definition()));
        states += before.states.len();
        movers += moved(&before, &after);
        let (all, changed) = switched(&before, &after);
        pairs += all;
        switchers += changed;
    }
    println!("[prove] one more state moves {movers} of {states} states otherwise than their siblings");
    println!("[prove] one more state lets {switchers} of {pairs} pairs of siblings change sides");
    assert!(movers * 2 < states && switchers * 10 < pairs);
}

#[test]
fn five_hundred_states_and_a_thousand_transitions_are_drawn_at_once() {
    for (name, definition) in [
        ("nested", Sketch::random(7, 500, 1_000).definition()),
        ("flat", flat(500, 1_000)),
        ("chain", chain(500, 1_000)),
    ] {
        let machine = machine(&definition);
        #[expect(clippy::disallowed_methods, reason = "a guard against hanging, in real time")]
        let start = Instant::now();
        let drawn = drawing(&machine);
        let millis = start.elapsed().as_millis();
        let lines = drawn.lines.len();
        println!(
            "[prove] 500 states and {lines} lines, {name}: {millis} ms, {} x {} px",
            drawn.width, drawn.height
        );
        assert!(millis < HANG_MILLIS);
    }
}

#[test]
fn what_is_linked_with_everything_is_drawn_and_bounded() {
    let count = 44;
    let mut states = Map::new();
    for one in 0..count {
        let on: Map<String, Value> = (0..count)
            .map(|other| (format!("E{other}"), json!(format!("s{other}"))))
            .collect();
        states.insert(format!("s{one}"), json!({ "on": on }));
    }
    let machine = machine(&json!({ "id": "m", "initial": "s0", "states": states }));
    #[expect(clippy::disallowed_methods, reason = "a guard against hanging, in real time")]
    let start = Instant::now();
    is_sound(&machine).unwrap();
    assert!(start.elapsed().as_millis() < HANG_MILLIS);
}

#[test]
fn names_of_any_script_and_length_and_deep_states_are_drawn_in_every_format() {
    let names = [
        "שלום עולם",
        "مرحبا",
        "漢字かな交じり文",
        "🏳️‍🌈",
        "e\u{301}\u{301}",
        &"x".repeat(128),
        "<script>",
        "]]>",
    ];
    let mut inner = json!({ "on": { "GO": { "target": "#top" } } });
    for name in names {
        inner = json!({ "initial": name, "states": { name: inner, "z": { "type": "final" } } });
    }
    inner["id"] = json!("m");
    inner["states"]["top"] = json!({ "id": "top" });
    let machine = machine(&inner);
    is_sound(&machine).unwrap();
    assert!(!diagram(&machine, DiagramFormat::Svg).contains("<script>"));
    for format in DiagramFormat::ALL {
        assert!(!diagram(&machine, format).is_empty());
    }
}

fn flat(states: usize, transitions: usize) -> Value {
    let mut numbers = super::machines::Numbers::of(3);
    let targets: Vec<(usize, usize)> = (0..transitions)
        .map(|_| (numbers.below(states), numbers.below(states)))
        .collect();
    linked(states, &targets)
}

fn chain(states: usize, transitions: usize) -> Value {
    let mut numbers = super::machines::Numbers::of(5);
    let mut targets: Vec<(usize, usize)> = (1..states).map(|state| (state - 1, state)).collect();
    targets.extend((states..=transitions).map(|_| (numbers.below(states), numbers.below(states))));
    linked(states, &targets)
}

fn linked(states: usize, targets: &[(usize, usize)]) -> Value {
    let state = |state: usize| {
        let own = targets.iter().enumerate().filter(|(_, (source, _))| *source == state);
        let on: Map<String, Value> = own
            .map(|(event, (_, target))| (format!("E{event}"), json!(format!("s{target}"))))
            .collect();
        (format!("s{state}"), json!({ "on": on }))
    };
    let states: Map<String, Value> = (0..states).map(state).collect();
    json!({ "id": "linked", "initial": "s0", "states": states })
}
