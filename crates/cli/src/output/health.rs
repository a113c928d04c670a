//! How actions have been doing, as text.

use serde_json::Value;

use super::table::Table;
use super::terminal::one_line as plain;
use super::views::{field, instant};

/// The report: figures by action, what failed, what could be changed.
pub(crate) fn health(document: &Value) -> String {
    let window = field(document, "window");
    if document["isEmpty"] == Value::Bool(true) {
        return format!("nothing was triggered in the last {window}\n");
    }
    let basis = &document["basis"];
    let mut text = format!(
        "{} actions triggered from {} on ({window})",
        field(basis, "actions"),
        instant(document, "from")
    );
    if basis["sampled"] == Value::Bool(true) {
        text.push_str(", a sample: there are more than a report looks at");
    }
    text.push_str("\n\n");
    text.push_str(&figures(document));
    text.push_str(&reasons(document));
    text.push_str(&recommendations(document));
    text
}

fn figures(document: &Value) -> String {
    let mut table = Table::new(&[
        "ACTION", "TYPE", "COUNT", "SUCCESS", "P50", "P95", "P99", "WAIT P95", "RETRIES", "COST",
    ])
    .optional(&["COST", "P50", "WAIT P95", "RETRIES", "TYPE"]);
    let all = std::iter::once(("all".to_owned(), document));
    let by_action = document["byAction"].as_array().into_iter().flatten();
    let named = by_action.map(|item| (format!("{}/{}", field(item, "machine"), field(item, "actionId")), item));
    for (name, item) in all.chain(named) {
        table.row([
            name,
            field(item, "type"),
            field(item, "totalExecutions"),
            percent(&item["successRate"]),
            millis(&item["latency"]["p50"]),
            millis(&item["latency"]["p95"]),
            millis(&item["latency"]["p99"]),
            millis(&item["queueDelay"]["p95"]),
            decimal(&item["averageRetries"]),
            decimal(&item["totalCost"]),
        ]);
    }
    table.text()
}

fn reasons(document: &Value) -> String {
    let mut table = Table::new(&["FAILURE", "ATTEMPTS", "DEAD LETTERS", "SHARE", "EXAMPLE"]);
    for reason in document["failureReasons"].as_array().into_iter().flatten() {
        table.row([
            field(reason, "errorType"),
            field(reason, "attempts"),
            field(reason, "deadLetters"),
            percent(&reason["share"]),
            field(reason, "example"),
        ]);
    }
    if table.is_empty() {
        String::new()
    } else {
        format!("\n{}", table.text())
    }
}

fn recommendations(document: &Value) -> String {
    let mut text = String::new();
    for advice in document["recommendations"].as_array().into_iter().flatten() {
        let name = format!("{}/{}", field(advice, "machine"), field(advice, "actionId"));
        text.push_str(&plain(&format!("{name}: {}", field(advice, "text"))));
        text.push('\n');
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn percent(value: &Value) -> String {
    value
        .as_f64()
        .map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn millis(value: &Value) -> String {
    value.as_u64().map_or("-".to_owned(), |millis| format!("{millis} ms"))
}

fn decimal(value: &Value) -> String {
    value.as_f64().map_or("-".to_owned(), |number| format!("{number:.2}"))
}
