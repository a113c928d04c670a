//! What supervision counts, for whoever watches over it.
//!
//! Plain numbers are atomics. What has labels happens seldom and is kept in sorted maps of bounded size.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sprag_core::supervision::Event;

use crate::collector::CollectorCounts;
use crate::executor::Counts;
use crate::pool::lock;
use crate::rule::Rule;

/// Sets of labels that are told apart for one figure; what comes later is not counted by label.
const LABELS_MAX: usize = 4_096;
/// Bounds of recoveries and actions, in milliseconds.
const SLOW_MILLIS: &[u64] = &[100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000];
/// Bounds of ticks, in microseconds.
const TICK_MICROS: &[u64] = &[100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];

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
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn render(&self, text: &mut String, name: &str, bounds: &[u64], per_second: f64) {
        let _ = writeln!(text, "# TYPE {name} histogram");
        let mut below = 0;
        for (place, count) in self.counts.iter().enumerate().take(bounds.len() + 1) {
            below += count.load(Ordering::Relaxed);
            match bounds.get(place) {
                Some(bound) => {
                    let _ = writeln!(text, "{name}_bucket{{le=\"{}\"}} {below}", *bound as f64 / per_second);
                }
                None => {
                    let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {below}");
                }
            }
        }
        let sum = self.sum.load(Ordering::Relaxed) as f64 / per_second;
        let _ = writeln!(text, "{name}_sum {sum}\n{name}_count {}", self.count());
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

/// What is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    restarts: Labelled,
    recoveries: Labelled,
    attempts_in_window: Labelled,
    circuit_open: Labelled,
    escalations: Labelled,
    attempts: Labelled,
    recovery: Histogram,
    action: Histogram,
    tick: Histogram,
    overruns: AtomicU64,
    forced: AtomicU64,
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

    pub(crate) fn forced(&self) {
        one(&self.forced);
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
        self.action.record(SLOW_MILLIS, millis);
    }

    pub(crate) fn hands(&self, executor: Counts, collector: CollectorCounts) {
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
                self.restarts.add(format!("{labels},cause=\"{}\"", quoted(&rule.name)));
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

    /// Workers that had to be forced.
    pub fn forced_stops(&self) -> u64 {
        self.forced.load(Ordering::Relaxed)
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

    /// Results that came after nobody waited for them any more.
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
        self.attempts_in_window
            .render(&mut text, "sprag_supervision_attempts_in_window", "gauge");
        self.circuit_open
            .render(&mut text, "sprag_supervision_circuit_open", "gauge");
        let plain = [
            ("tick_overruns", &self.overruns),
            ("forced_stops", &self.forced),
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
        self.action
            .render(&mut text, "sprag_supervision_action_seconds", SLOW_MILLIS, 1e3);
        self.tick
            .render(&mut text, "sprag_supervision_tick_seconds", TICK_MICROS, 1e6);
        text
    }
}

fn labels(supervisor: &str, rule: &Rule) -> String {
    format!(
        "supervisor=\"{}\",child=\"{}\",rule=\"{}\"",
        quoted(supervisor),
        quoted(&rule.restart),
        quoted(&rule.name)
    )
}
