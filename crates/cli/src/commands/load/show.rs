//! Runs of load plans as a terminal shows them.

use sprag_agent::controller::{Live, Percentiles, Progress, RunResult};
use sprag_wire::{LiveLoad, Load};

use crate::output::{self, Table};

/// Notes below the live table at most; older ones go.
const NOTES_MAX: usize = 5;

/// Shows a run while it is under way: a table on a terminal, and only notes elsewhere.
pub(super) struct Screen {
    is_table: bool,
    notes: Vec<String>,
    bar: output::Progress,
    /// The text beside the bar.
    words: String,
}

impl Screen {
    /// With a table if stdout is a terminal that shows text.
    pub(super) fn new(shows_text: bool) -> Self {
        Self {
            is_table: shows_text && output::is_terminal(),
            notes: Vec::new(),
            bar: output::Progress::new(),
            words: String::new(),
        }
    }
}

impl Screen {
    /// Leaves the last line as it is, and begins a new one.
    pub(super) fn end(&mut self) {
        if !self.words.is_empty() {
            self.bar.end(&self.words);
        }
    }
}

impl Progress for Screen {
    fn note(&mut self, text: &str) {
        if !self.is_table {
            output::note(text);
            return;
        }
        if self.notes.len() == NOTES_MAX {
            self.notes.remove(0);
        }
        self.notes.push(output::plain(text));
    }

    fn live(&mut self, live: &Live<'_>) {
        let (elapsed, duration) = (live.elapsed.min(live.duration), live.duration);
        self.words = words(live);
        if self.is_table {
            let notes = self.notes.join("\n");
            // A terminal that is gone ends with the process.
            let _ = output::redraw(&format!("{}\n{}{notes}\n", agents(live), figures(live)));
        }
        self.bar.show(&self.words, Some((whole(elapsed), whole(duration))));
    }
}

