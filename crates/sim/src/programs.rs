//! Programs outside the process as clients of the lane: they ask for work, beat, and say how it ended until somebody
//! answers.

use crate::ask::{Answer, Reception, Reply, Request};
use sprag_core::action::error::kind;
use sprag_core::action::{AttemptRecord, Outcome};
use sprag_engine::leases::{Finished, Poll, Wants};
use sprag_engine::requests::{AttemptRef, Code, Refusal};

use crate::clients::{Ask, Purpose};
use crate::simulation::Simulation;
use crate::violation::{Checked, Invariant, ensure};

/// The machine whose actions are for programs.
pub(crate) const SERVED: &str = "leases";
/// How many programs wait for work at once.
const WAITING_MAX: usize = 4;

impl Simulation {
    /// Programs ask for work, and some go away.
    pub(crate) fn programs_ask(&mut self) {
        if self.model.newest(SERVED).is_none() {
            return;
        }
        self.polls.retain_mut(is_waiting);
        if !self.polls.is_empty() && self.random.chance(1, 10) {
            let one = self.random.below(u64::try_from(self.polls.len()).unwrap_or(1));
            self.polls.swap_remove(usize::try_from(one).unwrap_or(0));
        }
        if self.polls.len() < WAITING_MAX && self.random.chance(1, 3) {
            let poll = self.poll();
            self.ask_for_work(poll);
        }
    }

    /// A program takes whatever there is, so that everything comes to rest.
    pub(crate) fn programs_take_all(&mut self) {
        self.polls.retain_mut(is_waiting);
        let mut open = self.model.actions.values().map(|known| &known.action);
        let is_needed = open.any(|action| action.status.is_open() && action.body.runner.is_some());
        if self.polls.is_empty() && is_needed {
            self.ask_for_work(Poll {
                wants: Wants {
                    runner: None,
                    kinds: vec!["pigeon".to_owned(), "owl".to_owned()],
                    tags: Vec::new(),
                },
                max: 5,
                wait_millis: 5_000,
                lease_millis: 10_000,
            });
        }
    }

    fn ask_for_work(&mut self, poll: Poll) {
        self.inbox.push_back(Ask {
            request: Request::Lease(poll),
            purpose: Purpose::Lease,
        });
    }

    fn poll(&mut self) -> Poll {
        let runner = match self.random.below(5) {
            0 => None,
            1 => Some("tower"),
            _ => Some("loft"),
        };
        let tags: &[&str] = match self.random.below(4) {
            0 => &["far"],
            1 => &["far", "white"],
            _ => &[],
        };
        Poll {
            wants: Wants {
                runner: runner.map(str::to_owned),
                kinds: vec!["pigeon".to_owned(), "owl".to_owned()],
                tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            },
            max: usize::try_from(self.random.between(1, 3)).unwrap_or(1),
            wait_millis: self.random.below(8_000),
            lease_millis: self.random.between(1_000, 15_000),
        }
    }

    /// A request that gets no answer: a program asks again.
    pub(crate) fn unanswered(&mut self, ask: &Ask) {
        match (&ask.purpose, &ask.request) {
            (Purpose::Beat(attempt), _) => self.world.lock().beat_again(*attempt),
            (Purpose::Finish(attempt), Request::Finish(_, outcome)) => {
                self.world.lock().say_again(*attempt, outcome.clone());
            }
            _ => {}
        }
    }

    /// The answer to a heartbeat.
    pub(crate) fn take_beat(&mut self, attempt: AttemptRef, ask: &Ask, reply: &Reply) -> Checked {
        match reply {
            Ok(Answer::Beat(beat)) => {
                self.world.lock().beaten(attempt, *beat);
                Ok(())
            }
            Err(refusal) if refusal.code == Code::AttemptSuperseded => {
                self.world.lock().let_go(attempt.attempt);
                self.check_superseded(attempt, refusal)
            }
            _ => {
                self.unanswered(ask);
                Ok(())
            }
        }
    }

    /// The answer to how it ended: what was acknowledged is stored, and the same however often it is asked.
    pub(crate) fn take_finish(&mut self, attempt: AttemptRef, ask: &Ask, reply: &Reply) -> Checked {
        let said = match &ask.request {
            Request::Finish(_, outcome) => Some(outcome.verdict()),
            _ => None,
        };
        let decided = match reply {
            Ok(Answer::Replayed(first)) => first.as_ref(),
            other => other,
        };
        match decided {
            Ok(Answer::Finished(Finished { outcome, .. })) => {
                let known = self.model.actions.get(&attempt.action);
                let mut records = known.into_iter().flat_map(|known| &known.action.body.attempts);
                let stored = records.find(|record| record.id == attempt.attempt);
                let said = match &ask.request {
                    Request::Finish(_, said) if stored.is_some_and(is_stand_in) => Some(said.not_stored().verdict()),
                    _ => said,
                };
                let is_so = said.is_some_and(|said| *outcome == said.into())
                    && stored.is_some_and(|stored| stored.outcome == said);
                ensure(is_so, Invariant::AcknowledgedKept, || {
                    format!("{outcome:?} was answered to {said:?}, stored is {stored:?}")
                })
            }
            Err(refusal) if refusal.code == Code::AttemptSuperseded => self.check_superseded(attempt, refusal),
            _ => {
                self.unanswered(ask);
                Ok(())
            }
        }
    }

    /// No program holds an attempt only if it has ended.
    fn check_superseded(&self, attempt: AttemptRef, refusal: &Refusal) -> Checked {
        let current = self
            .model
            .actions
            .get(&attempt.action)
            .and_then(|known| known.action.current());
        ensure(
            current.is_none_or(|current| current.id != attempt.attempt),
            Invariant::HonestRefusals,
            || format!("{} is under way and was answered {refusal:?}", attempt.attempt),
        )
    }
}

/// Whether the store refused what the program reported.
fn is_stand_in(stored: &AttemptRecord) -> bool {
    stored
        .error
        .as_ref()
        .is_some_and(|error| error.kind == kind::OUTCOME_REFUSED)
}

fn is_waiting(answer: &mut Reception) -> bool {
    use tokio::sync::oneshot::error::TryRecvError;
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

/// How it ended, as a request of the program's.
pub(crate) fn finish(attempt: AttemptRef, outcome: Outcome) -> Ask {
    Ask {
        request: Request::Finish(attempt.attempt, outcome),
        purpose: Purpose::Finish(attempt),
    }
}
