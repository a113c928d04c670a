//! Triggers: from an action definition and the present facts to an action that is ready, skipped or dead.
//!
//! An error in an action's condition, configuration or limit key never discards the macrostep: the action is created
//! dead, and its end is a macrostep of its own.

use super::context::Context;
use super::execution::{Effect, Fate, SkipReason, Trigger};
use super::model::StateIndex;
use super::step::Run;
use crate::action::error::kind;
use crate::action::{ActionError, Definition};
use crate::expression::logic::Fuel;
use crate::expression::scope::Scope;
use crate::expression::template::{Frozen, TemplateLimits};
use crate::text::check_limit_key;
use crate::time::Timestamp;

/// Triggers the action for `owner`, or starts its schedule.
pub(super) fn fire(run: &mut Run<'_>, action: usize, owner: StateIndex, visit: Option<u64>) {
    let Some(definition) = run.machine.actions.get(action) else {
        return;
    };
    if let (Some(schedule), Some(visit)) = (&definition.schedule, visit) {
        let start = run
            .input
            .now
            .as_millis()
            .saturating_add(i64::try_from(definition.delay).unwrap_or(i64::MAX));
        if let Some(next) = schedule.cron.next_after(start) {
            let next = Timestamp::from_millis(next);
            run.effects.push(Effect::StartSchedule { action, visit, next });
        }
        return;
    }
    push(run, action, owner, visit, None);
}

/// Triggers one occurrence of a schedule, on the facts of now.
pub(super) fn occurrence(run: &mut Run<'_>, action_id: &str, visit: u64, nominal: Timestamp) {
    let Some((action, _)) = run.machine.action(action_id) else {
        return;
    };
    let owner = run.execution.visit(visit).map_or(StateIndex::ROOT, |visit| visit.state);
    push(run, action, owner, Some(visit), Some(nominal));
}

fn push(run: &mut Run<'_>, action: usize, owner: StateIndex, visit: Option<u64>, nominal: Option<Timestamp>) {
    let Some(definition) = run.machine.actions.get(action) else {
        return;
    };
    let count = run.execution.triggered.entry(definition.action_id.clone()).or_insert(0);
    *count += 1;
    let ordinal = *count;
    let fate = fate(definition, &run.context(Some(&run.event), owner));
    let trigger = Trigger {
        action,
        ordinal,
        visit,
        nominal,
        fate,
    };
    run.effects.push(Effect::Trigger(Box::new(trigger)));
}

/// What a trigger of the definition comes to, in this context.
pub(super) fn fate(definition: &Definition, context: &Context<'_>) -> Fate {
    if !definition.enabled {
        return Fate::Skipped(SkipReason::Disabled);
    }
    match ready(definition, context) {
        Ok(fate) => fate,
        Err(message) => Fate::Dead(ActionError::new(kind::INVALID_CONFIGURATION, message)),
    }
}

fn ready(definition: &Definition, context: &Context<'_>) -> Result<Fate, String> {
    if let Some(condition) = &definition.condition {
        let holds = condition
            .test(context, &mut Fuel::default())
            .map_err(|error| format!("condition: {error}"))?;
        if !holds {
            return Ok(Fate::Skipped(SkipReason::Condition));
        }
    }
    let frozen = match &definition.params {
        _ if definition.config.constant().is_some() => None,
        Some(params) => Some(freeze(definition, &params.bind(context)?)?),
        None => Some(freeze(definition, context)?),
    };
    let limit_keys = limit_keys(definition, context)?;
    Ok(Fate::Ready { frozen, limit_keys })
}

fn freeze(definition: &Definition, scope: &dyn Scope) -> Result<Frozen, String> {
    let frozen = definition.config.freeze(scope, TemplateLimits::default());
    frozen.map_err(|error| format!("config: {error}"))
}

fn limit_keys(definition: &Definition, context: &Context<'_>) -> Result<Vec<String>, String> {
    let own = || format!("{}/{}", context.machine.id, definition.action_id);
    let keys = definition.limits.iter().map(|limit| match &limit.key {
        None => Ok(own()),
        Some(key) => match key
            .render(context, TemplateLimits::default())
            .map_err(|error| format!("limits key: {error}"))?
        {
            serde_json::Value::String(key) => match check_limit_key(&key) {
                Ok(()) => Ok(key),
                Err(problem) => Err(format!("limits key: the rendered key {problem}")),
            },
            other => Err(format!("limits key: `{other}` is not a text")),
        },
    });
    keys.collect()
}
