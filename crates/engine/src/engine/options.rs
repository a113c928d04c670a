//! What can be set about an engine. Every bound has a name and a default; reaching one has a named error.

use sprag_core::action::Rate;
use sprag_core::integrity::audit::VerbSet;
use sprag_core::operation::approval::Policy;

use crate::decide::alerts::Alert;
use crate::effects::traces::Traces;
use crate::queue::control::DRAIN_DEFAULT;
use crate::queue::{Caps, CircuitOptions};
use crate::requests::operations::CheckHosts;

/// How an engine runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many attempts at once.
    pub caps: Caps,
    /// When failing destinations are left alone.
    pub circuits: CircuitOptions,
    /// Sizes.
    pub limits: Limits,
    /// How long closed executions are kept; for ever, unless it says otherwise.
    pub retention: Option<Retention>,
    /// Which plans need approval, and whose.
    pub approval: Policy,
    /// The rate at which actions that a kill switch held start after its release.
    pub drain: Rate,
    /// The hosts that a principal who may only propose may have checked without approval.
    pub check_hosts: CheckHosts,
    /// What is raised when actions that matter die.
    pub alerts: Vec<Alert>,
    /// The verbs of the audit that must have a reason.
    pub reasons: VerbSet,
    /// Who is told what happened, to draw traces of it; no exporter, unless set.
    pub traces: Traces,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            caps: Caps::default(),
            circuits: CircuitOptions::default(),
            limits: Limits::default(),
            retention: None,
            approval: Policy::default(),
            drain: DRAIN_DEFAULT,
            check_hosts: CheckHosts::default(),
            alerts: Vec::new(),
            reasons: VerbSet::default(),
            traces: Traces::default(),
        }
    }
}

/// How long closed executions are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Milliseconds since they last changed.
    pub closed_millis: u64,
}

/// The sizes of engine.md, in bytes unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A message: type, id and payload.
    pub message_bytes: usize,
    /// Variables and results of an execution.
    pub variables_bytes: usize,
    /// Levels of JSON.
    pub json_depth: usize,
    /// Microsteps in a macrostep.
    pub microsteps: u32,
    /// Inputs that wait for an execution.
    pub inbox: usize,
    /// Entries of a page of history.
    pub history_page: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 256 * 1024,
            variables_bytes: 256 * 1024,
            json_depth: 32,
            microsteps: 1_000,
            inbox: 1_000,
            history_page: 1_000,
        }
    }
}

/// How many commands a lane decides on in one batch.
pub(crate) const BATCH_MAX: usize = 1_024;
/// How many attempts begin in one batch.
pub(crate) const BEGIN_MAX: usize = 1_024;
/// Macrosteps one command may cause by ends of actions that were dead or skipped at once; the rest waits its turn.
pub(crate) const FOLLOW_UPS_MAX: usize = 64;
/// Milliseconds a cancelled attempt has to end.
pub(crate) const CANCEL_GRACE_MILLIS: u64 = 10_000;
/// Executions kept in memory.
pub(crate) const CACHE_MAX: usize = 20_000;
/// Roughly the bytes that they take, at most.
pub(crate) const CACHE_BYTES_MAX: usize = 64 << 20;
/// A process run shorter than this, in milliseconds, makes suspects of the attempts that ran at its end.
pub(crate) const SHORT_RUN_MILLIS: u64 = 60_000;
/// How often the lane writes that its process runs, in milliseconds.
pub(crate) const RUN_EVERY_MILLIS: u64 = 5_000;
/// After this many history entries an open execution gets a snapshot.
pub(crate) const SNAPSHOT_EVERY: u64 = 10_000;
/// Actions that are set free, or cancelled, by a switch in one batch.
pub(crate) const CHORE_PAGE: usize = 64;
/// Executions that are looked at for their age in one batch.
pub(crate) const AGED_PAGE: usize = 256;
/// History entries that are deleted in one batch, unless a single execution has more.
pub(crate) const AGED_ENTRIES_MAX: u64 = 2_000;
/// Milliseconds between two batches that delete.
pub(crate) const AGED_STEP_MILLIS: u64 = 20;
/// Milliseconds between two walks over all old executions.
pub(crate) const AGED_WALK_MILLIS: u64 = 3_600_000;
/// How long a node without an answer from its database believes that its lease runs, in milliseconds. After that it starts
/// nothing.
pub const PATIENCE_MILLIS: u64 = 8_000;
