//! Triggers: from what a step asks for to an action in the store.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::definition::WAIT;
use sprag_core::action::error::kind;
use sprag_core::action::{Action, ActionError, Body, Definition, LimitUse, Origin, Status};
use sprag_core::machine::{End, Fate, How, Machine, SkipReason, Trigger};
use sprag_core::schedule::Overlap;
use sprag_core::time::Timestamp;

use crate::aggregate::Aggregate;
use crate::lane::{Lane, Write};
use crate::timers::Due;

/// The longest a `wait` may be, in seconds: a century.
const WAIT_MAX_SECONDS: f64 = 3_155_760_000.0;

impl Lane {
    /// Creates an action; one that is over at once has an end to be fed.
    pub(super) fn trigger(&mut self, aggregate: &mut Aggregate, machine: &Machine, trigger: Trigger) -> Option<End> {
        let Trigger {
            action: position,
            ordinal,
            visit,
            nominal,
            fate,
        } = trigger;
        let definition = machine.actions.get(position)?;
        let body = Body {
            version: aggregate.head.version,
            ordinal,
            visit,
            nominal,
            ..Body::default()
        };
        let mut action = self.new_action(aggregate, definition, body);
        match fate {
            Fate::Ready { frozen, limit_keys } => {
                let config = frozen
                    .as_ref()
                    .map_or_else(|| definition.config.constant(), |frozen| Some(&frozen.config));
                let wait = match wait_millis(definition, config) {
                    Ok(wait) => wait,
                    Err(error) => return Some(self.create_dead(action, *error)),
                };
                action.body.runner.clone_from(&definition.runner);
                action.body.destination = config.and_then(|config| self.destination(&action, config));
                action.body.frozen = frozen;
                action.body.limits = limit_uses(definition, limit_keys);
                action.body.deadline_at = definition.deadline.map(|deadline| self.now.plus(deadline));
                let delay = if nominal.is_some() { 0 } else { definition.delay };
                action.run_at = self.now.plus(delay).plus(wait);
                action.body.behind = nominal.is_some() && queues(definition) && aggregate.has_open(&action.action_id);
                self.create(aggregate, action);
                None
            }
            Fate::Skipped(reason) => {
                action.status = Status::Skipped;
                action.body.skipped = Some(reason);
                let end = action.end(How::Skipped);
                self.batch.put_action(Write::Insert, action);
                machine.skips_named.contains(&end.action_id).then_some(end)
            }
            Fate::Dead(error) => Some(self.create_dead(action, error)),
        }
    }

    /// Where an action goes, where this process performs it and can know.
    pub(super) fn destination(&self, action: &Action, config: &Value) -> Option<String> {
        match action.body.runner {
            Some(_) => None,
            None => self.hands().destination(&action.kind, config),
        }
    }

    fn new_action(&mut self, aggregate: &Aggregate, definition: &Definition, body: Body) -> Action {
        let head = &aggregate.head;
        Action {
            id: self.mint.action(head.id.slot()),
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
            created_at: self.now,
            run_at: self.now,
            body,
        }
    }

    /// An occurrence that its schedule's overlap rule skips: recorded, fed to nobody.
    pub(super) fn record_overlap(
        &mut self,
        aggregate: &Aggregate,
        definition: &Definition,
        visit: u64,
        nominal: Timestamp,
    ) {
        let body = Body {
            version: aggregate.head.version,
            visit: Some(visit),
            nominal: Some(nominal),
            skipped: Some(SkipReason::Overlap),
            ..Body::default()
        };
        let mut action = self.new_action(aggregate, definition, body);
        action.status = Status::Skipped;
        self.batch.put_action(Write::Insert, action);
    }

    fn create(&mut self, aggregate: &mut Aggregate, mut action: Action) {
        if action.body.behind {
            action.status = Status::Scheduled;
            action.run_at = Timestamp::MAX;
        } else if action.run_at > self.now {
            action.status = Status::Scheduled;
            self.batch
                .due
                .push((action.run_at, Due::Action(aggregate.head.id, action.id)));
        } else {
            self.dispatcher.join(&action);
        }
        let action = Arc::new(action);
        self.batch.put_action(Write::Insert, Arc::clone(&action));
        aggregate.actions.insert(action.id, action);
    }

    fn create_dead(&mut self, mut action: Action, error: ActionError) -> End {
        action.status = Status::Dead;
        action.body.died_at = Some(self.now);
        action.body.last_error = Some(error);
        let end = action.end(How::Failed);
        self.batch.put_action(Write::Insert, action);
        end
    }
}

fn queues(definition: &Definition) -> bool {
    definition
        .schedule
        .as_ref()
        .is_some_and(|schedule| schedule.overlap == Overlap::Queue)
}

fn limit_uses(definition: &Definition, keys: Vec<String>) -> Vec<LimitUse> {
    let limits = definition.limits.iter().zip(keys);
    limits
        .map(|(limit, key)| LimitUse {
            key,
            concurrency: limit.concurrency,
            rate: limit.rate,
        })
        .collect()
}

/// The limits that stand under the action's own key: all that can be known where no key could be rendered.
pub(super) fn own_limits(machine: &Machine, definition: &Definition) -> Vec<LimitUse> {
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
