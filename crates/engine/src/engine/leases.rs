//! What external runners ask of a running engine: work, signs of life, outcomes. Secrets in what they send are masked
//! before it is stored.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::Outcome;
use sprag_core::expression::template::Frozen;
use sprag_core::ids::AttemptId;
use sprag_core::text::redact::Redactor;

use super::handle::Handle;
use crate::effects::tasks;
use crate::leases::{Beat, Finished, LeaseAnswer, Leased, Poll, ends_once};
use crate::requests::idempotency::Idempotency;
use crate::requests::{Call, Code, Finish, Heartbeat, LeasedConfig, Refusal, Replied};

/// What external runners do with a running engine.
#[derive(Clone, Copy)]
pub struct LeaseHandle<'a>(pub(crate) &'a Handle);

impl LeaseHandle<'_> {
    /// Work for a program: as soon as there is some, or none when its time is up.
    pub async fn poll(&self, poll: Poll) -> Result<Vec<Leased>, Refusal> {
        match self.0.inbox.poll(poll).await.answer? {
            LeaseAnswer::Leased(attempts) => Ok(attempts),
            // A poll is answered once it is over.
            LeaseAnswer::Waiting(_) => Ok(Vec::new()),
        }
    }

    /// A program is alive, and may want a value committed with the attempt.
    pub async fn heartbeat(&self, attempt: AttemptId, checkpoint: Option<Value>) -> Result<Beat, Refusal> {
        let checkpoint = match checkpoint {
            None => None,
            Some(mut value) => {
                self.check_size("checkpoint", &value)?;
                if let Some(mask) = self.mask(attempt).await? {
                    mask.value(&mut value);
                }
                Some(value)
            }
        };
        self.0.ask(Heartbeat { attempt, checkpoint }).await
    }

    /// A program ended its attempt so. The same again gives the same answer; anything else about an attempt that is
    /// over is refused.
    pub async fn finish(&self, attempt: AttemptId, outcome: Outcome) -> Replied<Finished> {
        match self.masked(attempt, outcome).await {
            Err(refusal) => Replied::now(Err(refusal)),
            Ok((outcome, once)) => {
                let (call, answer) = Call::asked(Finish { attempt, outcome });
                let mut replied = self.0.inbox.ask(call.once(Some(once)), answer).await;
                replied.answer = replied.answer.map_err(|refusal| self.ended_otherwise(attempt, refusal));
                replied
            }
        }
    }

    /// The refusal of another outcome for an attempt that has ended.
    fn ended_otherwise(self, attempt: AttemptId, refusal: Refusal) -> Refusal {
        if refusal.code != Code::IdempotencyKeyReused {
            return refusal;
        }
        self.0.metrics().superseded.inc();
        let detail = format!(
            "attempt `{attempt}` has already ended with another outcome; stop the work and do not report it again"
        );
        Refusal::new(Code::AttemptSuperseded, detail)
    }

    /// The outcome without secrets, and what makes it count once: the outcome as the runner sent it.
    async fn masked(&self, attempt: AttemptId, outcome: Outcome) -> Result<(Outcome, Idempotency), Refusal> {
        match &outcome {
            Outcome::Done(done) => {
                self.check_size("result", &done.result)?;
                if !done.metadata.is_empty() {
                    self.check_size("metadata", &json!(done.metadata))?;
                }
            }
            Outcome::NotDone(failure) | Outcome::Unknown(failure) => self.check_size("error", &json!(failure.error))?,
        }
        let once = ends_once(attempt, &outcome);
        let outcome = match self.mask(attempt).await? {
            Some(mask) => outcome.masked(&mask),
            None => outcome,
        };
        Ok((outcome, once))
    }

    /// What masks the secrets that the attempt was given; none if no program holds it any more, and nothing will be stored.
    async fn mask(&self, attempt: AttemptId) -> Result<Option<Arc<Redactor>>, Refusal> {
        if let Some(mask) = self.0.masks.get(attempt) {
            return Ok(Some(mask));
        }
        // An earlier process gave the attempt away: which secrets it names is stored, what they are is asked again.
        let Some(config) = self.0.ask(LeasedConfig(attempt)).await? else {
            return Ok(None);
        };
        let mask = self.mask_of(&config).await?;
        Ok(Some(self.0.masks.keep(attempt, mask)))
    }

    async fn mask_of(&self, config: &Frozen) -> Result<Redactor, Refusal> {
        let unavailable = |outcome: Box<Outcome>| {
            let why = match *outcome {
                Outcome::NotDone(failure) | Outcome::Unknown(failure) => failure.error.message,
                Outcome::Done(_) => String::new(),
            };
            let detail = format!("Sprag cannot mask the secrets in this report, so it stored nothing: {why}");
            Refusal::new(Code::SecretUnavailable, detail)
        };
        let secrets = tasks::resolve(self.0.secrets(), config).await.map_err(unavailable)?;
        Ok(tasks::redactor(&secrets))
    }

    /// What is stored with an action is bounded.
    fn check_size(self, what: &str, value: &Value) -> Result<(), Refusal> {
        let most = self.0.limits().variables_bytes;
        let bytes = value.to_string().len();
        if bytes <= most {
            return Ok(());
        }
        let detail =
            format!("the {what} has {bytes} bytes, and the limit is {most}; store it elsewhere and send a reference");
        Err(Refusal {
            errors: vec![(format!("/{what}"), detail.clone())],
            ..Refusal::new(Code::VariablesTooLarge, detail)
        })
    }
}
