//! Kill switches: put on, released, lapsed, and the actions that follow them.

use serde_json::{Value, json};
use sprag_core::action::{Rate, Status};
use sprag_core::ids::{ActionId, ExecutionId, Slot, SwitchId};
use sprag_core::integrity::audit::Verb;
use sprag_store::Mutation;
use sprag_store::records::{ExecutionStatus, FactKind};
use sprag_wire::SwitchStatus;

use super::actions::cancel;
use super::audit::Audit;
use super::idempotency::stored_answer;
use super::{Answer, Code, Refusal, Request, Route, Subject};
use crate::decide::{Decider, Known, Reads};
use crate::engine::options::PATIENCE_MILLIS;
use crate::queue::control::{
    Finishing, Held, Mode, REJOIN, Rejoining, Release, SWITCHES_MAX, Scope, Switch, SwitchView, fact,
};

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

/// List the switches that are on or being released.
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
        Ok(switches.map(|switch| switch.shown(force_of(decider, switch))).collect())
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
            .changing(|request, _, view| view.map(|_| effect(request.mode, &request.scope))),
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
            rate: decider.rules.drain,
            release: None,
        };
        tracing::warn!(switch = %switch.id, scope = %switch.scope, mode = mode.word(), reason = switch.reason, "kill switch on");
        let view = switch.shown(force_of(decider, &switch));
        keep(decider, switch);
        if decider.known.control.sweep.is_none() {
            decider.known.control.next_sweep(now);
        }
        Ok(view)
    }
}

/// What a switch that is on does, for the audit.
fn effect(mode: Mode, scope: &Scope) -> String {
    format!("{} {scope}", mode.word())
}

/// Release a switch, or change how one that is being released lets go of what it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchOff {
    /// Which.
    pub id: SwitchId,
    /// Only if it is still at this revision.
    pub matches: Matches,
    /// What becomes of what it held.
    pub held: Held,
    /// At which rate it starts, if not at the configured one.
    pub rate: Option<Rate>,
}

