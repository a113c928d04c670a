//! What people look up: versions, histories backwards, groups of dead letters, keys, timers.
//!
//! Every answer is bounded, whatever the store holds, and is found along an index that holds little else.

use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;

use super::Counted;
use super::error::Error;
use super::page::{Page, Paged};
use crate::records::{ExecutionStatus, HistoryEntry, MachineVersion, Timer, TimerKey};

/// Where a timer is in the order of due times.
pub type TimerPosition = (Timestamp, TimerKey);

/// What people look up. Part of every reader.
pub trait Lookup {
    /// The versions of a machine, newest first.
    fn machine_versions(&self, machine: &str, page: &Page<u32>) -> Result<Paged<MachineVersion, u32>, Error>;

    /// A history by sequence, newest first: entries before `page.after`.
    fn history_back(&self, id: ExecutionId, page: &Page<u64>) -> Result<Paged<HistoryEntry, u64>, Error>;

    /// Dead letters with a fingerprint, by fingerprint: at most so many groups, each counted up to a bound.
    fn letter_groups(&self, bounds: &GroupBounds) -> Result<LetterGroups, Error>;

    /// Executions whose keys begin with a text, by key and id.
    fn keys_with_prefix(&self, prefix: &str, most: usize) -> Result<Vec<KeyHolder>, Error>;

    /// The timers of all executions that are due by an instant, earliest first.
    fn timers_until(&self, until: Timestamp, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error>;

    /// How much is open, each kind counted up to a bound.
    fn open_counts(&self, most: usize) -> Result<OpenCounts, Error>;

    /// Actions of one slot up to an id, newest first, among the newest `scan` up to it.
    fn actions_of_slot(&self, slot: Slot, up_to: ActionId, scan: usize) -> Result<Vec<ActionId>, Error>;

    /// The schedules of all executions, by their next occurrence.
    fn schedules(&self, page: &Page<TimerPosition>) -> Result<Paged<Timer, TimerPosition>, Error>;
}

/// How far dead letters are grouped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupBounds {
    /// At most so many groups.
    pub groups: usize,
    /// Each group is counted up to here.
    pub counted: usize,
    /// Those that died since then are counted apart.
    pub recent_since: Timestamp,
}

/// Dead letters by fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterGroups {
    /// The groups.
    pub groups: Vec<LetterGroup>,
    /// Whether there are more groups than were asked for.
    pub more: bool,
}

/// Dead letters with the same fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterGroup {
    /// What they have in common.
    pub fingerprint: String,
    /// How many they are.
    pub all: Counted,
    /// How many of them died lately.
    pub recent: Counted,
    /// When the first of them died.
    pub first_at: Timestamp,
    /// When the last of them died.
    pub last_at: Timestamp,
    /// The one that died last.
    pub sample: ActionId,
}

/// How much is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCounts {
    /// Executions that accept events.
    pub running: Counted,
    /// Executions that a person paused.
    pub paused: Counted,
    /// Executions whose last decision failed.
    pub failed: Counted,
    /// Actions that are due and wait.
    pub queued: Counted,
    /// When the oldest of the counted ones became due.
    pub oldest_queued: Option<Timestamp>,
    /// Actions with a running attempt.
    pub attempts: Counted,
    /// Actions that wait for another attempt.
    pub retrying: Counted,
    /// Dead letters.
    pub dead: Counted,
    /// Plans that wait for a person.
    pub approvals: Counted,
}

/// An execution with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// The key.
    pub key: String,
    /// The execution.
    pub execution: ExecutionId,
    /// Its machine.
    pub machine: String,
    /// How it stands.
    pub status: ExecutionStatus,
}

/// A count of at most `bound` rows, of which one more was looked for.
pub(crate) fn counted(found: u64, bound: usize) -> Counted {
    let bound = u64::try_from(bound).unwrap_or(u64::MAX);
    Counted {
        count: found.min(bound),
        more: found > bound,
    }
}
