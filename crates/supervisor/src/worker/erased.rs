//! Workers of all types in one tree: the methods that the supervisor needs, without their types.
//!
//! Private: users write plain `async fn`s, and this module boxes them. Every value that crosses this border as [`Any`]
//! comes from the same worker. So a failed downcast is a defect of this crate; it becomes an error, never a panic.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use sprag_core::time::Timestamp;

use crate::rule::Rule;
use crate::runtime::collector::{Recorded, Recorder};
use crate::tree::WorkerKey;
use crate::worker::action::{Action, ActionCall, ActionStatus};
use crate::worker::child::ChildSpec;
use crate::worker::document::Document;
use crate::worker::snapshot::{Children, Escalation, Identity, Snapshot};
use crate::worker::{CollectError, Goal, Next, Phase, Reason, SpecError, State, Worker};

/// Something of a worker's own type.
pub(crate) type Opaque = Arc<dyn Any + Send + Sync>;

/// What a pass of a collector brought.
#[derive(Clone)]
pub(crate) struct Collected {
    /// Who was seen.
    pub(crate) of: WorkerKey,
    /// For the worker.
    pub(crate) observed: Opaque,
    /// For rules and the store.
    pub(crate) document: Document,
    /// Which answer of the world it is, where several passes may bring the same one.
    pub(crate) edition: Option<u64>,
}

/// The parts of a snapshot, without their types.
#[derive(Clone, Copy)]
pub(crate) struct SnapshotParts<'a> {
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

/// A worker's next step, without its types.
pub(crate) enum Decision {
    Stay(Reason),
    /// The worker is in another state now.
    Moved(Reason),
    Act(ActionCall, Reason),
    Remove(Reason),
    Restart(Reason),
}

/// A state as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownState {
    pub(crate) state: &'static str,
    pub(crate) phase: Phase,
}

/// A worker as the collector sees it.
pub(crate) trait Observer: Send + Sync {
    fn observe(self: Arc<Self>, of: WorkerKey, desired: Opaque) -> BoxFuture<'static, Result<Collected, CollectError>>;
}

