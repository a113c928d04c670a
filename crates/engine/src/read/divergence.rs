//! Whether another version of its machine would have led an execution to where it is: its causes, step by step, with the
//! other version beside the one that decided.
//!
//! States are compared by their paths, as a migration maps them; what the other version would have triggered and what it
//! would have made of the variables counts too. Only what the present version decided is compared: an earlier move was
//! an operator's decision, and the comparison begins anew from where it led.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::machine::{
    Cause, Effect, Execution, Facts, Input, Limits, Machine, StateIndex, Step, TimerKey, Visit, step,
};
use sprag_core::time::Timestamp;
use sprag_store::Error;
use sprag_wire::Divergence;

use crate::decide::convert::Entry;
use crate::decide::state::ExecutionState;
use crate::read::migration::{Plan, counterpart};
use crate::read::replay::{Passed, Replay, Walk, begin};

/// Names that are listed in one sentence.
const NAMES_MAX: usize = 5;

/// A visit of the history beside the one that the other version makes of it.
#[derive(Clone, Copy)]
struct Twin {
    state: StateIndex,
    number: u64,
}

/// The other version beside the history.
pub(crate) struct Comparison<'a> {
    stored: &'a ExecutionState,
    from: &'a Machine,
    to: &'a Machine,
    /// The other version's number.
    version: u32,
    states: &'a BTreeMap<String, String>,
    /// Where the other version would have led; none before the first entry, and while a third version decided.
    other: Option<Execution>,
    /// By the number of the visit in the history.
    twins: BTreeMap<u64, Twin>,
    /// Visits from this number on began here, so all their timers are known.
    known_from: u64,
    /// The timers of the other version that fired.
    fired: BTreeSet<TimerKey>,
    steps: u64,
}

impl<'a> Comparison<'a> {
    /// Of an execution with what another version would have made of it.
    pub(crate) fn new(
        stored: &'a ExecutionState,
        (from, to): (&'a Arc<Machine>, &'a Arc<Machine>),
        version: u32,
        states: &'a BTreeMap<String, String>,
    ) -> Self {
        Self {
            stored,
            from,
            to,
            version,
            states,
            other: None,
            twins: BTreeMap::new(),
            known_from: 0,
            fired: BTreeSet::new(),
            steps: 0,
        }
    }

    /// How many steps were taken again, and where the other version first led elsewhere.
    pub(crate) fn over(mut self, mut walk: Walk<'_>) -> Result<(u64, Option<Divergence>), Error> {
        if let Some(detail) = self.rebase(&walk.replay, self.stored.head.created_at) {
            let sequence = walk.after;
            return Ok((0, Some(Divergence { sequence, detail })));
        }
        while let Some(passed) = walk.next()? {
            if let Some(detail) = self.pass(&passed, &walk.replay) {
                let sequence = passed.row.sequence;
                return Ok((self.steps, Some(Divergence { sequence, detail })));
            }
        }
        Ok((self.steps, None))
    }

    /// Whether the present version decided at this point of the history.
    fn is_present(&self, replay: &Replay) -> bool {
        replay.version == self.stored.head.version
    }

    /// Goes on from where the history is, as a migration would take it over.
    fn rebase(&mut self, replay: &Replay, at: Timestamp) -> Option<String> {
        let present = self.is_present(replay);
        let Some(execution) = replay.execution.as_ref().filter(|_| present) else {
            self.other = None;
            return None;
        };
        let plan = Plan::new(execution, (self.from, self.to), self.states, at);
        let Plan {
            mut moved, problems, ..
        } = plan;
        moved.facts = Arc::new(Facts {
            version: self.version,
            ..Facts::clone(&moved.facts)
        });
        self.twins.clear();
        self.fired.clear();
        self.known_from = moved.next_visit;
        self.other = Some(moved);
        self.pair_visits(execution);
        problems.into_iter().next().map(|(_, detail)| detail)
    }

