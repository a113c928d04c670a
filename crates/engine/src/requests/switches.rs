//! Kill switches: put on, released, lapsed, and the actions that follow them.

use serde_json::{Value, json};
use sprag_core::action::Status;
use sprag_core::ids::{ActionId, ExecutionId, Slot, SwitchId};
use sprag_core::integrity::audit::Verb;
use sprag_store::Mutation;
use sprag_store::records::{ExecutionStatus, FactKind};
use sprag_wire::SwitchStatus;

use super::actions::cancel;
use super::audit::Audit;
use super::idempotency::stored_answer;
use super::{Answer, Code, Refusal, Request, Route, Subject};
use crate::decide::{Decider, Reads};
use crate::engine::options::PATIENCE_MILLIS;
use crate::queue::control::{Mode, REJOIN, Rejoining, SWITCHES_MAX, Scope, Switch, SwitchView, fact};

/// Which revision of something a request is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub enum Matches {
    /// Any, or none.
    #[default]
    Any,
    /// Any that exists.
    Something,
    /// This one; 0 where there must be none.
    Revision(u64),
    /// None that there could be.
    Nothing,
}

impl Matches {
    /// Whether `revision` is the one.
    pub fn is(self, revision: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Something => revision != 0,
            Self::Revision(wanted) => wanted == revision,
            Self::Nothing => false,
        }
    }
}

impl Answer for Vec<SwitchView> {}

impl Answer for SwitchView {
    stored_answer!("switch");
}

/// List the switches that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListSwitches;

impl Request for ListSwitches {
    type Answer = Vec<SwitchView>;
    const NAME: &'static str = "list-switches";

    fn route(&self) -> Route {
        Route::Any
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.control();
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Vec<SwitchView>, Refusal> {
        let switches = decider.known.control.switches.all();
        let on = switches.filter(|switch| switch.is_on(decider.now()));
        let view = |switch: &Switch| switch.shown(force_of(decider, switch.id));
        Ok(on.map(view).collect())
    }
}

/// Put a switch on: from the next attempt on, nothing in its scope starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchOn {
    /// What it holds.
    pub scope: Scope,
    /// What it does to it.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// After how many milliseconds it goes off by itself.
    pub lasts: Option<u64>,
}

impl Request for SwitchOn {
    type Answer = SwitchView;
    const NAME: &'static str = "switch-on";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::SwitchOn, |request| request.scope.to_string())
            .making(|view| Some(view.id.to_string()))
            .because(|request| Some(&request.reason))
            .changing(|request, _, view| view.map(|_| held(request.mode, &request.scope))),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn subject(&self) -> Option<Subject> {
        let Self {
            scope,
            mode,
            reason,
            by,
            lasts,
        } = self;
        Some(Subject {
            target: Value::Null,
            body: json!({"scope": scope, "mode": mode, "reason": reason, "by": by, "lasts": lasts}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<SwitchView, Refusal> {
        let Self {
            scope,
            mode,
            reason,
            by,
            lasts,
        } = self.clone();
        if decider.known.control.switches.len() >= SWITCHES_MAX {
            let detail = format!("{SWITCHES_MAX} switches are on; release one first");
            return Err(Refusal::new(Code::SwitchesFull, detail));
        }
        let now = decider.now();
        let switch = Switch {
            id: decider.at.mint.switch(Slot(0)),
            scope,
            mode,
            reason,
            by,
            since: now,
            expires_at: lasts.map(|lasts| now.plus(lasts)),
            swept: false,
        };
        tracing::warn!(switch = %switch.id, scope = %switch.scope, mode = mode.word(), reason = switch.reason, "kill switch on");
        let view = switch.shown(force_of(decider, switch.id));
        keep(decider, switch);
        if mode == Mode::Cancel && decider.known.control.sweep.is_none() {
            decider.known.control.next_sweep();
        }
        Ok(view)
    }
}

/// What a switch does, for the audit.
fn held(mode: Mode, scope: &Scope) -> String {
    format!("{} {scope}", mode.word())
}

/// Release a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchOff {
    /// Which.
    pub id: SwitchId,
    /// Only if it is still at this revision.
    pub matches: Matches,
}

impl Request for SwitchOff {
    type Answer = SwitchView;
    const NAME: &'static str = "switch-off";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ReleaseSwitch, |request| request.id.to_string()).changing(
            |request, decider, _| {
                let switch = decider.known.control.switches.get(request.id)?;
                Some(held(switch.mode, &switch.scope))
            },
        ),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: json!(self.id),
            body: json!({"matches": self.matches}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<SwitchView, Refusal> {
        let Self { id, matches } = *self;
        let found = decider.known.control.switches.get(id);
        let Some(switch) = found.filter(|switch| switch.is_on(decider.now())) else {
            return Err(Refusal::no_switch(id));
        };
        if !matches.is(switch.revision()) {
            return Err(changed(&format!("switch `{id}`"), switch.revision()));
        }
        let view = switch.shown(SwitchStatus::Released);
        tracing::warn!(switch = %id, scope = %view.scope, "kill switch released");
        release(decider, id);
        Ok(view)
    }
}

/// A switch has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LapseSwitch(pub SwitchId);

impl Request for LapseSwitch {
    type Answer = ();
    const NAME: &'static str = "lapse-switch";

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        tracing::info!(switch = %self.0, "kill switch expired");
        release(decider, self.0);
        Ok(())
    }
}

/// An action that left its queue because of a switch may join it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejoin {
    /// Of which execution.
    pub execution: ExecutionId,
    /// Which action.
    pub action: ActionId,
}

impl Request for Rejoin {
    type Answer = ();
    const NAME: &'static str = "rejoin";

