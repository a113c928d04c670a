//! What the store refuses: only the command that causes the refusal fails.
//!
//! A refused batch is never sent again as it is. Its commands are decided again in two halves, in order, until the guilty
//! one stands alone: one bad row among 1,024 commands costs about 20 commits. Actions whose turn came in the same batch
//! belong to no command, so they wait until all commands are settled, and are then begun apart. One that lacks a permit by
//! then, because its rate is used up, its program has gone or another node allows it no more, stays suspected: when its turn
//! comes again, it begins in a batch of its own.
//!
//! The guilty command fails by what it is. A caller is told. The outcome of an attempt is replaced by an error that can be
//! stored, because the attempt must end. Other work of the engine's own is set aside with its execution until the process
//! starts again: an operator finds the refusal in the log, and everybody else's work continues.

use std::collections::BTreeSet;

use sprag_core::action::Outcome;
use sprag_core::action::error::kind;
use sprag_core::ids::ExecutionId;
use sprag_store::Error;

use super::batch::Turn;
use super::tick::{Fatal, Lane, STORE_REST_MILLIS};
use crate::command::{Code, Command, Internal, JobStep, Refusal, Request};
use crate::options::BEGIN_MAX;

/// Executions that are set aside at most. Beyond, the first of them is tried again.
const SET_ASIDE_MAX: usize = 10_000;

/// What became of a batch that begins actions.
pub(super) enum Begun {
    /// These were written, and more may wait.
    Written(Vec<Turn>),
    /// Nothing waits, or the store failed otherwise, which was dealt with.
    Nothing,
    /// The store refused it, with why.
    Refused(Vec<Turn>, String),
}

