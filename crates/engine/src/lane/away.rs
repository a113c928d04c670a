//! While the store is out of reach, as a database on the network may be.
//!
//! Whoever asks is told at once. Attempts that are under way go on, and their outcomes wait here: nothing else can bring
//! them back. Nothing new begins. Once the store answers again, memory is derived anew before anything is decided, because
//! nobody knows whether the last commit landed.

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;
use sprag_store::Error;

use super::commit::{is_kept, is_lost};
use super::tick::{Fatal, Lane, STORE_REST_MILLIS};
use crate::command::{AttemptRef, Code, Command, Internal, Refusal, Request};
use crate::hands::{Job, Task};

impl Lane {
    /// Derives memory anew, if the store was out of reach.
    pub(super) fn reach(&mut self) -> Result<(), Error> {
        if self.is_away {
            self.forget()?;
            self.unsure.clear();
            self.is_away = false;
            tracing::info!("the store is back: going on from what it holds");
        }
        Ok(())
    }

    /// Nobody knows whether these attempts were written. They did not begin, and will not: whichever is found running once
    /// the store is back ends as not done.
    pub(super) fn doubt(&mut self, jobs: &[Job]) {
        let own = jobs.iter().filter(|job| job.task == Task::Run && job.lease.is_none());
        self.unsure.extend(own.map(|job| job.attempt.attempt));
    }

    /// An attempt that is found running and was never begun here ends as what it is.
    pub(super) fn settle_unsure(&mut self, at: AttemptRef) {
        if !self.unsure.contains(&at.attempt) {
            return;
        }
        // What was lost of this action was an attempt before it, which ended with the commit that began this one.
        let is_about =
            |request: &Request| matches!(request, Request::Internal(Internal::Lost(_, action)) if *action == at.action);
        self.lost.retain(|request| !is_about(request));
        let message = "nobody knew whether the attempt was written; it did not start";
        self.pending.push(Request::Internal(Internal::Outcome {
            attempt: at,
            outcome: Outcome::not_done(kind::TEMPORARY_FAILURE, message),
        }));
    }

    /// The store went out of reach while these commands were on their way to be decided.
    pub(super) fn still_away(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        if commands.is_empty() {
            return Ok(());
        }
        let detail = "the batch before met it so".to_owned();
        self.away(commands, Error::Away { detail })
    }

    /// A batch that met a store out of reach; any other failure of a read is the end.
    pub(super) fn away(&mut self, commands: Vec<Command>, error: Error) -> Result<(), Fatal> {
        if !matches!(error, Error::Away { .. }) {
            return Err(Fatal(error));
        }
        if !self.is_away {
            tracing::error!(%error, "nothing can be decided until the store is back");
            self.metrics.commits_failed.inc();
        }
        self.is_away = true;
        self.store_rests_until = Some(self.now.plus(STORE_REST_MILLIS));
        for Command { request, reply, .. } in commands {
            match reply {
                Some(sender) => {
                    // Whoever asked may have gone.
                    let _ = sender.send(Err(Refusal::new(Code::StoreAway, error.to_string())));
                }
                None if is_lost(&request) => self.lost.push_back(request),
                None if is_kept(&request) => self.pending.push(request),
                None => {}
            }
        }
        Ok(())
    }
}
