//! A picture: nested boxes, and arrows in the gutters beside them.

mod layout;

use layout::{Arrow, Box, Layout, ROW, TEXT_INSET};

use crate::machine::model::{Kind, Machine, StateIndex};

const STYLE: &str = "text{font:12px monospace;fill:#1f2430}.t{font-weight:bold}.n{fill:#5b6270}.l{fill:#1d4f91}\
.b{fill:#fff;stroke:#3b4252;stroke-width:1.2}.c{fill:#f6f7f9}.r{stroke-dasharray:5 3}.i{fill:none}\
.e{fill:none;stroke:#5b7fae;stroke-width:1.2}.d{fill:#1f2430}";
/// How far the inner border of a final state is from the outer one.
const DOUBLE: u32 = 3;
/// How far left of a state the dot of its beginning stands.
const DOT: u32 = 16;

/// Draws the machine.
pub(super) fn draw(machine: &Machine) -> String {
    let layout = Layout::of(machine);
    let (width, height) = layout.size;
    let mut svg = vec![format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" \
         refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#5b7fae\"/>\
         </marker></defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>",
        escape(&machine.id)
    )];
    for (index, placed) in machine.indexes().zip(&layout.boxes) {
        state(machine, index, placed, &mut svg);
    }
    for line in &layout.lines {
        arrow(line, &mut svg);
    }
    for index in machine.indexes() {
        for &target in &machine.state(index).initial {
            if let Some(placed) = layout.boxes.get(target.position()) {
                dot(placed, &mut svg);
            }
        }
    }
    svg.push("</svg>\n".to_owned());
    svg.join("\n")
}

fn state(machine: &Machine, index: StateIndex, placed: &Box, svg: &mut Vec<String>) {
    let state = machine.state(index);
    let is_region = state
        .parent
        .is_some_and(|parent| machine.state(parent).kind == Kind::Parallel);
    let class = match (is_region, state.children.is_empty()) {
        (true, true) => "b r",
        (true, false) => "b c r",
        (false, true) => "b",
        (false, false) => "b c",
    };
    let radius = if machine.is_history(index) { ROW / 2 } else { 6 };
    rectangle(placed, 0, radius, class, svg);
    if state.kind == Kind::Final {
        rectangle(placed, DOUBLE, 4, "b i", svg);
    }
    for (class, text, y) in &placed.rows {
        let x = placed.x + TEXT_INSET;
        svg.push(format!(
            "<text x=\"{x}\" y=\"{}\" class=\"{class}\">{}</text>",
            y + 4,
            escape(text)
        ));
    }
}

fn rectangle(placed: &Box, inset: u32, radius: u32, class: &str, svg: &mut Vec<String>) {
    let (x, y) = (placed.x + inset, placed.y + inset);
    let (width, height) = (
        placed.width.saturating_sub(2 * inset),
        placed.height.saturating_sub(2 * inset),
    );
    svg.push(format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" class=\"{class}\"/>"
    ));
}

/// From the right of its source, along its lane, to the right of its target.
fn arrow(line: &Arrow, svg: &mut Vec<String>) {
    let Arrow { from, to, lane, .. } = line;
    svg.push(format!(
        "<path class=\"e\" marker-end=\"url(#a)\" d=\"M{} {}H{lane}V{}H{}\"/>",
        from.0, from.1, to.1, to.0
    ));
    if let Some((x, text)) = &line.label {
        svg.push(format!(
            "<text x=\"{x}\" y=\"{}\" class=\"l\">{}</text>",
            from.1.saturating_sub(4),
            escape(text)
        ));
    }
}

fn dot(target: &Box, svg: &mut Vec<String>) {
    let (x, y) = (target.x.saturating_sub(DOT), target.y + ROW / 2);
    svg.push(format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"4\" class=\"d\"/>"));
    svg.push(format!(
        "<path class=\"e\" marker-end=\"url(#a)\" d=\"M{x} {y}H{}\"/>",
        target.x
    ));
}

/// Text for XML: its own characters as entities, those it cannot hold as a blank.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
