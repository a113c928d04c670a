//! What people do to actions: retry now, cancel, retry or archive a dead letter, ask why it does not move.

use std::sync::Arc;

use sprag_core::action::{Action, CancelledBy, Overrides, Status};
use sprag_core::expression::template::Frozen;
use sprag_core::ids::ActionId;
use sprag_core::machine::Machine;
use sprag_store::Error;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::Variables;

use super::Decision;
use super::feed::is_superseded;
use super::triggers::own_limits;
use crate::aggregate::Aggregate;
use crate::command::{Answer, Code, Refusal, Reply, RetryDead};
use crate::convert;
use crate::lane::{Lane, Write};
use crate::view;

impl Lane {
    /// A scheduled or retrying action is due now.
    pub(super) fn retry_now(&mut self, id: ActionId) -> Result<Reply, Error> {
        self.with_action(id, |lane, aggregate, _, mut action| {
            if !matches!(action.status, Status::Scheduled | Status::Retrying) || action.body.behind {
                return Ok(Err(conflict(&action, "scheduled or retrying")));
            }
            if let Err(illegal) = action.make_ready(lane.now) {
                return Ok(Err(Refusal::new(Code::StatusConflict, illegal.to_string())));
            }
            lane.rejoin(aggregate, action.clone());
            Ok(Ok(action))
        })
    }

    /// Ends an action. One that is under way is asked to stop.
    pub(super) fn cancel_action(&mut self, id: ActionId) -> Result<Reply, Error> {
        self.with_action(id, |lane, aggregate, machine, action| {
            // Its end is input, and due timers come before any: they may end it themselves.
            lane.fire_due(aggregate, machine);
            let action = lane.batch.action(id).cloned().unwrap_or(action);
            if !action.status.is_open() {
                return Ok(Err(conflict(&action, "scheduled, queued, running or retrying")));
            }
            let end = lane.cancel_one(aggregate, id, CancelledBy::Person);
            let action = lane.batch.action(id).cloned().unwrap_or(action);
            if let Some(end) = end.filter(|end| !is_superseded(aggregate, end)) {
                lane.hear(aggregate, machine, end);
            }
            Ok(Ok(action))
        })
    }

    /// Tries a dead letter again, with a fresh budget of attempts.
    pub(super) fn retry_dead(&mut self, retry: &RetryDead) -> Result<Reply, Error> {
        self.with_action(retry.action, |lane, aggregate, _, mut action| {
            if action.status != Status::Dead {
                return Ok(Err(conflict(&action, "dead")));
            }
            let sent = lane.config_sent(&action)?;
            if let Some(version) = retry.version {
                match lane.machine(&action.origin.machine.clone(), version)? {
                    Some(machine) => {
                        let Some((_, definition)) = machine.action(&action.action_id) else {
                            return Ok(Err(lacks_action(&action, version)));
                        };
                        action.origin.version = version;
                        action.body.version = version;
                        action.body.runner.clone_from(&definition.runner);
                        action.body.overrides = Overrides::default();
                    }
                    None => return Ok(Err(no_version(&action, version))),
                }
            }
            if let Err(refusal) = lane.edit(&mut action, retry)? {
                return Ok(Err(refusal));
            }
            let Some(config) = lane.config_sent(&action)? else {
                return Ok(Err(has_no_config(&action)));
            };
            if sent.as_ref() != Some(&config) {
                // Another body needs another idempotency key, wherever it comes from.
                action.body.destination = lane.destination(&action, &config.config);
                action.body.generation += 1;
            }
            let deadline = lane.deadline_of(&action)?;
            lane.keep_limits(&mut action)?;
            if let Err(illegal) = action.revive(lane.now, deadline) {
                return Ok(Err(Refusal::new(Code::StatusConflict, illegal.to_string())));
            }
            lane.rejoin(aggregate, action.clone());
            Ok(Ok(action))
        })
    }

    /// What the action's attempts are given; none where it died at its trigger because that could not be rendered.
    pub(super) fn config_sent(&mut self, action: &Action) -> Result<Option<Frozen>, Error> {
        if let Some(frozen) = &action.body.frozen {
            return Ok(Some(frozen.clone()));
        }
        let machine = self.machine(&action.origin.machine, action.origin.version)?;
        let found = machine.as_ref().and_then(|machine| machine.action(&action.action_id));
        let constant = found.and_then(|(_, definition)| definition.config.constant().cloned());
        Ok(constant.map(|config| Frozen {
            config,
            late: Vec::new(),
            bindings: serde_json::Map::new(),
        }))
    }

    /// An action that died at its trigger was not put under its limits: it is now, where their keys are its own.
    fn keep_limits(&mut self, action: &mut Action) -> Result<(), Error> {
        let machine = self.machine(&action.origin.machine, action.origin.version)?;
        if let Some(machine) = machine.filter(|_| action.body.limits.is_empty())
            && let Some((_, definition)) = machine.action(&action.action_id)
        {
            action.body.limits = own_limits(&machine, definition);
        }
        Ok(())
    }

