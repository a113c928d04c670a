//! What a move to another version of its machine does to an execution: worked out whole before anything is changed, so
//! that the move and its check cannot disagree.
//!
//! Every active state must have a counterpart. Kept states keep their visit and entry time; `after` counts from that
//! entry with the new duration, but not before now.

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::machine::{Execution, Kind, Machine, StateIndex, StateSet, Visit};
use sprag_core::time::Timestamp;
use sprag_store::records::{Timer, TimerKey};
use sprag_wire::{MigrationCheck, MigrationProblem, StateMove, TimerChange, TimerMove};

use crate::decide::state::ExecutionState;

/// The timers of an execution, by visit and index.
type Timers = BTreeMap<(u64, u16), Timer>;

/// A move, worked out.
pub(crate) struct Plan {
    /// The execution in terms of the other version.
    pub(crate) moved: Execution,
    /// Which active state became which; none where it has no counterpart.
    states: Vec<(StateIndex, Option<StateIndex>)>,
    /// Why it cannot be, as pointers into the request with what is wrong there.
    pub(crate) problems: Vec<(String, String)>,
}

/// What a timer is, whatever its place: how versions are compared.
#[derive(PartialEq)]
struct Nature<'a> {
    visit: u64,
    after: Option<u64>,
    schedule: Option<&'a str>,
}

