//! Workers of all types in one tree: what the supervisor needs of them, without their types.
//!
//! Private: users write plain `async fn`s, the boxes are made here. What crosses this border as [`Any`] was made by the
//! same worker, so a downcast that fails is a defect of this crate; it shows as an error, never as a panic.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use sprag_core::time::Timestamp;

use crate::action::{Action, ActionContext, ActionError, ActionOptions, ActionStatus};
use crate::child::ChildSpec;
use crate::collector::{Recorded, Recorder};
use crate::document::Document;
use crate::rule::Rule;
use crate::snapshot::{Children, Escalation, Identity, Snapshot};
use crate::worker::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};

/// Something of a worker's own type.
pub(crate) type Opaque = Arc<dyn Any + Send + Sync>;

/// What a pass of a collector brought.
#[derive(Clone)]
pub(crate) struct Collected {
    /// For the worker.
    pub(crate) observed: Opaque,
    /// For rules and the store.
    pub(crate) document: Document,
}

/// An action on its way to the executor.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) name: &'static str,
    pub(crate) options: ActionOptions,
    pub(crate) action: Opaque,
}

/// A snapshot without its types.
#[derive(Clone)]
pub(crate) struct Facts {
    pub(crate) identity: Arc<Identity>,
    pub(crate) now: Timestamp,
    pub(crate) goal: Goal,
    pub(crate) desired: Opaque,
    pub(crate) observed: Option<Opaque>,
    pub(crate) observed_at: Option<Timestamp>,
    pub(crate) action: Arc<ActionStatus>,
    pub(crate) children: Children,
    pub(crate) escalations: Arc<[Escalation]>,
}

/// A step without its types.
pub(crate) enum Step {
    Stay(Reason),
    /// The worker moved; where to is in its hands.
    Moved(Reason),
    Act(Order, Reason),
    Remove(Reason),
    Restart(Reason),
}

/// A state as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) state: &'static str,
    pub(crate) phase: Phase,
}

/// The half of a worker that does I/O: shared with the pools.
pub(crate) trait Outer: Send + Sync {
    fn look(self: Arc<Self>, desired: Opaque) -> BoxFuture<'static, Result<Collected, CollectError>>;
    fn act(self: Arc<Self>, action: Opaque, cx: ActionContext) -> BoxFuture<'static, Result<(), ActionError>>;
}

/// The half that decides, with the state it is in: owned by the tree.
pub(crate) trait Inner: Send {
    fn outer(&self) -> Arc<dyn Outer>;
    fn derive(&self, spec: Value) -> Result<Opaque, SpecError>;
    fn shown(&self) -> Shown;
    fn states(&self) -> &'static [&'static str];
    fn rules(&self) -> Vec<Rule>;
    /// Takes the next step; a change of state is made at once.
    fn next(&mut self, facts: &Facts) -> Step;
    fn children(&self, facts: &Facts) -> Option<Vec<ChildSpec>>;
    fn interrupt(&self, facts: &Facts) -> bool;
    fn completed(&self, facts: &Facts) -> bool;
    /// What its code counted and measured since the last call.
    fn recorded(&self) -> Recorded;
}

/// A worker and its state.
pub(crate) struct Held<W: Worker> {
    worker: Arc<W>,
    state: W::State,
}

impl<W: Worker> Held<W> {
    pub(crate) fn new(worker: W) -> Self {
        let state = worker.initial();
        Self {
            worker: Arc::new(worker),
            state,
        }
    }
}

/// A snapshot with its types; `None` when the facts are another worker's, which no caller brings about.
fn typed<W: Worker>(facts: &Facts) -> Option<Snapshot<W>> {
    let Facts {
        identity,
        now,
        goal,
        desired,
        observed,
        observed_at,
        action,
        children,
        escalations,
    } = facts.clone();
    let observed = match observed {
        Some(observed) => Some(observed.downcast::<W::Observed>().ok()?),
        None => None,
    };
    Some(Snapshot {
        identity,
        now,
        goal,
        desired: desired.downcast::<W::Desired>().ok()?,
        observed,
        observed_at,
        action,
        children,
        escalations,
    })
}

impl<W: Worker> Inner for Held<W> {
    fn outer(&self) -> Arc<dyn Outer> {
        Arc::clone(&self.worker) as Arc<dyn Outer>
    }

    fn derive(&self, spec: Value) -> Result<Opaque, SpecError> {
        let spec: W::Spec = serde_json::from_value(spec).map_err(|error| SpecError(error.to_string()))?;
        Ok(Arc::new(self.worker.derive(&spec)?))
    }

    fn shown(&self) -> Shown {
        Shown {
            state: self.state.name(),
            phase: self.state.phase(),
        }
    }

    fn states(&self) -> &'static [&'static str] {
        W::State::NAMES
    }

    fn rules(&self) -> Vec<Rule> {
        self.worker.rules()
    }

    fn next(&mut self, facts: &Facts) -> Step {
        let Some(snapshot) = typed::<W>(facts) else {
            return Step::Stay("the snapshot is not this worker's".into());
        };
        match self.worker.next(&self.state, &snapshot) {
            Next::Stay(reason) => Step::Stay(reason),
            // Going where one is, is staying: only the reason may be new.
            Next::To(state, reason) if state == self.state => Step::Stay(reason),
            Next::To(state, reason) => {
                self.state = state;
                Step::Moved(reason)
            }
            Next::Act(action, reason) => Step::Act(
                Order {
                    name: action.name(),
                    options: action.options(),
                    action: Arc::new(action),
                },
                reason,
            ),
            Next::Remove(reason) => Step::Remove(reason),
            Next::Restart(reason) => Step::Restart(reason),
        }
    }

    fn children(&self, facts: &Facts) -> Option<Vec<ChildSpec>> {
        self.worker.children(&typed::<W>(facts)?)
    }

    fn interrupt(&self, facts: &Facts) -> bool {
        typed::<W>(facts).is_some_and(|snapshot| self.worker.interrupt(&snapshot))
    }

    fn completed(&self, facts: &Facts) -> bool {
        typed::<W>(facts).is_some_and(|snapshot| self.worker.completed(&self.state, &snapshot))
    }

    fn recorded(&self) -> Recorded {
        self.worker.recorder().map(Recorder::take).unwrap_or_default()
    }
}

impl<W: Worker> Outer for W {
    fn look(self: Arc<Self>, desired: Opaque) -> BoxFuture<'static, Result<Collected, CollectError>> {
        Box::pin(async move {
            let desired = desired
                .downcast::<W::Desired>()
                .map_err(|_| CollectError::new("the desired state is not this worker's"))?;
            let observed = self.collect(&desired).await?;
            let document = Document::of(&observed)
                .map_err(|error| CollectError(format!("the observation cannot be serialized: {error}")))?;
            Ok(Collected {
                observed: Arc::new(observed),
                document,
            })
        })
    }

    fn act(self: Arc<Self>, action: Opaque, cx: ActionContext) -> BoxFuture<'static, Result<(), ActionError>> {
        Box::pin(async move {
            let action = action
                .downcast::<W::Action>()
                .map_err(|_| ActionError::new("unknown_error", "the action is not this worker's").hopeless())?;
            self.perform(&action, cx).await
        })
    }
}
