//! A drawing as a picture: rounded boxes, lines with rounded corners, and labels on their lines.
//!
//! Every text has the width that was measured, whatever font shows it.

use super::drawing::{Area, Drawing, DrawnLine, DrawnState, NoteKind, Point, StateShape};
use super::layout::{LABEL_ROW, NAME_ROW, NOTE_ROW, TEXT_INSET};
use super::measure::{Font, LABEL, NAME, NOTE, width};

const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:#1f2733}\
.t{font-size:13px;font-weight:600}.m{text-anchor:middle}.n{font-size:11px;fill:#5c6675}.o{font-size:11px;fill:#2f5d9e}\
.l{font-size:12px;fill:#34435a;text-anchor:middle}.b{fill:#fff;stroke:#8793a6;stroke-width:1.25}\
.c{stroke:#b3bcc9}.k0{fill:#fff}.k1{fill:#f7f8fa}.k2{fill:#eff2f6}.i{fill:none}\
.h{stroke:#d3d9e2}.e{fill:none;stroke:#7486a0;stroke-width:1.4}.f{stroke-dasharray:4 3}\
.s{stroke:#a9b3c2;stroke-width:1.2;stroke-dasharray:6 5}.d{fill:#1f2733}";
/// How far the inner border of a final state is from the outer one.
const DOUBLE: i32 = 3;
const RADIUS: i32 = 8;
/// The radius of the corners of lines.
const BEND: i32 = 8;
const DOT: i32 = 5;
const LABEL_RADIUS: i32 = 4;

/// Writes the picture. `title` is its name for people who cannot see it.
pub(super) fn write(drawing: &Drawing, title: &str) -> String {
    let Drawing { width, height, .. } = drawing;
    let mut svg = vec![format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 9 8\" refX=\"8.5\" \
         refY=\"4\" markerWidth=\"9\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
         <path d=\"M0 .5L9 4L0 7.5z\" fill=\"#7486a0\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>",
        escape(title)
    )];
    for drawn in &drawing.states {
        state(drawn, depth(drawing, drawn), &mut svg);
    }
    for (from, to) in &drawing.separators {
        let Point { x, y } = from;
        svg.push(format!("<path class=\"s\" d=\"M{x} {y}V{}\"/>", to.y));
    }
    lines(drawing, &mut svg);
    for drawn in &drawing.states {
        dot(drawn, &mut svg);
    }
    svg.push("</svg>\n".to_owned());
    svg.join("\n")
}

/// How many states are around a state.
fn depth(drawing: &Drawing, drawn: &DrawnState) -> usize {
    let above = |drawn: &&DrawnState| drawn.parent.and_then(|parent| drawing.states.get(parent.position()));
    std::iter::successors(Some(drawn), above).count() - 1
}

fn state(drawn: &DrawnState, depth: usize, svg: &mut Vec<String>) {
    let DrawnState { area, shape, .. } = drawn;
    svg.push(format!("<g><title>{}</title>", escape(&drawn.id)));
    match shape {
        StateShape::Atomic => rectangle(*area, RADIUS, "b", svg),
        StateShape::Final => {
            rectangle(*area, RADIUS, "b", svg);
            let inner = inset(*area, DOUBLE);
            rectangle(inner, RADIUS - DOUBLE, "b i", svg);
        }
        StateShape::Compound | StateShape::Parallel => {
            rectangle(*area, RADIUS + 2, &format!("b c {}", shade(depth)), svg);
        }
        StateShape::Region => {}
        StateShape::ShallowHistory | StateShape::DeepHistory => rectangle(*area, area.height / 2, "b", svg),
    }
    name(drawn, svg);
    svg.push("</g>".to_owned());
}

/// States inside each other have different backgrounds.
fn shade(depth: usize) -> &'static str {
    match depth {
        0 => "k0",
        depth if depth % 2 == 1 => "k1",
        _ => "k2",
    }
}

fn name(drawn: &DrawnState, svg: &mut Vec<String>) {
    let DrawnState { area, name, notes, .. } = drawn;
    let is_centered = notes.is_empty() && !has_header(drawn.shape);
    if is_centered {
        let Point { x, y } = area.center();
        text((x, y + 5), "t m", name, NAME, svg);
        return;
    }
    let left = area.x + TEXT_INSET;
    text((left, area.y + NAME_ROW / 2 + 5), "t", name, NAME, svg);
    if notes.is_empty() {
        return;
    }
    let mut y = area.y + NAME_ROW;
    if !has_header(drawn.shape) {
        svg.push(format!(
            "<path class=\"h\" d=\"M{} {}H{}\"/>",
            area.x + 1,
            y - 1,
            area.right() - 1
        ));
        y += NOTE_ROW / 4;
    }
    for note in notes {
        let class = match note.kind {
            NoteKind::Action => "n",
            NoteKind::Internal => "o",
        };
        text((left, y + NOTE_ROW - 5), class, &note.text, NOTE, svg);
        y += NOTE_ROW;
    }
}

fn has_header(shape: StateShape) -> bool {
    matches!(shape, StateShape::Compound | StateShape::Parallel | StateShape::Region)
}

fn inset(area: Area, by: i32) -> Area {
    Area {
        x: area.x + by,
        y: area.y + by,
        width: (area.width - 2 * by).max(0),
        height: (area.height - 2 * by).max(0),
    }
}

fn rectangle(area: Area, radius: i32, class: &str, svg: &mut Vec<String>) {
    let Area { x, y, width, height } = area;
    svg.push(format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" class=\"{class}\"/>"
    ));
}

fn text((x, y): (i32, i32), class: &str, text: &str, font: Font, svg: &mut Vec<String>) {
    let length = width(text, font);
    svg.push(format!(
        "<text x=\"{x}\" y=\"{y}\" class=\"{class}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
        escape(text)
    ));
}

/// All lines, then all labels, so that no line covers a label.
fn lines(drawing: &Drawing, svg: &mut Vec<String>) {
    let mut last = None;
    for line in &drawing.lines {
        // Transitions with the same ends follow each other and share their line.
        if last.replace((line.source, line.target)) != Some((line.source, line.target)) {
            let class = if line.transition.is_some() { "e" } else { "e f" };
            svg.push(format!(
                "<path class=\"{class}\" marker-end=\"url(#a)\" d=\"{}\"/>",
                path(&line.points)
            ));
        }
    }
    for line in &drawing.lines {
        label(line, drawing, svg);
    }
}

fn label(line: &DrawnLine, drawing: &Drawing, svg: &mut Vec<String>) {
    let Some(label) = &line.label else { return };
    if line.source != line.target {
        rectangle(label.area, LABEL_RADIUS, background(drawing, label.area.center()), svg);
    }
    let mut y = label.area.y + LABEL_ROW - 2;
    for row in &label.rows {
        text((label.area.center().x, y), "l", row, LABEL, svg);
        y += LABEL_ROW;
    }
}

/// The background of the innermost state around a point.
fn background(drawing: &Drawing, at: Point) -> &'static str {
    let holds = |drawn: &&DrawnState| {
        let Area { x, y, .. } = drawn.area;
        let is_inside = (x..drawn.area.right()).contains(&at.x) && (y..drawn.area.bottom()).contains(&at.y);
        is_inside && matches!(drawn.shape, StateShape::Compound | StateShape::Parallel)
    };
    // States inside follow those around them.
    let innermost = drawing.states.iter().rfind(holds);
    innermost.map_or("k0", |innermost| shade(depth(drawing, innermost)))
}

/// A line with round corners.
fn path(points: &[Point]) -> String {
    let Some(first) = points.first() else {
        return String::new();
    };
    let mut path = vec![format!("M{} {}", first.x, first.y)];
    for corner in points.windows(3) {
        let &[before, at, after] = corner else { continue };
        let radius = BEND.min(distance(before, at) / 2).min(distance(at, after) / 2);
        let (from, to) = (toward(at, before, radius), toward(at, after, radius));
        path.push(format!("L{} {}Q{} {} {} {}", from.x, from.y, at.x, at.y, to.x, to.y));
    }
    if let [_, .., last] = points {
        path.push(format!("L{} {}", last.x, last.y));
    }
    path.concat()
}

fn distance(one: Point, other: Point) -> i32 {
    (one.x - other.x).abs() + (one.y - other.y).abs()
}

/// The point so far from `at` on the way to `other`; both are on one row or column.
fn toward(at: Point, other: Point, far: i32) -> Point {
    Point {
        x: at.x + (other.x - at.x).signum() * far,
        y: at.y + (other.y - at.y).signum() * far,
    }
}

/// The dot of an initial state, and the arrow from it.
fn dot(drawn: &DrawnState, svg: &mut Vec<String>) {
    let Some(Point { x, y }) = drawn.dot else { return };
    svg.push(format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{DOT}\" class=\"d\"/>"));
    svg.push(format!(
        "<path class=\"e\" marker-end=\"url(#a)\" d=\"M{x} {y}H{}\"/>",
        drawn.area.x
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