    fn deadline_of(&mut self, action: &Action) -> Result<Option<sprag_core::time::Timestamp>, Error> {
        let machine = self.machine(&action.origin.machine, action.origin.version)?;
        let found = machine.as_ref().and_then(|machine| machine.action(&action.action_id));
        Ok(found
            .and_then(|(_, definition)| definition.deadline)
            .map(|deadline| self.now.plus(deadline)))
    }

    /// Puts a dead letter away.
    pub(super) fn archive(&mut self, id: ActionId) -> Result<Reply, Error> {
        self.with_action(id, |lane, _, _, mut action| {
            if let Err(illegal) = action.archive() {
                return Ok(Err(Refusal::new(Code::StatusConflict, illegal.to_string())));
            }
            lane.batch
                .put_action(Write::Update(Variables::Unchanged), action.clone());
            Ok(Ok(action))
        })
    }

    /// Says why an action does not move, with what only the dispatcher knows.
    pub(super) fn explain(&mut self, id: ActionId) -> Result<Reply, Error> {
        let reply = self.with_action(id, |_, _, _, action| Ok(Ok(action)))?;
        let Ok(Answer::Action(mut view)) = reply else {
            return Ok(reply);
        };
        let held = self.cache.get(view.execution_id);
        let is_paused = held.is_some_and(|found| found.head.status == ExecutionStatus::Paused);
        if view.status == Status::Queued.into()
            && !is_paused
            && let Some(action) = held.and_then(|found| found.actions.get(&id))
        {
            let held = self.control.switches.waiting(action, self.now);
            view.waiting = held.unwrap_or_else(|| self.dispatcher.explain(action));
        }
        Ok(Ok(Answer::Action(view)))
    }

    /// The action waits in its line again, unless its execution is paused.
    fn rejoin(&mut self, aggregate: &mut Aggregate, action: Action) {
        if aggregate.head.status != ExecutionStatus::Paused {
            self.dispatcher.join(&action);
        }
        let action = Arc::new(action);
        self.batch
            .put_action(Write::Update(Variables::Unchanged), Arc::clone(&action));
        aggregate.actions.insert(action.id, action);
    }

    fn with_action(
        &mut self,
        id: ActionId,
        act: impl FnOnce(&mut Self, &mut Aggregate, &Machine, Action) -> Decision<Action>,
    ) -> Result<Reply, Error> {
        let unknown = || Refusal::new(Code::ActionUnknown, format!("there is no action `{id}`"));
        let Some(action) = self.find_action(id)? else {
            return Ok(Err(unknown()));
        };
        let Ok(mut aggregate) = self.take(action.origin.execution) else {
            return Ok(Err(unknown()));
        };
        let open = aggregate.actions.get(&id);
        let action = open.map_or(action, |open| Action::clone(open));
        let machine = self.machine_of(&aggregate)?;
        let acted = act(self, &mut aggregate, &machine, action);
        let status = aggregate.head.status;
        self.cache.put(aggregate);
        Ok(acted?.map(|action| {
            let mut view = view::action(&action, status);
            let actions = std::iter::once(&action);
            view::name_switch(&mut view.waiting, actions, &self.control.switches, self.now);
            view::renew(&mut view, &self.dispatcher.leases);
            Answer::Action(Box::new(view))
        }))
    }

    /// An action as this batch left it, or as it is stored.
    pub(super) fn find_action(&self, id: ActionId) -> Result<Option<Action>, Error> {
        if let Some(action) = self.batch.action(id) {
            return Ok(Some(action.clone()));
        }
        let Some(row) = self.loaded.actions.iter().find(|row| row.id == id) else {
            return Ok(None);
        };
        convert::action_from(row.clone())
            .map(Some)
            .map_err(|error| Error::Corrupt {
                detail: error.to_string(),
            })
    }
}

fn conflict(action: &Action, needed: &str) -> Refusal {
    let detail = format!(
        "action `{}` is {}; it would have to be {needed}",
        action.id,
        action.status.word()
    );
    Refusal::new(Code::StatusConflict, detail)
}

fn lacks_action(action: &Action, version: u32) -> Refusal {
    let (machine, name) = (&action.origin.machine, &action.action_id);
    Refusal::new(
        Code::VersionUnknown,
        format!("version {version} of machine `{machine}` has no action `{name}`"),
    )
}

fn has_no_config(action: &Action) -> Refusal {
    let detail = format!(
        "action `{}` has no configuration, because it could not be rendered; retry it with one",
        action.id
    );
    Refusal::new(Code::StatusConflict, detail)
}

fn no_version(action: &Action, version: u32) -> Refusal {
    Refusal::new(
        Code::VersionUnknown,
        format!("machine `{}` has no version {version}", action.origin.machine),
    )
}
