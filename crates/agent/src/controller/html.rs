//! `report.html`: one file, readable without a network. It has no script, and plots are inline SVG.

use std::fmt::Write as _;

use sprag_core::text::html::escaped;
use sprag_wire::{LoadFigures, Percentiles, RunResult};

use super::output::Line;
use super::svg::{Curve, Scale, at_share, plot};

const COLOURS: [&str; 8] = [
    "#1f5fbf", "#c2571a", "#2d7d46", "#7a4fb5", "#0e7c86", "#a3316f", "#7d6608", "#4a5568",
];
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem;color:#1c1c1c}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right}td,th{white-space:nowrap}td:first-child,th:first-child{text-align:left;white-space:normal}\
svg{width:100%;margin-top:1rem}.t{font:600 13px sans-serif}.l{font:11px sans-serif;fill:#555}.g{stroke:#e3e3e3}\
.bad{color:#b3261e}.good{color:#2d7d46}";

/// A report of one run, or of several beside each other.
pub fn report(runs: &[(RunResult, Vec<Line>)]) -> String {
    let runs = &numbered(runs);
    let names: Vec<&str> = runs.iter().map(|(result, _)| result.name.as_str()).collect();
    let title = escaped(&format!("Load: {}", names.join(" and ")));
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><h1>{title}</h1>"
    );
    for (result, _) in runs {
        page.push_str(&summary(result));
    }
    page.push_str("<h2>Figures</h2>");
    page.push_str(&figures(runs));
    page.push_str(&failures(runs));
    page.push_str("<h2>Over time</h2>");
    page.push_str(&plots(runs));
    page.push_str("</body></html>\n");
    page
}

/// The same runs. Several have numbers, because they often have one name.
fn numbered(runs: &[(RunResult, Vec<Line>)]) -> Vec<(RunResult, Vec<Line>)> {
    let mut runs = runs.to_vec();
    if runs.len() > 1 {
        for (number, (result, _)) in runs.iter_mut().enumerate() {
            result.name = format!("{} {}", number + 1, result.name);
        }
    }
    runs
}

fn summary(result: &RunResult) -> String {
    let status = result.status.word();
    let class = if status == "COMPLETED" { "good" } else { "bad" };
    let reason = result.reason.as_deref().map(|reason| format!(": {}", escaped(reason)));
    let mut text = format!(
        "<p><strong class=\"{class}\">{status}</strong>{} · {} · started {} · start spread {:.3} ms, clock uncertainty \
         ± {:.3} ms</p>",
        reason.unwrap_or_default(),
        escaped(&result.name),
        escaped(&result.started_at),
        result.start_spread_ms,
        result.clock_uncertainty_ms
    );
    for threshold in &result.thresholds {
        let (class, word) = if threshold.ok {
            ("good", "holds")
        } else {
            ("bad", "does not hold")
        };
        let name = escaped(&threshold.name);
        let _ = write!(text, "<p class=\"{class}\">{name}: {word} ({:.3})</p>", threshold.value);
    }
    text.push_str(
        "<table><tr><th>Agent</th><th>State</th><th>Operations, ramp-up included</th><th>Errors</th>\
         <th>Clock offset</th></tr>",
    );
    for agent in &result.agents {
        let partial = if agent.partial { ", partial" } else { "" };
        let _ = write!(
            text,
            "<tr><td>{} ({})</td><td>{}{partial}</td><td>{}</td><td>{}</td><td>{:.3} ms</td></tr>",
            escaped(&agent.name),
            escaped(&agent.address),
            escaped(&agent.state),
            agent.ops,
            agent.errors,
            agent.offset_ms
        );
    }
    text.push_str("</table>");
    text
}

fn figures(runs: &[(RunResult, Vec<Line>)]) -> String {
    let mut text = "<table><tr><th></th>".to_owned();
    for (result, _) in runs {
        let _ = write!(text, "<th>{}</th>", escaped(&result.name));
    }
    text.push_str(if runs.len() == 2 {
        "<th>Change</th></tr>"
    } else {
        "</tr>"
    });
    let mut row = |name: &str, digits: usize, unit: &str, pick: &dyn Fn(&LoadFigures) -> f64| {
        let _ = write!(text, "<tr><td>{name}</td>");
        let values: Vec<f64> = runs.iter().map(|(result, _)| pick(&result.total)).collect();
        for value in &values {
            let _ = write!(text, "<td>{value:.digits$}{unit}</td>");
        }
        if let [first, second] = values.as_slice() {
            let _ = write!(text, "<td>{}</td>", change(*first, *second));
        }
        text.push_str("</tr>");
    };
    row("Operations", 0, "", &|total| exact(total.ops));
    row("Errors", 0, "", &|total| exact(total.errors));
    row("Cut", 0, "", &|total| exact(total.cut));
    row("Throughput", 1, " /s", &|total| total.throughput);
    for (name, pick) in PERCENTILES {
        row(&format!("Latency {name}"), 3, " ms", &|total| pick(&total.latency));
    }
    for (name, pick) in PERCENTILES {
        row(&format!("Service time {name}"), 3, " ms", &|total| {
            pick(&total.service_time)
        });
    }
    text.push_str(
        "</table><p>Latency counts from the moment an operation was meant to start, service time from the moment it started. \
         Operations of the ramp-up are not in these figures.</p>",
    );
    text
}

/// How a figure of the second run differs from that of the first one.
fn change(first: f64, second: f64) -> String {
    if first == 0.0 {
        return String::new();
    }
    format!("{:+.1} %", (second - first) / first * 100.0)
}

/// Why operations failed; nothing where none did.
fn failures(runs: &[(RunResult, Vec<Line>)]) -> String {
    let mut text = String::new();
    for (result, _) in runs.iter().filter(|(result, _)| !result.failures.is_empty()) {
        let _ = write!(
            text,
            "<h2>Errors of {}</h2><table><tr><th>Reason</th><th>Operations</th><th>Share</th></tr>",
            escaped(&result.name)
        );
        let all = result.total.ops + result.ramp.ops;
        for failure in &result.failures {
            let _ = write!(
                text,
                "<tr><td>{}</td><td>{}</td><td>{:.2} %</td></tr>",
                escaped(&failure.reason),
                failure.times,
                exact(failure.times) / exact(all.max(1)) * 100.0
            );
        }
        text.push_str("</table>");
    }
    text
}

type Pick = fn(&Percentiles) -> f64;

const PERCENTILES: [(&str, Pick); 6] = [
    ("p50", |of| of.p50),
    ("p90", |of| of.p90),
    ("p95", |of| of.p95),
    ("p99", |of| of.p99),
    ("p99.9", |of| of.p999),
    ("max", |of| of.max),
];

/// A figure of a second, as a plot names it.
type OfSecond = (&'static str, fn(&Line) -> f64);

fn plots(runs: &[(RunResult, Vec<Line>)]) -> String {
    let curves = |figures: &[OfSecond]| -> Vec<Curve> {
        let each = runs
            .iter()
            .flat_map(|run| figures.iter().map(move |figure| (run, figure)));
        let curve = |(number, ((result, lines), (name, pick))): (usize, (&(RunResult, Vec<Line>), &OfSecond))| Curve {
            name: if runs.len() > 1 {
                format!("{} {name}", result.name)
            } else {
                (*name).to_owned()
            },
            colour: COLOURS[number % COLOURS.len()],
            points: lines.iter().map(|line| (line.t_ms / 1_000.0, pick(line))).collect(),
        };
        each.enumerate().map(curve).collect()
    };
    let over_time = |title: &str, unit: &str, figures: &[OfSecond]| {
        let curves = curves(figures);
        plot(title, unit, &Scale::seconds(&curves), &curves)
    };
    [
        over_time(
            "Latency of each second",
            "ms",
            &[("p50", |line| line.now_p50_ms), ("p99", |line| line.now_p99_ms)],
        ),
        over_time("Operations a second", "/s", &[("", |line| line.rate)]),
        percentile_curve(runs),
        over_time("Errors so far", "", &[("", |line| exact(line.errors))]),
    ]
    .concat()
}

/// Which latency so many of the operations stay below.
fn percentile_curve(runs: &[(RunResult, Vec<Line>)]) -> String {
    let curve = |(number, (result, _)): (usize, &(RunResult, Vec<Line>))| {
        let curve = &result.total.curve;
        let points = curve.iter().filter(|point| point.share < 1.0);
        Curve {
            name: result.name.clone(),
            colour: COLOURS[number % COLOURS.len()],
            points: points.map(|point| (at_share(point.share), point.ms)).collect(),
        }
    };
    let curves: Vec<Curve> = runs.iter().enumerate().map(curve).collect();
    plot("Latency by share of operations", "ms", &Scale::shares(&curves), &curves)
}

#[expect(clippy::cast_precision_loss, reason = "a point of a plot")]
fn exact(count: u64) -> f64 {
    count as f64
}
