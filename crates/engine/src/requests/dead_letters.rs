//! What people and jobs do to dead letters: retry one, perhaps changed, or archive it.

use serde_json::{Map, Value, json};
use sprag_core::action::{Action, Overrides, Status};
use sprag_core::document::patch::Operation;
use sprag_core::expression::template::Frozen;
use sprag_core::ids::ActionId;
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::is_compensation;
use sprag_core::time::Timestamp;

use super::actions::{changed, conflict, make_ready, rejoin};
use super::audit::{Audit, action_status};
use super::idempotency::with;
use super::jobs::retry_letter;
use super::operations::refuse_compensated;
use super::{Code, Refusal, Request, RetryLetter, Route, Subject};
use crate::decide::gate;
use crate::decide::plans::plan_of;
use crate::decide::{Decider, ExecutionChange, LogEntry, Reads, edit, own_limits};
use crate::jobs::dead_letters::SettledLetter;
use crate::read::view::ActionView;

/// Retry a dead letter, with a fresh budget of attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryDead {
    /// Which.
    pub action: ActionId,
    /// Another configuration: raises the generation, so the idempotency key is a new one.
    pub config: Option<Value>,
    /// Take the definition of this version.
    pub version: Option<u32>,
    /// Changes of the action as one document of `timeout`, `retryPolicy` and `config`.
    pub patch: Vec<Operation>,
}

impl RetryDead {
    /// As it is.
    pub fn as_is(action: ActionId) -> Self {
        Self {
            action,
            config: None,
            version: None,
            patch: Vec::new(),
        }
    }

    /// What a retry reads: the dead letter, and the version whose definition it takes.
    pub(super) fn declare(&self, reads: &mut Reads<'_>) {
        if let Some(action) = reads.action(self.action)
            && let Some(version) = self.version
        {
            reads.version(&action.origin.machine, version);
        }
    }
}

