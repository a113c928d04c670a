//! The metrics of supervision.
//!
//! Plain counters are atomics. Families with labels change rarely and hold a bounded number of label sets.
//! [`Metrics::register`] adds every family to a registry. [`Gauges`] are read from the tree for each scrape.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sprag_core::supervision::RestartEvent;

use crate::rule::Rule;
use crate::runtime::collector::CollectorCounts;
use crate::runtime::executor::ExecutorCounts;
use crate::tree::shown_path;

/// Label sets of one family. Later ones are not counted.
const LABELS_MAX: usize = 4_096;
/// Bounds of recoveries and actions, in seconds.
const SLOW_SECONDS: [f64; 10] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0];
/// Bounds of ticks, in seconds.
const TICK_SECONDS: [f64; 9] = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0];

/// A label with its value.
type Label = (&'static str, Cow<'static, str>);
/// A gauge of fractions.
type Seconds = Gauge<f64, AtomicU64>;

/// A family with a bounded number of label sets.
#[derive(Debug)]
struct Bounded<M, const N: usize> {
    family: Family<[Label; N], M, fn() -> M>,
    sets: AtomicUsize,
}

impl<M: Clone, const N: usize> Bounded<M, N> {
    fn new(constructor: fn() -> M) -> Self {
        Self {
            family: Family::new_with_constructor(constructor),
            sets: AtomicUsize::new(0),
        }
    }

    /// The metric of these labels; none if they are new and the family is full.
    fn with(&self, labels: &[Label; N]) -> Option<M> {
        if let Some(known) = self.family.get(labels) {
            return Some(known.clone());
        }
        let has_room = self.sets.fetch_add(1, Ordering::Relaxed) < LABELS_MAX;
        has_room.then(|| self.family.get_or_create_owned(labels))
    }
}

impl<const N: usize> Bounded<Counter, N> {
    fn inc(&self, labels: &[Label; N]) {
        if let Some(counter) = self.with(labels) {
            counter.inc();
        }
    }
}

impl<const N: usize> Bounded<Gauge, N> {
    fn set(&self, labels: &[Label; N], value: i64) {
        if let Some(gauge) = self.with(labels) {
            gauge.set(value);
        }
    }
}

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

