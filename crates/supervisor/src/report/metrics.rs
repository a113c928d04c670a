//! What supervision counts, for monitoring.
//!
//! Plain numbers are atomics. What has labels happens seldom and is kept in sorted maps of bounded size.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sprag_core::supervision::Event;

use crate::rule::Rule;
use crate::runtime::collector::CollectorCounts;
use crate::runtime::executor::ExecutorCounts;
use crate::runtime::pool::lock;
use crate::tree::shown_path;

/// Sets of labels that are told apart for one figure; what comes later is not counted by label.
const LABELS_MAX: usize = 4_096;
/// Bounds of recoveries and actions, in milliseconds.
const SLOW_MILLIS: &[u64] = &[100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000];
/// Bounds of ticks, in microseconds.
const TICK_MICROS: &[u64] = &[100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];

/// Why a worker was restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartCause {
    /// Its process ended by itself.
    Crash,
    /// Its startup or live probe did not pass.
    Probe,
    /// An earlier start was refused by the system.
    Start,
    /// A person asked for it.
    Manual,
}

impl RestartCause {
    const fn word(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Probe => "probe",
            Self::Start => "start",
            Self::Manual => "manual",
        }
    }
}

/// How long things took.
#[derive(Debug, Default)]
struct Histogram {
    counts: [AtomicU64; 12],
    sum: AtomicU64,
}

impl Histogram {
    fn record(&self, bounds: &[u64], value: u64) {
        let place = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// In the text format of Prometheus, in seconds.
    fn render(&self, text: &mut String, name: &str, bounds: &[u64], per_second: f64) {
        let _ = writeln!(text, "# TYPE {name} histogram");
        self.render_labelled(text, (name, ""), bounds, per_second);
    }

    /// One of several with the same name, by its labels.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn render_labelled(&self, text: &mut String, (name, labels): (&str, &str), bounds: &[u64], per_second: f64) {
        let comma = if labels.is_empty() { "" } else { "," };
        let braced = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{labels}}}")
        };
        let mut below = 0;
        for (place, count) in self.counts.iter().enumerate().take(bounds.len() + 1) {
            below += count.load(Ordering::Relaxed);
            match bounds.get(place) {
                Some(bound) => {
                    let bound = *bound as f64 / per_second;
                    let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {below}");
                }
                None => {
                    let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {below}");
                }
            }
        }
        let sum = self.sum.load(Ordering::Relaxed) as f64 / per_second;
        let count = self.count();
        let _ = writeln!(text, "{name}_sum{braced} {sum}\n{name}_count{braced} {count}");
    }
}

/// Figures by label. The labels are the text between the braces.
#[derive(Debug, Default)]
struct Labelled(Mutex<BTreeMap<String, u64>>);

impl Labelled {
    fn add(&self, labels: String) {
        let mut figures = lock(&self.0);
        if figures.len() < LABELS_MAX || figures.contains_key(&labels) {
            *figures.entry(labels).or_default() += 1;
        }
    }

    fn set(&self, labels: String, value: u64) {
        let mut figures = lock(&self.0);
        if figures.len() < LABELS_MAX || figures.contains_key(&labels) {
            figures.insert(labels, value);
        }
    }

    fn get(&self, labels: &str) -> u64 {
        lock(&self.0).get(labels).copied().unwrap_or(0)
    }

    fn render(&self, text: &mut String, name: &str, kind: &str) {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for (labels, value) in lock(&self.0).iter() {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
}

/// Durations by label.
#[derive(Debug, Default)]
struct LabelledTimes(Mutex<BTreeMap<String, Histogram>>);

impl LabelledTimes {
    fn record(&self, labels: String, millis: u64) {
        let mut times = lock(&self.0);
        if times.len() < LABELS_MAX || times.contains_key(&labels) {
            times.entry(labels).or_default().record(SLOW_MILLIS, millis);
        }
    }

    fn render(&self, text: &mut String, name: &str) {
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (labels, times) in lock(&self.0).iter() {
            times.render_labelled(text, (name, labels), SLOW_MILLIS, 1e3);
        }
    }
}

/// What is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    restarts: Labelled,
    recoveries: Labelled,
    attempts_in_window: Labelled,
    circuit_open: Labelled,
    escalations: Labelled,
    attempts: Labelled,
    retries: Labelled,
    forced: Labelled,
    recovery: Histogram,
    actions: LabelledTimes,
    tick: Histogram,
    overruns: AtomicU64,
    cut: AtomicU64,
    panics: AtomicU64,
    transitions: AtomicU64,
    failed_passes: AtomicU64,
    stale: AtomicU64,
    leaked: AtomicU64,
    stuck: AtomicU64,
    late: AtomicU64,
    passes: AtomicU64,
    opened: AtomicU64,
}

fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}

