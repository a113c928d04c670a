//! The page of metrics: read whole by a strict parser, and right after some work.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{DOOMED, LATER, ORDER, World};

/// A page, read strictly.
struct Page {
    kinds: BTreeMap<String, String>,
    samples: BTreeMap<(String, Labels), f64>,
}

type Labels = BTreeMap<String, String>;

impl Page {
    /// Reads the OpenMetrics text format: every family has its help and type first, its samples together, no sample
    /// twice, and nothing else is there but the end mark.
    fn parse(text: &str) -> Self {
        let text = text.strip_suffix("# EOF\n").expect("the end mark comes last");
        let mut page = Self {
            kinds: BTreeMap::new(),
            samples: BTreeMap::new(),
        };
        let mut family = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help has words");
                assert!(help.ends_with('.') && !help.contains('\\'), "{line}");
                let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE ")).expect(line);
                let (typed, kind) = kind.split_once(' ').expect("a type has a word");
                assert_eq!(typed, name, "help and type belong together");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
                assert!(is_name(name) && name.starts_with("sprag_"), "{name}");
                assert!(!name.ends_with("_total"), "{name}: the samples of a counter end so");
                family = match kind {
                    "counter" => format!("{name}_total"),
                    _ => name.to_owned(),
                };
                let known = page.kinds.insert(family.clone(), kind.to_owned());
                assert!(known.is_none(), "{name} twice");
            } else {
                page.sample(&family, line);
            }
        }
        page.check_histograms();
        page
    }

    fn sample(&mut self, family: &str, line: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"))),
            None => (series, ""),
        };
        let suffixes: &[&str] = match self.kinds.get(family).map(String::as_str) {
            Some("histogram") => &["_bucket", "_sum", "_count"],
            Some(_) => &[""],
            None => panic!("before any family: {line}"),
        };
        let own = name
            .strip_prefix(family)
            .is_some_and(|suffix| suffixes.contains(&suffix));
        assert!(own, "{line} is not of {family}");
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(value.is_finite() && value >= 0.0, "{line}");
        let key = (name.to_owned(), labels_of(labels));
        assert!(self.samples.insert(key, value).is_none(), "twice: {line}");
    }

    /// Buckets never fall, the last has no bound, and agrees with the count.
    fn check_histograms(&self) {
        let mut series: BTreeMap<(String, Labels), Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), count) in &self.samples {
            if let Some(family) = name.strip_suffix("_bucket") {
                let mut labels = labels.clone();
                let bound = labels
                    .remove("le")
                    .expect("a bucket has a bound")
                    .replace("+Inf", "inf");
                let buckets = series.entry((family.to_owned(), labels)).or_default();
                buckets.push((bound.parse().unwrap(), *count));
            }
        }
        for ((family, labels), mut buckets) in series {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(
                buckets.is_sorted_by(|one, other| one.1 <= other.1),
                "{family} {buckets:?}"
            );
            let (bound, all) = *buckets.last().unwrap();
            assert!(bound.is_infinite(), "{family}");
            let count = self.samples[&(format!("{family}_count"), labels.clone())];
            assert!(count.total_cmp(&all).is_eq(), "{family}: {count} and {all}");
            assert!(
                self.samples.contains_key(&(format!("{family}_sum"), labels)),
                "{family}"
            );
        }
    }

    /// The value of a sample.
    #[track_caller]
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels = labels
            .iter()
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()));
        let key = (name.to_owned(), labels.collect());
        *self.samples.get(&key).unwrap_or_else(|| panic!("there is no {key:?}"))
    }
}

fn is_name(text: &str) -> bool {
    text.chars()
        .all(|character| character.is_ascii_lowercase() || character == '_')
}

/// `a="b",c="d"`, with the three escapes there are.
fn labels_of(text: &str) -> Labels {
    let mut labels = Labels::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (label, quoted) = rest.split_once("=\"").unwrap_or_else(|| panic!("{text}"));
        assert!(is_name(label), "{text}");
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next().unwrap_or_else(|| panic!("no end: {text}")) {
                (end, '"') => break end,
                (_, '\\') => match characters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    plain @ ('\\' | '"') => value.push(plain),
                    other => panic!("\\{other} in {text}"),
                },
                (_, character) => value.push(character),
            }
        };
        assert!(
            labels.insert(label.to_owned(), value).is_none(),
            "{label} twice: {text}"
        );
        rest = &quoted[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    labels
}