impl Plan {
    /// The execution in terms of `to`, with everything that stands in the way.
    pub(crate) fn new(
        execution: &Execution,
        (from, to): (&Machine, &Machine),
        states: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Self {
        let counterpart = |state| counterpart(state, (from, to), states);
        let mut plan = Self {
            moved: execution.clone(),
            states: Vec::new(),
            problems: Vec::new(),
        };
        plan.moved.active = StateSet::default();
        plan.moved.visits.clear();
        for visit in &execution.visits {
            let state = counterpart(visit.state);
            plan.states.push((visit.state, state));
            match state {
                Some(state) => {
                    plan.moved.active.insert(state);
                    plan.moved.visits.push(Visit { state, ..*visit });
                }
                None => plan.problems.push(no_counterpart(from, visit.state, states)),
            }
        }
        enter_new_ancestors(&mut plan.moved, to, now);
        plan.moved.visits.sort_by_key(|visit| visit.state);
        plan.moved.history = carried_history(execution, counterpart);
        // What lacks a state looks ill made only because of that.
        if plan.problems.is_empty() {
            plan.problems = ill_made(&plan.moved.active, to);
        }
        plan
    }
}

/// The state of `to` that a state of `from` becomes, if it has one.
pub(crate) fn counterpart(
    state: StateIndex,
    (from, to): (&Machine, &Machine),
    states: &BTreeMap<String, String>,
) -> Option<StateIndex> {
    if state == StateIndex::ROOT {
        return Some(state);
    }
    let path = from.state(state).path.as_str();
    to.by_path(states.get(path).map_or(path, String::as_str))
}

/// What histories remember, where all of it has counterparts.
fn carried_history(
    execution: &Execution,
    counterpart: impl Fn(StateIndex) -> Option<StateIndex>,
) -> BTreeMap<StateIndex, Vec<StateIndex>> {
    let carried = execution.history.iter().filter_map(|(&history, remembered)| {
        let remembered: Option<Vec<StateIndex>> = remembered.iter().map(|&state| counterpart(state)).collect();
        Some((counterpart(history)?, remembered?))
    });
    carried.collect()
}

/// A state that was put inside new ones: they count as entered now.
fn enter_new_ancestors(moved: &mut Execution, to: &Machine, now: Timestamp) {
    let missing: Vec<StateIndex> = moved
        .active
        .iter()
        .flat_map(|state| to.ancestors(state).collect::<Vec<_>>())
        .filter(|&state| !moved.active.contains(state))
        .collect();
    for state in missing {
        if !moved.active.contains(state) {
            moved.active.insert(state);
            moved.visits.push(Visit {
                state,
                number: moved.next_visit,
                entered_at: now,
            });
            moved.next_visit += 1;
        }
    }
}

/// Active states that are no configuration of the machine: one child of each compound, all of each parallel.
fn ill_made(active: &StateSet, machine: &Machine) -> Vec<(String, String)> {
    let is_ill_made = |state: &StateIndex| {
        let children = machine
            .child_states(*state)
            .filter(|&child| active.contains(child))
            .count();
        match machine.state(*state).kind {
            Kind::Atomic | Kind::Final => children != 0,
            Kind::Compound => children != 1,
            Kind::Parallel => children != machine.child_states(*state).count(),
            Kind::History(_) => true,
        }
    };
    let problem = |state| {
        let path = machine.display_path(state);
        let detail = format!("state `{path}` has another type in that version; map its states with `states`");
        ("/states".to_owned(), detail)
    };
    active.iter().filter(is_ill_made).map(problem).collect()
}

fn no_counterpart(machine: &Machine, state: StateIndex, states: &BTreeMap<String, String>) -> (String, String) {
    let path = machine.display_path(state);
    let detail = match states.get(path) {
        Some(named) => format!("active state `{path}` is mapped to `{named}`, which that version does not have"),
        None => {
            format!("active state `{path}` does not exist in that version; map it with `states` (`--state OLD=NEW`)")
        }
    };
    let name = path.replace('~', "~0").replace('/', "~1");
    (format!("/states/{name}"), detail)
}

/// The timers of the moved execution, counted from the entry of its states; those that had fired do not fire again.
pub(crate) fn timers_of(
    moved: &Execution,
    (from, to): (&Machine, &Machine),
    before: (&Execution, &Timers),
    now: Timestamp,
) -> Vec<Timer> {
    let id = moved.facts.id;
    let mut timers = Vec::new();
    let mut add = |visit: Visit, index: u16, due_at: Timestamp, schedule: Option<String>| {
        let key = TimerKey {
            execution: id,
            visit: visit.number,
            index,
        };
        timers.push(Timer { key, due_at, schedule });
    };
    for &visit in &moved.visits {
        let fired = fired_durations(from, before, visit.number);
        for (index, after) in to.state(visit.state).after.iter().enumerate() {
            let Ok(index) = u16::try_from(index) else { break };
            if !fired.contains(&after.millis) {
                add(visit, index, visit.entered_at.plus(after.millis).max(now), None);
            }
        }
        for &position in &to.state(visit.state).triggers {
            let Some(definition) = to.actions.get(position) else {
                continue;
            };
            let schedule = definition.schedule.as_ref();
            let next = schedule.and_then(|found| found.cron.next_after(now.as_millis()));
            if let (Some(next), Ok(offset)) = (next, u16::try_from(position)) {
                let action_id = Some(definition.action_id.clone());
                add(
                    visit,
                    TimerKey::SCHEDULES + offset,
                    Timestamp::from_millis(next),
                    action_id,
                );
            }
        }
    }
    timers
}

/// The durations of the visit's timers that are no longer waiting.
fn fired_durations(from: &Machine, (before, timers): (&Execution, &Timers), visit: u64) -> Vec<u64> {
    let Some(old) = before.visit(visit) else {
        return Vec::new();
    };
    let afters = from.state(old.state).after.iter().enumerate();
    let fired =
        afters.filter(|(index, _)| u16::try_from(*index).is_ok_and(|index| !timers.contains_key(&(visit, index))));
    fired.map(|(_, after)| after.millis).collect()
}

/// What a move would do now, without doing it; the past is looked at by [`crate::read::divergence`].
pub(crate) fn check(
    aggregate: &ExecutionState,
    (from, to): (&Arc<Machine>, &Arc<Machine>),
    version: u32,
    states: &BTreeMap<String, String>,
    now: Timestamp,
) -> MigrationCheck {
    let plan = Plan::new(&aggregate.execution, (from, to), states, now);
    let mut problems = plan.problems.clone();
    let head = &aggregate.head;
    if !head.status.is_open() {
        let detail = format!(
            "execution `{}` is {}, and only an open execution can migrate",
            head.id,
            head.status.word()
        );
        problems.insert(0, (String::new(), detail));
    }
    let timers = if problems.is_empty() {
        timer_moves(aggregate, &plan, (from, to), now)
    } else {
        Vec::new()
    };
    MigrationCheck {
        possible: problems.is_empty(),
        from: head.version,
        to: version,
        states: state_moves(&plan, from, to),
        timers,
        problems: problems
            .into_iter()
            .map(|(pointer, detail)| MigrationProblem { pointer, detail })
            .collect(),
        replayed: 0,
        divergence: None,
    }
}

fn state_moves(plan: &Plan, from: &Machine, to: &Machine) -> Vec<StateMove> {
    let path = |machine: &Machine, state| machine.display_path(state).to_owned();
    let kept = plan.states.iter().filter(|(old, _)| *old != StateIndex::ROOT);
    let kept = kept.map(|(old, new)| StateMove {
        from: Some(path(from, *old)),
        to: new.map(|new| path(to, new)),
    });
    let is_new = |state: &StateIndex| !plan.states.iter().any(|(_, new)| *new == Some(*state));
    let entered = plan.moved.active.iter().filter(is_new).map(|state| StateMove {
        from: None,
        to: Some(path(to, state)),
    });
    kept.chain(entered).collect()
}

fn timer_moves(
    aggregate: &ExecutionState,
    plan: &Plan,
    (from, to): (&Machine, &Machine),
    now: Timestamp,
) -> Vec<TimerMove> {
    let before = (&aggregate.execution, &aggregate.timers);
    let new = timers_of(&plan.moved, (from, to), before, now);
    let present: Vec<(&Timer, &str, Nature<'_>)> = aggregate
        .timers
        .values()
        .filter_map(|timer| nature(&aggregate.execution, from, timer).map(|(state, it)| (timer, state, it)))
        .collect();
    let mut moves = Vec::new();
    let mut kept = Vec::new();
    for timer in &new {
        if let Some((state, it)) = nature(&plan.moved, to, timer) {
            let is_kept = present.iter().any(|(_, _, was)| *was == it);
            let change = if is_kept { TimerChange::Kept } else { TimerChange::Added };
            moves.push(timer_move(change, state, &it, timer.due_at));
            kept.extend(is_kept.then_some(it));
        }
    }
    let dropped = present.iter().filter(|(_, _, was)| !kept.contains(was));
    moves.extend(dropped.map(|(timer, state, was)| timer_move(TimerChange::Dropped, state, was, timer.due_at)));
    moves
}

fn timer_move(change: TimerChange, state: &str, nature: &Nature<'_>, due_at: Timestamp) -> TimerMove {
    TimerMove {
        change,
        state: state.to_owned(),
        after: nature.after,
        schedule: nature.schedule.map(str::to_owned),
        due_at,
    }
}

/// The state that a timer belongs to, and what it is.
fn nature<'a>(execution: &Execution, machine: &'a Machine, timer: &'a Timer) -> Option<(&'a str, Nature<'a>)> {
    let visit = execution.visit(timer.key.visit)?;
    let after = match &timer.schedule {
        Some(_) => None,
        None => Some(
            machine
                .state(visit.state)
                .after
                .get(usize::from(timer.key.index))?
                .millis,
        ),
    };
    let nature = Nature {
        visit: visit.number,
        after,
        schedule: timer.schedule.as_deref(),
    };
    Some((machine.display_path(visit.state), nature))
}