/// What is counted.
#[derive(Debug)]
pub struct Metrics {
    restarts: Bounded<Counter, 4>,
    forced_stops: Bounded<Counter, 3>,
    recoveries: Bounded<Counter, 1>,
    escalations: Bounded<Counter, 3>,
    attempts_in_window: Bounded<Gauge, 3>,
    circuit_open: Bounded<Gauge, 3>,
    attempts: Bounded<Counter, 2>,
    retries: Bounded<Counter, 1>,
    actions: Bounded<Histogram, 1>,
    recovery: Histogram,
    tick: Histogram,
    tick_overruns: Counter,
    cut_workers: Counter,
    panics: Counter,
    transitions: Counter,
    failed_passes: Counter,
    stale_observations: Counter,
    leaked_actions: Counter,
    stuck_actions: Counter,
    late_results: Counter,
    passes: Counter,
    circuit_opens: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let slow: fn() -> Histogram = || Histogram::new(SLOW_SECONDS);
        Self {
            restarts: Bounded::new(Counter::default),
            forced_stops: Bounded::new(Counter::default),
            recoveries: Bounded::new(Counter::default),
            escalations: Bounded::new(Counter::default),
            attempts_in_window: Bounded::new(Gauge::default),
            circuit_open: Bounded::new(Gauge::default),
            attempts: Bounded::new(Counter::default),
            retries: Bounded::new(Counter::default),
            actions: Bounded::new(slow),
            recovery: slow(),
            tick: Histogram::new(TICK_SECONDS),
            tick_overruns: Counter::default(),
            cut_workers: Counter::default(),
            panics: Counter::default(),
            transitions: Counter::default(),
            failed_passes: Counter::default(),
            stale_observations: Counter::default(),
            leaked_actions: Counter::default(),
            stuck_actions: Counter::default(),
            late_results: Counter::default(),
            passes: Counter::default(),
            circuit_opens: Counter::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn ticked(&self, micros: u64, tick_millis: u64) {
        self.tick.observe(Duration::from_micros(micros).as_secs_f64());
        if micros > tick_millis.saturating_mul(1_000) {
            self.tick_overruns.inc();
        }
    }

    /// A worker did not stop in time: its processes were `killed`, or it was `replaced` by a new one.
    pub(crate) fn forced(&self, path: &str, how: &'static str) {
        let [supervisor, child] = place(path);
        self.forced_stops.inc(&[supervisor, child, ("how", how.into())]);
    }

    /// A worker was restarted, other than by a rule.
    pub(crate) fn restarted(&self, path: &str, cause: RestartCause) {
        let [supervisor, child] = place(path);
        let cause = ("cause", cause.word().into());
        self.restarts.inc(&[supervisor, child, cause, ("rule", "".into())]);
    }

    /// Another attempt of an action follows.
    pub(crate) fn retrying(&self, action: &str) {
        self.retries.inc(&[text("action", action)]);
    }

    pub(crate) fn cut(&self) {
        self.cut_workers.inc();
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }

    pub(crate) fn moved(&self) {
        self.transitions.inc();
    }

    pub(crate) fn not_seen(&self) {
        self.failed_passes.inc();
    }

    pub(crate) fn stale(&self) {
        self.stale_observations.inc();
    }

    pub(crate) fn attempted(&self, action: &str, error: Option<&str>, millis: u64) {
        let outcome = text("outcome", error.unwrap_or("succeeded"));
        self.attempts.inc(&[text("action", action), outcome]);
        let labels = [text("action", action)];
        if let Some(histogram) = self.actions.with(&labels) {
            histogram.observe(seconds(millis));
        }
    }

    /// Takes over what executor and collector count themselves.
    pub(crate) fn hands(&self, executor: ExecutorCounts, collector: CollectorCounts) {
        let set = |counter: &Counter, value| counter.inner().store(value, Ordering::Relaxed);
        set(&self.leaked_actions, executor.leaked);
        set(&self.stuck_actions, executor.stuck);
        set(&self.passes, collector.passes);
        set(&self.late_results, executor.late + collector.late);
    }

    pub(crate) fn circuit(&self, supervisor: &str, rule: &Rule, event: &RestartEvent) {
        let labels = labels(supervisor, rule);
        match event {
            RestartEvent::Detected { number, opened, .. } => {
                let [supervisor, child, name] = labels.clone();
                self.restarts.inc(&[supervisor, child, ("cause", "rule".into()), name]);
                let number = i64::try_from(*number).unwrap_or(i64::MAX);
                self.attempts_in_window.set(&labels, number);
                self.circuit_open.set(&labels, 1);
                if *opened {
                    self.circuit_opens.inc();
                }
            }
            RestartEvent::Resting { .. } | RestartEvent::HalfOpened => {}
            RestartEvent::Closed { open_millis } => self.recovered(&labels, "recovered", *open_millis),
            RestartEvent::Released { open_millis } => self.recovered(&labels, "undecided", *open_millis),
            RestartEvent::Escalated { .. } => {
                self.ended(&labels, "escalated");
                self.escalations.inc(&labels);
            }
        }
    }

    fn recovered(&self, labels: &[Label; 3], outcome: &'static str, open_millis: u64) {
        self.ended(labels, outcome);
        self.recovery.observe(seconds(open_millis));
    }

    fn ended(&self, labels: &[Label; 3], outcome: &'static str) {
        self.circuit_open.set(labels, 0);
        self.recoveries.inc(&[("outcome", outcome.into())]);
    }

    /// An open circuit ended before its worker recovered.
    pub(crate) fn abandoned(&self, supervisor: &str, rule: &Rule) {
        self.ended(&labels(supervisor, rule), "abandoned");
    }

    /// Adds every family of supervision to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("supervision");
        let help = "Restarts of workers, by cause";
        registry.register("restarts", help, self.restarts.family.clone());
        let help = "Stops that did not end in time: processes that were killed, workers that were replaced";
        registry.register("forced_stops", help, self.forced_stops.family.clone());
        let help = "Circuits that ended, by outcome";
        registry.register("recoveries", help, self.recoveries.family.clone());
        let help = "How long circuits were open";
        registry.register("recovery_seconds", help, self.recovery.clone());
        let help = "Circuits that opened";
        registry.register("circuit_opens", help, self.circuit_opens.clone());
        let help = "Whether a circuit is open: 1 while it is";
        registry.register("circuit_open", help, self.circuit_open.family.clone());
        let help = "Detections within the window of a rule, as of the last one";
        registry.register("attempts_in_window", help, self.attempts_in_window.family.clone());
        let help = "Rules that gave up";
        registry.register("escalations", help, self.escalations.family.clone());
        self.register_actions(registry);
        self.register_tree(registry);
    }

    fn register_actions(&self, registry: &mut Registry) {
        let help = "How long attempts of workers' actions took, by action";
        registry.register("action_seconds", help, self.actions.family.clone());
        let help = "Attempts of workers' actions, by action and outcome";
        registry.register("attempts", help, self.attempts.family.clone());
        let help = "Attempts of workers' actions that failed and are retried, by action";
        registry.register("action_retries", help, self.retries.family.clone());
        let help = "Attempts that ignore their cancellation";
        registry.register("stuck_actions", help, self.stuck_actions.clone());
        let help = "Attempts that were abandoned while they ran";
        registry.register("leaked_actions", help, self.leaked_actions.clone());
        let help = "Results that came too late and were dropped";
        registry.register("late_results", help, self.late_results.clone());
    }