impl Lane {
    /// Settles the commands of a batch that the store refused, and begins apart what was to begin in it.
    pub(super) fn refused(&mut self, commands: Vec<Command>, mut begun: Vec<Turn>, detail: &str) -> Result<(), Fatal> {
        self.metrics.commits_failed.inc();
        // What was chosen to begin loses its place with the batch: it is chosen again.
        let (begins, commands): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_begin);
        begun.extend(begins.iter().filter_map(turn_of));
        self.searched.extend(&begun);
        let forgotten = self.forget();
        if self.begin_most == 0 {
            // A part of a batch that is being settled already.
            return match forgotten {
                Ok(()) => self.split(commands, detail),
                Err(error) => self.away(commands, error),
            };
        }
        if let Err(error) = forgotten {
            self.suspect_searched();
            return self.away(commands, error);
        }
        tracing::error!(
            detail,
            commands = commands.len(),
            "the store refused a batch: looking for the command that causes it"
        );
        self.begin_most = 0;
        let settled = self.settle_refused(commands, begun, detail);
        self.begin_most = BEGIN_MAX;
        self.suspect_searched();
        settled
    }

    fn settle_refused(&mut self, commands: Vec<Command>, begun: Vec<Turn>, detail: &str) -> Result<(), Fatal> {
        if commands.is_empty() {
            return self.begin_apart(Begun::Refused(begun, detail.to_owned()));
        }
        if begun.is_empty() {
            self.split(commands, detail)?;
        } else {
            self.decide_again(commands)?;
        }
        self.begin_apart(Begun::Written(Vec::new()))
    }

    /// Decides commands again in two halves; a command that stands alone is the guilty one.
    fn split(&mut self, mut commands: Vec<Command>, detail: &str) -> Result<(), Fatal> {
        if commands.len() > 1 {
            let half = commands.split_off(commands.len() / 2);
            self.decide_again(commands)?;
            return self.decide_again(half);
        }
        commands
            .into_iter()
            .try_for_each(|command| self.fail_guilty(command, detail))
    }

    /// Decides commands again and waits until they are written.
    fn decide_again(&mut self, commands: Vec<Command>) -> Result<(), Fatal> {
        if commands.is_empty() {
            return Ok(());
        }
        self.again(commands)?;
        self.come_to_rest()
    }

    /// One command that the store refused alone.
    fn fail_guilty(&mut self, command: Command, detail: &str) -> Result<(), Fatal> {
        if let Some(request) = storable(&command.request) {
            tracing::warn!(
                detail,
                "the store refused an outcome: its attempt ends with an error instead"
            );
            return self.decide_again(vec![Command { request, ..command }]);
        }
        let Command { request, reply, .. } = command;
        if let Some(sender) = reply {
            let refused = Error::Refused {
                detail: detail.to_owned(),
            };
            // Whoever asked may have gone.
            let _ = sender.send(Err(Refusal::new(Code::StoreRefused, refused.to_string())));
            return Ok(());
        }
        self.fail_own(&request, detail)
    }

    /// Work of the engine's own that the store refused alone. It must not come back at once.
    fn fail_own(&mut self, request: &Request, detail: &str) -> Result<(), Fatal> {
        if let Request::Internal(Internal::JobStep(JobStep { job, .. }) | Internal::Dealt { job, .. }) = request {
            tracing::error!(%job, detail, "the store refused a step of a job: the job is paused");
            return self.decide_again(vec![Command::own(Request::PauseJob(*job))]);
        }
        if let Some(execution) = execution_of(request) {
            self.set_aside(execution, detail);
        } else {
            tracing::error!(
                detail,
                ?request,
                "the store refused work of the engine's own: it is dropped"
            );
            self.store_rests_until = Some(self.now.plus(STORE_REST_MILLIS));
        }
        Ok(())
    }

    /// Begins what waits in batches of its own. `before` is what became of the last of them. Each refusal either halves how
    /// many begin at once or sets an execution aside.
    fn begin_apart(&mut self, before: Begun) -> Result<(), Fatal> {
        let (mut begun, mut most) = (before, BEGIN_MAX);
        for _ in 0..BEGIN_MAX {
            match begun {
                Begun::Nothing => break,
                Begun::Written(turns) => self.acquit(&turns),
                Begun::Refused(turns, detail) => match turns.as_slice() {
                    [] => break,
                    [(only, _)] => {
                        self.set_aside(*only, &detail);
                        most = BEGIN_MAX;
                    }
                    several => {
                        self.searched.extend(several);
                        most = several.len() / 2;
                    }
                },
            }
            begun = self.begin_some(most)?;
        }
        Ok(())
    }

    /// Begins up to so many actions in one batch. Nothing is under way meanwhile.
    fn begin_some(&mut self, most: usize) -> Result<Begun, Fatal> {
        self.come_to_rest()?;
        if self.is_away {
            return Ok(Begun::Nothing);
        }
        if let Err(error) = self.refill_hungry() {
            return self.away(Vec::new(), error).map(|()| Begun::Nothing);
        }
        let chosen = self.choose_waiting(most).into_iter().map(Command::own);
        let (alone, begins): (Vec<_>, Vec<_>) = chosen.partition(|begin| self.is_suspected(begin));
        self.alone.extend(alone);
        if begins.is_empty() {
            return Ok(Begun::Nothing);
        }
        self.write_begins(begins)
    }

    /// Begins those whose turn came in this tick and whose begin was refused in company before, each in a batch of its own.
    pub(super) fn begin_suspected(&mut self) -> Result<(), Fatal> {
        if self.alone.is_empty() {
            return Ok(());
        }
        self.come_to_rest()?;
        self.begin_most = 0;
        let begun = self.begin_each_alone();
        self.begin_most = BEGIN_MAX;
        begun?;
        // What they gave back may let others begin.
        self.again(Vec::new())
    }

    fn begin_each_alone(&mut self) -> Result<(), Fatal> {
        // A batch that is not written takes the places of all others along.
        while let Some(begin) = self.alone.pop() {
            let begin = self.turn_away(vec![begin]);
            if self.is_away || begin.is_empty() {
                continue;
            }
            match self.write_begins(begin)? {
                Begun::Written(turns) => self.acquit(&turns),
                Begun::Refused(turns, detail) => {
                    for (only, _) in turns {
                        self.set_aside(only, &detail);
                    }
                }
                Begun::Nothing => {}
            }
        }
        Ok(())
    }

    /// Whether an action is to begin in a batch of its own.
    fn is_suspected(&self, begin: &Command) -> bool {
        turn_of(begin).is_some_and(|turn| self.suspected.contains(&turn))
    }

    /// The search is over: what has not begun by now begins alone.
    fn suspect_searched(&mut self) {
        self.suspected.append(&mut self.searched);
        while self.suspected.len() > SET_ASIDE_MAX {
            self.suspected.pop_first();
        }
    }

    fn acquit(&mut self, turns: &[Turn]) {
        for turn in turns {
            self.searched.remove(turn);
            self.suspected.remove(turn);
        }
    }

    /// Does no work of the engine's own on an execution from now on: the store would refuse it again and again.
    fn set_aside(&mut self, execution: ExecutionId, detail: &str) {
        tracing::error!(
            %execution,
            detail,
            "the store refused what comes next in an execution: it waits until the server starts again"
        );
        self.searched.retain(|(of, _)| *of != execution);
        self.suspected.retain(|(of, _)| *of != execution);
        self.set_aside.insert(execution);
        if self.set_aside.len() > SET_ASIDE_MAX {
            self.set_aside.pop_first();
        }
    }

    /// The executions whose next step the store refused. The engine leaves them alone until the process starts again.
    pub fn left_alone(&self) -> &BTreeSet<ExecutionId> {
        &self.set_aside
    }

    /// Whether the engine does no work of its own on an execution until the process starts again.
    pub(crate) fn is_set_aside(&self, execution: ExecutionId) -> bool {
        self.set_aside.contains(&execution)
    }
}

