//! Random machines: a tree of states and a heap of arrows, made so that every one of them loads.
//!
//! A plan holds shapes and picks; names are given and picks are resolved when it is built, so a plan shrinks well.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// The types of messages and raised events.
const EVENTS: [&str; 5] = ["a", "b", "c", "c.x", "c.y"];
/// What transitions answer to.
const DESCRIPTORS: [&str; 7] = ["a", "b", "c", "c.x", "c.y", "c.*", "*"];
/// The first one only grows, so that what it guards comes to an end.
const VARIABLES: [&str; 2] = ["x", "y"];

/// A machine and what is sent to it.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    root: Shape,
    arrows: Vec<Arrow>,
    chores: Vec<Chore>,
    messages: Vec<(usize, Option<u8>)>,
}

/// A state and what is inside it.
#[derive(Clone, Debug)]
enum Shape {
    Leaf {
        is_final: bool,
    },
    Nested {
        is_parallel: bool,
        children: Vec<Shape>,
        initial: Vec<Index>,
        history: Option<Past>,
    },
}

#[derive(Clone, Debug)]
struct Past {
    is_deep: bool,
    default: Vec<Index>,
}

/// A transition.
#[derive(Clone, Debug)]
struct Arrow {
    source: Index,
    by: By,
    targets: Vec<Index>,
    reenter: bool,
    guard: Option<Guard>,
    acts: Vec<Act>,
}

#[derive(Clone, Debug)]
enum By {
    Event(usize),
    Always,
    Done,
}

#[derive(Clone, Debug)]
enum Guard {
    Below(usize, u8),
    Is(usize, u8),
    In(Index),
    NotIn(Index),
}

#[derive(Clone, Debug)]
enum Act {
    Add(usize),
    Set(u8),
    Raise(usize),
    /// Errs when the event carries no number.
    Take,
}

/// Something a state does on entry or exit.
#[derive(Clone, Debug)]
struct Chore {
    state: Index,
    on_exit: bool,
    act: Act,
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let messages = prop::collection::vec((0..EVENTS.len(), prop::option::weighted(0.8, 0_u8..4)), 2..7);
    let arrows = prop::collection::vec(arrow(), 2..12);
    (root(), arrows, prop::collection::vec(chore(), 0..4), messages).prop_map(|(root, arrows, chores, messages)| Plan {
        root,
        arrows,
        chores,
        messages,
    })
}

fn root() -> impl Strategy<Value = Shape> {
    let leaf = prop::bool::weighted(0.3).prop_map(|is_final| Shape::Leaf { is_final });
    let root = nested(leaf.prop_recursive(3, 12, 3, |inner| nested(inner, 1..4)), 2..4);
    (root, prop::bool::weighted(0.6)).prop_map(|(mut root, can_end)| {
        if let Shape::Nested {
            children,
            is_parallel: false,
            ..
        } = &mut root
            && can_end
        {
            children.push(Shape::Leaf { is_final: true });
        }
        root
    })
}

fn nested(inner: impl Strategy<Value = Shape>, children: std::ops::Range<usize>) -> impl Strategy<Value = Shape> {
    let past = (any::<bool>(), picks(0..3)).prop_map(|(is_deep, default)| Past { is_deep, default });
    let initial = prop_oneof![3 => Just(Vec::new()), 1 => picks(1..3)];
    let parts = (
        prop::bool::weighted(0.4),
        prop::collection::vec(inner, children),
        initial,
        prop::option::weighted(0.4, past),
    );
    parts.prop_map(|(is_parallel, children, initial, history)| Shape::Nested {
        is_parallel,
        children,
        initial,
        history,
    })
}

fn picks(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), count)
}

fn arrow() -> impl Strategy<Value = Arrow> {
    let by = prop_oneof![
        12 => (0..DESCRIPTORS.len()).prop_map(By::Event),
        2 => Just(By::Always),
        3 => Just(By::Done),
    ];
    let targets = prop_oneof![1 => picks(0..1), 5 => picks(1..2), 2 => picks(2..4)];
    let acts = prop::collection::vec(act(), 0..3);
    let reenter = prop::bool::weighted(0.25);
    let arrow = (any::<Index>(), by, targets, reenter, prop::option::of(guard()), acts).prop_map(
        |(source, by, targets, reenter, guard, acts)| Arrow {
            source,
            by,
            targets,
            reenter,
            guard,
            acts,
        },
    );
    (arrow, prop::bool::weighted(0.9)).prop_map(|(arrow, ends)| if ends { arrow.ending() } else { arrow })
}

impl Arrow {
    /// The same, if it can set itself off again, as one that stops being enabled after a while.
    fn ending(mut self) -> Self {
        let raises = self.acts.iter().any(|act| matches!(act, Act::Raise(_)));
        if raises || !matches!(self.by, By::Event(_)) {
            let bound = match self.guard {
                Some(Guard::Below(_, bound) | Guard::Is(_, bound)) => bound,
                _ => 2,
            };
            self.guard = Some(Guard::Below(0, bound + 1));
            self.acts.push(Act::Add(0));
        }
        self
    }
}