    fn register_tree(&self, registry: &mut Registry) {
        let help = "Observations that became too old to decide on";
        registry.register("stale_observations", help, self.stale_observations.clone());
        let help = "Passes of the collector";
        registry.register("passes", help, self.passes.clone());
        let help = "Passes of the collector that failed";
        registry.register("failed_passes", help, self.failed_passes.clone());
        let help = "State changes of workers";
        registry.register("transitions", help, self.transitions.clone());
        let help = "Panics of workers' code";
        registry.register("panics", help, self.panics.clone());
        let help = "Workers that did not leave in time and were cut off";
        registry.register("cut_workers", help, self.cut_workers.clone());
        let help = "How long ticks took";
        registry.register("tick_seconds", help, self.tick.clone());
        let help = "Ticks that took longer than a tick";
        registry.register("tick_overruns", help, self.tick_overruns.clone());
    }

    /// How often circuits opened.
    pub fn opened(&self) -> u64 {
        self.circuit_opens.get()
    }

    /// How many circuits are open.
    pub fn open(&self) -> u64 {
        self.sum("circuit_open", "")
    }

    /// Recoveries that ended so: `recovered`, `undecided`, `abandoned` or `escalated`.
    pub fn recoveries(&self, outcome: &str) -> u64 {
        self.sum("recoveries_total", &format!("outcome=\"{outcome}\""))
    }

    /// Stops that had to be forced: processes that were killed, workers that were replaced.
    pub fn forced_stops(&self) -> u64 {
        self.sum("forced_stops_total", "")
    }

    /// Restarts for this cause: `crash`, `probe`, `start`, `manual` or `rule`.
    pub fn restarts(&self, cause: &str) -> u64 {
        self.sum("restarts_total", &format!("cause=\"{cause}\""))
    }

    /// Recoveries, and how long they took together, in milliseconds.
    pub fn recovery_millis(&self) -> (u64, u64) {
        let millis = self.samples("recovery_seconds_sum", "").iter().sum::<f64>();
        let millis = Duration::from_secs_f64(millis).as_millis();
        (
            self.sum("recovery_seconds_count", ""),
            u64::try_from(millis).unwrap_or(u64::MAX),
        )
    }

    /// Actions that were abandoned while they ran.
    pub fn leaked_actions(&self) -> u64 {
        self.leaked_actions.get()
    }

    /// Panics of workers' code.
    pub fn panics(&self) -> u64 {
        self.panics.get()
    }

    /// State changes of all workers.
    pub fn transitions(&self) -> u64 {
        self.transitions.get()
    }

    /// Passes of the collector.
    pub fn passes(&self) -> u64 {
        self.passes.get()
    }

    /// Results that came too late and were dropped.
    pub fn late_results(&self) -> u64 {
        self.late_results.get()
    }

    /// Every family in the OpenMetrics text format, without the end mark.
    pub fn text(&self) -> String {
        text_of(|registry| self.register(registry))
    }

    fn sum(&self, name: &str, label: &str) -> u64 {
        let sum = self.samples(name, label).iter().sum::<f64>();
        Duration::from_secs_f64(sum).as_secs()
    }

    /// The samples of a family that carry a label, as a scrape reads them: a family cannot be walked otherwise.
    fn samples(&self, name: &str, label: &str) -> Vec<f64> {
        let name = format!("sprag_supervision_{name}");
        let of_family = |line: &&str| {
            let rest = line.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.starts_with([' ', '{']) && rest.contains(label))
        };
        let value = |line: &str| line.rsplit_once(' ').and_then(|(_, value)| value.parse().ok());
        self.text().lines().filter(of_family).filter_map(value).collect()
    }
}

fn text_of(register: impl FnOnce(&mut Registry)) -> String {
    let mut registry = Registry::with_prefix("sprag");
    register(&mut registry);
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode_registry(&mut text, &registry);
    text
}

fn text(label: &'static str, value: &str) -> Label {
    (label, value.to_owned().into())
}

fn seconds(millis: u64) -> f64 {
    Duration::from_millis(millis).as_secs_f64()
}

/// The labels of a rule: its supervisor, the child it restarts, its name.
fn labels(supervisor: &str, rule: &Rule) -> [Label; 3] {
    let [supervisor, child] = child_place(supervisor, &rule.restart);
    [supervisor, child, text("rule", &rule.name)]
}

/// The labels of a worker: its supervisor, and its name there.
fn place(path: &str) -> [Label; 2] {
    let (supervisor, child) = path.rsplit_once('/').unwrap_or(("", path));
    child_place(supervisor, child)
}

