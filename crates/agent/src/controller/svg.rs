//! Plots as inline SVG: lines over time, with a scale that ends at a round number.

use std::fmt::Write as _;

use sprag_core::text::html::escaped;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 28.0;
/// Horizontal grid lines above zero.
const STEPS: u32 = 4;

/// One line of a plot.
pub(super) struct Curve {
    pub(super) name: String,
    /// `#rrggbb`.
    pub(super) colour: &'static str,
    /// Where on the scale, and the value.
    pub(super) points: Vec<(f64, f64)>,
}

/// The horizontal scale of a plot.
pub(super) struct Scale {
    /// Where it ends.
    pub(super) end: f64,
    /// What stands where.
    pub(super) labels: Vec<(f64, String)>,
}

impl Scale {
    /// Seconds from 0 to the last point of any curve.
    pub(super) fn seconds(curves: &[Curve]) -> Self {
        let points = curves.iter().flat_map(|curve| &curve.points);
        let end = points.fold(1.0_f64, |end, (at, _)| end.max(*at));
        let step = round_up(end / f64::from(STEPS));
        let marks = (0..=2 * STEPS).map(|mark| f64::from(mark) * step);
        let labels = marks
            .take_while(|mark| *mark <= end)
            .map(|mark| (mark, format!("{} s", number(mark))));
        Self {
            end,
            labels: labels.collect(),
        }
    }

    /// Shares of operations, each nine as wide as the one before: 90 %, 99 %, 99.9 %.
    pub(super) fn shares(curves: &[Curve]) -> Self {
        let points = curves.iter().flat_map(|curve| &curve.points);
        let end = points.fold(1.0_f64, |end, (at, _)| end.max(*at));
        let known = [
            (0.0, "0 %"),
            (0.5, "50 %"),
            (0.9, "90 %"),
            (0.99, "99 %"),
            (0.999, "99.9 %"),
            (0.9999, "99.99 %"),
        ];
        let labels = known.map(|(share, label)| (at_share(share), label.to_owned()));
        Self {
            end,
            labels: labels.into_iter().filter(|(at, _)| *at <= end).collect(),
        }
    }
}

/// Where a share below 1 stands on the scale of shares.
pub(super) fn at_share(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// A plot of curves.
pub(super) fn plot(title: &str, unit: &str, scale: &Scale, curves: &[Curve]) -> String {
    let all = curves.iter().flat_map(|curve| &curve.points);
    let highest = all.fold(0.0_f64, |highest, (_, value)| highest.max(*value));
    let top = round_up(highest);
    let x = |at: f64| LEFT + at / scale.end * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text class=\"t\" x=\"{LEFT}\" y=\"16\">{0}</text>",
        escaped(title)
    );
    for step in 0..=STEPS {
        let value = top * f64::from(step) / f64::from(STEPS);
        let (at, label) = (y(value), number(value));
        let _ = write!(
            svg,
            "<line class=\"g\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"l\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label} {}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            escaped(unit)
        );
    }
    for (at, label) in &scale.labels {
        let _ = write!(
            svg,
            "<text class=\"l\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(*at),
            HEIGHT - 8.0,
            escaped(label)
        );
    }
    for (row, curve) in curves.iter().enumerate() {
        let points: Vec<String> = curve
            .points
            .iter()
            .map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value)))
            .collect();
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.5\" points=\"{1}\"/>\
             <text class=\"l\" style=\"fill:{0}\" x=\"{2:.1}\" y=\"16\" text-anchor=\"end\">{3}</text>",
            curve.colour,
            points.join(" "),
            WIDTH - RIGHT - 110.0 * f64::from(u32::try_from(curves.len() - row - 1).unwrap_or_default()),
            escaped(&curve.name)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The next of 1, 2, 5, 10, 20, 50, …
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let magnitude = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * magnitude);
    steps.into_iter().find(|step| *step >= value).unwrap_or(value)
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_number() {
        for (value, top) in [(0.0, 1.0), (0.7, 1.0), (1.2, 2.0), (30.0, 50.0), (1_001.0, 2_000.0)] {
            assert!((round_up(value) - top).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn the_scale_of_shares_gives_the_rare_as_much_room_as_the_frequent() {
        let curve = Curve {
            name: String::new(),
            colour: "#000000",
            points: vec![(at_share(0.0), 1.0), (at_share(0.995), 2.0)],
        };
        let labels: Vec<String> = Scale::shares(&[curve])
            .labels
            .into_iter()
            .map(|(_, label)| label)
            .collect();
        assert_eq!(labels, ["0 %", "50 %", "90 %", "99 %"]);
        assert!((at_share(0.99) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_plot_shows_every_curve_and_escapes_its_names() {
        let curve = Curve {
            name: "<b>".to_owned(),
            colour: "#000000",
            points: vec![(0.0, 1.0), (1.0, 2.0)],
        };
        let curves = [curve];
        let svg = plot("rate", "/s", &Scale::seconds(&curves), &curves);
        assert!(svg.contains("points=\"64.0,110.0 708.0,28.0\""), "{svg}");
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"));
    }
}
