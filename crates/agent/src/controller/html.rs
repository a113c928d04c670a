//! `report.html`: one file, readable without a network. It has no script, and plots are inline SVG.

use std::fmt::Write as _;

use sprag_core::text::html::escaped;
use sprag_wire::{LoadFigures, Percentiles, RunResult};

use super::output::Line;
use super::svg::{Curve, plot};

const COLOURS: [&str; 4] = ["#1f5fbf", "#c2571a", "#2d7d46", "#7a4fb5"];
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem;color:#1c1c1c}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}\
svg{width:100%;margin-top:1rem}.t{font:600 13px sans-serif}.l{font:11px sans-serif;fill:#555}.g{stroke:#e3e3e3}\
.bad{color:#b3261e}.good{color:#2d7d46}";

/// A report of one run, or of several beside each other.
pub fn report(runs: &[(RunResult, Vec<Line>)]) -> String {
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
    text.push_str("</tr>");
    let mut row = |name: &str, cell: &dyn Fn(&LoadFigures) -> String| {
        let _ = write!(text, "<tr><td>{name}</td>");
        for (result, _) in runs {
            let _ = write!(text, "<td>{}</td>", cell(&result.total));
        }
        text.push_str("</tr>");
    };
    row("Operations", &|total| total.ops.to_string());
    row("Errors", &|total| total.errors.to_string());
    row("Cut", &|total| total.cut.to_string());
    row("Throughput", &|total| format!("{:.1} /s", total.throughput));
    for (name, pick) in PERCENTILES {
        row(&format!("Latency {name}"), &|total| {
            format!("{:.3} ms", pick(&total.latency))
        });
    }
    for (name, pick) in PERCENTILES {
        row(&format!("Service time {name}"), &|total| {
            format!("{:.3} ms", pick(&total.service_time))
        });
    }
    text.push_str(
        "</table><p>Latency counts from the moment an operation was meant to start, service time from the moment it started. \
         Operations of the ramp-up are not in these figures.</p>",
    );
    text
}

/// Why operations failed; nothing where none did.
fn failures(runs: &[(RunResult, Vec<Line>)]) -> String {
    let mut text = String::new();
    for (result, _) in runs.iter().filter(|(result, _)| !result.failures.is_empty()) {
        let _ = write!(text, "<h2>Errors of {}</h2><table>", escaped(&result.name));
        for failure in &result.failures {
            let _ = write!(
                text,
                "<tr><td>{}</td><td>{}</td></tr>",
                escaped(&failure.reason),
                failure.times
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

fn plots(runs: &[(RunResult, Vec<Line>)]) -> String {
    let curves = |pick: &dyn Fn(&Line) -> f64| -> Vec<Curve> {
        let curve = |(number, (result, lines)): (usize, &(RunResult, Vec<Line>))| Curve {
            name: result.name.clone(),
            colour: COLOURS[number % COLOURS.len()],
            points: lines.iter().map(|line| (line.t_ms / 1_000.0, pick(line))).collect(),
        };
        runs.iter().enumerate().map(curve).collect()
    };
    [
        plot("Operations a second", "/s", &curves(&|line| line.rate)),
        plot("Latency p50, so far", "ms", &curves(&|line| line.p50_ms)),
        plot("Latency p99, so far", "ms", &curves(&|line| line.p99_ms)),
        plot("Errors, so far", "", &curves(&|line| exact(line.errors))),
    ]
    .concat()
}

#[expect(clippy::cast_precision_loss, reason = "a point of a plot")]
fn exact(count: u64) -> f64 {
    count as f64
}
