//! Moving an execution to another version of its machine, as [`Plan`] works it out. Entry actions are not triggered;
//! actions under way finish as they were frozen.

use std::sync::Arc;

use sprag_core::machine::{Execution, Facts, Machine};
use sprag_store::Error;
use sprag_store::traits::Variables;

use crate::aggregate::Aggregate;
use crate::command::{Code, Migrate, Refusal, Reply};
use crate::convert::{Entry, Moved};
use crate::lane::Lane;
use crate::migration::{Plan, timers_of};

impl Lane {
    /// Pins the execution to another version, if each of its active states is there too.
    pub(super) fn migrate(&mut self, migrate: &Migrate) -> Result<Reply, Error> {
        let Some(aggregate) = self.cache.get(migrate.execution) else {
            return Ok(Err(self.unknown(migrate.execution)));
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
            let Plan { moved, problems, .. } =
                Plan::new(&aggregate.execution, (machine, &target), &migrate.states, lane.now);
            if let Some((_, first)) = problems.first() {
                return Err(Refusal {
                    errors: problems.clone(),
                    ..Refusal::new(Code::MigrationImpossible, first)
                });
            }
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
        let found = self.store.get()?.load(&wanted)?;
        Ok(found.newest.first().map_or(1, |(_, version)| *version))
    }

    fn pin(&mut self, aggregate: &mut Aggregate, from: &Machine, to: &Machine, moved: Execution, version: u32) {
        let old = aggregate.head.version;
        let before = std::mem::replace(&mut aggregate.execution, moved);
        aggregate.head.version = version;
        aggregate.head.migrated = true;
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

    /// The timers of the new version in place of the old ones.
    fn move_timers(&mut self, aggregate: &mut Aggregate, from: &Machine, to: &Machine, before: &Execution) {
        let old = std::mem::take(&mut aggregate.timers);
        for timer in old.values() {
            self.batch.delete_timer(timer.key);
        }
        for timer in timers_of(&aggregate.execution, (from, to), (before, &old), self.now) {
            aggregate
                .timers
                .insert((timer.key.visit, timer.key.index), timer.clone());
            self.batch.put_timer(timer);
        }
    }
}