impl Metrics {
    pub(crate) fn ticked(&self, micros: u64, tick_millis: u64) {
        self.tick.record(TICK_MICROS, micros);
        if micros > tick_millis.saturating_mul(1_000) {
            one(&self.overruns);
        }
    }

    /// A worker did not stop in time: its processes were `killed`, or it was `replaced` by a new one.
    pub(crate) fn forced(&self, path: &str, how: &str) {
        self.forced.add(format!("{},how=\"{how}\"", place(path)));
    }

    /// A worker was restarted, other than by a rule.
    pub(crate) fn restarted(&self, path: &str, cause: RestartCause) {
        let cause = cause.word();
        self.restarts
            .add(format!("{},cause=\"{cause}\",rule=\"\"", place(path)));
    }

    /// Another attempt of an action follows.
    pub(crate) fn retrying(&self, action: &str) {
        self.retries.add(format!("action=\"{}\"", quoted(action)));
    }

    pub(crate) fn cut(&self) {
        one(&self.cut);
    }

    pub(crate) fn panicked(&self) {
        one(&self.panics);
    }

    pub(crate) fn moved(&self) {
        one(&self.transitions);
    }

    pub(crate) fn not_seen(&self) {
        one(&self.failed_passes);
    }

    pub(crate) fn stale(&self) {
        one(&self.stale);
    }

    pub(crate) fn attempted(&self, action: &str, error: Option<&str>, millis: u64) {
        let outcome = quoted(error.unwrap_or("succeeded"));
        self.attempts
            .add(format!("action=\"{}\",outcome=\"{outcome}\"", quoted(action)));
        self.actions.record(format!("action=\"{}\"", quoted(action)), millis);
    }

    pub(crate) fn hands(&self, executor: ExecutorCounts, collector: CollectorCounts) {
        self.leaked.store(executor.leaked, Ordering::Relaxed);
        self.passes.store(collector.passes, Ordering::Relaxed);
        self.stuck.store(executor.stuck, Ordering::Relaxed);
        self.late.store(executor.late + collector.late, Ordering::Relaxed);
    }

    pub(crate) fn circuit(&self, supervisor: &str, rule: &Rule, event: &Event) {
        let labels = labels(supervisor, rule);
        match event {
            Event::Detected { number, opened, .. } => {
                let number = u64::try_from(*number).unwrap_or(u64::MAX);
                self.restarts.add(format!(
                    "{},cause=\"rule\",rule=\"{}\"",
                    child_place(supervisor, &rule.restart),
                    quoted(&rule.name)
                ));
                self.attempts_in_window.set(labels.clone(), number);
                self.circuit_open.set(labels, 1);
                if *opened {
                    one(&self.opened);
                }
            }
            Event::Resting { .. } | Event::HalfOpened => {}
            Event::Closed { open_millis } => {
                self.recovered(labels, "recovered", *open_millis);
            }
            Event::Released { open_millis } => self.recovered(labels, "undecided", *open_millis),
            Event::Escalated { .. } => {
                self.circuit_open.set(labels.clone(), 0);
                self.escalations.add(labels);
                self.recoveries.add("outcome=\"escalated\"".to_owned());
            }
        }
    }

    fn recovered(&self, labels: String, outcome: &str, open_millis: u64) {
        self.circuit_open.set(labels, 0);
        self.recoveries.add(format!("outcome=\"{outcome}\""));
        self.recovery.record(SLOW_MILLIS, open_millis);
    }

    /// An open circuit ended without anybody having recovered.
    pub(crate) fn abandoned(&self, supervisor: &str, rule: &Rule) {
        self.circuit_open.set(labels(supervisor, rule), 0);
        self.recoveries.add("outcome=\"abandoned\"".to_owned());
    }

    /// How often circuits opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// How many circuits are open.
    pub fn open(&self) -> u64 {
        lock(&self.circuit_open.0).values().sum()
    }

    /// Recoveries that ended so: `recovered`, `undecided`, `abandoned` or `escalated`.
    pub fn recoveries(&self, outcome: &str) -> u64 {
        self.recoveries.get(&format!("outcome=\"{outcome}\""))
    }

    /// Recoveries, and how long they took together, in milliseconds.
    pub fn recovery_millis(&self) -> (u64, u64) {
        (self.recovery.count(), self.recovery.sum.load(Ordering::Relaxed))
    }

