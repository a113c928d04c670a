//! The answer to a scrape: one registry with every family of engine, server and supervisor.
//!
//! The registry is assembled for each scrape. Counters are shared handles, so this costs a few dozen pointers; gauges that
//! are only known now are set here, and two scrapes at once cannot mix theirs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sprag_engine::Census;
use sprag_engine::metrics::Labels;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::FileBytes;
use sprag_supervisor::Gauges;

use crate::app::App;

/// The media type of an answer.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What every name begins with.
const PREFIX: &str = "sprag";

/// A gauge of whole numbers.
type Whole = Gauge<u64, AtomicU64>;
/// A gauge of seconds.
type Seconds = Gauge<f64, AtomicU64>;

/// Everything that a server counts. What only the store knows is left out when the store cannot be read.
pub(crate) fn page(app: &App, census: Option<&Census>, gauges: Option<&Gauges>) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    process(&mut registry, app);
    app.engine.metrics().register(&mut registry);
    lane(&mut registry, app);
    app.metrics.register(&mut registry);
    app.arrivals.register(&mut registry);
    streams(&mut registry, app);
    loads(&mut registry, app);
    let help = "Whether the open work could be counted in the store";
    single(&mut registry, "store_readable", help, u64::from(census.is_some()));
    if let Some(census) = census {
        open_work(&mut registry, app, census);
    }
    if let Some(workers) = app.workers.get() {
        supervision(&mut registry, workers.handle.metrics(), gauges);
    }
    text(&registry)
}

/// Everything that a supervisor alone counts.
pub(crate) fn supervision_page(metrics: &sprag_supervisor::Metrics, gauges: Option<&Gauges>) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    supervision(&mut registry, metrics, gauges);
    text(&registry)
}

fn supervision(registry: &mut Registry, metrics: &sprag_supervisor::Metrics, gauges: Option<&Gauges>) {
    metrics.register(registry);
    // A supervisor that has stopped has no gauges any more.
    if let Some(gauges) = gauges {
        gauges.register(registry);
    }
}

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, registry);
    text
}

fn process(registry: &mut Registry, app: &App) {
    let info = Family::<Labels<1>, Whole>::default();
    let version = [("version", Cow::Borrowed(env!("CARGO_PKG_VERSION")))];
    info.get_or_create(&version).set(1);
    registry.register("build_info", "The version that runs; always 1", info);
    let began = u64::try_from(app.metrics.began_at.as_millis()).unwrap_or(0);
    let help = "When the server started, in seconds since 1970";
    let began = Duration::from_millis(began);
    duration(registry, "process_start_time_seconds", help, began);
}

fn lane(registry: &mut Registry, app: &App) {
    let help = "How long the batch under way has taken so far; 0 while the lane is idle";
    let busy = Duration::from_micros(app.engine.metrics().busy_micros(app.engine.micros()));
    duration(registry, "lane_busy_seconds", help, busy);
    let help = "Requests that wait for the lane's answer";
    let waiting = count(app.engine.requests_waiting());
    single(registry, "lane_requests_waiting", help, waiting);
}

fn streams(registry: &mut Registry, app: &App) {
    let help = "Live streams that are open";
    single(registry, "streams_open", help, count(app.streams.open()));
    let help = "How often a reader of a stream fell behind and had to read the state again";
    registry.register("streams_lagged", help, app.streams.lagged().clone());
}

fn loads(registry: &mut Registry, app: &App) {
    let help = "Load tests that this node runs";
    single(registry, "loads_running", help, count(app.loads.count()));
    let help = "Agents that are registered for load tests";
    single(registry, "load_agents", help, count(app.loads.directory().list().len()));
}

fn open_work(registry: &mut Registry, app: &App, census: &Census) {
    let Census {
        executions,
        queued,
        dead_letters,
        file_bytes: FileBytes { main, log },
    } = census;
    let open = ExecutionStatus::ALL.into_iter().filter(|status| status.is_open());
    let open = open.map(|status| {
        let found = executions.iter().find(|(known, _)| *known == status);
        (status.word(), found.map_or(0, |(_, count)| *count))
    });
    labelled(
        registry,
        ("executions_open", "Open executions, by status"),
        "status",
        open,
    );
    let help = "Actions that are due and wait, by type; `held` are those of paused executions";
    labelled(registry, ("actions_queued", help), "type", by_type(app, queued));
    single(
        registry,
        "dead_letters",
        "Dead letters that wait for a person",
        *dead_letters,
    );
    let bytes = [("main", *main), ("log", *log)];
    labelled(registry, ("store_bytes", "The store on disk, by file"), "file", bytes);
    let help = "Bytes of the write-ahead log that a reader keeps from being copied into the store";
    single(registry, "store_log_held_bytes", help, app.engine.read().held_bytes());
}

/// Queued actions under the names by which types are counted: those without a runner together.
fn by_type<'a>(app: &'a App, queued: &[(String, u64)]) -> BTreeMap<&'a str, u64> {
    let kinds = &app.engine.metrics().kinds;
    let mut sums: BTreeMap<&str, u64> = kinds.names().map(|name| (name, 0)).collect();
    for (kind, count) in queued {
        let name = if kind.is_empty() { "held" } else { kinds.name(kind) };
        *sums.entry(name).or_default() += count;
    }
    sums
}

/// A gauge without labels.
fn single(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Whole::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

/// A gauge of seconds without labels.
fn duration(registry: &mut Registry, name: &str, help: &str, value: Duration) {
    let gauge = Seconds::default();
    gauge.set(value.as_secs_f64());
    registry.register(name, help, gauge);
}

/// A gauge with one label.
fn labelled<'a>(
    registry: &mut Registry,
    (name, help): (&str, &str),
    label: &'static str,
    values: impl IntoIterator<Item = (&'a str, u64)>,
) {
    let family = Family::<Labels<1>, Whole>::default();
    for (value, number) in values {
        let labels = [(label, Cow::Owned(value.to_owned()))];
        family.get_or_create(&labels).set(number);
    }
    registry.register(name, help, family);
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
