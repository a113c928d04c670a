//! The trait of a worker: an enum of states, and pure functions that return the next step.
//!
//! A step changes the state or acts, never both; [`Next`] cannot express both. `derive`, `next`, `children` and
//! `interrupt` are pure and quick. Only `collect` and `perform` affect the outside world, and the supervisor never
//! waits for them.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::rule::Rule;
use crate::runtime::collector::Recorder;
use crate::worker::action::{Action, ActionContext, ActionError};
use crate::worker::child::ChildSpec;
use crate::worker::snapshot::Snapshot;
use sprag_core::words;

/// Something supervised.
///
/// A worker that is asked to leave decides on its last observation, however old: one that stops something should then
/// believe its own stop, not an old look.
///
/// A step that changes the state and acts at once cannot be written (33.):
///
/// ```compile_fail
/// use sprag_supervisor::{Next, Worker};
///
/// fn both<W: Worker>(state: W::State, action: W::Action) -> Next<W> {
///     Next::To(state, action, "two things at once".into())
/// }
/// ```
///
/// One of them can:
///
/// ```
/// use sprag_supervisor::{Next, Worker};
///
/// fn one<W: Worker>(state: W::State) -> Next<W> {
///     Next::To(state, "one thing".into())
/// }
/// ```
pub trait Worker: Send + Sync + Sized + 'static {
    /// What a person or a parent wrote down, after its templates were rendered.
    type Spec: DeserializeOwned + Send + Sync + 'static;
    /// What follows from it.
    type Desired: Send + Sync + 'static;
    /// What was seen. It is serialized for rules and for the store.
    type Observed: Serialize + Send + Sync + 'static;
    /// What can be done.
    type Action: Action;
    /// Where it stands.
    type State: State;

    /// The state before anything was done.
    fn initial(&self) -> Self::State;

    /// What the spec asks for. Called when the spec or a variable changed, and again on the next tick after an error;
    /// while there is an error, what was derived before stays in force.
    fn derive(&self, spec: &Self::Spec) -> Result<Self::Desired, SpecError>;

    /// The next step. Called with an observation newer than the last action, except when the worker is asked to leave
    /// ([`Goal::Removed`]): then it is called in any case.
    fn next(&self, state: &Self::State, snapshot: &Snapshot<Self>) -> Next<Self>;

    /// The children that should exist. `None`: no opinion, so those of the declaration, or else what exists; an empty
    /// list: none. Asked on every visit, also before anything was seen.
    fn children(&self, snapshot: &Snapshot<Self>) -> Option<Vec<ChildSpec>> {
        let _ = snapshot;
        None
    }

    /// Rules across the worker's children, asked for once when the worker is built.
    fn rules(&self) -> Vec<Rule> {
        Vec::new()
    }

    /// Whether the action in progress should be cancelled. Asked on every tick while one is.
    fn interrupt(&self, snapshot: &Snapshot<Self>) -> bool {
        let _ = snapshot;
        false
    }

    /// Whether it stopped because its work was done, for those that depend on its completion.
    fn completed(&self, state: &Self::State, snapshot: &Snapshot<Self>) -> bool {
        let _ = (state, snapshot);
        false
    }

    /// Why a restart could not bring it back, as far as is seen. Asked before it is stopped for one: while there is a
    /// reason, what runs is left alone.
    fn obstacle(&self, _snapshot: &Snapshot<Self>) -> Option<String> {
        None
    }

    /// Whether it leaves its failed state by itself once what failed is over. If so, a manual start of it stops nothing
    /// that is well.
    fn recovers(&self) -> bool {
        false
    }

    /// Which answer of the world this is, where several looks may bring the same one: a number that changes with each.
    /// `None`: each look is an answer of its own.
    fn edition(&self, _observed: &Self::Observed) -> Option<u64> {
        None
    }

    /// Where its code counts and measures, if it does: taken after each look, added up and kept with what was seen.
    fn recorder(&self) -> Option<&Recorder> {
        None
    }

    /// Looks at the world.
    fn collect(&self, desired: &Self::Desired) -> impl Future<Output = Result<Self::Observed, CollectError>> + Send;

    /// Does something to the world. It is cancelled through `cx`, and dropped at its next await when it does not react.
    fn perform(&self, action: &Self::Action, cx: ActionContext)
    -> impl Future<Output = Result<(), ActionError>> + Send;
}

/// One step: a change of state or an action, and why.
#[derive(Debug)]
pub enum Next<W: Worker> {
    /// Nothing to do. The reason may be new.
    Stay(Reason),
    /// Another state.
    To(W::State, Reason),
    /// An action; the state stays until the action's effect was observed.
    Act(W::Action, Reason),
    /// The worker is done and can be reaped.
    Remove(Reason),
    /// The worker wants to be built anew, with fresh dependencies.
    Restart(Reason),
}

/// A state: a plain enum.
pub trait State: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The names of all states, for checking what refers to them.
    const NAMES: &'static [&'static str];

    /// The name that people, parents and rules see.
    fn name(&self) -> &'static str;

    /// What the state means to those who do not know the worker's kind.
    fn phase(&self) -> Phase;
}

words! {
    /// What a state means to others. All of them are ordinary: nothing here says why.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Phase as name {
        /// Nothing runs, and that is well.
        Stopped => "stopped",
        /// On the way up: before its startup probe passed.
        Starting => "starting",
        /// As it should be.
        Running => "running",
        /// Running, and unwell by its own judgement.
        Degraded => "degraded",
        /// On the way down.
        Stopping => "stopping",
        /// It cannot run.
        Failed => "failed",
    }
}

impl Phase {
    /// Whether it does its work, well or not so well.
    pub const fn is_operational(self) -> bool {
        matches!(self, Self::Running | Self::Degraded)
    }

    /// Whether nothing is left to stop.
    pub const fn is_down(self) -> bool {
        matches!(self, Self::Stopped | Self::Failed)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a worker is to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// It should run.
    #[default]
    Running,
    /// It should exist and not run.
    Stopped,
    /// It should stop and go: [`Next::Remove`], or staying in a state that is down.
    Removed,
}

/// Why, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A spec from which nothing follows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(pub String);

impl SpecError {
    /// An error that names its field.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A look at the world that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CollectError(pub String);

impl CollectError {
    /// An error with its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
