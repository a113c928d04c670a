//! Programs that ask for work, and the attempts they hold, between the batches.

use sprag_store::Wanted;

use super::tick::Lane;
use crate::command::{Answer, AttemptRef, Command, Internal, Reply, Request};
use crate::leases::Leases;
use crate::timers::Due;

impl Lane {
    /// What readers see of the attempts that programs hold.
    pub(crate) fn leases(&self) -> Leases {
        self.dispatcher.leases.clone()
    }

    /// How many attempts programs hold.
    pub(crate) fn leased(&self) -> usize {
        self.dispatcher.leases.len()
    }

    /// The execution of an attempt that a program speaks of, where it must be decided on.
    pub(super) fn want_leased(&self, request: &Request, wanted: &mut Wanted) {
        let (Request::Heartbeat(attempt, Some(_)) | Request::Finish(attempt, _) | Request::LeasedConfig(attempt)) =
            request
        else {
            return;
        };
        let held = self.dispatcher.leases.get(*attempt);
        wanted.executions.extend(held.map(|held| held.at.execution));
    }

    /// Whoever asked for work in this batch is answered later.
    pub(super) fn keep_polls(&mut self, commands: &mut [Command], replies: &[Reply]) {
        for (command, reply) in commands.iter_mut().zip(replies) {
            if let Ok(Answer::Polling(id)) = reply {
                self.dispatcher.polls.hold(*id, command.reply.take());
            }
        }
    }

    /// Whether something that an earlier process left is not known yet.
    pub(crate) fn is_recovering(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Hands over what is durable, and tells those whose time is up.
    pub(super) fn answer_polls(&mut self) {
        for grant in self.dispatcher.polls_over(self.now) {
            self.hands.grant(grant);
        }
    }

    /// A lease may be over, unless a heartbeat came since.
    pub(super) fn lease_due(&mut self, attempt: AttemptRef) -> Option<Internal> {
        let until = self.dispatcher.leases.until(attempt.attempt)?;
        if until <= self.now {
            return Some(Internal::LeaseOver(attempt));
        }
        self.timers.add(until, Due::Lease(attempt));
        None
    }
}