/// A worker as the tree sees it, with the state it is in.
pub(crate) trait ErasedWorker: Send {
    fn observer(&self) -> Arc<dyn Observer>;
    fn derive(&self, spec: Value) -> Result<Opaque, SpecError>;
    fn shown(&self) -> ShownState;
    fn states(&self) -> &'static [&'static str];
    fn rules(&self) -> Vec<Rule>;
    /// Takes the next step; a change of state is made at once.
    fn next(&mut self, parts: SnapshotParts<'_>) -> Decision;
    fn children(&mut self, parts: SnapshotParts<'_>) -> Option<Vec<ChildSpec>>;
    fn interrupt(&mut self, parts: SnapshotParts<'_>) -> bool;
    fn completed(&mut self, parts: SnapshotParts<'_>) -> bool;
    /// What its code counted and measured since the last call.
    fn recorded(&self) -> Recorded;
    /// Why a restart could not bring it back.
    fn obstacle(&self, parts: SnapshotParts<'_>) -> Option<String>;
    /// Whether it leaves its failed state by itself.
    fn recovers(&self) -> bool;
}

/// A worker and its state.
pub(crate) struct TypedWorker<W: Worker> {
    worker: Arc<W>,
    state: W::State,
    /// What it was asked on last. Few parts of it are others the next time, and only those are exchanged.
    snapshot: Option<Snapshot<W>>,
}

impl<W: Worker> TypedWorker<W> {
    pub(crate) fn new(worker: W) -> Self {
        let state = worker.initial();
        Self {
            worker: Arc::new(worker),
            state,
            snapshot: None,
        }
    }

    /// This instant with its types, and the worker with its state; `None` when the parts are another worker's, which no
    /// caller brings about.
    fn at(&mut self, parts: SnapshotParts<'_>) -> Option<(&Arc<W>, &mut W::State, &Snapshot<W>)> {
        match &mut self.snapshot {
            Some(snapshot) => refresh(snapshot, parts)?,
            none => *none = Some(typed(parts)?),
        }
        Some((&self.worker, &mut self.state, self.snapshot.as_ref()?))
    }
}

/// A snapshot with its types.
fn typed<W: Worker>(parts: SnapshotParts<'_>) -> Option<Snapshot<W>> {
    let SnapshotParts {
        identity,
        now,
        goal,
        desired,
        observed,
        observed_at,
        action,
        children,
        escalations,
    } = parts;
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
fn refresh<W: Worker>(snapshot: &mut Snapshot<W>, parts: SnapshotParts<'_>) -> Option<()> {
    let SnapshotParts {
        identity,
        now,
        goal,
        desired,
        observed,
        observed_at,
        action,
        children,
        escalations,
    } = parts;
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

/// Whether both are one and the same. The old one is held, so its address cannot have been used again.
fn is_same<T>(old: &Arc<T>, new: &Opaque) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(old), Arc::as_ptr(new))
}

impl<W: Worker> ErasedWorker for TypedWorker<W> {
    fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.worker) as Arc<dyn Observer>
    }

    fn derive(&self, spec: Value) -> Result<Opaque, SpecError> {
        let spec: W::Spec = serde_json::from_value(spec).map_err(|error| SpecError(error.to_string()))?;
        Ok(Arc::new(self.worker.derive(&spec)?))
    }

    fn shown(&self) -> ShownState {
        ShownState {
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

    fn next(&mut self, parts: SnapshotParts<'_>) -> Decision {
        let Some((worker, at, snapshot)) = self.at(parts) else {
            return Decision::Stay("the snapshot is not this worker's".into());
        };
        match worker.next(at, snapshot) {
            Next::Stay(reason) => Decision::Stay(reason),
            // Going where one is, is staying: only the reason may be new.
            Next::To(state, reason) if state == *at => Decision::Stay(reason),
            Next::To(state, reason) => {
                *at = state;
                Decision::Moved(reason)
            }
            Next::Act(action, reason) => Decision::Act(call(worker, &snapshot.identity.path, action), reason),
            Next::Remove(reason) => Decision::Remove(reason),
            Next::Restart(reason) => Decision::Restart(reason),
        }
    }

    fn children(&mut self, parts: SnapshotParts<'_>) -> Option<Vec<ChildSpec>> {
        let (worker, _, snapshot) = self.at(parts)?;
        worker.children(snapshot)
    }

    fn interrupt(&mut self, parts: SnapshotParts<'_>) -> bool {
        self.at(parts)
            .is_some_and(|(worker, _, snapshot)| worker.interrupt(snapshot))
    }

    fn completed(&mut self, parts: SnapshotParts<'_>) -> bool {
        self.at(parts)
            .is_some_and(|(worker, state, snapshot)| worker.completed(state, snapshot))
    }

    fn recorded(&self) -> Recorded {
        self.worker.recorder().map(Recorder::take).unwrap_or_default()
    }

    fn obstacle(&self, parts: SnapshotParts<'_>) -> Option<String> {
        self.worker.obstacle(&typed(parts)?)
    }

    fn recovers(&self) -> bool {
        self.worker.recovers()
    }
}

/// The action with everything that performs it.
fn call<W: Worker>(worker: &Arc<W>, path: &Arc<str>, action: W::Action) -> ActionCall {
    let (name, options) = (Arc::from(action.name()), action.options());
    let (worker, action) = (Arc::clone(worker), Arc::new(action));
    ActionCall {
        worker: Arc::clone(path),
        name,
        options,
        perform: Arc::new(move |cx| {
            let (worker, action) = (Arc::clone(&worker), Arc::clone(&action));
            Box::pin(async move { worker.perform(&action, cx).await })
        }),
    }
}

impl<W: Worker> Observer for W {
    fn observe(self: Arc<Self>, of: WorkerKey, desired: Opaque) -> BoxFuture<'static, Result<Collected, CollectError>> {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pulse, Steady};
    use crate::worker::snapshot::ChildView;

    /// Owns the parts of a snapshot.
    struct OwnedParts {
        identity: Arc<Identity>,
        desired: Opaque,
        observed: Opaque,
        action: Arc<ActionStatus>,
        children: Children,
        escalations: Arc<[Escalation]>,
    }

    impl OwnedParts {
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

        fn parts(&self, millis: i64, goal: Goal) -> SnapshotParts<'_> {
            SnapshotParts {
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
        let (old, new) = (OwnedParts::new("old"), OwnedParts::new("new"));
        let mut snapshot = typed::<Steady>(old.parts(1, Goal::Running)).unwrap();
        let parts = new.parts(2, Goal::Stopped);
        refresh(&mut snapshot, parts).unwrap();
        let other = typed::<Steady>(parts).unwrap();
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
        let unseen = SnapshotParts {
            observed: None,
            observed_at: None,
            ..parts
        };
        refresh(&mut snapshot, unseen).unwrap();
        assert!(snapshot.observed.is_none() && snapshot.observed_at.is_none());
    }

    #[test]
    fn the_parts_of_another_worker_are_no_snapshot() {
        let mut parts = OwnedParts::new("a");
        parts.desired = Arc::new("of another type");
        assert!(typed::<Steady>(parts.parts(1, Goal::Running)).is_none());
    }
}