fn whole(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn words(live: &Live<'_>) -> String {
    let rate = live.point.map_or(0.0, |point| point.rate);
    format!(
        "{} s of {} s, {} ops, {rate:.1}/s, {} errors",
        live.elapsed.min(live.duration).as_secs(),
        live.duration.as_secs(),
        live.total.ops(),
        live.total.errors()
    )
}

fn agents(live: &Live<'_>) -> String {
    let mut table = Table::new(&["AGENT", "STATE", "OPS", "ERRORS"]);
    for agent in live.agents {
        let state = agent.state.name().to_owned();
        table.row([
            agent.name.clone(),
            state,
            agent.ops.to_string(),
            agent.errors.to_string(),
        ]);
    }
    table.text()
}

fn figures(live: &Live<'_>) -> String {
    let mut table = Table::bare();
    let tally = live.total.headline();
    for (name, latency) in [("latency", &tally.latency), ("service time", &tally.service)] {
        table.pair(name, percentiles(&latency.into()));
    }
    table.text()
}

fn percentiles(of: &Percentiles) -> String {
    let Percentiles {
        p50,
        p90,
        p95,
        p99,
        p999,
        max,
    } = of;
    format!("p50 {p50:.1}  p90 {p90:.1}  p95 {p95:.1}  p99 {p99:.1}  p99.9 {p999:.1}  max {max:.1} ms")
}

/// A finished run.
pub(super) fn result(result: &RunResult) -> String {
    let mut table = Table::bare();
    let total = &result.total;
    table.pair("status", result.status.to_string());
    if let Some(reason) = &result.reason {
        table.pair("reason", reason);
    }
    table.pair(
        "operations",
        format!("{}, {} errors, {} cut", total.ops, total.errors, total.cut),
    );
    table.pair("throughput", format!("{:.1} /s", total.throughput));
    table.pair("latency", percentiles(&total.latency));
    table.pair("service time", percentiles(&total.service_time));
    if result.missed > 0 {
        table.pair("missed", format!("{} arrivals never started", result.missed));
    }
    for failure in &result.failures {
        table.pair("error", format!("{} x {}", failure.times, failure.reason));
    }
    table.pair(
        "start spread",
        format!(
            "{:.3} ms, clocks ± {:.3} ms",
            result.start_spread_ms, result.clock_uncertainty_ms
        ),
    );
    for threshold in &result.thresholds {
        let word = if threshold.ok { "holds" } else { "does not hold" };
        table.pair(
            "threshold",
            format!("{} {word} ({:.3})", threshold.name, threshold.value),
        );
    }
    for agent in &result.agents {
        let message = agent
            .message
            .as_deref()
            .map(|message| format!(": {message}"))
            .unwrap_or_default();
        let text = format!("{} {}, {} operations{message}", agent.name, agent.state, agent.ops);
        table.pair("agent", text);
    }
    table.text()
}

/// Runs beside each other.
pub(super) fn comparison(results: &[RunResult]) -> String {
    let mut table = Table::new(&[
        "RUN", "STATUS", "OPS", "ERRORS", "RATE", "P50 MS", "P95 MS", "P99 MS", "MAX MS",
    ]);
    for (number, result) in results.iter().enumerate() {
        let total = &result.total;
        let latency = &total.latency;
        let numbers = [latency.p50, latency.p95, latency.p99, latency.max].map(|number| format!("{number:.1}"));
        let [p50, p95, p99, max] = numbers;
        let status = result.status.to_string();
        let (ops, errors) = (total.ops.to_string(), total.errors.to_string());
        let rate = format!("{:.1}/s", total.throughput);
        let name = format!("{} {}", number + 1, result.name);
        table.row([name, status, ops, errors, rate, p50, p95, p99, max]);
    }
    table.text()
}

/// Load tests of a server.
pub(super) fn loads(loads: &[Load]) -> String {
    let mut table = Table::new(&["ID", "NAME", "STATUS", "RESULT", "OPS", "RATE", "CREATED"]);
    for load in loads {
        let name = load.name.clone().unwrap_or_default();
        let result = load.result.as_ref().map(|result| result.status.to_string());
        let (ops, rate) = figures_of(load);
        let created = output::instant(load.created_at);
        let status = load.status.to_string();
        table.row([
            load.id.to_string(),
            name,
            status,
            result.unwrap_or_default(),
            ops,
            rate,
            created,
        ]);
    }
    table.text()
}

fn figures_of(load: &Load) -> (String, String) {
    match (&load.result, &load.live) {
        (Some(result), _) => (
            result.total.ops.to_string(),
            format!("{:.1}/s", result.total.throughput),
        ),
        (None, Some(live)) => (live.ops.to_string(), format!("{:.1}/s", live.rate)),
        (None, None) => (String::new(), String::new()),
    }
}

/// A load test of a server, with its figures or its result.
pub(super) fn load(load: &Load) -> String {
    let mut table = Table::bare();
    table.pair("id", load.id.to_string());
    table.pair("load", load.name.as_deref().unwrap_or_default());
    table.pair("action", load.status.word());
    if load.cancel_requested && load.result.is_none() {
        table.pair("abort", "requested");
    }
    table.pair("execution", load.execution_id.to_string());
    if !load.agents.is_empty() {
        table.pair("agents", load.agents.join(", "));
    }
    if let Some(error) = &load.last_error {
        table.pair("error", format!("{}: {}", error.kind, error.message));
    }
    let figures = match (&load.result, &load.live) {
        (Some(finished), _) => result(finished),
        (None, Some(figures)) => format!("{}\n", live(figures)),
        (None, None) => String::new(),
    };
    format!("{}{figures}", table.text())
}

/// The figures of a running load test, in one line.
pub(super) fn live(live: &LiveLoad) -> String {
    format!(
        "{} s of {} s, {} ops, {:.1}/s, {} errors, p50 {:.1}  p95 {:.1}  p99 {:.1} ms",
        (live.elapsed / 1_000).min(live.duration / 1_000),
        live.duration / 1_000,
        live.ops,
        live.rate,
        live.errors,
        live.total.latency.p50,
        live.total.latency.p95,
        live.total.latency.p99
    )
}

/// How a load test stands, in one line.
pub(super) fn stands(load: &Load) -> String {
    let name = load.name.as_deref().unwrap_or_default();
    format!("load {name} {} is {}", load.id, load.status)
}
