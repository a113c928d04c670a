//! The observation of a service at one instant.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};
use sprag_core::supervision::RestartBudget;
use sprag_core::time::Timestamp;

use super::budget::{self, GaveUp};
use super::probe::{Found, Verdict};
use super::record::Ended;

/// What is seen of a service. Nothing in it moves by itself: the same service, unchanged, is seen the same again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceObservation {
    /// Its process.
    pub(super) process: Option<SeenProcess>,
    /// What its probes found.
    pub(super) found: Found,
    /// How the last process ended by itself.
    pub(super) ended: Option<Ended>,
    /// Why the last start did not come about.
    pub(super) problem: Option<Problem>,
    /// Its failures within the window.
    pub(super) failures: Vec<Timestamp>,
    /// Failures in a row.
    pub(super) streak: u32,
    /// How often it was started again.
    pub(super) restarts: u64,
    /// Why no more starts are tried.
    pub(super) gave_up: Option<GaveUp>,
    /// How often it is restarted, and after which pauses.
    pub(super) budget: RestartBudget,
    /// Why it could not be started now as it is written.
    pub(super) obstacle: Option<String>,
    /// Which configuration was checked for that.
    pub(super) checked: u64,
}

/// A process that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenProcess {
    pub(super) pid: i32,
    pub(super) since: Timestamp,
    /// It was found, not started by this supervisor.
    pub(super) adopted: bool,
    /// What it was started from.
    pub(super) digest: u64,
}

/// A start that did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) text: String,
    /// The same configuration cannot do better.
    pub(super) lasting: bool,
    /// What was to be started.
    pub(super) digest: u64,
}

impl ServiceObservation {
    /// The id of its process.
    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(|process| process.pid)
    }

    /// Whether its last process did its work and ended.
    pub(super) fn is_done(&self, digest: u64) -> bool {
        let ended = self.ended.as_ref();
        self.process.is_none() && ended.is_some_and(|ended| ended.exit.is_success() && ended.digest == digest)
    }

    /// When the next start is due, while one is waited for.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let waits = self.process.is_none() && self.gave_up.is_none();
        budget::due(&self.failures, self.streak, &self.budget).filter(|_| waits)
    }

    fn document(&self) -> Value {
        let process = self
            .process
            .as_ref()
            .map(|process| json!({"pid": process.pid, "since": process.since, "adopted": process.adopted}));
        let probe = |verdict: Verdict, error: &Option<String>| json!({"verdict": verdict, "error": error});
        let Found {
            startup,
            ready,
            live,
            observe_error,
            healthy,
            document: _,
            answers: _,
        } = &self.found;
        json!({
            "process": process,
            "startup": probe(startup.verdict, &startup.error),
            "ready": probe(ready.verdict, &ready.error),
            "live": probe(live.verdict, &live.error),
            "healthy": healthy,
            "observeError": observe_error,
            "ended": self.ended.as_ref().map(|ended| json!({"how": ended.exit.describe(), "at": ended.at})),
            "obstacle": self.obstacle,
            "problem": self.problem.as_ref().map(|problem| &problem.text),
            "failures": self.failures.len(),
            "due": self.due(),
            "restarts": self.restarts,
            "gaveUp": self.gave_up.as_ref().map(|gave_up| &gave_up.cause),
        })
    }
}

/// What the service tells about itself stands at the top, where rules look for it; what is known about its process is
/// under `service`.
impl Serialize for ServiceObservation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let told: &Map<String, Value> = &self.found.document;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in told.iter().filter(|(key, _)| *key != SERVICE) {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(SERVICE, &self.document())?;
        map.end()
    }
}

/// A reason that names the instant of the next start, with the time until then instead: what is stored stands still, what
/// is shown counts down.
pub fn counted_down(reason: &str, observed: &Value, now: Timestamp) -> String {
    let due = observed[SERVICE]["due"]
        .as_str()
        .and_then(|due| due.parse::<Timestamp>().ok());
    due.map_or_else(|| reason.to_owned(), |due| reason.replace(&at(due), &until(now, due)))
}

/// `at 2026-03-01T12:00:00.000Z`
pub(super) fn at(due: Timestamp) -> String {
    format!("at {due}")
}

/// `in 1.7 s`
fn until(now: Timestamp, due: Timestamp) -> String {
    let millis = due.since(now);
    format!("in {}.{} s", millis / 1_000, millis % 1_000 / 100)
}

/// The key under which the supervisor's own facts stand.
const SERVICE: &str = "service";
