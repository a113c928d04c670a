//! Moving an execution to another version of its machine.
//!
//! Every active state must have a counterpart. Kept states keep their visit and entry time; `after` counts from that
//! entry with the new duration, but not before now; entry actions are not triggered; actions under way finish as they
//! were frozen.

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::machine::{Execution, Facts, Kind, Machine, StateIndex, StateSet, Visit};
use sprag_core::time::Timestamp;
use sprag_store::Error;
use sprag_store::records::{Timer, TimerKey};
use sprag_store::traits::Variables;

use crate::aggregate::Aggregate;
use crate::command::{Code, Migrate, Refusal, Reply};
use crate::convert::{Entry, Moved};
use crate::lane::Lane;

impl Lane {
    /// Pins the execution to another version, if each of its active states is there too.
    pub(super) fn migrate(&mut self, migrate: &Migrate) -> Result<Reply, Error> {
        let Some(aggregate) = self.cache.get(migrate.execution) else {
            let detail = format!("there is no execution `{}`", migrate.execution);
            return Ok(Err(Refusal::new(Code::ExecutionUnknown, detail)));
        };
        let name = Arc::clone(&aggregate.head.machine);
        let version = match migrate.version {
            Some(version) => version,
            None => self.newest_stored(&name)?,
        };
        let Some(target) = self.machine(&name, version)? else {
            let detail = format!("machine `{name}` has no version {version}");
            return Ok(Err(Refusal::new(Code::VersionUnknown, detail)));
        };
        self.with_execution(migrate.execution, |lane, aggregate, machine| {
            if !aggregate.head.status.is_open() {
                let detail = format!("execution `{}` is {}", aggregate.head.id, aggregate.head.status.word());
                return Err(Refusal::new(Code::ExecutionClosed, detail));
            }
            let moved = carry_over(&aggregate.execution, machine, &target, &migrate.states, lane.now)?;
            lane.pin(aggregate, machine, &target, moved, version);
            Ok(())
        })
    }

    fn newest_stored(&mut self, machine: &str) -> Result<u32, Error> {
        if let Some(version) = self.newest(machine) {
            return Ok(version);
        }
        let wanted = sprag_store::Wanted {
            newest: vec![machine.to_owned()],
            ..Default::default()
        };
        let found = self.store.load(&wanted)?;
        Ok(found.newest.first().map_or(1, |(_, version)| *version))
    }

    fn pin(&mut self, aggregate: &mut Aggregate, from: &Machine, to: &Machine, moved: Execution, version: u32) {
        let old = aggregate.head.version;
        let before = std::mem::replace(&mut aggregate.execution, moved);
        aggregate.head.version = version;
        let facts = Facts {
            version,
            ..Facts::clone(&before.facts)
        };
        aggregate.execution.facts = Arc::new(facts);
        self.move_timers(aggregate, from, to, &before);
        let moved = Moved::of(&aggregate.execution);
        self.record(
            aggregate,
            &Entry::Migrated {
                from: old,
                to: version,
                moved,
            },
        );
        self.touch(aggregate, Variables::Unchanged);
    }

    /// Timers of the new version, counted from the entry of the kept states; those that had fired do not fire again.
    fn move_timers(&mut self, aggregate: &mut Aggregate, from: &Machine, to: &Machine, before: &Execution) {
        let old = std::mem::take(&mut aggregate.timers);
        for timer in old.values() {
            self.batch.delete_timer(timer.key);
        }
        let visits = aggregate.execution.visits.clone();
        for visit in visits {
            let fired = fired_durations(from, before, &old, visit.number);
            for (index, after) in to.state(visit.state).after.iter().enumerate() {
                let Ok(index) = u16::try_from(index) else { break };
                if !fired.contains(&after.millis) {
                    let due_at = visit.entered_at.plus(after.millis).max(self.now);
                    self.put_timer(aggregate, (visit.number, index), due_at, None);
                }
            }
            self.move_schedules(aggregate, to, visit);
        }
    }

