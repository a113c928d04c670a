//! The three formats, by what must be in them; what holds for every drawing is in `properties`.

mod machines;
mod properties;

use super::*;
use crate::document::source::Format;
use crate::machine::{LoadOptions, load_text};

const MACHINE: &str = r#"
id: m
initial: a
states:
  a: { on: { GO: { target: p, guard: { "<": [{ var: event.payload.n }, 3] } } } }
  p:
    type: parallel
    onDone: z
    states:
      l: { initial: one, states: { one: { on: { N: two } }, two: { type: final }, back: { type: history, target: one } } }
      r: { initial: one, states: { one: { on: { 'A:"<b>&': two } }, two: { type: final } } }
  z: { type: final }
"#;

fn drawn(format: DiagramFormat) -> String {
    let loaded = load_text(MACHINE, Format::Yaml, &LoadOptions::default());
    diagram(&loaded.machine.unwrap(), format)
}

#[test]
fn mermaid_has_regions_beginnings_ends_and_labels_without_its_own_signs() {
    let text = drawn(DiagramFormat::Mermaid);
    assert!(text.starts_with("stateDiagram-v2\n"));
    for expected in [
        "    [*] --> s1_a\n",
        "    state \"p\" as s2_p {\n",
        "\n        --\n",
        "        state \"l\" as s3_p_l {\n            [*] --> s4_p_l_one\n",
        "    s10_z --> [*]\n",
        "    s1_a --> s2_p : GO [event.payload.n #60; 3]\n",
        "s8_p_r_one --> s9_p_r_two : A#58;#quot;#60;b#62;&\n",
        "s6_p_l_back --> s4_p_l_one : default\n",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn dot_has_clusters_and_arrows_that_end_at_their_borders() {
    let text = drawn(DiagramFormat::Dot);
    for expected in [
        "digraph \"m\" {\n",
        "subgraph cluster_s2_p {",
        "label=\"l\"; style=dashed;",
        "s10_z [label=\"z\", peripheries=2];",
        "s1_a -> s2_p [label=\"GO [event.payload.n < 3]\", lhead=cluster_s2_p];",
        "s2_p -> s10_z [label=\"onDone\", ltail=cluster_s2_p];",
        "label=\"A:\\\"<b>&\"",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert_eq!(text.matches(" {").count(), text.matches('}').count());
}

#[test]
fn svg_is_escaped_and_shows_regions_ends_and_beginnings() {
    let text = drawn(DiagramFormat::Svg);
    assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
    assert!(text.contains(">A:&quot;&lt;b&gt;&amp;</text>"));
    assert!(text.contains(">GO [event.payload.n &lt; 3]</text>"));
    assert!(!text.contains("<b>"));
    assert_eq!(
        text.matches("class=\"s\"").count(),
        1,
        "a line separates the two regions"
    );
    assert_eq!(
        text.matches("class=\"b i\"").count(),
        3,
        "every final state has a second border"
    );
    assert_eq!(text.matches("<circle").count(), 3, "one dot for every beginning");
    assert_eq!(
        text.matches("class=\"e f\"").count(),
        1,
        "a history state leads to its default"
    );
}

#[test]
fn formats_have_words_and_other_words_are_refused() {
    for format in DiagramFormat::ALL {
        assert_eq!(format.word().parse(), Ok(format));
    }
    assert!(
        "png"
            .parse::<DiagramFormat>()
            .unwrap_err()
            .to_string()
            .contains("`png`")
    );
}