    /// Stops that had to be forced: processes that were killed, workers that were replaced.
    pub fn forced_stops(&self) -> u64 {
        lock(&self.forced.0).values().sum()
    }

    /// Restarts for this cause: `crash`, `probe`, `start`, `manual` or `rule`.
    pub fn restarts(&self, cause: &str) -> u64 {
        let cause = format!("cause=\"{cause}\"");
        let restarts = lock(&self.restarts.0);
        let of_cause = restarts.iter().filter(|(labels, _)| labels.contains(&cause));
        of_cause.map(|(_, count)| count).sum()
    }

    /// Actions that were given up while they ran.
    pub fn leaked_actions(&self) -> u64 {
        self.leaked.load(Ordering::Relaxed)
    }

    /// Panics of workers' code.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Transitions of all workers.
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    /// Looks at workers.
    pub fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    /// Results that came after they were given up.
    pub fn late_results(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Everything, in the text format of Prometheus.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let counter = "counter";
        self.restarts
            .render(&mut text, "sprag_supervision_restarts_total", counter);
        self.recoveries
            .render(&mut text, "sprag_supervision_recoveries_total", counter);
        self.escalations
            .render(&mut text, "sprag_supervision_escalations_total", counter);
        self.attempts
            .render(&mut text, "sprag_supervision_attempts_total", counter);
        self.retries
            .render(&mut text, "sprag_supervision_action_retries_total", counter);
        self.forced
            .render(&mut text, "sprag_supervision_forced_stops_total", counter);
        self.attempts_in_window
            .render(&mut text, "sprag_supervision_attempts_in_window", "gauge");
        self.circuit_open
            .render(&mut text, "sprag_supervision_circuit_open", "gauge");
        let plain = [
            ("tick_overruns", &self.overruns),
            ("cut_workers", &self.cut),
            ("panics", &self.panics),
            ("transitions", &self.transitions),
            ("failed_passes", &self.failed_passes),
            ("stale_observations", &self.stale),
            ("leaked_actions", &self.leaked),
            ("stuck_actions", &self.stuck),
            ("late_results", &self.late),
            ("passes", &self.passes),
            ("circuit_opens", &self.opened),
        ];
        for (name, figure) in plain {
            let name = format!("sprag_supervision_{name}_total");
            let value = figure.load(Ordering::Relaxed);
            let _ = writeln!(text, "# TYPE {name} counter\n{name} {value}");
        }
        self.recovery
            .render(&mut text, "sprag_supervision_recovery_seconds", SLOW_MILLIS, 1e3);
        self.actions.render(&mut text, "sprag_supervision_action_seconds");
        self.tick
            .render(&mut text, "sprag_supervision_tick_seconds", TICK_MICROS, 1e6);
        text
    }
}

fn labels(supervisor: &str, rule: &Rule) -> String {
    let place = child_place(supervisor, &rule.restart);
    format!("{place},rule=\"{}\"", quoted(&rule.name))
}

/// The labels of a worker: who supervises it, and its name there.
fn place(path: &str) -> String {
    let (supervisor, child) = path.rsplit_once('/').unwrap_or(("", path));
    child_place(supervisor, child)
}

fn child_place(supervisor: &str, child: &str) -> String {
    let supervisor = quoted(shown_path(supervisor));
    format!("supervisor=\"{supervisor}\",child=\"{}\"", quoted(child))
}

/// Gauges that only the tree knows: taken on demand, so they cost nothing otherwise.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// How old the newest observation of each worker is, in milliseconds.
    pub observation_ages: Vec<(Arc<str>, u64)>,
    /// How long each circuit that is not closed has been open, in milliseconds: the supervisor, the child and the rule.
    pub circuits_open: Vec<(Arc<str>, String, String, u64)>,
}

impl Gauges {
    /// In the text format of Prometheus.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub fn render(&self) -> String {
        let mut text = String::new();
        let seconds = |millis: u64| millis as f64 / 1e3;
        let name = "sprag_supervision_observation_age_seconds";
        let _ = writeln!(text, "# TYPE {name} gauge");
        for (path, millis) in self.observation_ages.iter().take(LABELS_MAX) {
            let _ = writeln!(text, "{name}{{{}}} {}", place(path), seconds(*millis));
        }
        let name = "sprag_supervision_circuit_open_seconds";
        let _ = writeln!(text, "# TYPE {name} gauge");
        for (supervisor, child, rule, millis) in &self.circuits_open {
            let place = child_place(supervisor, child);
            let _ = writeln!(text, "{name}{{{place},rule=\"{}\"}} {}", quoted(rule), seconds(*millis));
        }
        text
    }
}