impl World {
    async fn metrics(&self) -> Page {
        let reply = self.get("/metrics").await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(
            reply.header("content-type"),
            Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
        );
        Page::parse(&reply.body)
    }
}

#[tokio::test]
async fn every_family_without_rare_labels_is_there_before_any_work() {
    let world = World::start().await;
    let page = world.metrics().await;
    let families: BTreeSet<&str> = page.kinds.keys().map(String::as_str).collect();
    let expected = BTreeSet::from([
        "sprag_action_queue_delay_seconds",
        "sprag_action_retries_total",
        "sprag_actions_ended_total",
        "sprag_actions_queued",
        "sprag_attempt_cost_total",
        "sprag_attempt_duration_seconds",
        "sprag_attempts_ended_total",
        "sprag_attempts_leased",
        "sprag_attempts_running",
        "sprag_attempts_started_total",
        "sprag_attempts_superseded_total",
        "sprag_bodies_cut_total",
        "sprag_build_info",
        "sprag_commit_batch_size",
        "sprag_commit_duration_seconds",
        "sprag_commits_failed_total",
        "sprag_commits_fenced_total",
        "sprag_connections_closed_idle_total",
        "sprag_connections_cut_total",
        "sprag_dead_letters",
        "sprag_executions_closed_total",
        "sprag_executions_open",
        "sprag_executions_started_total",
        "sprag_lane_busy_seconds",
        "sprag_lane_lag_seconds",
        "sprag_lane_requests_waiting",
        "sprag_load_agents",
        "sprag_loads_running",
        "sprag_process_start_time_seconds",
        "sprag_store_bytes",
        "sprag_store_log_held_bytes",
        "sprag_store_readable",
        "sprag_streams_lagged_total",
        "sprag_streams_open",
        "sprag_timer_lateness_seconds",
    ]);
    assert_eq!(families, expected);
}

/// The rows of the first table of docs/metrics.md: the families, and the cell of their labels.
fn documented() -> BTreeMap<&'static str, &'static str> {
    let (main, _) = include_str!("../../../../docs/metrics.md")
        .split_once("## Supervision")
        .expect("supervision has a section of its own");
    let rows = main.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (family, rest) = row.split_once('`').expect("a family ends with its quote");
        (family, rest.split('|').nth(1).expect("a row has three cells"))
    })
    .collect()
}

impl Page {
    /// Holds the page against its documentation: the same families, and every label in its row.
    fn check_documented(&self) {
        let rows = documented();
        // Spans are counted only where a collector is configured.
        let expected = rows
            .keys()
            .copied()
            .filter(|family| *family != "sprag_trace_spans_total");
        let families: BTreeSet<&str> = self.kinds.keys().map(String::as_str).collect();
        assert_eq!(families, expected.collect());
        for (series, labels) in self.samples.keys() {
            let suffixes = ["", "_bucket", "_sum", "_count"];
            let found = suffixes
                .iter()
                .find_map(|suffix| rows.get(series.strip_suffix(suffix)?));
            let row = found.unwrap_or_else(|| panic!("{series} has no row"));
            for label in labels.keys().filter(|label| *label != "le") {
                assert!(
                    row.contains(label.as_str()),
                    "the row of {series} does not name {label}"
                );
            }
        }
    }
}

