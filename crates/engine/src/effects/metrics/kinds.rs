//! What the engine counts about actions, by their type.
//!
//! The types are fixed when the engine starts, so looking one up takes no lock and the number of label sets is bounded.

use std::borrow::Cow;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sprag_core::action::{Status, Verdict};

use super::{Labels, MoneyCounter, seconds};
use crate::decide::{ErrorLabel, KindIndex, KindNames};

pub use crate::decide::OTHER;

/// Bounds of attempts and queue delays in seconds: from a millisecond to an hour.
const SLOW_SECONDS: [f64; 12] = [
    0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0, 3_600.0,
];
/// Millionths of one unit of cost.
const COST_UNIT: f64 = 1e6;

/// A histogram for each set of labels.
type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// The families by type, and the counters of each type.
#[derive(Debug)]
pub struct Kinds {
    families: Families,
    names: KindNames,
    /// In the order of their names.
    known: Box<[KindMetrics]>,
    other: KindMetrics,
}

/// The families that have a label `type`.
#[derive(Debug)]
struct Families {
    ended: Family<Labels<2>, Counter>,
    attempts_started: Family<Labels<1>, Counter>,
    attempts_ended: Family<Labels<2>, Counter>,
    retries: Family<Labels<1>, Counter>,
    errors: Family<Labels<2>, Counter>,
    cost: Family<Labels<1>, MoneyCounter>,
    duration: Histograms,
    queue_delay: Histograms,
}

/// The counters of one type.
#[derive(Debug)]
pub struct KindMetrics {
    name: String,
    started: Counter,
    done: Counter,
    not_done: Counter,
    unknown: Counter,
    retried: Counter,
    succeeded: Counter,
    dead: Counter,
    cancelled: Counter,
    skipped: Counter,
    cost: MoneyCounter,
    duration: Histogram,
    queue_delay: Histogram,
}

impl Kinds {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let families = Families::new();
        let names = KindNames::new(names);
        Self {
            known: names.iter().map(|name| families.kind(name)).collect(),
            other: families.kind(OTHER),
            families,
            names,
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        self.families.register(registry);
    }

    /// The names of all types, `other` last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().chain([&self.other]).map(|kind| kind.name.as_str())
    }

    /// The names, for decisions that note what is to be counted.
    pub(crate) fn index_of(&self) -> &KindNames {
        &self.names
    }

    /// The position of a type.
    pub(super) fn index(&self, name: &str) -> KindIndex {
        self.names.index(name)
    }

    /// The type at a position.
    pub(super) fn of(&self, index: KindIndex) -> &KindMetrics {
        self.known.get(index.0).unwrap_or(&self.other)
    }

    /// The name under which the engine counts a type.
    pub fn name<'a>(&'a self, kind: &str) -> &'a str {
        &self.of(self.index(kind)).name
    }

    /// Counts a failed attempt by its error. Errors are rare, so their counters are looked up when one occurs.
    pub(super) fn failed(&self, kind: &KindMetrics, error: ErrorLabel) {
        let labels = [typed(&kind.name), ("error", Cow::Borrowed(error.0))];
        self.families.errors.get_or_create(&labels).inc();
    }
}

impl Families {
    fn new() -> Self {
        let slow: fn() -> Histogram = || Histogram::new(SLOW_SECONDS);
        Self {
            ended: Family::default(),
            attempts_started: Family::default(),
            attempts_ended: Family::default(),
            retries: Family::default(),
            errors: Family::default(),
            cost: Family::default(),
            duration: Family::new_with_constructor(slow),
            queue_delay: Family::new_with_constructor(slow),
        }
    }

    fn kind(&self, name: &str) -> KindMetrics {
        let by_type = [typed(name)];
        let with = |outcome: &'static str| [typed(name), ("outcome", Cow::Borrowed(outcome))];
        let action = |outcome| self.ended.get_or_create_owned(&with(outcome));
        let attempt = |outcome| self.attempts_ended.get_or_create_owned(&with(outcome));
        KindMetrics {
            name: name.to_owned(),
            started: self.attempts_started.get_or_create_owned(&by_type),
            done: attempt("done"),
            not_done: attempt("notDone"),
            unknown: attempt("unknown"),
            retried: self.retries.get_or_create_owned(&by_type),
            succeeded: action("succeeded"),
            dead: action("dead"),
            cancelled: action("cancelled"),
            skipped: action("skipped"),
            cost: self.cost.get_or_create_owned(&by_type),
            duration: self.duration.get_or_create_owned(&by_type),
            queue_delay: self.queue_delay.get_or_create_owned(&by_type),
        }
    }

    fn register(&self, registry: &mut Registry) {
        let help = "Actions that ended since the server started, by type and outcome";
        registry.register("actions_ended", help, self.ended.clone());
        let help = "Attempts that started since the server started, by type";
        registry.register("attempts_started", help, self.attempts_started.clone());
        let help = "Attempts that ended since the server started, by type and outcome";
        registry.register("attempts_ended", help, self.attempts_ended.clone());
        let help = "Attempts that failed and are retried, by type";
        registry.register("action_retries", help, self.retries.clone());
        let help = "Attempts that failed, by type and error type";
        registry.register("attempt_errors", help, self.errors.clone());
        let help = "What attempts cost, as runners and `costEstimate` report it, by type";
        registry.register("attempt_cost", help, self.cost.clone());
        let help = "How long attempts took, by type";
        registry.register("attempt_duration_seconds", help, self.duration.clone());
        let help = "How long ready actions waited for their attempt, by type";
        registry.register("action_queue_delay_seconds", help, self.queue_delay.clone());
    }
}

impl KindMetrics {
    pub(super) fn begin(&self, waited_millis: u64) {
        self.started.inc();
        self.queue_delay.observe(seconds(waited_millis));
    }

    pub(super) fn settle(&self, outcome: Verdict, took_millis: u64) {
        self.duration.observe(seconds(took_millis));
        match outcome {
            Verdict::Done => self.done.inc(),
            Verdict::NotDone => self.not_done.inc(),
            Verdict::Unknown => self.unknown.inc(),
        };
    }

    pub(super) fn retry(&self) {
        self.retried.inc();
    }

    pub(super) fn spend(&self, cost_micros: u64) {
        if cost_micros > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a sum for people: 15 digits are enough")]
            self.cost.inc_by(cost_micros as f64 / COST_UNIT);
        }
    }

    pub(super) fn end(&self, status: Status) {
        let counter = match status {
            Status::Succeeded => &self.succeeded,
            Status::Dead => &self.dead,
            Status::Cancelled => &self.cancelled,
            Status::Skipped => &self.skipped,
            // Open actions have not ended, and archived ones ended before.
            Status::Scheduled | Status::Queued | Status::Running | Status::Retrying | Status::Archived => return,
        };
        counter.inc();
    }
}

fn typed(name: &str) -> (&'static str, Cow<'static, str>) {
    ("type", Cow::Owned(name.to_owned()))
}
