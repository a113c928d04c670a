//! What a decision notes for the metrics. The lane counts notes once their batch is durable.
//!
//! Action types are those with a runner, fixed when the engine starts; every other type is `other`. So labels are bounded.

use std::sync::Arc;

use sprag_core::action::Verdict;
use sprag_core::action::error::kind::KNOWN;
use sprag_store::records::ExecutionStatus;

/// The type under which the engine counts actions that have no runner here, and the error type of unknown errors.
pub const OTHER: &str = "other";

/// Something that happened in a batch, to be counted once it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// An execution was closed.
    Closed(ExecutionStatus),
    /// An attempt began so long after its action was ready.
    Begun { kind: KindIndex, waited_millis: u64 },
    /// An attempt ended.
    Settled {
        kind: KindIndex,
        outcome: Verdict,
        took_millis: u64,
        again: bool,
        error: Option<ErrorLabel>,
        cost_micros: u64,
    },
    /// The outcome of an attempt that was not current was dropped.
    Superseded,
    /// A timer fired so long after it was due.
    Fired { late_millis: u64 },
}

/// The position of an action type among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindIndex(pub(crate) usize);

/// The names of the action types that have a runner, in order. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct KindNames(Arc<[String]>);

impl KindNames {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        Self(names.into())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The position of a type; beyond the last, if it has no runner here.
    pub(crate) fn index(&self, name: &str) -> KindIndex {
        let found = self.0.binary_search_by(|kind| kind.as_str().cmp(name));
        KindIndex(found.unwrap_or(self.0.len()))
    }
}

/// An error type as a label: one of the types that Sprag knows, or `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErrorLabel(pub(crate) &'static str);

impl ErrorLabel {
    /// The label of an error type.
    pub(crate) fn of(error: &str) -> Self {
        Self(KNOWN.iter().copied().find(|known| *known == error).unwrap_or(OTHER))
    }
}