impl Request for RetryDead {
    type Answer = Box<ActionView>;
    const NAME: &'static str = "retry-dead";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::RetryDeadLetter, |request| request.action.to_string())
            .changing(|request, decider, _| action_status(decider, request.action)),
    );

    fn route(&self) -> Route {
        Route::Slot(self.action.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        self.declare(reads);
    }

    fn subject(&self) -> Option<Subject> {
        let Self {
            action,
            config,
            version,
            patch,
        } = self;
        Some(Subject {
            target: json!(action),
            body: with(json!({"config": config, "version": version}), "patch", patch),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let view = retry_dead(decider, self)?;
        let action = self.action;
        decider.batch.logged.push(LogEntry::Retried { action });
        Ok(view)
    }
}

impl Request for RetryLetter {
    type Answer = SettledLetter;
    const NAME: &'static str = "retry-letter";

    fn route(&self) -> Route {
        Route::Slot(self.retry.action.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        self.retry.declare(reads);
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<SettledLetter, Refusal> {
        Ok(retry_letter(decider, self))
    }
}

/// Archive a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archive(pub ActionId);

impl Request for Archive {
    type Answer = Box<ActionView>;
    const NAME: &'static str = "archive";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ArchiveDeadLetter, |request| request.0.to_string())
            .changing(|request, decider, _| action_status(decider, request.0)),
    );
    const KEYED_BY_TARGET: bool = true;

    fn route(&self) -> Route {
        Route::Action(self.0)
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        archive_dead(decider, self.0)
    }
}

/// Archives a dead letter.
pub(super) fn archive_dead(decider: &mut Decider<'_>, id: ActionId) -> Result<Box<ActionView>, Refusal> {
    changed(decider, id, |change, mut action| {
        make_ready(action.archive())?;
        change.decider.put_action(action.clone());
        Ok(action)
    })
}

/// Retries a dead letter.
pub(super) fn retry_dead(decider: &mut Decider<'_>, retry: &RetryDead) -> Result<Box<ActionView>, Refusal> {
    changed(decider, retry.action, |change, action| revive(change, action, retry))
}

fn revive(change: &mut ExecutionChange<'_, '_>, mut action: Action, retry: &RetryDead) -> Result<Action, Refusal> {
    if action.status != Status::Dead {
        return Err(conflict(&action, "dead"));
    }
    if let Some(plan) = plan_of(&action) {
        change.find_plan(&action);
        refuse_change(&action, retry)?;
        gate::refuse_at_the_gate(change, &action)?;
        let plan = change
            .state
            .plans
            .get(&plan)
            .filter(|_| !is_compensation(&action.action_id));
        plan.map_or(Ok(()), refuse_compensated)?;
    }
    let now = change.now();
    let decider = &*change.decider;
    let sent = decider.config_sent(&action);
    if let Some(version) = retry.version {
        take_version(decider, &mut action, version)?;
    }
    edit(decider, &mut action, retry)?;
    let config = decider.config_sent(&action).ok_or_else(|| has_no_config(&action))?;
    if sent.as_ref() != Some(&config) {
        // Another body needs another idempotency key, wherever it comes from.
        action.body.destination = decider.destination(&action, &config.config);
        action.body.generation += 1;
    }
    let deadline = deadline_of(decider, &action);
    take_limits(decider, &mut action);
    make_ready(action.revive(now, deadline))?;
    let version = action.origin.version;
    if version != change.state.head.version
        && let Some(machine) = change.decider.machine(&action.origin.machine, version)
    {
        change.machines.keep(version, machine);
    }
    rejoin(change, action.clone());
    Ok(action)
}

/// What people approved is retried as it is.
fn refuse_change(action: &Action, retry: &RetryDead) -> Result<(), Refusal> {
    if retry.config.is_none() && retry.version.is_none() && retry.patch.is_empty() {
        return Ok(());
    }
    let id = action.id;
    let detail = format!("action `{id}` runs as it was approved; retry it as it is, or propose the change");
    Err(Refusal::new(Code::PlanChanged, detail))
}

/// The action follows the definition of another version.
fn take_version(decider: &Decider<'_>, action: &mut Action, version: u32) -> Result<(), Refusal> {
    let name = &action.origin.machine;
    let machine = decider.machine(name, version);
    let machine = machine.ok_or_else(|| Refusal::no_version(name, version))?;
    let Some((_, definition)) = machine.action(&action.action_id) else {
        let id = &action.action_id;
        let detail =
            format!("version {version} of machine `{name}` has no action `{id}`; choose a version that defines it");
        return Err(Refusal::new(Code::VersionUnknown, detail));
    };
    action.origin.version = version;
    action.body.version = version;
    action.body.runner.clone_from(&definition.runner);
    action.body.overrides = Overrides::default();
    Ok(())
}

impl Decider<'_> {
    /// What the action's attempts are given; none where it died at its trigger because that could not be rendered.
    pub(crate) fn config_sent(&self, action: &Action) -> Option<Frozen> {
        if let Some(frozen) = &action.body.frozen {
            return Some(frozen.clone());
        }
        let machine = self.machine(&action.origin.machine, action.origin.version)?;
        let (_, definition) = machine.action(&action.action_id)?;
        Some(Frozen {
            config: definition.config.constant().cloned()?,
            late: Vec::new(),
            bindings: Map::new(),
        })
    }
}

/// An action that died at its trigger was not put under its limits: it is now, where their keys are its own.
fn take_limits(decider: &Decider<'_>, action: &mut Action) {
    let machine = decider.machine(&action.origin.machine, action.origin.version);
    if let Some(machine) = machine.filter(|_| action.body.limits.is_empty())
        && let Some((_, definition)) = machine.action(&action.action_id)
    {
        action.body.limits = own_limits(&machine, definition);
    }
}

fn deadline_of(decider: &Decider<'_>, action: &Action) -> Option<Timestamp> {
    let machine = decider.machine(&action.origin.machine, action.origin.version)?;
    let (_, definition) = machine.action(&action.action_id)?;
    definition.deadline.map(|deadline| decider.now().plus(deadline))
}

fn has_no_config(action: &Action) -> Refusal {
    let id = action.id;
    let detail =
        format!("action `{id}` has no configuration, because Sprag could not render it; send `config` with the retry");
    Refusal::new(Code::StatusConflict, detail)
}
