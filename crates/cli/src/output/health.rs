//! How actions have been doing, as text.

use sprag_wire::{Figures, HealthReport};

use super::table::Table;
use super::terminal::one_line as plain;
use super::views::{dash, instant, list};

/// The report: figures by action, what failed, what could be changed.
pub(crate) fn health(report: &HealthReport) -> String {
    let window = &report.window;
    if report.is_empty {
        return format!("no action was triggered in the last {window}\n");
    }
    let mut text = format!(
        "{} actions triggered from {} on ({window})",
        report.basis.actions,
        instant(report.from)
    );
    if report.basis.sampled {
        text.push_str(", a sample of a larger number");
    }
    text.push_str("\n\n");
    text.push_str(&figures(report));
    text.push_str(&reasons(report));
    text.push_str(&recommendations(report));
    text
}

fn figures(report: &HealthReport) -> String {
    let mut table = Table::new(&[
        "ACTION", "TYPE", "COUNT", "SUCCESS", "P50", "P95", "P99", "WAIT P95", "RETRIES", "COST",
    ])
    .optional(&["COST", "P50", "WAIT P95", "RETRIES", "TYPE"]);
    table.row(row("all".to_owned(), "-", &report.figures));
    for one in &report.by_action {
        table.row(row(
            format!("{}/{}", one.machine, one.action_id),
            &one.kind,
            &one.figures,
        ));
    }
    table.text()
}

fn row(name: String, kind: &str, figures: &Figures) -> [String; 10] {
    let latency = figures.latency.as_ref();
    [
        name,
        kind.to_owned(),
        figures.total_executions.to_string(),
        percent(figures.success_rate),
        millis(latency.map(|latency| latency.p50)),
        millis(latency.map(|latency| latency.p95)),
        millis(latency.map(|latency| latency.p99)),
        millis(figures.queue_delay.as_ref().map(|delay| delay.p95)),
        decimal(figures.average_retries),
        decimal(Some(figures.total_cost)),
    ]
}

fn reasons(report: &HealthReport) -> String {
    let table = Table::new(&["FAILURE", "ATTEMPTS", "DEAD LETTERS", "SHARE", "EXAMPLE"]);
    let text = list(&report.failure_reasons, table, |reason| {
        vec![
            reason.error_type.clone(),
            reason.attempts.to_string(),
            reason.dead_letters.to_string(),
            percent(reason.share),
            dash(Some(&reason.example)),
        ]
    });
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn recommendations(report: &HealthReport) -> String {
    let mut text = String::new();
    for advice in &report.recommendations {
        let name = format!("{}/{}", advice.machine, advice.action_id);
        text.push_str(&plain(&format!("{name}: {}", advice.text)));
        text.push('\n');
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn percent(share: Option<f64>) -> String {
    dash(share.map(|share| format!("{:.1} %", share * 100.0)))
}

fn millis(millis: Option<u64>) -> String {
    dash(millis.map(|millis| format!("{millis} ms")))
}

fn decimal(number: Option<f64>) -> String {
    dash(number.map(|number| format!("{number:.2}")))
}