fn guard() -> impl Strategy<Value = Guard> {
    prop_oneof![
        (0..VARIABLES.len(), 0_u8..4).prop_map(|(variable, bound)| Guard::Below(variable, bound)),
        (0..VARIABLES.len(), 0_u8..3).prop_map(|(variable, value)| Guard::Is(variable, value)),
        any::<Index>().prop_map(Guard::In),
        any::<Index>().prop_map(Guard::NotIn),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![8 => chore_act(), 2 => (0_u8..4).prop_map(Act::Set), 1 => Just(Act::Take)]
}

fn chore_act() -> impl Strategy<Value = Act> {
    prop_oneof![Just(Act::Add(1)), (0..EVENTS.len()).prop_map(Act::Raise)]
}

fn chore() -> impl Strategy<Value = Chore> {
    (any::<Index>(), any::<bool>(), chore_act()).prop_map(|(state, on_exit, act)| Chore { state, on_exit, act })
}

impl Plan {
    /// The messages: type and payload.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let payload = |number: Option<u8>| number.map_or(Value::Null, |number| json!({ "n": number }));
        self.messages
            .iter()
            .map(move |&(event, number)| (EVENTS[event], payload(number)))
    }

    /// The machine's definition.
    pub(super) fn definition(&self) -> Value {
        let mut hall = Hall { seats: Vec::new() };
        hall.seat(&self.root, None);
        hall.set_entrances(&self.root, &mut 0);
        for (number, arrow) in self.arrows.iter().enumerate() {
            hall.add_arrow(number, arrow);
        }
        for chore in &self.chores {
            hall.add_chore(chore);
        }
        let mut whole = hall.member(0);
        whole["id"] = json!("m");
        whole["variables"] = json!({ "x": 0, "y": 0 });
        whole
    }
}

/// A state with its name, while the definition is being made.
struct Seat {
    name: String,
    parent: Option<usize>,
    kind: &'static str,
    fields: Map<String, Value>,
}

impl Seat {
    fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }
}

/// All states in document order, the root first.
struct Hall {
    seats: Vec<Seat>,
}

impl Hall {
    fn seat(&mut self, shape: &Shape, parent: Option<usize>) {
        let position = self.seats.len();
        let name = if parent.is_none() {
            "m".to_owned()
        } else {
            format!("s{position}")
        };
        let (kind, children, has_history): (_, &[Shape], _) = match shape {
            Shape::Leaf { is_final } => (if *is_final { "final" } else { "atomic" }, &[], false),
            Shape::Nested {
                is_parallel,
                children,
                history,
                ..
            } => (
                if *is_parallel { "parallel" } else { "compound" },
                children,
                history.is_some(),
            ),
        };
        let fields = [
            ("type", json!(kind)),
            ("entry", logged('+', &name)),
            ("exit", logged('-', &name)),
        ];
        let fields = fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        self.seats.push(Seat {
            name,
            parent,
            kind,
            fields,
        });
        for child in children {
            self.seat(child, Some(position));
        }
        if has_history {
            let name = format!("h{}", self.seats.len());
            let fields = Map::new();
            self.seats.push(Seat {
                name,
                parent: Some(position),
                kind: "history",
                fields,
            });
        }
    }

    /// Where states lead when they are entered; walks the shapes in the order they were seated.
    fn set_entrances(&mut self, shape: &Shape, next: &mut usize) {
        let position = *next;
        *next += 1;
        let Shape::Nested {
            is_parallel,
            children,
            initial,
            history,
        } = shape
        else {
            return;
        };
        for child in children {
            self.set_entrances(child, next);
        }
        let inside = self.all(|state, seat| !seat.is("history") && self.is_inside(state, position));
        if !is_parallel {
            let mut picked = self.pick(&inside, initial);
            if picked.is_empty() {
                picked.extend(inside.first());
            }
            let names = self.names(&picked);
            self.seats[position].fields.insert("initial".into(), names);
        }
        if let Some(Past { is_deep, default }) = history {
            let picked = self.pick(&inside, default);
            let names = self.names(&picked);
            let fields = &mut self.seats[*next].fields;
            fields.insert("history".into(), json!(if *is_deep { "deep" } else { "shallow" }));
            if !picked.is_empty() {
                fields.insert("target".into(), names);
            }
            *next += 1;
        }
    }

    fn add_arrow(&mut self, number: usize, arrow: &Arrow) {
        let source = *arrow
            .source
            .get(&self.all(|_, seat| !seat.is("history") && !seat.is("final")));
        let targets = self.pick(&self.all(|_, _| true), &arrow.targets);
        let mut transition = Map::new();
        if !targets.is_empty() {
            transition.insert("target".into(), self.names(&targets));
        }
        if arrow.reenter {
            transition.insert("reenter".into(), json!(true));
        }
        if let Some(guard) = &arrow.guard {
            transition.insert("guard".into(), self.rule(guard));
        }
        // Only the events of some transitions are worth the time their templates take.
        let line = if number.is_multiple_of(3) {
            format!("t{number} {{{{event.type}}}}")
        } else {
            format!("t{number}")
        };
        let log = json!({ "log": line });
        let acts = std::iter::once(log).chain(arrow.acts.iter().map(operation));
        transition.insert("actions".into(), acts.collect());
        self.file(source, &arrow.by, Value::Object(transition));
    }

