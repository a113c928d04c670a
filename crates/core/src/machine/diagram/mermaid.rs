//! Mermaid's `stateDiagram-v2`.

use super::node;
use crate::machine::model::{Depth, Kind, Machine, StateIndex};
use crate::machine::outline::edges;

/// Writes the diagram.
pub(super) fn write(machine: &Machine) -> String {
    let mut lines = vec!["stateDiagram-v2".to_owned()];
    let root = machine.state(StateIndex::ROOT);
    if root.kind == Kind::Parallel {
        // Only a state can be cut into regions, so a parallel root is drawn as one.
        state(machine, StateIndex::ROOT, 1, &mut lines);
    } else {
        inside(machine, StateIndex::ROOT, 1, &mut lines);
    }
    for edge in edges(machine) {
        let source = edge.source();
        // The root is no node unless it is parallel: what it does everywhere is said in a note of its own.
        if source == StateIndex::ROOT && root.kind != Kind::Parallel {
            let targets: Vec<&str> = edge
                .transition
                .targets
                .iter()
                .map(|&target| machine.display_path(target))
                .collect();
            lines.push(format!(
                "    %% anywhere: {} --> {}",
                text(&edge.label()),
                text(&targets.join(", "))
            ));
            continue;
        }
        let targets = &edge.transition.targets;
        let own = [source];
        let targets = if targets.is_empty() {
            own.as_slice()
        } else {
            targets.as_slice()
        };
        for &target in targets {
            let (from, to) = (node(machine, source), node(machine, target));
            lines.push(format!("    {from} --> {to} : {}", text(&edge.label())));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn state(machine: &Machine, index: StateIndex, depth: usize, lines: &mut Vec<String>) {
    let state = machine.state(index);
    let (indent, name) = ("    ".repeat(depth), node(machine, index));
    let shown = match state.kind {
        Kind::History(Depth::Shallow) => format!("H {}", state.name),
        Kind::History(Depth::Deep) => format!("H* {}", state.name),
        _ => state.name.clone(),
    };
    let declared = format!("{indent}state \"{}\" as {name}", text(&shown));
    match state.kind {
        Kind::Compound | Kind::Parallel => {
            lines.push(format!("{declared} {{"));
            inside(machine, index, depth + 1, lines);
            lines.push(format!("{indent}}}"));
        }
        Kind::Final => lines.extend([declared, format!("{indent}{name} --> [*]")]),
        Kind::Atomic => lines.push(declared),
        Kind::History(_) => {
            lines.push(declared);
            let defaults = state.history_default.iter();
            lines.extend(defaults.map(|&target| format!("{indent}{name} --> {} : default", node(machine, target))));
        }
    }
}

fn inside(machine: &Machine, index: StateIndex, depth: usize, lines: &mut Vec<String>) {
    let (around, indent) = (machine.state(index), "    ".repeat(depth));
    let initial = around.initial.iter();
    lines.extend(initial.map(|&target| format!("{indent}[*] --> {}", node(machine, target))));
    for (position, &child) in around.children.iter().enumerate() {
        if around.kind == Kind::Parallel && position > 0 {
            lines.push(format!("{indent}--"));
        }
        state(machine, child, depth, lines);
    }
}

/// Text without anything Mermaid would take for its own.
fn text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => plain.push_str("#quot;"),
            ':' | ';' | '#' | '<' | '>' | '{' | '}' | '%' | '\\' | '`' => plain.push_str(&format_code(character)),
            control if control.is_control() => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

fn format_code(character: char) -> String {
    format!("#{};", u32::from(character))
}
