//! The page: every family there is, by what it is about.

use std::collections::BTreeMap;

use sprag_engine::Census;
use sprag_engine::metrics::{Counter, Histogram, KindMetrics};
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::FileBytes;

use super::text::{Kind, Text, Unit};
use crate::app::App;

/// Everything that is counted. What only the store knows is left out when it cannot be read.
pub(crate) fn page(app: &App, census: Option<&Census>) -> String {
    let mut text = Text::default();
    process(&mut text, app);
    executions(&mut text, app);
    actions(&mut text, app);
    attempts(&mut text, app);
    lane(&mut text, app);
    http(&mut text, app);
    traces(&mut text, app);
    text.single(
        "sprag_store_readable",
        Kind::Gauge,
        "Whether open work could be counted in the store.",
        u64::from(census.is_some()),
    );
    if let Some(census) = census {
        open_work(&mut text, app, census);
    }
    text.finish()
}

fn process(text: &mut Text, app: &App) {
    let mut info = text.family("sprag_build_info", Kind::Gauge, "The version that runs; always 1.");
    info.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let began = u64::try_from(app.metrics.began_at.as_millis()).unwrap_or(0);
    let help = "When the server began, in seconds since 1970.";
    text.family("sprag_process_start_time_seconds", Kind::Gauge, help)
        .seconds(&[], began.saturating_mul(1_000));
}

fn executions(text: &mut Text, app: &App) {
    let metrics = app.engine.metrics();
    let help = "Executions that started since the server began.";
    text.single(
        "sprag_executions_started_total",
        Kind::Counter,
        help,
        metrics.started.get(),
    );
    let help = "Executions that were closed since the server began, by how.";
    let mut closed = text.family("sprag_executions_closed_total", Kind::Counter, help);
    closed.sample(&[("status", "completed")], metrics.completed.get());
    closed.sample(&[("status", "cancelled")], metrics.cancelled.get());
}

/// One counter of a type.
type Of = fn(&KindMetrics) -> &Counter;

fn actions(text: &mut Text, app: &App) {
    let help = "Actions that ended since the server began, by type and how.";
    let outcomes: [(&str, Of); 4] = [
        ("succeeded", |kind| &kind.succeeded),
        ("dead", |kind| &kind.dead),
        ("cancelled", |kind| &kind.cancelled),
        ("skipped", |kind| &kind.skipped),
    ];
    let mut ended = text.family("sprag_actions_ended_total", Kind::Counter, help);
    for kind in app.engine.metrics().kinds.iter() {
        for (word, counter) in outcomes {
            ended.sample(&[("type", &kind.name), ("outcome", word)], counter(kind).get());
        }
    }
}

fn attempts(text: &mut Text, app: &App) {
    let kinds = &app.engine.metrics().kinds;
    let help = "Attempts that began since the server began, by type.";
    let mut begun = text.family("sprag_attempts_started_total", Kind::Counter, help);
    for kind in kinds.iter() {
        begun.sample(&[("type", &kind.name)], kind.begun.get());
    }
    let help = "Attempts that ended since the server began, by type and outcome.";
    let mut ended = text.family("sprag_attempts_ended_total", Kind::Counter, help);
    for kind in kinds.iter() {
        let outcomes = [
            ("done", &kind.done),
            ("notDone", &kind.not_done),
            ("unknown", &kind.unknown),
        ];
        for (word, counter) in outcomes {
            ended.sample(&[("type", &kind.name), ("outcome", word)], counter.get());
        }
    }
    let help = "Attempts that another one follows, by type.";
    let mut retried = text.family("sprag_action_retries_total", Kind::Counter, help);
    for kind in kinds.iter() {
        retried.sample(&[("type", &kind.name)], kind.retried.get());
    }
    let help = "Attempts that failed, by type and the type of their error.";
    let mut errors = text.family("sprag_attempt_errors_total", Kind::Counter, help);
    for kind in kinds.iter() {
        for (error, count) in kind.errors.iter() {
            errors.sample(&[("type", &kind.name), ("error", error)], count);
        }
    }
    let help = "What attempts cost, as runners and `costEstimate` say, by type.";
    let mut cost = text.family("sprag_attempt_cost_total", Kind::Counter, help);
    for kind in kinds.iter() {
        cost.millionths(&[("type", &kind.name)], kind.cost_micros.get());
    }
    durations(text, app);
}