/// What is counted after an order was paid and shipped, a doomed one has failed, and one for later was cancelled.
const DONE: &[Sample] = &[
    ("sprag_executions_started_total", &[], 3.0),
    ("sprag_executions_closed_total", &[("status", "completed")], 1.0),
    ("sprag_executions_closed_total", &[("status", "cancelled")], 1.0),
    ("sprag_executions_open", &[("status", "running")], 1.0),
    ("sprag_dead_letters", &[], 1.0),
    (
        "sprag_actions_ended_total",
        &[("type", "noop"), ("outcome", "succeeded")],
        1.0,
    ),
    (
        "sprag_actions_ended_total",
        &[("type", "noop"), ("outcome", "cancelled")],
        1.0,
    ),
    (
        "sprag_actions_ended_total",
        &[("type", "fail"), ("outcome", "dead")],
        1.0,
    ),
    ("sprag_attempts_started_total", &[("type", "fail")], 1.0),
    (
        "sprag_attempts_ended_total",
        &[("type", "noop"), ("outcome", "done")],
        1.0,
    ),
    (
        "sprag_attempts_ended_total",
        &[("type", "fail"), ("outcome", "notDone")],
        1.0,
    ),
    ("sprag_attempt_duration_seconds_count", &[("type", "noop")], 1.0),
    (
        "sprag_attempt_errors_total",
        &[("type", "fail"), ("error", "not_found")],
        1.0,
    ),
    ("sprag_attempt_cost_total", &[("type", "noop")], 0.0),
    ("sprag_action_queue_delay_seconds_count", &[("type", "noop")], 1.0),
    ("sprag_attempts_running", &[], 0.0),
    ("sprag_store_readable", &[], 1.0),
    (
        "sprag_http_requests_total",
        &[("route", "/v1/executions"), ("method", "POST"), ("status", "201")],
        3.0,
    ),
    (
        "sprag_http_requests_total",
        &[("route", "/v1/executions/{id}"), ("method", "other"), ("status", "405")],
        1.0,
    ),
    (
        "sprag_http_request_duration_seconds_count",
        &[("route", "/v1/executions"), ("method", "POST")],
        3.0,
    ),
];

/// A name, labels and the value.
type Sample = (&'static str, &'static [(&'static str, &'static str)], f64);

#[tokio::test]
async fn what_was_done_is_counted() {
    let world = World::start().await;
    for machine in [ORDER, DOOMED, LATER] {
        world.apply(machine).await.expect(201);
    }
    let paid = world.begin("order").await;
    let pay = serde_json::json!({"type": "PAY", "payload": {"by": "Ada"}});
    world
        .post(&format!("/v1/executions/{paid}/messages"), &pay)
        .await
        .expect(200);
    world.get(&format!("/v1/executions/{paid}?wait=20s")).await.expect(200);
    let doomed = world.begin("doomed").await;
    world.action(&doomed, |action| action["status"] == "dead").await;
    let later = world.begin("later").await;
    world
        .command(&format!("/v1/executions/{later}/cancel"))
        .await
        .expect(200);
    world.send("BREW", "/v1/executions/teapot", &[], b"").await;
    let page = world.metrics().await;
    page.check_documented();
    for (name, labels, expected) in DONE {
        let value = page.value(name, labels);
        assert!(
            value.total_cmp(expected).is_eq(),
            "{name} {labels:?}: {value}, not {expected}"
        );
    }
    assert!(page.value("sprag_commit_duration_seconds_count", &[]) >= 8.0);
    assert!(page.value("sprag_commit_batch_size_sum", &[]) >= 8.0);
    assert!(page.value("sprag_lane_lag_seconds_count", &[]) >= 8.0);
    assert!(page.value("sprag_store_bytes", &[("file", "main")]) > 0.0);
    assert!(page.value("sprag_process_start_time_seconds", &[]) > 1.7e9);
}

#[tokio::test]
async fn ids_and_made_up_words_never_become_labels() {
    let world = World::start().await;
    for path in ["/v1/executions/exe_1", "/v1/machines/mine", "/made/up?really"] {
        world.get(path).await;
    }
    let page = world.metrics().await;
    let known = |name: &str, value: &str| match name {
        "route" => value == "none" || crate::routes::paths().any(|path| path == value),
        "method" => ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"].contains(&value),
        "status" => {
            value.parse().is_ok_and(|status: u16| (100..600).contains(&status))
                || ["running", "paused", "failed", "completed", "cancelled"].contains(&value)
        }
        "type" => ["noop", "fail", "hold", "load", "log_message", "relay", "other", "held"].contains(&value),
        "outcome" => [
            "succeeded",
            "dead",
            "cancelled",
            "skipped",
            "done",
            "notDone",
            "unknown",
        ]
        .contains(&value),
        "file" => ["main", "log"].contains(&value),
        "error" => value == "other" || sprag_core::action::error::kind::KNOWN.contains(&value),
        "version" => value == env!("CARGO_PKG_VERSION"),
        "le" => value == "+Inf" || value.parse::<f64>().is_ok(),
        _ => false,
    };
    for (series, labels) in page.samples.keys() {
        for (name, value) in labels {
            assert!(known(name, value), "{series} has {name}={value}");
        }
    }
}
