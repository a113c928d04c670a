//! Which transitions are enabled: selection by document order and specificity, then removal of conflicts.

use super::event::{Answers, Event};
use super::execution::StepError;
use super::model::{StateIndex, Transition, TransitionIndex};
use super::sets::Domain;
use super::state_set::StateSet;
use super::step::Run;
use crate::expression::logic::Fuel;

/// A transition that will be taken.
#[derive(Clone, Copy)]
pub(super) struct Enabled<'a> {
    pub(super) transition: &'a Transition,
    /// How far it reaches, by what history states remember before anything is left.
    pub(super) domain: Domain,
}

/// `selectTransitions` (with an event) and `selectEventlessTransitions` (without), conflicts removed.
pub(super) fn transitions<'a>(run: &Run<'a>, event: Option<&Event<'_>>) -> Result<Vec<Enabled<'a>>, StepError> {
    let machine = run.machine;
    let mut enabled: Vec<Enabled<'a>> = Vec::new();
    for leaf in run.execution.active.iter().filter(|&state| machine.is_leaf(state)) {
        for state in std::iter::once(leaf).chain(machine.ancestors(leaf)) {
            if let Some(found) = first_enabled(run, state, event)? {
                let transition = machine.transition(found);
                if !enabled.iter().any(|known| std::ptr::eq(known.transition, transition)) {
                    let domain = run.sets().domain(transition);
                    enabled.push(Enabled { transition, domain });
                }
                break;
            }
        }
    }
    if enabled.len() > 1 {
        enabled = remove_conflicting(run, &enabled);
    }
    Ok(enabled)
}

/// The first transition of `state` that answers the event and whose guard holds.
fn first_enabled(
    run: &Run<'_>,
    state: StateIndex,
    event: Option<&Event<'_>>,
) -> Result<Option<TransitionIndex>, StepError> {
    let at = run.machine.state(state);
    let Some(event) = event else {
        return first_allowed(run, &at.always, None);
    };
    match event.answers(state) {
        Answers::On => {}
        Answers::After(index) => {
            let after = at.after.get(index);
            return after.map_or(Ok(None), |after| first_allowed(run, &after.transitions, Some(event)));
        }
        Answers::None => return Ok(None),
    }
    for (descriptor, candidates) in &at.on {
        if event.matches(descriptor)
            && let Some(found) = first_allowed(run, candidates, Some(event))?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn first_allowed(
    run: &Run<'_>,
    candidates: &[TransitionIndex],
    event: Option<&Event<'_>>,
) -> Result<Option<TransitionIndex>, StepError> {
    for &candidate in candidates {
        if is_allowed(run, candidate, event)? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

fn is_allowed(run: &Run<'_>, candidate: TransitionIndex, event: Option<&Event<'_>>) -> Result<bool, StepError> {
    let transition = run.machine.transition(candidate);
    let Some(guard) = &transition.guard else {
        return Ok(true);
    };
    let context = run.context(Some(event.unwrap_or(&run.event)), transition.source);
    guard
        .test(&context, &mut Fuel::default())
        .map_err(|error| StepError::Expression {
            part: "guard",
            state: run.machine.display_path(transition.source).to_owned(),
            detail: error.to_string(),
        })
}

/// `removeConflictingTransitions`: of two that would leave the same state, the one from the inner source wins; else
/// the one selected first.
fn remove_conflicting<'a>(run: &Run<'a>, enabled: &[Enabled<'a>]) -> Vec<Enabled<'a>> {
    let mut kept: Vec<(Enabled<'a>, StateSet)> = Vec::with_capacity(enabled.len());
    for &candidate in enabled {
        let leaves = run.sets().exit_set(candidate.domain, &run.execution.active);
        let is_inside = |other: &Enabled<'_>| {
            run.machine
                .is_descendant(candidate.transition.source, other.transition.source)
        };
        let mut met = kept.iter().filter(|(_, other)| leaves.meets(other));
        if met.all(|(other, _)| is_inside(other)) {
            kept.retain(|(_, other)| !leaves.meets(other));
            kept.push((candidate, leaves));
        }
    }
    kept.into_iter().map(|(taken, _)| taken).collect()
}
