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
use crate::tree::Index;
use crate::worker::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};

/// Something of a worker's own type.
pub(crate) type Opaque = Arc<dyn Any + Send + Sync>;

/// What a pass of a collector brought.
#[derive(Clone)]
pub(crate) struct Collected {
    /// Who was seen.
    pub(crate) of: Index,
    /// For the worker.
    pub(crate) observed: Opaque,
    /// For rules and the store.
    pub(crate) document: Document,
    /// Which answer of the world it is, where several passes may bring the same one.
    pub(crate) edition: Option<u64>,
}

/// An action on its way to the executor.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) name: &'static str,
    pub(crate) options: ActionOptions,
    pub(crate) action: Opaque,
}

/// A snapshot without its types.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) identity: &'a Arc<Identity>,
    pub(crate) now: Timestamp,
    pub(crate) goal: Goal,
    pub(crate) desired: &'a Opaque,
    pub(crate) observed: Option<&'a Opaque>,
    pub(crate) observed_at: Option<Timestamp>,
    pub(crate) action: &'a Arc<ActionStatus>,
    pub(crate) children: &'a Children,
    pub(crate) escalations: &'a Arc<[Escalation]>,
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
    fn look(self: Arc<Self>, of: Index, desired: Opaque) -> BoxFuture<'static, Result<Collected, CollectError>>;
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
    fn next(&mut self, facts: Facts<'_>) -> Step;
    fn children(&mut self, facts: Facts<'_>) -> Option<Vec<ChildSpec>>;
    fn interrupt(&mut self, facts: Facts<'_>) -> bool;
    fn completed(&mut self, facts: Facts<'_>) -> bool;
    /// What its code counted and measured since the last call.
    fn recorded(&self) -> Recorded;
    /// Why a restart could not bring it back.
    fn obstacle(&self, facts: Facts<'_>) -> Option<String>;
    /// Whether it leaves its failed state by itself.
    fn recovers(&self) -> bool;
}

/// A worker and its state.
pub(crate) struct Held<W: Worker> {
    worker: Arc<W>,
    state: W::State,
    /// What it was asked on last. Few parts of it are others the next time, and only those are exchanged.
    snapshot: Option<Snapshot<W>>,
}

impl<W: Worker> Held<W> {
    pub(crate) fn new(worker: W) -> Self {
        let state = worker.initial();
        Self {
            worker: Arc::new(worker),
            state,
            snapshot: None,
        }
    }

    /// This instant with its types, and the worker with its state; `None` when the facts are another worker's, which no
    /// caller brings about.
    fn at(&mut self, facts: Facts<'_>) -> Option<(&W, &mut W::State, &Snapshot<W>)> {
        match &mut self.snapshot {
            Some(snapshot) => refresh(snapshot, facts)?,
            none => *none = Some(typed(facts)?),
        }
        Some((&self.worker, &mut self.state, self.snapshot.as_ref()?))
    }
}

/// A snapshot with its types.
fn typed<W: Worker>(facts: Facts<'_>) -> Option<Snapshot<W>> {
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
    } = facts;
    let observed = match observed {
        Some(observed) => Some(own(observed)?),
        None => None,
    };
    Some(Snapshot {
        identity: Arc::clone(identity),
        now,
        goal,
        desired: own(desired)?,
        observed,
        observed_at,
        action: Arc::clone(action),
        children: children.clone(),
        escalations: Arc::clone(escalations),
    })
}

/// The same snapshot at another instant. What is still the same is not touched: with very many workers, counting
/// owners up and down would be most of what a visit costs.
fn refresh<W: Worker>(snapshot: &mut Snapshot<W>, facts: Facts<'_>) -> Option<()> {
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
    } = facts;
    if !Arc::ptr_eq(&snapshot.identity, identity) {
        snapshot.identity = Arc::clone(identity);
    }
    snapshot.now = now;
    snapshot.goal = goal;
    if !is_same(&snapshot.desired, desired) {
        snapshot.desired = own(desired)?;
    }
    match (&snapshot.observed, observed) {
        (Some(old), Some(new)) if is_same(old, new) => {}
        (_, Some(new)) => snapshot.observed = Some(own(new)?),
        (_, None) => snapshot.observed = None,
    }
    snapshot.observed_at = observed_at;
    if !Arc::ptr_eq(&snapshot.action, action) {
        snapshot.action = Arc::clone(action);
    }
    if !snapshot.children.is_same(children) {
        snapshot.children = children.clone();
    }
    if !Arc::ptr_eq(&snapshot.escalations, escalations) {
        snapshot.escalations = Arc::clone(escalations);
    }
    Some(())
}

fn own<T: Send + Sync + 'static>(opaque: &Opaque) -> Option<Arc<T>> {
    Arc::clone(opaque).downcast::<T>().ok()
}

/// Whether both are one and the same. The old one is held, so nobody else can have come to its address.
fn is_same<T>(old: &Arc<T>, new: &Opaque) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(old), Arc::as_ptr(new))
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

    fn next(&mut self, facts: Facts<'_>) -> Step {
        let Some((worker, at, snapshot)) = self.at(facts) else {
            return Step::Stay("the snapshot is not this worker's".into());
        };
        match worker.next(at, snapshot) {
            Next::Stay(reason) => Step::Stay(reason),
            // Going where one is, is staying: only the reason may be new.
            Next::To(state, reason) if state == *at => Step::Stay(reason),
            Next::To(state, reason) => {
                *at = state;
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

    fn children(&mut self, facts: Facts<'_>) -> Option<Vec<ChildSpec>> {
        let (worker, _, snapshot) = self.at(facts)?;
        worker.children(snapshot)
    }

    fn interrupt(&mut self, facts: Facts<'_>) -> bool {
        self.at(facts)
            .is_some_and(|(worker, _, snapshot)| worker.interrupt(snapshot))
    }

    fn completed(&mut self, facts: Facts<'_>) -> bool {
        self.at(facts)
            .is_some_and(|(worker, state, snapshot)| worker.completed(state, snapshot))
    }

    fn recorded(&self) -> Recorded {
        self.worker.recorder().map(Recorder::take).unwrap_or_default()
    }

    fn obstacle(&self, facts: Facts<'_>) -> Option<String> {
        self.worker.obstacle(&typed(facts)?)
    }

    fn recovers(&self) -> bool {
        self.worker.recovers()
    }
}

impl<W: Worker> Outer for W {
    fn look(self: Arc<Self>, of: Index, desired: Opaque) -> BoxFuture<'static, Result<Collected, CollectError>> {
        Box::pin(async move {
            let desired = desired
                .downcast::<W::Desired>()
                .map_err(|_| CollectError::new("the desired state is not this worker's"))?;
            let observed = self.collect(&desired).await?;
            let document = Document::of(&observed)
                .map_err(|error| CollectError(format!("the observation cannot be serialized: {error}")))?;
            Ok(Collected {
                of,
                edition: self.edition(&observed),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ChildView;
    use crate::testing::{Pulse, Steady};

    /// Parts of a snapshot that are nobody else's.
    struct Parts {
        identity: Arc<Identity>,
        desired: Opaque,
        observed: Opaque,
        action: Arc<ActionStatus>,
        children: Children,
        escalations: Arc<[Escalation]>,
    }

    impl Parts {
        fn new(name: &str) -> Self {
            let name: Arc<str> = name.into();
            let identity = Identity {
                path: Arc::clone(&name),
                name: Arc::clone(&name),
                kind: Arc::clone(&name),
            };
            let view = ChildView {
                name: Arc::clone(&name),
                state: "running",
                phase: Phase::Running,
            };
            let escalation = Escalation {
                child: name.as_ref().to_owned(),
                cause: String::new(),
                since: Timestamp::from_millis(0),
            };
            Self {
                identity: Arc::new(identity),
                desired: Arc::new(()),
                observed: Arc::new(Pulse { alive: true }),
                action: Arc::new(ActionStatus::default()),
                children: std::iter::once(view).collect(),
                escalations: Arc::from([escalation]),
            }
        }

        fn facts(&self, millis: i64, goal: Goal) -> Facts<'_> {
            Facts {
                identity: &self.identity,
                now: Timestamp::from_millis(millis),
                goal,
                desired: &self.desired,
                observed: Some(&self.observed),
                observed_at: Some(Timestamp::from_millis(millis)),
                action: &self.action,
                children: &self.children,
                escalations: &self.escalations,
            }
        }
    }

    #[test]
    fn a_snapshot_that_is_kept_is_what_a_new_one_would_be() {
        let (old, new) = (Parts::new("old"), Parts::new("new"));
        let mut snapshot = typed::<Steady>(old.facts(1, Goal::Running)).unwrap();
        let facts = new.facts(2, Goal::Stopped);
        refresh(&mut snapshot, facts).unwrap();
        let other = typed::<Steady>(facts).unwrap();
        assert!(Arc::ptr_eq(&snapshot.identity, &other.identity));
        assert!(Arc::ptr_eq(&snapshot.desired, &other.desired));
        assert!(Arc::ptr_eq(
            snapshot.observed.as_ref().unwrap(),
            other.observed.as_ref().unwrap()
        ));
        assert!(Arc::ptr_eq(&snapshot.action, &other.action));
        assert!(snapshot.children.is_same(&other.children));
        assert!(Arc::ptr_eq(&snapshot.escalations, &other.escalations));
        let plain = |at: &Snapshot<Steady>| (at.now, at.goal, at.observed_at);
        assert_eq!(plain(&snapshot), plain(&other));
        let unseen = Facts {
            observed: None,
            observed_at: None,
            ..facts
        };
        refresh(&mut snapshot, unseen).unwrap();
        assert!(snapshot.observed.is_none() && snapshot.observed_at.is_none());
    }

    #[test]
    fn the_facts_of_another_worker_are_no_snapshot() {
        let mut parts = Parts::new("a");
        parts.desired = Arc::new("of another type");
        assert!(typed::<Steady>(parts.facts(1, Goal::Running)).is_none());
    }
}