    fn move_schedules(&mut self, aggregate: &mut Aggregate, to: &Machine, visit: Visit) {
        for &position in &to.state(visit.state).triggers {
            let Some(definition) = to.actions.get(position) else {
                continue;
            };
            let next = definition
                .schedule
                .as_ref()
                .and_then(|found| found.cron.next_after(self.now.as_millis()));
            if let (Some(next), Ok(offset)) = (next, u16::try_from(position)) {
                let key = (visit.number, TimerKey::SCHEDULES + offset);
                self.put_timer(
                    aggregate,
                    key,
                    Timestamp::from_millis(next),
                    Some(definition.action_id.clone()),
                );
            }
        }
    }

    fn put_timer(&mut self, aggregate: &mut Aggregate, at: (u64, u16), due_at: Timestamp, schedule: Option<String>) {
        let key = TimerKey {
            execution: aggregate.head.id,
            visit: at.0,
            index: at.1,
        };
        let timer = Timer { key, due_at, schedule };
        aggregate.timers.insert(at, timer.clone());
        self.batch.put_timer(timer);
    }
}

/// The durations of the visit's timers that are no longer waiting.
fn fired_durations(from: &Machine, before: &Execution, timers: &BTreeMap<(u64, u16), Timer>, visit: u64) -> Vec<u64> {
    let Some(old) = before.visit(visit) else {
        return Vec::new();
    };
    let afters = from.state(old.state).after.iter().enumerate();
    let fired =
        afters.filter(|(index, _)| u16::try_from(*index).is_ok_and(|index| !timers.contains_key(&(visit, index))));
    fired.map(|(_, after)| after.millis).collect()
}

/// The execution in terms of the other version.
fn carry_over(
    execution: &Execution,
    from: &Machine,
    to: &Machine,
    states: &BTreeMap<String, String>,
    now: Timestamp,
) -> Result<Execution, Refusal> {
    let counterpart = |state: StateIndex| {
        if state == StateIndex::ROOT {
            return Some(state);
        }
        let path = from.state(state).path.as_str();
        to.by_path(states.get(path).map_or(path, String::as_str))
    };
    let mut moved = execution.clone();
    moved.active = StateSet::default();
    moved.visits.clear();
    for visit in &execution.visits {
        let state = counterpart(visit.state).ok_or_else(|| no_counterpart(from, visit.state))?;
        moved.active.insert(state);
        moved.visits.push(Visit { state, ..*visit });
    }
    enter_new_ancestors(&mut moved, to, now);
    moved.visits.sort_by_key(|visit| visit.state);
    moved.history = execution
        .history
        .iter()
        .filter_map(|(&history, remembered)| {
            let remembered: Option<Vec<StateIndex>> = remembered.iter().map(|&state| counterpart(state)).collect();
            Some((counterpart(history)?, remembered?))
        })
        .collect();
    check_configuration(&moved.active, to)?;
    Ok(moved)
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

/// Whether the active states are a configuration of the machine: one child of each compound, all of each parallel.
fn check_configuration(active: &StateSet, machine: &Machine) -> Result<(), Refusal> {
    for state in active.iter() {
        let children = machine
            .child_states(state)
            .filter(|&child| active.contains(child))
            .count();
        let right = match machine.state(state).kind {
            Kind::Atomic | Kind::Final => children == 0,
            Kind::Compound => children == 1,
            Kind::Parallel => children == machine.child_states(state).count(),
            Kind::History(_) => false,
        };
        if !right {
            let path = machine.display_path(state);
            let detail = format!("state `{path}` is made differently in that version; map its states with `states`");
            return Err(Refusal::new(Code::MigrationImpossible, detail));
        }
    }
    Ok(())
}

fn no_counterpart(machine: &Machine, state: StateIndex) -> Refusal {
    let path = machine.display_path(state);
    let detail = format!("active state `{path}` has no counterpart in that version; map it with `states`");
    Refusal::new(Code::MigrationImpossible, detail)
}