fn durations(text: &mut Text, app: &App) {
    let help = "How long attempts took, by type.";
    spread(text, app, ("sprag_attempt_duration_seconds", help), |kind| {
        &kind.took_micros
    });
    let help = "How long ready actions waited for their attempt, by type.";
    spread(text, app, ("sprag_action_queue_delay_seconds", help), |kind| {
        &kind.waited_micros
    });
    let help = "Attempts under way.";
    text.single(
        "sprag_attempts_running",
        Kind::Gauge,
        help,
        app.engine.metrics().running.get(),
    );
    let help = "Attempts under way that programs outside this process perform.";
    text.single(
        "sprag_attempts_leased",
        Kind::Gauge,
        help,
        app.engine.metrics().leased.get(),
    );
    let help = "Outcomes of attempts that were no longer current: they came too late and were dropped.";
    text.single(
        "sprag_attempts_superseded_total",
        Kind::Counter,
        help,
        app.engine.metrics().superseded.get(),
    );
}

/// A histogram by type.
fn spread(text: &mut Text, app: &App, (name, help): (&'static str, &'static str), of: fn(&KindMetrics) -> &Histogram) {
    let mut family = text.family(name, Kind::Histogram, help);
    for kind in app.engine.metrics().kinds.iter() {
        family.histogram(&[("type", &kind.name)], &of(kind).read(), Unit::Micros);
    }
}

fn lane(text: &mut Text, app: &App) {
    let metrics = app.engine.metrics();
    let histograms = [
        (
            "sprag_commit_duration_seconds",
            "How long commits took until they were on disk.",
            &metrics.commit_micros,
            Unit::Micros,
        ),
        (
            "sprag_commit_batch_size",
            "How many commands one commit held.",
            &metrics.batch_size,
            Unit::Things,
        ),
        (
            "sprag_lane_lag_seconds",
            "How long the oldest command of a batch waited for the lane.",
            &metrics.lag_micros,
            Unit::Micros,
        ),
        (
            "sprag_timer_lateness_seconds",
            "How long after they were due timers and schedules fired.",
            &metrics.timer_late_micros,
            Unit::Micros,
        ),
    ];
    for (name, help, histogram, unit) in histograms {
        text.family(name, Kind::Histogram, help)
            .histogram(&[], &histogram.read(), unit);
    }
    let help = "Batches that were not written.";
    text.single(
        "sprag_commits_failed_total",
        Kind::Counter,
        help,
        metrics.commits_failed.get(),
    );
    let help = "Of these, batches that were refused because another node had a shard by then.";
    text.single("sprag_commits_fenced_total", Kind::Counter, help, metrics.fenced.get());
    let help = "How long the batch under way has taken so far; 0 while the lane rests.";
    text.family("sprag_lane_busy_seconds", Kind::Gauge, help)
        .seconds(&[], metrics.busy_micros(app.engine.micros()));
    let help = "Requests that wait for the lane's answer.";
    let waiting = u64::try_from(app.engine.requests_waiting()).unwrap_or(u64::MAX);
    text.single("sprag_lane_requests_waiting", Kind::Gauge, help, waiting);
}

