//! What the engine asks of itself now and then: deleting what is too old. And the operator's word about the clock.

use sprag_core::ids::ExecutionId;
use sprag_core::integrity::audit::Verb;
use sprag_store::Mutation;
use sprag_store::records::{FactKind, Scope};

use super::audit::Audit;
use super::{Refusal, Request, Route};
use crate::decide::{Decider, Reads};
use crate::queue::control::{CONFIGURATION, RETENTION, fact};

/// Believe the clock, though it jumped ahead or is behind what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptClock {
    /// Who says so.
    pub by: String,
}

impl Request for AcceptClock {
    type Answer = ();
    const NAME: &'static str = "accept-clock";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::AcceptClock, |_| "clock".to_owned())
            .changing(|_, decider, accepted| accepted.map(|()| decider.now().to_string())),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    /// Retention continues, and ids follow the clock again.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let now = decider.now();
        tracing::warn!(by = self.by, %now, "clock accepted, retention continues");
        let fact = decider.known.control.clock.accept(now);
        decider.batch.log.push(Mutation::PutFact(fact));
        decider.batch.is_clock_accepted = true;
        decider.known.control.aged_at = now;
        Ok(())
    }
}

/// A server has started with this configuration. The audit has it if the last one had another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The digest of everything that is configured.
    pub digest: String,
}

impl Request for Configured {
    type Answer = ();
    const NAME: &'static str = "configured";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::Configuration, |_| "server".to_owned())
            .changing(|request, decider, changed| match changed {
                // The first start changes nothing.
                None => {
                    let before = decider.known.control.configuration.as_ref();
                    Some(before.unwrap_or(&request.digest).clone())
                }
                Some(()) => Some(request.digest.clone()),
            })
            .only_changes(),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let control = &mut decider.known.control;
        if control.configuration.as_ref() != Some(&self.digest) {
            control.configuration = Some(self.digest.clone());
            let mark = fact(FactKind::Mark, CONFIGURATION, &self.digest);
            decider.batch.log.push(Mutation::PutFact(mark));
        }
        Ok(())
    }
}

/// Closed executions are old enough to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expire {
    /// Those that may go.
    pub executions: Vec<ExecutionId>,
    /// How far the walk has come; none at its end.
    pub after: Option<ExecutionId>,
}

impl Request for Expire {
    type Answer = ();
    const NAME: &'static str = "expire";

    fn route(&self) -> Route {
        self.executions
            .first()
            .map_or(Route::Any, |first| Route::Slot(first.slot()))
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        for id in &self.executions {
            reads.execution(*id);
        }
    }

    /// Deletes closed executions, with everything that belongs to them.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let mut deleted = 0_u32;
        for &id in &self.executions {
            let found = decider.known.executions.get(id);
            let is_over = found.is_some_and(|found| !found.head.status.is_open() && found.actions.is_empty());
            // An execution that this batch changed is left to the next walk.
            if is_over && !decider.batch.concerns(id) {
                decider.known.executions.take(id);
                decider.batch.log.push(Mutation::DeleteExecution(id));
                deleted += 1;
            }
        }
        if decider.shards.is_whole() {
            let mark = fact(FactKind::Mark, RETENTION, &self.after);
            decider.batch.log.push(Mutation::PutFact(mark));
        }
        tracing::info!(executions = deleted, "closed executions deleted by retention");
        Ok(())
    }
}

/// Answers to idempotency keys expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpireAnswers {
    /// Which.
    pub scopes: Vec<Scope>,
}

impl Request for ExpireAnswers {
    type Answer = ();
    const NAME: &'static str = "expire-answers";

    fn route(&self) -> Route {
        Route::Any
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let deletions = self.scopes.iter().map(|scope| Mutation::DeleteIdempotency(*scope));
        decider.batch.log.extend(deletions);
        Ok(())
    }
}
