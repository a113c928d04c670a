//! What people do to open actions: retry now, cancel, ask why one does not move.

use std::sync::Arc;

use sprag_core::action::{Action, CancelledBy, Status};
use sprag_core::ids::ActionId;
use sprag_core::integrity::audit::Verb;
use sprag_store::records::ExecutionStatus;

use super::audit::{Audit, action_status};
use super::idempotency::stored_answer;
use super::{Answer, Code, Refusal, Request, Route};
use crate::decide::gate;
use crate::decide::plans::plan_of;
use crate::decide::{Decider, ExecutionChange};
use crate::read::view::{self, ActionView};

/// Let a retrying or scheduled action be due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryNow(pub ActionId);

/// End an action. An attempt that runs is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelAction(pub ActionId);

/// Show why an action does not move, with what only the queue knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explain(pub ActionId);

impl Answer for Box<ActionView> {
    stored_answer!("action");
}

impl Request for RetryNow {
    type Answer = Box<ActionView>;
    const NAME: &'static str = "retry-now";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::RetryNow, |request| request.0.to_string())
            .changing(|request, decider, _| action_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Action(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        changed(decider, self.0, |change, mut action| {
            if !matches!(action.status, Status::Scheduled | Status::Retrying) || action.body.behind {
                return Err(conflict(&action, "scheduled or retrying"));
            }
            gate::refuse_at_the_gate(change, &action)?;
            make_ready(action.make_ready(change.now()))?;
            rejoin(change, action.clone());
            Ok(action)
        })
    }
}

impl Request for CancelAction {
    type Answer = Box<ActionView>;
    const NAME: &'static str = "cancel-action";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::CancelAction, |request| request.0.to_string())
            .changing(|request, decider, _| action_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Action(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        cancel(decider, self.0)
    }
}

impl Request for Explain {
    type Answer = Box<ActionView>;
    const NAME: &'static str = "explain";

    fn route(&self) -> Route {
        Route::Action(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let mut view = changed(decider, self.0, |_, action| Ok(action))?;
        let state = decider.known.executions.get(view.execution_id);
        let is_paused = state.is_some_and(|state| state.head.status == ExecutionStatus::Paused);
        if view.waiting.is_for_permit()
            && !is_paused
            && let Some(action) = state.and_then(|state| state.actions.get(&self.0))
        {
            let switched = decider.known.control.switches.waiting(action, decider.now());
            view.waiting = switched.unwrap_or_else(|| decider.known.queue.explain(action));
        }
        Ok(view)
    }
}

/// Cancels an action for a person, or for a switch that a person put on.
pub(super) fn cancel(decider: &mut Decider<'_>, id: ActionId) -> Result<Box<ActionView>, Refusal> {
    changed(decider, id, |change, action| {
        // Its end is input, and due timers come before any: they may end it themselves.
        change.fire_due();
        let action = change.decider.batch.action(id).cloned().unwrap_or(action);
        if !action.status.is_open() {
            return Err(conflict(&action, "scheduled, queued, running or retrying"));
        }
        let end = change.cancel_one(id, CancelledBy::Person);
        let action = change.decider.batch.action(id).cloned().unwrap_or(action);
        if let Some(end) = end.filter(|end| !change.is_superseded(end)) {
            change.feed_end(end);
        }
        Ok(action)
    })
}

/// Changes an action, and shows it as it is then.
pub(super) fn changed(
    decider: &mut Decider<'_>,
    id: ActionId,
    act: impl FnOnce(&mut ExecutionChange<'_, '_>, Action) -> Result<Action, Refusal>,
) -> Result<Box<ActionView>, Refusal> {
    let action = decider.find_action(id).ok_or_else(|| unknown(decider, id))?;
    let execution = action.origin.execution;
    let acted = decider.change(execution, |change| {
        let open = change.state.actions.get(&id);
        let action = open.map_or(action, |open| Action::clone(open));
        let acted = act(change, action);
        acted.map(|action| {
            let mut view = view::action(&action, change.state.head.status);
            let plan = plan_of(&action).and_then(|id| change.state.plans.get(&id));
            view::name_approval(&mut view.waiting, plan);
            (action, view)
        })
    });
    let (action, mut view) = acted.map_err(|_| unknown(decider, id))??;
    let actions = std::iter::once(&action);
    view::name_switch(
        &mut view.waiting,
        actions,
        &decider.known.control.switches,
        decider.now(),
    );
    view::renew(&mut view, &decider.known.queue.leases);
    Ok(Box::new(view))
}

fn unknown(decider: &Decider<'_>, id: ActionId) -> Refusal {
    match decider.known.found.damaged_actions.get(&id) {
        Some(detail) => Refusal::new(Code::RecordDamaged, detail.clone()),
        None => Refusal::no_action(id),
    }
}

/// The action waits in its queue again, unless its execution is paused.
pub(super) fn rejoin(change: &mut ExecutionChange<'_, '_>, action: Action) {
    if change.state.head.status != ExecutionStatus::Paused {
        change.known().queue.join(&action);
    }
    let action = Arc::new(action);
    change.decider.put_action(Arc::clone(&action));
    change.state.actions.insert(action.id, action);
}

/// The refusal of a step that an action's status does not allow.
pub(super) fn make_ready<E: ToString>(changed: Result<(), E>) -> Result<(), Refusal> {
    changed.map_err(|illegal| Refusal::new(Code::StatusConflict, illegal.to_string()))
}

pub(super) fn conflict(action: &Action, needed: &str) -> Refusal {
    let (id, status) = (action.id, action.status.word());
    let detail = format!("action `{id}` is {status}, and this operation needs one that is {needed}");
    Refusal::new(Code::StatusConflict, detail)
}
