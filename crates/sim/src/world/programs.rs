//! Programs that hold attempts: they live on when a process dies, beat, fall silent, and report how it ended to the node that is
//! there.

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;
use sprag_core::ids::AttemptId;
use sprag_engine::AttemptJob;
use sprag_engine::leases::Beat;
use sprag_engine::leases::{Grant, LeaseAnswer};
use sprag_engine::requests::{AttemptRef, Replied};

use super::{Event, LATE_MILLIS, UnderWay, World};

/// The life of what no process of the engine carries out.
pub(super) const OUTSIDE: u64 = 0;
/// How long a program waits before it asks again what got no answer, in milliseconds.
const AGAIN_MILLIS: u64 = 700;

impl World {
    /// A process hands attempts to a program that asked, unless the process dies or the program has gone.
    pub(crate) fn grant(&mut self, life: u64, grant: Grant) {
        let Grant { jobs, reply } = grant;
        if self.starts_left == Some(0) {
            return;
        }
        if reply
            .send(Replied {
                answer: Ok(LeaseAnswer::Leased(Vec::new())),
                replayed: false,
            })
            .is_err()
        {
            for job in jobs {
                let outcome = Outcome::not_done(kind::TEMPORARY_FAILURE, "nobody was there to be given it");
                self.after(
                    0,
                    Event::Report {
                        to: Some(life),
                        attempt: job.attempt,
                        outcome,
                    },
                );
            }
            return;
        }
        for job in jobs {
            if !self.is_calm && self.random.chance(1, 8) {
                self.trace
                    .line(format_args!("  the answer that leases {} is lost", job.attempt.attempt));
            } else {
                self.perform(job);
            }
        }
    }

    fn perform(&mut self, job: AttemptJob) {
        self.check_body(&job);
        let (attempt, timeout) = (job.attempt, job.timeout_millis);
        let every = job.lease.as_ref().map_or(timeout, |lease| lease.millis / 3).max(1);
        self.under_way.insert(
            attempt.attempt,
            UnderWay {
                job,
                life: OUTSIDE,
                arrival: None,
                reports: Vec::new(),
            },
        );
        if !self.is_calm && self.random.chance(1, 6) {
            // The program dies: what it did may arrive, but it does not report it.
            if self.random.chance(1, 2) {
                let when = self.random.below(LATE_MILLIS);
                self.arrive_after(when, attempt);
            }
            self.under_way.remove(&attempt.attempt);
            return;
        }
        self.after(every, Event::Beat(attempt));
        self.act(attempt, timeout);
    }

    /// A heartbeat was heard: the next comes in time, unless the program is to stop.
    pub(crate) fn beaten(&mut self, attempt: AttemptRef, beat: Beat) {
        let promised = self.promised.entry(attempt.attempt).or_insert(beat.lease_until);
        *promised = (*promised).max(beat.lease_until);
        let Some(known) = self.under_way.get(&attempt.attempt) else {
            return;
        };
        let every = known.job.lease.as_ref().map_or(AGAIN_MILLIS, |lease| lease.millis / 3);
        if beat.cancel_requested && self.stopped.insert(attempt.attempt) {
            self.cancel(OUTSIDE, attempt);
        }
        self.after(every.max(1), Event::Beat(attempt));
    }

    /// A program heard that it does not hold its attempt any more: it stops. What left may still arrive.
    pub(crate) fn let_go(&mut self, attempt: AttemptId) {
        self.drop_attempt(attempt, 0);
    }

    /// A heartbeat got no answer: the program asks again.
    pub(crate) fn beat_again(&mut self, attempt: AttemptRef) {
        if self.under_way.contains_key(&attempt.attempt) {
            self.after(AGAIN_MILLIS, Event::Beat(attempt));
        }
    }

    /// An outcome got no answer: the program sends it again.
    pub(crate) fn say_again(&mut self, attempt: AttemptRef, outcome: Outcome) {
        self.after(AGAIN_MILLIS, Event::Finish { attempt, outcome });
    }
}
