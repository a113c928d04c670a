//! Graphviz' language: states with states inside are clusters.

use super::node;
use crate::machine::model::{Depth, Kind, Machine, StateIndex};
use crate::machine::outline::edges;

/// Writes the graph.
pub(super) fn write(machine: &Machine) -> String {
    let mut lines = vec![
        format!("digraph {} {{", quoted(&machine.id)),
        "    compound=true;".to_owned(),
        "    node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];".to_owned(),
        "    edge [fontname=\"sans-serif\", fontsize=10];".to_owned(),
    ];
    state(machine, StateIndex::ROOT, 1, &mut lines);
    for edge in edges(machine) {
        let source = edge.source();
        let own = [source];
        let targets = &edge.transition.targets;
        let targets = if targets.is_empty() {
            own.as_slice()
        } else {
            targets.as_slice()
        };
        for &target in targets {
            lines.push(arrow(
                machine,
                source,
                target,
                &format!("label={}", quoted(&edge.label())),
            ));
        }
    }
    lines.push("}".to_owned());
    lines.push(String::new());
    lines.join("\n")
}

fn state(machine: &Machine, index: StateIndex, depth: usize, lines: &mut Vec<String>) {
    let state = machine.state(index);
    let (indent, name, label) = ("    ".repeat(depth), node(machine, index), quoted(&state.name));
    match state.kind {
        Kind::Atomic => lines.push(format!("{indent}{name} [label={label}];")),
        Kind::Final => lines.push(format!("{indent}{name} [label={label}, peripheries=2];")),
        Kind::History(depth) => {
            let sign = if depth == Depth::Deep { "H*" } else { "H" };
            lines.push(format!("{indent}{name} [label=\"{sign}\", shape=circle];"));
            let defaults = state.history_default.iter();
            lines.extend(defaults.map(|&target| arrow(machine, index, target, "style=dashed")));
        }
        Kind::Compound | Kind::Parallel => cluster(machine, index, depth, lines),
    }
}

fn cluster(machine: &Machine, index: StateIndex, depth: usize, lines: &mut Vec<String>) {
    let state = machine.state(index);
    let (indent, name) = ("    ".repeat(depth), node(machine, index));
    let is_region = state
        .parent
        .is_some_and(|parent| machine.state(parent).kind == Kind::Parallel);
    let style = if is_region { "dashed" } else { "rounded" };
    lines.push(format!("{indent}subgraph cluster_{name} {{"));
    lines.push(format!("{indent}    label={}; style={style};", quoted(&state.name)));
    // Arrows lead to nodes, never to clusters: this one stands for the cluster, and for its beginning.
    lines.push(format!("{indent}    {name} [shape=point, width=0.12, label=\"\"];"));
    for &target in &state.initial {
        lines.push(format!(
            "{indent}    {name} -> {}{};",
            node(machine, target),
            head(machine, target)
        ));
    }
    for &child in &state.children {
        self::state(machine, child, depth + 1, lines);
    }
    lines.push(format!("{indent}}}"));
}

fn head(machine: &Machine, target: StateIndex) -> String {
    if is_cluster(machine, target) {
        format!(" [lhead=cluster_{}]", node(machine, target))
    } else {
        String::new()
    }
}

fn arrow(machine: &Machine, source: StateIndex, target: StateIndex, attributes: &str) -> String {
    let (from, to) = (node(machine, source), node(machine, target));
    let mut attributes = attributes.to_owned();
    // Graphviz cuts an arrow at a cluster's border only where it leads from outside to inside, or the other way.
    let crosses = |cluster: StateIndex, other: StateIndex| {
        is_cluster(machine, cluster) && cluster != other && !machine.is_descendant(other, cluster)
    };
    if crosses(source, target) {
        attributes.push_str(", ltail=cluster_");
        attributes.push_str(&from);
    }
    if crosses(target, source) {
        attributes.push_str(", lhead=cluster_");
        attributes.push_str(&to);
    }
    format!("    {from} -> {to} [{attributes}];")
}

fn is_cluster(machine: &Machine, state: StateIndex) -> bool {
    matches!(machine.state(state).kind, Kind::Compound | Kind::Parallel)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted.push(' '),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
