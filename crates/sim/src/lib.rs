//! The deterministic simulator: the production lane on simulated time, with a simulated store, runners and clients.
//!
//! Everything follows from one seed: which machines run, what clients ask, how long attempts take and how they end, when
//! the process dies (before or after any commit, with or without its answer), when a commit fails, when the clock jumps.
//! After every step the rules of [`Invariant`] are checked against a model that knows only what was acknowledged, what
//! arrived in the world and what was written. [`run`] gives the same trace for the same seed, byte for byte.
//!
//! [`run_crowd`] does the same with several nodes on one store: they join with clocks that are wrong, beat, stand still
//! past their lease with a commit on its way, are cut off, are told nothing of what they wrote, hand over and die, and
//! the rules hold over all of them together.
//!
//! `SPRAG_SIM_SEED=7 cargo test -p sprag-sim one_seed -- --nocapture` shows one seed; `SPRAG_SIM_SEEDS=200000` runs more.
//!
//! Bugs planted on purpose, each of which some seed must catch by the rule it breaks:
//!
//! - [`Mutant::AttemptNotStored`]: the attempt is written only with its outcome, so the effect comes before the record.
//! - [`Mutant::FenceIgnored`]: a commit is accepted whatever its fence says.
//! - [`Mutant::TimerEarly`]: timers are stored with an earlier due time.
//! - [`Mutant::ClockAhead`]: the lane's clock runs ahead of the world's.
//! - [`Mutant::TimerNotStored`]: timers are not stored.
//! - [`Mutant::RetryEarly`]: retries are due earlier than they were written to be.
//! - [`Mutant::EndNotStored`]: the end of an action is fed but not stored, so it comes again.
//! - [`Mutant::TriggersForgotten`]: a lane that reads an execution back does not know which triggers came later.
//! - [`Mutant::ReceiptNotStored`]: the answer to a message with an id is not stored, so the message is taken again.
//! - [`Mutant::AnswerNotKept`]: the answer under an idempotency key is not stored, so the request acts again.
//! - [`Mutant::RetryCounterLost`]: a retrying action is stored with a fresh budget of attempts.
//! - [`Mutant::AttemptDropped`]: a retrying action is stored without its last attempt.
//! - [`Mutant::FalseNotDone`]: a runner reports "not done" although the effect happened.
//! - [`Mutant::KeyChanged`]: every attempt has an idempotency key of its own.
//! - [`Mutant::AnswerBeforeCommit`]: a commit is answered before it is on disk: a crash takes the last one back.
//! - [`Mutant::HalfCommit`]: a crash leaves the first half of a commit.
//! - [`Mutant::InboxNotStored`]: input for a held execution is not stored.
//! - [`Mutant::CheckpointNotStored`]: a checkpoint is acknowledged but not stored.
//! - [`Mutant::PauseForgotten`]: a lane that reads a paused execution back takes it for a running one.
//! - [`Mutant::LimitsForgotten`]: a lane that reads an action back does not know its limits.
//! - [`Mutant::OutcomeSwallowed`]: an outcome never comes, not even by timeout, so its permit is never given back.
//! - [`Mutant::HistoryGap`]: some history entries are not stored.
//! - [`Mutant::DeadlineForgotten`]: a lane that reads an action back does not know its deadline.
//! - [`Mutant::CancelForgotten`]: a lane that reads an action back does not know that it was asked to stop.
//! - [`Mutant::CrashesForgotten`]: a lane that reads an action back does not know how often its process died under it.
//! - [`Mutant::LeaseForgotten`]: a lane that reads an action back does not know that a program holds its attempt.
//! - [`Mutant::KeysHidden`]: a lane does not see who holds a key.
//! - [`Mutant::LineReversed`]: a lane that reads a line takes the last for the first.
//! - [`Mutant::RefusalSpreads`]: what is decided after a refused commit is refused too, though it holds no such row.
//! - [`Mutant::StandInNotStored`]: the error that replaces a refused outcome is not stored.
//! - [`Mutant::ApprovalSkipped`]: a step of any workflow may run, whoever approved it.
//! - [`Mutant::OwnApproval`]: who proposed a plan may approve it.
//! - [`Mutant::ApprovalForever`]: an approval holds for ever.
//! - [`Mutant::RevocationForgotten`]: a lane that reads a plan back does not know that its approval was revoked.
//! - [`Mutant::RevocationNotStored`]: a revocation is acknowledged but not stored.
//! - [`Mutant::PlanEndNotStored`]: a workflow that ended stays in progress.

mod ask;
mod beside;
mod clients;
mod crowd;
mod describe;
mod effects;
mod machines;
mod model;
mod mutant;
mod node;
mod picky;
mod process;
mod programs;
mod proposers;
mod random;
mod replies;
mod rest;
mod simulation;
mod store;
#[cfg(test)]
mod tests;
mod trace;
mod violation;
mod world;

pub use mutant::Mutant;
pub use simulation::{Counts, Report, run, run_crowd};
pub use violation::{Invariant, Violation};
