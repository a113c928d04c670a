//! A simulated runner: it checks that the attempt is stored, then leaves the rest to the world.

use serde_json::Value;
use sprag_core::action::{ConfigProblem, Permission, Status};
use sprag_core::ids::AttemptId;
use sprag_core::machine::ConfigCheck;
use sprag_engine::convert::action_from;
use sprag_engine::jobs::dead_letters::LettersToRetry;
use sprag_engine::leases::Grant;
use sprag_engine::limits::LimitDemand;
use sprag_engine::requests::AttemptRef;
use sprag_engine::runner::EffectRunner;
use sprag_engine::{ActionTypes, AttemptJob, Edited};
use sprag_store::traits::Reader;

use crate::store::SharedDisk;
use crate::trace::Trace;
use crate::violation::{Invariant, Violation};
use crate::world::SharedWorld;

/// The effects of one process.
pub(crate) struct SimulatedRunner {
    /// Where effects go.
    pub world: SharedWorld,
    /// Where attempts must be stored before they start.
    pub disk: SharedDisk,
    /// What happened.
    pub trace: Trace,
    /// Which process this is.
    pub life: u64,
}

impl SimulatedRunner {
    /// Why the attempt must not start: it is not stored as the current one of a running action.
    fn objection(&self, job: &AttemptJob) -> Option<String> {
        let AttemptRef { attempt, action, .. } = job.attempt;
        let row = self.disk.memory().action(action).ok().flatten();
        let Some(stored) = row.and_then(|row| action_from(row).ok()) else {
            return Some(format!("attempt {attempt} started, its action is not stored"));
        };
        let current: Option<AttemptId> = stored.current().map(|current| current.id);
        (stored.status != Status::Running || current != Some(attempt)).then(|| {
            format!(
                "attempt {attempt} started, stored is {} with {current:?}",
                stored.status.word()
            )
        })
    }
}

impl EffectRunner for SimulatedRunner {
    fn start(&mut self, job: AttemptJob) {
        self.trace.line(format_args!(
            "  start {:?} {} {}",
            job.task, job.attempt.attempt, job.action_id
        ));
        let objection = self.objection(&job);
        let mut world = self.world.lock();
        if let Some(detail) = objection {
            world.found.push(Violation::new(Invariant::AttemptBeforeEffect, detail));
        }
        world.start(self.life, job);
    }

    fn grant(&mut self, grant: Grant) {
        let mut found = Vec::new();
        for job in &grant.jobs {
            self.trace
                .line(format_args!("  lease {} {}", job.attempt.attempt, job.action_id));
            found.extend(self.objection(job));
        }
        let mut world = self.world.lock();
        let violations = found
            .into_iter()
            .map(|detail| Violation::new(Invariant::AttemptBeforeEffect, detail));
        world.found.extend(violations);
        world.grant(self.life, grant);
    }

    fn send_demand(&mut self, statement: LimitDemand) {
        self.trace.line(format_args!(
            "  state {} holds {} keeps {} wants {}",
            statement.limit.key,
            statement.holds.len(),
            statement.spare,
            statement.wants
        ));
        self.world.lock().statements.push((self.life, statement));
    }

    /// No job is made in the simulator, so none asks.
    fn retry_elsewhere(&mut self, letters: LettersToRetry) {
        self.trace.line(format_args!("  deal {}", letters.letters.len()));
    }

    fn cancel(&mut self, attempt: AttemptRef) {
        self.trace.line(format_args!("  cancel {}", attempt.attempt));
        self.world.lock().cancel(self.life, attempt);
    }

    fn abandon(&mut self, attempt: AttemptId) {
        self.trace.line(format_args!("  abandon {attempt}"));
        self.world.lock().abandon(self.life, attempt);
    }
}

/// What the simulated runners say about action types.
pub(crate) struct SimulatedTypes;

impl ActionTypes for SimulatedTypes {
    fn problems(&self, _edited: Edited<'_>) -> Vec<ConfigProblem> {
        Vec::new()
    }

    fn destination(&self, kind: &str, config: &Value) -> Option<String> {
        (kind == "host")
            .then(|| config.get("host").and_then(Value::as_str).map(str::to_owned))
            .flatten()
    }

    fn can_settle(&self, kind: &str) -> bool {
        matches!(kind, "probed" | "mint")
    }

    fn configs(&self) -> &dyn ConfigCheck {
        &()
    }

    fn permissions(&self, _kind: &str, _config: &Value) -> Vec<Permission> {
        Vec::new()
    }
}