    /// Puts a transition where its source keeps such.
    fn file(&mut self, source: usize, by: &By, transition: Value) {
        let can_be_done = source != 0 && !self.seats[source].is("atomic");
        let fields = &mut self.seats[source].fields;
        let on = |descriptor: &'static str| ("on", Some(descriptor));
        let (key, descriptor) = match by {
            By::Always => ("always", None),
            By::Done if can_be_done => ("onDone", None),
            By::Done => on("*"),
            By::Event(event) => on(DESCRIPTORS[*event]),
        };
        let mut place = fields.entry(key).or_insert(Value::Null);
        if let Some(descriptor) = descriptor {
            place = &mut place[descriptor];
        }
        match place {
            Value::Array(list) => list.push(transition),
            empty => *empty = json!([transition]),
        }
    }

    fn add_chore(&mut self, chore: &Chore) {
        let state = *chore.state.get(&self.all(|_, seat| !seat.is("history")));
        let key = if chore.on_exit { "exit" } else { "entry" };
        if let Some(Value::Array(list)) = self.seats[state].fields.get_mut(key) {
            list.push(operation(&chore.act));
        }
    }

    fn all(&self, wanted: impl Fn(usize, &Seat) -> bool) -> Vec<usize> {
        let wanted = self
            .seats
            .iter()
            .enumerate()
            .filter(|(state, seat)| wanted(*state, seat));
        wanted.map(|(state, _)| state).collect()
    }

    /// The picks that can be entered together with those before them.
    fn pick(&self, from: &[usize], picks: &[Index]) -> Vec<usize> {
        let mut picked: Vec<usize> = Vec::new();
        for pick in picks {
            let state = *pick.get(from);
            if picked.iter().all(|&other| self.go_together(state, other)) {
                picked.push(state);
            }
        }
        picked
    }

    /// Whether two states lie in different regions of a parallel state; a history state stands for its parent.
    fn go_together(&self, one: usize, other: usize) -> bool {
        let held = |state: usize| {
            if self.seats[state].is("history") {
                self.seats[state].parent
            } else {
                Some(state)
            }
        };
        let (Some(one), Some(other)) = (held(one), held(other)) else {
            return false;
        };
        if one == other || self.is_inside(one, other) || self.is_inside(other, one) {
            return false;
        }
        let around = self.ancestors(one).find(|&around| self.is_inside(other, around));
        around.is_some_and(|around| self.seats[around].is("parallel"))
    }

    fn ancestors(&self, state: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.seats[state].parent, |&at| self.seats[at].parent)
    }

    fn is_inside(&self, state: usize, ancestor: usize) -> bool {
        self.ancestors(state).any(|around| around == ancestor)
    }

    fn names(&self, states: &[usize]) -> Value {
        let name = |state: usize| match state {
            0 => "#m",
            _ => self.seats[state].name.as_str(),
        };
        states.iter().map(|&state| name(state)).collect()
    }

    fn rule(&self, guard: &Guard) -> Value {
        let variable = |variable: usize| json!({ "var": format!("variables.{}", VARIABLES[variable]) });
        let states = self.all(|state, seat| state != 0 && !seat.is("history"));
        let name = |pick: &Index| self.seats[*pick.get(&states)].name.as_str();
        match guard {
            Guard::Below(left, bound) => json!({ "<": [variable(*left), bound] }),
            Guard::Is(left, value) => json!({ "==": [variable(*left), value] }),
            Guard::In(state) => json!({ "in_state": name(state) }),
            Guard::NotIn(state) => json!({ "!": [{ "in_state": name(state) }] }),
        }
    }

    /// The definition of a state and of everything inside it.
    fn member(&self, position: usize) -> Value {
        let mut fields = self.seats[position].fields.clone();
        let children = self.all(|_, seat| seat.parent == Some(position));
        let states: Map<String, Value> = children
            .into_iter()
            .map(|state| (self.seats[state].name.clone(), self.member(state)))
            .collect();
        if !states.is_empty() {
            fields.insert("states".into(), Value::Object(states));
        }
        Value::Object(fields)
    }
}

fn logged(sign: char, name: &str) -> Value {
    json!([{ "log": format!("{sign}{name}") }])
}

fn operation(act: &Act) -> Value {
    let assign = |variable: usize, value: Value| json!({ "assign": { VARIABLES[variable]: value } });
    match act {
        Act::Add(variable) => assign(
            *variable,
            json!(format!("{{{{variables.{} + 1}}}}", VARIABLES[*variable])),
        ),
        Act::Set(value) => assign(1, json!(value)),
        Act::Raise(event) => json!({ "raise": EVENTS[*event] }),
        Act::Take => assign(1, json!("{{event.payload.n}}")),
    }
}