    /// Takes an entry again with the other version. Says what would have been different.
    fn pass(&mut self, passed: &Passed, replay: &Replay) -> Option<String> {
        if passed.difference.is_some() {
            return passed.difference.clone();
        }
        match &passed.entry {
            Entry::Step {
                cause, handled, given, ..
            } if self.is_present(replay) => {
                let theirs = replay.execution.as_ref()?;
                let other = self.other.take().unwrap_or_else(|| self.begin(given));
                let taken = self.decide(&other, cause, passed.row.at);
                let step = match taken {
                    Ok(step) => step,
                    Err(detail) => return Some(detail),
                };
                let difference = self.difference(&named(cause), (theirs, &replay.effects, *handled), &step);
                self.steps += 1;
                self.other = Some(step.execution);
                self.pair_visits(theirs);
                difference
            }
            Entry::Migrated { .. } => self.rebase(replay, passed.row.at),
            _ => None,
        }
    }

    /// What it started with holds the present version's defaults already; the other one may have more of them.
    fn begin(&self, given: &Map<String, Value>) -> Execution {
        let mut variables = self.to.variables.clone();
        variables.extend(given.clone());
        begin(self.stored, self.version, variables)
    }

    /// What the other version makes of a cause.
    fn decide(&mut self, other: &Execution, cause: &Cause, at: Timestamp) -> Result<Step, String> {
        let (cause, due) = self.translated(other, cause)?;
        if let Some(early) = self.overdue(other, due.unwrap_or(at), due.is_some()) {
            return Err(early);
        }
        if let Cause::Timer(key) = &cause {
            self.fired.insert(*key);
        }
        let name = named(&cause);
        let input = Input {
            now: at,
            cause,
            limits: Limits::default(),
        };
        step(self.to, other, &input).map_err(|error| format!("that version could not decide on {name}: {error}"))
    }

    /// The cause in terms of the other version, with its due time if it is a timer.
    fn translated(&self, other: &Execution, cause: &Cause) -> Result<(Cause, Option<Timestamp>), String> {
        match cause {
            Cause::Timer(key) => {
                let (key, due) = self.timer(other, *key)?;
                Ok((Cause::Timer(key), Some(due)))
            }
            Cause::Occurrence { action, visit, nominal } => {
                let twin = self.twins.get(visit);
                let cause = Cause::Occurrence {
                    action: action.clone(),
                    visit: twin.map_or(*visit, |twin| twin.number),
                    nominal: *nominal,
                };
                Ok((cause, None))
            }
            Cause::Start | Cause::Message(_) | Cause::Ended(_) => Ok((cause.clone(), None)),
        }
    }

    /// The timer of the other version that a timer of the history is: that of the same state and duration.
    fn timer(&self, other: &Execution, key: TimerKey) -> Result<(TimerKey, Timestamp), String> {
        let twin = self.twins.get(&key.visit);
        let visit = twin.and_then(|twin| other.visit(twin.number));
        let after = twin.and_then(|twin| self.from.state(twin.state).after.get(usize::from(key.index)));
        let (Some(twin), Some(visit), Some(after)) = (twin, visit, after) else {
            return Err("a timer fired of a state that that version would not be in".to_owned());
        };
        let mut same = self.to.state(visit.state).after.iter();
        let position = same.position(|known| known.millis == after.millis);
        match position.and_then(|position| u16::try_from(position).ok()) {
            Some(index) => {
                let key = TimerKey {
                    visit: visit.number,
                    index,
                };
                Ok((key, visit.entered_at.plus(after.millis)))
            }
            None => Err(format!(
                "the timer `after {} ms` of `{}` fired, which that version does not have",
                after.millis,
                self.from.display_path(twin.state)
            )),
        }
    }

    /// A timer that would have fired by now in the other version, and did not.
    fn overdue(&self, other: &Execution, at: Timestamp, is_timer: bool) -> Option<String> {
        // Timers fire in the order in which they are due, and before any other input.
        let is_late = |due: Timestamp| if is_timer { due < at } else { due <= at };
        let known = other.visits.iter().filter(|visit| visit.number >= self.known_from);
        for &Visit {
            state,
            number,
            entered_at,
        } in known
        {
            for (index, after) in (0_u16..).zip(&self.to.state(state).after) {
                let key = TimerKey { visit: number, index };
                if is_late(entered_at.plus(after.millis)) && !self.fired.contains(&key) {
                    let path = self.to.display_path(state);
                    return Some(format!(
                        "before it, the timer `after {} ms` of `{path}` would have fired in that version",
                        after.millis
                    ));
                }
            }
        }
        None
    }

