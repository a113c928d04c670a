//! Triggers: from what a step asks for to an action in the store.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::definition::WAIT;
use sprag_core::action::error::kind;
use sprag_core::action::{Action, ActionError, Body, Definition, LimitUse, Origin, Status};
use sprag_core::machine::{End, Fate, How, Machine, SkipReason, Trigger};
use sprag_core::operation::TriggeredAction;
use sprag_core::time::Timestamp;
use sprag_core::time::schedule::Overlap;

use super::plans::plan_of_trigger;
use super::{Decider, Due, ExecutionChange, Write};

/// The longest a `wait` may be, in seconds: a century.
const WAIT_MAX_SECONDS: f64 = 3_155_760_000.0;

impl Decider<'_> {
    /// Where an action goes, where this process performs it and can know.
    pub(crate) fn destination(&self, action: &Action, config: &Value) -> Option<String> {
        match action.body.runner {
            Some(_) => None,
            None => self.rules.types.destination(&action.kind, config),
        }
    }
}

impl ExecutionChange<'_, '_> {
    /// Creates an action; one that is over at once has an end to be fed.
    pub(crate) fn trigger(&mut self, trigger: Trigger) -> Option<End> {
        let Trigger {
            action: position,
            ordinal,
            visit,
            nominal,
            fate,
        } = trigger;
        let machine = self.machine;
        let definition = machine.actions.get(position)?;
        let body = Body {
            version: self.state.head.version,
            ordinal,
            visit,
            step: Some(self.state.newest_step()),
            nominal,
            ..Body::default()
        };
        let mut action = self.new_action(definition, body);
        match fate {
            Fate::Ready { frozen, limit_keys } => {
                let config = frozen
                    .as_ref()
                    .map_or_else(|| definition.config.constant(), |frozen| Some(&frozen.config));
                let wait = match wait_millis(definition, config) {
                    Ok(wait) => wait,
                    Err(error) => return Some(self.create_dead(action, *error)),
                };
                let now = self.now();
                action.body.runner.clone_from(&definition.runner);
                action.body.destination = config.and_then(|config| self.decider.destination(&action, config));
                action.body.frozen = frozen;
                action.body.limits = limit_uses(definition, limit_keys);
                action.body.deadline_at = definition.deadline.map(|deadline| now.plus(deadline));
                let delay = if nominal.is_some() { 0 } else { definition.delay };
                action.run_at = now.plus(delay).plus(wait);
                action.body.behind = nominal.is_some() && queues(definition) && self.state.has_open(&action.action_id);
                let triggered = TriggeredAction {
                    machine,
                    version: action.origin.version,
                    position,
                    frozen: action.body.frozen.as_ref(),
                    limits: &action.body.limits,
                };
                let plan = plan_of_trigger(self, &triggered, &action);
                action.body.approval = plan.is_some();
                if let Some(plan) = plan {
                    self.put_plan(plan);
                }
                self.create(action);
                None
            }
            Fate::Skipped(reason) => {
                action.status = Status::Skipped;
                action.body.skipped = Some(reason);
                let end = action.end(How::Skipped);
                self.batch().put_action(Write::Insert, action);
                machine.skips_named.contains(&end.action_id).then_some(end)
            }
            Fate::Dead(error) => {
                // Without a configuration there is nothing to approve, and so nothing to retry.
                action.body.approval = definition.risk.is_some();
                Some(self.create_dead(action, error))
            }
        }
    }

    fn new_action(&mut self, definition: &Definition, body: Body) -> Action {
        let now = self.now();
        let head = &self.state.head;
        Action {
            id: self.decider.at.mint.action(head.id.slot()),
            origin: Origin {
                execution: head.id,
                machine: head.machine.to_string(),
                version: head.version,
            },
            action_id: definition.action_id.clone(),
            kind: definition.kind.clone(),
            status: Status::Queued,
            priority: definition.priority,
            tags: definition.tags.clone(),
            created_at: now,
            run_at: now,
            body,
        }
    }

    /// An occurrence that its schedule's overlap rule skips: recorded, and fed to no machine.
    pub(crate) fn record_overlap(&mut self, definition: &Definition, visit: u64, nominal: Timestamp) {
        let body = Body {
            version: self.state.head.version,
            visit: Some(visit),
            nominal: Some(nominal),
            skipped: Some(SkipReason::Overlap),
            ..Body::default()
        };
        let mut action = self.new_action(definition, body);
        action.status = Status::Skipped;
        self.batch().put_action(Write::Insert, action);
    }

    fn create(&mut self, mut action: Action) {
        let mut waits = false;
        if action.body.behind {
            action.status = Status::Scheduled;
            action.run_at = Timestamp::MAX;
        } else if action.run_at > self.now() {
            action.status = Status::Scheduled;
            let due = Due::Action(self.state.head.id, action.id);
            self.batch().due.push((action.run_at, due));
        } else if action.body.approval {
            waits = true;
        } else {
            self.known().queue.join(&action);
        }
        let action = Arc::new(action);
        self.batch().put_action(Write::Insert, Arc::clone(&action));
        if waits {
            self.batch().set_aside(Arc::clone(&action));
        }
        self.state.actions.insert(action.id, action);
    }

    fn create_dead(&mut self, mut action: Action, error: ActionError) -> End {
        action.status = Status::Dead;
        action.body.died_at = Some(self.now());
        action.body.last_error = Some(error);
        let end = action.end(How::Failed);
        self.batch().put_action(Write::Insert, action);
        end
    }
}

fn queues(definition: &Definition) -> bool {
    definition
        .schedule
        .as_ref()
        .is_some_and(|schedule| schedule.overlap == Overlap::Queue)
}

/// The limits of an action, by their rendered keys.
pub(crate) fn limit_uses(definition: &Definition, keys: Vec<String>) -> Vec<LimitUse> {
    let limits = definition.limits.iter().zip(keys);
    limits
        .map(|(limit, key)| LimitUse {
            key,
            concurrency: limit.concurrency,
            rate: limit.rate,
        })
        .collect()
}

/// The limits under the action's own key: all that can be known where no key could be rendered.
pub(crate) fn own_limits(machine: &Machine, definition: &Definition) -> Vec<LimitUse> {
    let own = definition.limits.iter().filter(|limit| limit.key.is_none());
    own.map(|limit| LimitUse {
        key: format!("{}/{}", machine.id, definition.action_id),
        concurrency: limit.concurrency,
        rate: limit.rate,
    })
    .collect()
}

/// A `wait` is a due time: its seconds pass before its attempt begins, and hold no permit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the seconds were checked to be in range"
)]
pub(crate) fn wait_millis(definition: &Definition, config: Option<&Value>) -> Result<u64, Box<ActionError>> {
    if definition.kind != WAIT || definition.runner.is_some() {
        return Ok(0);
    }
    let seconds = config.and_then(|config| config.get("seconds")).and_then(Value::as_f64);
    match seconds {
        Some(seconds) if (0.0..=WAIT_MAX_SECONDS).contains(&seconds) => Ok((seconds * 1_000.0) as u64),
        _ => Err(Box::new(ActionError::new(
            kind::INVALID_CONFIGURATION,
            "`seconds` of a wait must be a number from 0 on",
        ))),
    }
}