fn child_place(supervisor: &str, child: &str) -> [Label; 2] {
    [text("supervisor", shown_path(supervisor)), text("child", child)]
}

/// Gauges that only the tree knows. The tree is asked for them at a scrape, so they cost nothing otherwise.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// How old the newest observation of each worker is, in milliseconds.
    pub observation_ages: Vec<(Arc<str>, u64)>,
    /// How long each circuit that is not closed has been open, in milliseconds: the supervisor, the child and the rule.
    pub circuits_open: Vec<(Arc<str>, String, String, u64)>,
}

impl Gauges {
    /// These values in the OpenMetrics text format, without the end mark.
    pub fn text(&self) -> String {
        text_of(|registry| self.register(registry))
    }

    /// Adds these values to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("supervision");
        let ages = Family::<[Label; 2], Seconds>::default();
        for (path, millis) in self.observation_ages.iter().take(LABELS_MAX) {
            ages.get_or_create(&place(path)).set(seconds(*millis));
        }
        let help = "How old the newest observation of a worker is";
        registry.register("observation_age_seconds", help, ages);
        let open = Family::<[Label; 3], Seconds>::default();
        for (supervisor, child, rule, millis) in self.circuits_open.iter().take(LABELS_MAX) {
            let [supervisor, child] = child_place(supervisor, child);
            open.get_or_create(&[supervisor, child, text("rule", rule)])
                .set(seconds(*millis));
        }
        let help = "How long an open circuit has been open";
        registry.register("circuit_open_seconds", help, open);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    /// Counts everything once.
    fn busy() -> Metrics {
        let metrics = Metrics::default();
        let rule = Rule::when("starved", &json!({"==": [{"var": "web.state"}, "failed"]}), "web").unwrap();
        metrics.restarted("shop/web", RestartCause::Crash);
        metrics.forced("shop/web", "killed");
        metrics.retrying("start");
        metrics.attempted("start", Some("timeout"), 40);
        let detected = RestartEvent::Detected {
            number: 2,
            opened: true,
            last: false,
            cause: "failed".to_owned(),
        };
        metrics.circuit("shop", &rule, &detected);
        let escalated = RestartEvent::Escalated {
            cause: "failed".to_owned(),
        };
        metrics.circuit("shop", &rule, &escalated);
        metrics
    }

    /// The families of a page, by the names of their samples.
    fn families(page: &str) -> BTreeSet<String> {
        let typed = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let named = typed.map(|line| match line.split_once(' ').unwrap() {
            (name, "counter") => format!("{name}_total"),
            (name, _) => name.to_owned(),
        });
        named.collect()
    }

    /// The families in the table of supervision of docs/metrics.md. A row may hold two.
    fn documented() -> BTreeSet<String> {
        let (_, section) = include_str!("../../../../docs/metrics.md")
            .split_once("## Supervision")
            .unwrap();
        let cells = section.lines().filter(|line| line.starts_with("| `"));
        let cells = cells.map(|row| row.split('|').nth(1).unwrap());
        let names = cells.flat_map(|cell| cell.split('`').filter(|name| name.starts_with("sprag_")));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_documentation_names_every_family_and_no_other() {
        let gauges = Gauges {
            observation_ages: vec![(Arc::from("shop/web"), 1_500)],
            circuits_open: vec![(Arc::from("shop"), "web".to_owned(), "starved".to_owned(), 2_000)],
        };
        let page = busy().text() + &gauges.text();
        assert_eq!(families(&page), documented());
        let helped = page.lines().filter(|line| line.starts_with("# HELP ")).count();
        assert_eq!(helped, documented().len(), "every family has its help");
        let age = "sprag_supervision_observation_age_seconds{supervisor=\"shop\",child=\"web\"} 1.5";
        assert!(page.contains(age), "{page}");
    }

    #[test]
    fn totals_are_what_a_scrape_reads() {
        let metrics = busy();
        assert_eq!((metrics.restarts("crash"), metrics.restarts("rule")), (1, 1));
        assert_eq!((metrics.forced_stops(), metrics.recoveries("escalated")), (1, 1));
        assert_eq!(
            (metrics.opened(), metrics.open()),
            (1, 0),
            "an escalation closes the circuit"
        );
        assert_eq!(metrics.recovery_millis(), (0, 0));
    }

    #[test]
    fn label_sets_beyond_the_bound_are_not_counted() {
        let metrics = Metrics::default();
        for number in 0..=LABELS_MAX {
            metrics.retrying(&format!("action-{number}"));
        }
        metrics.retrying("action-0");
        let samples = metrics.samples("action_retries_total", "");
        assert_eq!(samples.len(), LABELS_MAX);
        assert_eq!(metrics.sum("action_retries_total", "action=\"action-0\""), 2);
    }
}