impl Request for SwitchOff {
    type Answer = SwitchView;
    const NAME: &'static str = "switch-off";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ReleaseSwitch, |request| request.id.to_string()).changing(
            |request, decider, view| match view {
                None => {
                    let switch = decider.known.control.switches.get(request.id)?;
                    Some(state(switch))
                }
                Some(_) => Some(format!("released, {}", fate(request.held))),
            },
        ),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn subject(&self) -> Option<Subject> {
        let Self {
            id,
            matches,
            held,
            rate,
        } = self;
        let mut body = json!({"matches": matches});
        // Requests of earlier versions say neither, and mean what these mean without.
        if *held != Held::default() {
            body["held"] = json!(held);
        }
        if let Some(rate) = rate {
            body["rate"] = json!(rate);
        }
        Some(Subject {
            target: json!(id),
            body,
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<SwitchView, Refusal> {
        let Self {
            id,
            matches,
            held,
            rate,
        } = *self;
        let Some(switch) = decider.known.control.switches.get(id) else {
            return Err(Refusal::no_switch(id));
        };
        if !matches.is(switch.revision()) {
            return Err(changed(&format!("switch `{id}`"), switch.revision()));
        }
        let before = switch.released(decider.now());
        let release = Release {
            at: before.map_or_else(|| decider.now(), |before| before.at),
            held,
            rate: rate.unwrap_or(decider.rules.drain),
        };
        tracing::warn!(switch = %id, scope = %switch.scope, held = fate(held), "kill switch released");
        let switch = switch.clone();
        let view = let_go(decider, switch, release);
        Ok(view.shown(SwitchStatus::Released))
    }
}

/// What becomes of what was held, for people.
fn fate(held: Held) -> &'static str {
    match held {
        Held::Run => "held actions run",
        Held::Skip => "held actions are cancelled",
    }
}

/// What a switch does, for the audit.
fn state(switch: &Switch) -> String {
    match switch.release {
        None => effect(switch.mode, &switch.scope),
        Some(release) => format!("released, {}", fate(release.held)),
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
        let now = decider.now();
        let switch = decider.known.control.switches.get(self.0);
        if let Some(switch) = switch.filter(|switch| switch.release.is_none()).cloned()
            && let Some(release) = switch.released(now)
        {
            tracing::info!(switch = %self.0, "kill switch expired");
            let_go(decider, switch, release);
        }
        Ok(())
    }
}

/// No action waits any more for the release of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained(pub SwitchId);

impl Request for Drained {
    type Answer = ();
    const NAME: &'static str = "drained";

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let control = &mut decider.known.control;
        if control
            .switches
            .get(self.0)
            .is_some_and(|switch| switch.release.is_some())
        {
            control.switches.remove(self.0);
            if control.sweep.is_some_and(|sweep| sweep.switch == self.0) {
                control.next_sweep(decider.at.now);
            }
            decider.batch.log.push(Mutation::DeleteFact {
                kind: FactKind::Switch,
                key: self.0.to_string(),
            });
            decider.known.queue.switches_changed();
        }
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

    /// The action joins its queue, unless something still holds it. One that waits for its turn after a release is looked at
    /// again.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let now = decider.now();
        decider.change(self.execution, |change| {
            let Some(action) = change.state.actions.get(&self.action) else {
                return;
            };
            let is_free = change.state.head.status != ExecutionStatus::Paused
                && action.status == Status::Queued
                && !change.decider.known.control.switches.sets_aside(action, now);
            if !is_free {
                return;
            }
            let Known { control, queue, .. } = &mut *change.decider.known;
            match queue.drains.check(&control.switches, action, now) {
                Ok(()) => {
                    queue.join(action);
                    change.decider.put_action(action.clone());
                }
                Err(until) => control.rejoin_again(until, now),
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
        let now = decider.now();
        let cancels = |switch: &Switch| switch.cancels(&action, now);
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
        decider.known.control.next_sweep(decider.at.now);
        Ok(())
    }
}

/// Whether a switch holds everywhere. Every node reads the switches with each heartbeat, and starts nothing once it has
/// not read them for a while: after that no attempt starts that does not know of it.
fn force_of(decider: &Decider<'_>, switch: &Switch) -> SwitchStatus {
    let now = decider.now();
    if !switch.is_on(now) {
        return SwitchStatus::Releasing;
    }
    let is_known = decider.known.control.has_been_stored(switch.id, PATIENCE_MILLIS, now);
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

/// A switch lets go of what it held: that starts in queue order, under its limits and at a rate, or is cancelled.
fn let_go(decider: &mut Decider<'_>, switch: Switch, release: Release) -> Switch {
    let switch = Switch {
        release: Some(release),
        swept: false,
        ..switch
    };
    keep(decider, switch.clone());
    decider.known.queue.switches_changed();
    let control = &mut decider.known.control;
    control.swept.remove(&switch.id);
    control.next_sweep(decider.at.now);
    control.finishing = Finishing::default();
    // Actions may be in no queue; the mark says so to a process that starts before all of them joined theirs.
    control.rejoining = Some(Rejoining::from_the_start());
    // Where nodes share the store, a node that is given a shard looks anyway.
    if decider.shards.is_whole() {
        let mark = fact(FactKind::Mark, REJOIN, &());
        decider.batch.log.push(Mutation::PutFact(mark));
    }
    switch
}

/// The refusal of a change to something that is not at the revision that the caller has seen.
pub(super) fn changed(what: &str, revision: u64) -> Refusal {
    let detail = match revision {
        0 => format!("{what} does not exist, but the request requires one (`If-Match`); read it again"),
        _ => format!("{what} is at revision {revision}, and the request requires another one; read it again"),
    };
    Refusal::new(Code::PreconditionFailed, detail)
}