    fn route(&self) -> Route {
        Route::Slot(self.execution.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.execution(self.execution);
    }

    /// The action joins its queue, unless something still holds it.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let now = decider.now();
        decider.change(self.execution, |change| {
            let Some(action) = change.state.actions.get(&self.action) else {
                return;
            };
            let is_free = change.state.head.status != ExecutionStatus::Paused
                && action.status == Status::Queued
                && !change.decider.known.control.switches.sets_aside(action, now);
            if is_free {
                change.decider.known.queue.join(action);
                change.decider.put_action(action.clone());
            }
        })
    }
}

/// Every action that left its queue because of a switch was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejoined;

impl Request for Rejoined {
    type Answer = ();
    const NAME: &'static str = "rejoined";

    fn route(&self) -> Route {
        Route::Any
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        // Another switch may have been released meanwhile: then the walk begins anew, and its mark stays.
        if decider.known.control.rejoining.is_none() && decider.shards.is_whole() {
            decider.batch.log.push(Mutation::DeleteFact {
                kind: FactKind::Mark,
                key: REJOIN.to_owned(),
            });
        }
        Ok(())
    }
}

/// An open action may be in the scope of a switch that cancels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelSwitched(pub ActionId);

impl Request for CancelSwitched {
    type Answer = ();
    const NAME: &'static str = "cancel-switched";

    fn route(&self) -> Route {
        Route::Action(self.0)
    }

    /// Cancels the action, if a switch that cancels still holds it.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let Some(action) = decider.find_action(self.0) else {
            return Ok(());
        };
        let cancels = |switch: &Switch| switch.mode == Mode::Cancel && switch.scope.covers(&action);
        if decider.known.control.switches.all().any(cancels) {
            // One that has ended meanwhile needs no cancelling.
            let _ = cancel(decider, self.0);
        }
        Ok(())
    }
}

/// Everything in the scope of a switch that cancels was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept(pub SwitchId);

impl Request for Swept {
    type Answer = ();
    const NAME: &'static str = "swept";

    fn route(&self) -> Route {
        Route::Any
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        if !decider.shards.is_whole() {
            // Every lane sweeps its own shards, and those it is given later once more.
            decider.known.control.swept.insert(self.0);
        } else if let Some(switch) = decider.known.control.switches.get(self.0).cloned() {
            keep(decider, Switch { swept: true, ..switch });
        }
        decider.known.control.next_sweep();
        Ok(())
    }
}

/// Whether a switch holds everywhere. Every node reads the switches with each heartbeat, and starts nothing once it has
/// not read them for a while: after that no attempt starts that does not know of it.
fn force_of(decider: &Decider<'_>, id: SwitchId) -> SwitchStatus {
    let is_known = decider
        .known
        .control
        .has_been_stored(id, PATIENCE_MILLIS, decider.now());
    if is_known || decider.shards.owns_everything() {
        SwitchStatus::Effective
    } else {
        SwitchStatus::Arming
    }
}

/// Remembers a switch as it is now.
fn keep(decider: &mut Decider<'_>, switch: Switch) {
    let fact = fact(FactKind::Switch, switch.id.to_string(), &switch);
    decider.batch.log.push(Mutation::PutFact(fact));
    decider.known.control.switches.put(switch);
}

/// What the switch held starts again, in queue order and under its limits.
fn release(decider: &mut Decider<'_>, id: SwitchId) {
    let control = &mut decider.known.control;
    if control.switches.remove(id).is_none() {
        return;
    }
    decider.batch.log.push(Mutation::DeleteFact {
        kind: FactKind::Switch,
        key: id.to_string(),
    });
    decider.known.queue.switches_changed();
    if control.sweep.is_some_and(|sweep| sweep.switch == id) {
        control.next_sweep();
    }
    // Actions may be in no queue; the mark says so to a process that starts before all of them joined theirs.
    control.rejoining = Some(Rejoining::from_the_start());
    // Where nodes share the store, a node that is given a shard looks anyway.
    if decider.shards.is_whole() {
        let mark = fact(FactKind::Mark, REJOIN, &());
        decider.batch.log.push(Mutation::PutFact(mark));
    }
}

/// The refusal of a change to something that is not at the revision that the caller has seen.
pub(super) fn changed(what: &str, revision: u64) -> Refusal {
    let detail = match revision {
        0 => format!("{what} does not exist, but the request requires one (`If-Match`); read it again"),
        _ => format!("{what} is at revision {revision}, and the request requires another one; read it again"),
    };
    Refusal::new(Code::PreconditionFailed, detail)
}