/// The same request about the end of an attempt, as far as the store can hold it. None for any other request, and where
/// this was tried before.
fn storable(request: &Request) -> Option<Request> {
    match request {
        Request::Finish(attempt, outcome) if !outcome.is_not_stored() => {
            Some(Request::Finish(*attempt, outcome.not_stored()))
        }
        Request::Internal(Internal::Outcome { attempt, outcome }) if !outcome.is_not_stored() => {
            Some(Request::Internal(Internal::Outcome {
                attempt: *attempt,
                outcome: outcome.not_stored(),
            }))
        }
        Request::Internal(Internal::Overdue(attempt) | Internal::LeaseOver(attempt)) => {
            let outcome = Outcome::unknown(kind::TIMEOUT, "the attempt did not end in time");
            Some(Request::Internal(Internal::Outcome {
                attempt: *attempt,
                outcome: outcome.not_stored(),
            }))
        }
        _ => None,
    }
}

fn is_begin(command: &Command) -> bool {
    turn_of(command).is_some()
}

/// The action that a command begins.
pub(super) fn turn_of(command: &Command) -> Option<Turn> {
    match command.request {
        Request::Internal(Internal::Begin(execution, action)) => Some((execution, action)),
        _ => None,
    }
}

/// The execution that work of the engine's own is about.
fn execution_of(request: &Request) -> Option<ExecutionId> {
    let Request::Internal(internal) = request else {
        return None;
    };
    match internal {
        Internal::Outcome { attempt, .. }
        | Internal::Checkpoint { attempt, .. }
        | Internal::Overdue(attempt)
        | Internal::LeaseOver(attempt) => Some(attempt.execution),
        Internal::Timer(key) => Some(key.execution),
        Internal::Due(execution, _)
        | Internal::Begin(execution, _)
        | Internal::Lost(execution, _)
        | Internal::Continue(execution) => Some(*execution),
        Internal::Heard(_)
        | Internal::Chore(_)
        | Internal::JobStep(_)
        | Internal::Dealt { .. }
        | Internal::ForgetJob { .. } => None,
    }
}
