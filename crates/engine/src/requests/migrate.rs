//! Moving an execution to another version of its machine, as [`Plan`] works it out. Entry actions are not triggered;
//! attempts that run finish as they were frozen.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use sprag_core::ids::ExecutionId;
use sprag_core::integrity::audit::Verb;
use sprag_core::machine::{Execution, Facts, Machine};
use sprag_store::traits::Variables;

use super::audit::Audit;
use super::executions::changed;
use super::{Code, Refusal, Request, Route, Subject};
use crate::decide::convert::{Entry, Moved};
use crate::decide::{Decider, ExecutionChange, Reads};
use crate::read::migration::{Plan, timers_of};
use crate::read::view::ExecutionView;

/// Move an execution to another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrate {
    /// Which execution.
    pub execution: ExecutionId,
    /// The newest version, when not given.
    pub version: Option<u32>,
    /// Old state paths to new ones, where they differ.
    pub states: BTreeMap<String, String>,
}

impl Request for Migrate {
    type Answer = Box<ExecutionView>;
    const NAME: &'static str = "migrate";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::MigrateExecution, |request| request.execution.to_string()).changing(
            |request, decider, _| {
                let state = decider.known.executions.get(request.execution)?;
                Some(format!("version {}", state.head.version))
            },
        ),
    );

    fn route(&self) -> Route {
        Route::Slot(self.execution.slot())
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        let Some(state) = reads.execution(self.execution) else {
            return;
        };
        let machine = &state.head.machine;
        if let Some(version) = self.version.or_else(|| reads.newest(machine)) {
            reads.version(machine, version);
        }
    }

    fn subject(&self) -> Option<Subject> {
        let Self {
            execution,
            version,
            states,
        } = self;
        Some(Subject {
            target: json!(execution),
            body: json!({"version": version, "states": states}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let Some(state) = decider.known.executions.get(self.execution) else {
            return Err(decider.unknown(self.execution));
        };
        let name = Arc::clone(&state.head.machine);
        let version = self.version.or_else(|| decider.newest(&name)).unwrap_or(1);
        let target = decider.machine(&name, version);
        let target = target.ok_or_else(|| Refusal::no_version(&name, version))?;
        changed(decider, self.execution, |change| {
            migrate(change, self, &target, version)
        })
    }
}

/// Pins the execution to another version, if each of its active states is there too.
fn migrate(
    change: &mut ExecutionChange<'_, '_>,
    migrate: &Migrate,
    target: &Arc<Machine>,
    version: u32,
) -> Result<(), Refusal> {
    let head = &change.state.head;
    if !head.status.is_open() {
        let detail = format!(
            "execution `{}` is {}, and only an open execution can migrate",
            head.id,
            head.status.word()
        );
        return Err(Refusal::new(Code::ExecutionClosed, detail));
    }
    let from = change.machine;
    let Plan { moved, problems, .. } =
        Plan::new(&change.state.execution, (from, target), &migrate.states, change.now());
    if let Some((_, first)) = problems.first() {
        return Err(Refusal {
            errors: problems.clone(),
            ..Refusal::new(Code::MigrationImpossible, first)
        });
    }
    pin(change, target, moved, version);
    Ok(())
}

fn pin(change: &mut ExecutionChange<'_, '_>, to: &Arc<Machine>, moved: Execution, version: u32) {
    let old = change.state.head.version;
    let before = std::mem::replace(&mut change.state.execution, moved);
    change.state.head.version = version;
    change.state.head.migrated = true;
    change.machines.migrate(old, Arc::clone(to));
    let facts = Facts {
        version,
        ..Facts::clone(&before.facts)
    };
    change.state.execution.facts = Arc::new(facts);
    move_timers(change, to, &before);
    let moved = Moved::of(&change.state.execution);
    change.record(&Entry::Migrated {
        from: old,
        to: version,
        moved,
    });
    change.touch(Variables::Unchanged);
}

/// The timers of the new version in place of the old ones.
fn move_timers(change: &mut ExecutionChange<'_, '_>, to: &Machine, before: &Execution) {
    let old = std::mem::take(&mut change.state.timers);
    for timer in old.values() {
        change.batch().delete_timer(timer.key);
    }
    let now = change.now();
    for timer in timers_of(&change.state.execution, (change.machine, to), (before, &old), now) {
        change.put_timer(timer);
    }
}
