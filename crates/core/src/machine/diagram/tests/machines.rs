//! Machines to draw: written ones, and random ones of any size.

use serde_json::{Map, Value, json};

use crate::document::source::Format;
use crate::machine::{LoadOptions, Machine, load_text};

/// Loads a machine of these states.
pub(super) fn machine(definition: &Value) -> Machine {
    let loaded = load_text(&definition.to_string(), Format::Json, &LoadOptions::default());
    let findings = format!("{:?}", loaded.findings);
    loaded.machine.unwrap_or_else(|| panic!("{findings}\n{definition:#}"))
}

/// Numbers that only depend on a seed.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// A random machine: some states have states inside, some are parallel, final or history.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    /// By state: the state around it. The root is 0.
    parents: Vec<usize>,
    kinds: Vec<&'static str>,
    /// Source, target and event.
    transitions: Vec<(usize, usize, String)>,
}

impl Sketch {
    pub(super) fn random(seed: u64, states: usize, transitions: usize) -> Self {
        let mut numbers = Numbers::of(seed);
        let mut sketch = Self {
            parents: vec![0],
            kinds: vec!["compound"],
            transitions: Vec::new(),
        };
        for _ in 0..states {
            sketch.add_random(&mut numbers);
        }
        for number in 0..transitions {
            let source = numbers.below(states + 1);
            let target = 1 + numbers.below(states);
            let event = match numbers.below(4) {
                0 => format!("E{number}"),
                1 => format!("done.action_{number}"),
                2 => format!("A_RATHER_LONG_EVENT_{number}"),
                _ => format!("EVENT_{number}"),
            };
            sketch.transitions.push((source, target, event));
        }
        sketch
    }

    fn add_random(&mut self, numbers: &mut Numbers) {
        let containers: Vec<usize> = (0..self.kinds.len())
            .filter(|&state| matches!(self.kinds[state], "compound" | "parallel") && self.depth(state) < 5)
            .collect();
        let parent = if numbers.below(2) == 0 {
            0
        } else {
            containers[numbers.below(containers.len())]
        };
        let has_sibling = (1..self.parents.len()).any(|state| self.parents[state] == parent);
        let kind = match numbers.below(12) {
            0 | 1 => "compound",
            2 => "parallel",
            3 if has_sibling && self.kinds[parent] == "compound" => "final",
            4 if has_sibling && self.kinds[parent] == "compound" => "history",
            _ => "atomic",
        };
        self.parents.push(parent);
        self.kinds.push(kind);
    }

    fn depth(&self, state: usize) -> usize {
        std::iter::successors(Some(state), |&state| (state > 0).then(|| self.parents[state])).count()
    }

    /// One more state with one transition to it, after everything else.
    pub(super) fn with_one_more(&self, seed: u64) -> Self {
        let mut numbers = Numbers::of(seed);
        let mut more = self.clone();
        let compounds: Vec<usize> = (0..self.kinds.len())
            .filter(|&state| self.kinds[state] == "compound")
            .collect();
        let parent = compounds[numbers.below(compounds.len())];
        let siblings: Vec<usize> = (1..self.parents.len())
            .filter(|&state| self.parents[state] == parent)
            .collect();
        more.parents.push(parent);
        more.kinds.push("atomic");
        let source = siblings.get(numbers.below(siblings.len())).copied().unwrap_or(parent);
        more.transitions
            .push((source, more.parents.len() - 1, "MORE".to_owned()));
        more
    }

    pub(super) fn definition(&self) -> Value {
        let mut root = self.state(0);
        root["id"] = json!("random");
        root
    }

    fn state(&self, state: usize) -> Value {
        let children: Vec<usize> = (1..self.parents.len())
            .filter(|&child| self.parents[child] == state)
            .collect();
        let mut written = Map::new();
        if state > 0 {
            written.insert("id".to_owned(), json!(name(state)));
        }
        match self.kinds[state] {
            "final" => return json!({ "id": name(state), "type": "final" }),
            "history" => {
                let siblings = 1..self.parents.len();
                let mut siblings = siblings
                    .filter(|&other| self.parents[other] == self.parents[state] && self.kinds[other] != "history");
                return json!({ "id": name(state), "type": "history", "target": format!("#{}", name(siblings.next().unwrap())) });
            }
            "parallel" if !children.is_empty() => {
                written.insert("type".to_owned(), json!("parallel"));
            }
            _ => {}
        }
        if let (Some(&first), None) = (children.first(), written.get("type")) {
            written.insert("initial".to_owned(), json!(name(first)));
        }
        let on = self.transitions.iter().filter(|(source, _, _)| *source == state);
        let on: Map<String, Value> = on
            .map(|(_, target, event)| (event.clone(), json!({ "target": format!("#{}", name(*target)) })))
            .collect();
        if !on.is_empty() {
            written.insert("on".to_owned(), Value::Object(on));
        }
        if !children.is_empty() {
            let states: Map<String, Value> = children.iter().map(|&child| (name(child), self.state(child))).collect();
            written.insert("states".to_owned(), Value::Object(states));
        }
        Value::Object(written)
    }
}

fn name(state: usize) -> String {
    format!("state_{state}")
}
