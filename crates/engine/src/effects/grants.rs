//! Attempts on their way to a program that asked for work: configuration rendered, secrets bound, the answer sent.
//!
//! Whatever cannot be handed over has certainly not happened, and comes back as such.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;
use sprag_core::ids::AttemptId;
use sprag_core::text::redact::Redactor;

use super::secret_rules::Rules;
use super::tasks::{SecretSource, bind, redactor, resolve};
use crate::decide::AttemptJob;
use crate::engine::inbox::Inbox;
use crate::leases::{Grant, LeaseAnswer, Leased};
use crate::requests::{AttemptRef, Replied, ReportOutcome};

/// How many masks are kept; the oldest goes first, and is made anew when it is needed.
const MASKS_MAX: usize = 10_000;

/// What masks the secrets of attempts that programs hold. Cheap to clone: it is shared.
#[derive(Clone, Default)]
pub(crate) struct Masks(Arc<Mutex<BTreeMap<AttemptId, Arc<Redactor>>>>);

impl Masks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Arc<Redactor>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mask of an attempt.
    pub(crate) fn get(&self, attempt: AttemptId) -> Option<Arc<Redactor>> {
        self.lock().get(&attempt).cloned()
    }

    /// Keeps the mask of an attempt until it ends.
    pub(crate) fn keep(&self, attempt: AttemptId, mask: Redactor) -> Arc<Redactor> {
        let mask = Arc::new(mask);
        let mut masks = self.lock();
        masks.insert(attempt, Arc::clone(&mask));
        if masks.len() > MASKS_MAX {
            masks.pop_first();
        }
        mask
    }

    /// The attempt is over.
    pub(crate) fn forget(&self, attempt: AttemptId) {
        self.lock().remove(&attempt);
    }
}

/// Hands the attempts over; what cannot be given comes back as not done.
pub(crate) async fn give(grant: Grant, secrets: &dyn SecretSource, masks: &Masks, inbox: &Inbox) {
    let Grant { jobs, reply } = grant;
    let come_back = |attempt: AttemptRef, outcome| {
        masks.forget(attempt.attempt);
        inbox.put(ReportOutcome { attempt, outcome });
    };
    let (mut given, mut leased) = (Vec::new(), Vec::new());
    for job in jobs {
        match rendered(&job, secrets, masks).await {
            Ok(ready) => {
                given.push(job.attempt);
                leased.push(ready);
            }
            Err(outcome) => come_back(job.attempt, *outcome),
        }
    }
    if reply.send(Replied::now(Ok(LeaseAnswer::Leased(leased)))).is_err() {
        for attempt in given {
            let message = "the program that asked for work was gone before it was given the attempt";
            come_back(attempt, Outcome::not_done(kind::TEMPORARY_FAILURE, message));
        }
    }
}

async fn rendered(job: &AttemptJob, secrets: &dyn SecretSource, masks: &Masks) -> Result<Leased, Box<Outcome>> {
    let rules = Rules {
        runner: None,
        source: secrets,
    };
    rules.check(job)?;
    let secrets = resolve(secrets, &job.config).await?;
    let mask = redactor(&secrets);
    let config = bind(job, &secrets).map_err(|outcome| Box::new(outcome.masked(&mask)))?;
    masks.keep(job.attempt.attempt, mask);
    let lease = job.lease.as_ref();
    Ok(Leased {
        id: job.attempt.attempt,
        number: job.number,
        action_id: job.action_id.clone(),
        kind: job.kind.clone(),
        config,
        idempotency_key: job.idempotency_key.clone(),
        deadline: lease.map(|lease| lease.deadline).unwrap_or_default(),
        lease_until: lease.map(|lease| lease.until).unwrap_or_default(),
        checkpoint: job.checkpoint.clone(),
    })
}