    /// What would have been different after a step.
    fn difference(
        &self,
        event: &str,
        (theirs, effects, handled): (&Execution, &[Effect], bool),
        step: &Step,
    ) -> Option<String> {
        let other = &step.execution;
        self.other_states(event, theirs, other)
            .or_else(|| other_handling(event, handled, step.handled))
            .or_else(|| self.other_actions(event, effects, &step.effects))
            .or_else(|| other_variables(event, &theirs.variables, &other.variables))
    }

    fn other_states(&self, event: &str, theirs: &Execution, other: &Execution) -> Option<String> {
        let mut wanted = Vec::new();
        for state in theirs.active.iter().filter(|&state| self.from.is_leaf(state)) {
            let Some(twin) = counterpart(state, (self.from, self.to), self.states) else {
                let path = self.from.display_path(state);
                return Some(format!(
                    "after {event} it was in `{path}`, which does not exist in that version; map it with `states` \
                     (`--state OLD=NEW`)"
                ));
            };
            wanted.push(self.to.display_path(twin).to_owned());
        }
        wanted.sort();
        let found = self.to.configuration(&other.active);
        (wanted != found).then(|| {
            let (was, would) = (self.from.configuration(&theirs.active), found);
            format!(
                "after {event} it was in {}; that version would be in {}",
                listed(&was),
                listed(&would)
            )
        })
    }

    fn other_actions(&self, event: &str, theirs: &[Effect], other: &[Effect]) -> Option<String> {
        let (did, would) = (triggered(self.from, theirs), triggered(self.to, other));
        (did != would).then(|| {
            format!(
                "{event} triggered {}; that version would trigger {}",
                listed(&did),
                listed(&would)
            )
        })
    }

    /// Notes which visit of the other version is which of the history.
    fn pair_visits(&mut self, theirs: &Execution) {
        let Some(other) = &self.other else { return };
        for visit in &theirs.visits {
            let state = counterpart(visit.state, (self.from, self.to), self.states);
            let twin = other.visits.iter().find(|twin| Some(twin.state) == state);
            if let Some(twin) = twin {
                let twin = Twin {
                    state: visit.state,
                    number: twin.number,
                };
                self.twins.insert(visit.number, twin);
            }
        }
    }
}

fn other_handling(event: &str, handled: bool, would: bool) -> Option<String> {
    match (handled, would) {
        (true, false) => Some(format!("{event} was answered; that version would not answer it")),
        (false, true) => Some(format!("{event} was not answered; that version would answer it")),
        _ => None,
    }
}

fn other_variables(event: &str, theirs: &Map<String, Value>, other: &Map<String, Value>) -> Option<String> {
    let names: BTreeSet<&String> = theirs.keys().chain(other.keys()).collect();
    let differ: Vec<String> = names
        .into_iter()
        .filter(|name| theirs.get(*name) != other.get(*name))
        .cloned()
        .collect();
    (!differ.is_empty()).then(|| {
        format!(
            "after {event}, that version would have other values of {}",
            listed(&differ)
        )
    })
}

/// The actions that a step triggered, sorted.
fn triggered(machine: &Machine, effects: &[Effect]) -> Vec<String> {
    let ids = effects.iter().filter_map(|effect| match effect {
        Effect::Trigger(trigger) => Some(machine.actions.get(trigger.action)?.action_id.clone()),
        _ => None,
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids
}

/// What happened, for people.
fn named(cause: &Cause) -> String {
    match cause {
        Cause::Start => "the start".to_owned(),
        Cause::Message(message) => format!("message `{}`", message.kind),
        Cause::Timer(_) => "a timer".to_owned(),
        Cause::Ended(end) => format!("`{}.{}`", end.how.word(), end.action_id),
        Cause::Occurrence { action, .. } => format!("the schedule of `{action}`"),
    }
}

/// Names in a sentence.
fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let mut text: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    if names.len() > NAMES_MAX {
        text.push(format!("{} more", names.len() - NAMES_MAX));
    }
    text.join(", ")
}
