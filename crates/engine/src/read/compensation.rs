//! What would take back the effects of a closed execution: nothing of it changes any more, so its compensations follow from
//! what is stored.

use std::collections::BTreeMap;

use sprag_core::action::{Action, Status};
use sprag_core::ids::ExecutionId;
use sprag_core::machine::{Fate, How, Machine, compensation};
use sprag_core::operation::{PlanStep, TriggeredAction};
use sprag_store::traits::{ActionQuery, Reader};
use sprag_store::{Error, Page};

use super::handle::ReadHandle;
use super::open::whole;
use crate::decide::convert;
use crate::decide::limit_uses;
use crate::decide::state::ExecutionState;
use crate::lane::damaged;
use crate::requests::{Code, Refusal};

/// Effects of an execution that are taken back.
const ACTIONS_MAX: usize = 1_000;
/// Succeeded actions that are read at once.
const ACTIONS_READ: usize = 1_000;

/// The machine of an execution, and the steps that take back what it did: that of the latest effect first.
pub(crate) type Compensations = (String, Vec<PlanStep>);

/// The compensations of an execution, or why there cannot be any.
pub(crate) fn compensations(
    handle: &ReadHandle,
    reader: &dyn Reader,
    id: ExecutionId,
) -> Result<Result<Compensations, Refusal>, Error> {
    let Some(state) = whole(reader, id)? else {
        return Ok(Err(Refusal::no_execution(id)));
    };
    if let Err(refusal) = check_closed(&state) {
        return Ok(Err(refusal));
    }
    let mut actions = Vec::new();
    let mut after = None;
    loop {
        let query = ActionQuery {
            execution: Some(id),
            status: Some(Status::Succeeded.number()),
            page: Page::new(after, ACTIONS_READ),
            ..ActionQuery::default()
        };
        let found = reader.actions(&query)?;
        for row in found.rows {
            let action = convert::action_from(row).map_err(|error| damaged(&error))?;
            let machine = handle.version(reader, &action.origin.machine, action.origin.version)?;
            if compensation_of(&machine, &action).is_some() {
                actions.push((action, machine));
            }
        }
        after = found.next;
        if after.is_none() || actions.len() > ACTIONS_MAX {
            break;
        }
    }
    if actions.len() > ACTIONS_MAX {
        let detail = format!("execution `{id}` has more than {ACTIONS_MAX} effects to take back");
        return Ok(Err(Refusal::new(Code::StatusConflict, detail)));
    }
    actions.sort_by_key(|(action, _)| std::cmp::Reverse((ended_at(action), action.id)));
    let mut steps = Vec::new();
    let mut named: BTreeMap<String, u32> = BTreeMap::new();
    for (action, machine) in &actions {
        match step(handle, machine, &state, action) {
            Ok(None) => {}
            Ok(Some(mut step)) => {
                let count = named.entry(step.name.clone()).or_insert(0);
                *count += 1;
                if *count > 1 {
                    step.name = format!("{}_{count}", step.name);
                }
                steps.push(step);
            }
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok((state.head.machine.to_string(), steps)))
}

fn check_closed(state: &ExecutionState) -> Result<(), Refusal> {
    let (id, status) = (state.head.id, state.head.status);
    let detail = if status.is_open() {
        format!(
            "execution `{id}` is {}; cancel it before you compensate it",
            status.word()
        )
    } else if let Some(action) = state.open().next() {
        format!(
            "action `{}` of execution `{id}` is still open; wait until it ends",
            action.id
        )
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::StatusConflict, detail))
}

/// The position of the definition that takes back the effect of an action.
fn compensation_of(machine: &Machine, action: &Action) -> Option<usize> {
    machine.action(&action.action_id)?.1.compensate
}

fn ended_at(action: &Action) -> Option<sprag_core::time::Timestamp> {
    action.body.attempts.last().and_then(|attempt| attempt.end_time)
}

/// The step that takes back the effect of an action, if its definition names one whose condition holds.
fn step(
    handle: &ReadHandle,
    machine: &Machine,
    state: &ExecutionState,
    action: &Action,
) -> Result<Option<PlanStep>, Refusal> {
    let Some(position) = compensation_of(machine, action) else {
        return Ok(None);
    };
    let end = action.end(How::Done);
    let fate = compensation(machine, &state.execution, position, end, handle.clock.now());
    let (Some(fate), Some(undo)) = (fate, machine.actions.get(position)) else {
        return Ok(None);
    };
    match fate {
        Fate::Skipped(_) => Ok(None),
        Fate::Dead(error) => {
            let detail = format!(
                "the compensation `{}` of action `{}` cannot be rendered: {}",
                undo.action_id, action.id, error.message
            );
            Err(Refusal::new(Code::DecisionFailed, detail))
        }
        Fate::Ready { frozen, limit_keys } => {
            let triggered = TriggeredAction {
                machine,
                version: action.origin.version,
                position,
                frozen: frozen.as_ref(),
                limits: &limit_uses(undo, limit_keys),
            };
            let step = triggered.plan_step(&|kind, config| {
                let runner = handle.runners.get(kind);
                runner.map_or_else(Vec::new, |runner| runner.permissions(kind, config))
            });
            Ok(step.map(|step| PlanStep {
                delay: (undo.delay > 0).then_some(undo.delay),
                compensates: Some(action.id.to_string()),
                ..step
            }))
        }
    }
}