fn http(text: &mut Text, app: &App) {
    let help = "Requests that were answered, by route, method and status.";
    let routes = app.metrics.routes();
    let mut requests = text.family("sprag_http_requests_total", Kind::Counter, help);
    for (route, methods) in routes.iter() {
        for (method, known) in methods {
            for (status, count) in &known.statuses {
                let status = status.to_string();
                requests.sample(&[("route", route), ("method", method), ("status", &status)], *count);
            }
        }
    }
    let help = "How long requests took until their answer began, by route and method.";
    let mut took = text.family("sprag_http_request_duration_seconds", Kind::Histogram, help);
    for (route, methods) in routes.iter() {
        for (method, known) in methods {
            let labels = [("route", route.as_str()), ("method", method)];
            took.histogram(&labels, &known.took_micros.read(), Unit::Micros);
        }
    }
    drop(routes);
    let help = "Live streams that are open.";
    let open = u64::try_from(app.streams.open()).unwrap_or(u64::MAX);
    text.single("sprag_streams_open", Kind::Gauge, help, open);
    let help = "How often a reader of a stream fell behind and was told to look for itself.";
    text.single("sprag_streams_lagged_total", Kind::Counter, help, app.streams.lagged());
    let help = "Connections that were broken off because the peer did not read.";
    text.single(
        "sprag_connections_cut_total",
        Kind::Counter,
        help,
        app.metrics.cut.get(),
    );
    let help = "Idle connections that were closed because their seats were needed.";
    text.single(
        "sprag_connections_closed_idle_total",
        Kind::Counter,
        help,
        app.metrics.closed_idle.get(),
    );
    let help = "Request bodies that were cut off because they arrived too slowly while others needed the room.";
    text.single("sprag_bodies_cut_total", Kind::Counter, help, app.arrivals.cut());
}

/// What became of spans; nothing where no collector is configured.
fn traces(text: &mut Text, app: &App) {
    let Some(counts) = &app.engine.metrics().traces else {
        return;
    };
    let help = "Spans for the collector of traces, by what became of them.";
    let mut spans = text.family("sprag_trace_spans_total", Kind::Counter, help);
    spans.sample(&[("result", "exported")], counts.exported.get());
    spans.sample(&[("result", "failed")], counts.failed.get());
    spans.sample(&[("result", "dropped")], counts.dropped.get());
}

fn open_work(text: &mut Text, app: &App, census: &Census) {
    let Census {
        executions,
        queued,
        dead_letters,
        file_bytes: FileBytes { main, log },
    } = census;
    let help = "Open executions, by status.";
    let mut open = text.family("sprag_executions_open", Kind::Gauge, help);
    for status in ExecutionStatus::ALL.into_iter().filter(|status| status.is_open()) {
        let found = executions.iter().find(|(known, _)| *known == status);
        open.sample(&[("status", status.word())], found.map_or(0, |(_, count)| *count));
    }
    let help = "Actions that are due and wait, by type; `held` are those of paused executions.";
    let mut waiting = text.family("sprag_actions_queued", Kind::Gauge, help);
    for (kind, count) in by_type(app, queued) {
        waiting.sample(&[("type", kind)], count);
    }
    let help = "Dead letters that wait for a person.";
    text.single("sprag_dead_letters", Kind::Gauge, help, *dead_letters);
    let help = "The store on disk, by file.";
    let mut bytes = text.family("sprag_store_bytes", Kind::Gauge, help);
    bytes.sample(&[("file", "main")], *main);
    bytes.sample(&[("file", "log")], *log);
    let help = "Bytes of the write-ahead log that a reader keeps from being copied into the store.";
    text.single("sprag_store_log_held_bytes", Kind::Gauge, help, app.engine.held_bytes());
}

/// Queued actions under the names that types are counted by: those without a runner together.
fn by_type<'a>(app: &'a App, queued: &[(String, u64)]) -> BTreeMap<&'a str, u64> {
    let kinds = &app.engine.metrics().kinds;
    let mut sums: BTreeMap<&str, u64> = kinds.iter().map(|kind| (kind.name.as_str(), 0)).collect();
    for (kind, count) in queued {
        let name = if kind.is_empty() { "held" } else { kinds.name(kind) };
        *sums.entry(name).or_default() += count;
    }
    sums
}
