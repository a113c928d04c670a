//! The rules that must hold after every step, and what it looks like when one does not.

use std::fmt;

/// A rule that holds after every step of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// Whatever was acknowledged is in the store and in the history, also after crashes.
    AcknowledgedKept,
    /// A message is taken once; an idempotency key acts once and has one answer; an action's end is fed once, and only
    /// while no later trigger supersedes it.
    ExactlyOnce,
    /// `step` over the stored causes gives the stored state, every effect of a step was carried out with it, and input
    /// is taken in the order it arrived.
    Replay,
    /// An attempt is stored, running and current, before anything starts on it.
    AttemptBeforeEffect,
    /// Every effect belongs to a stored attempt; a further attempt follows only one that ended not done or unknown, or
    /// unknown only when no person had to be asked; the idempotency key and what is sent under it stay the same.
    EffectsAccounted,
    /// No timer, delay, schedule or retry is early; what is due comes before other input, and in due order; the lane
    /// wakes for it.
    TimersOnTime,
    /// A lane that lost its shard writes nothing.
    Fences,
    /// History counts 1, 2, 3, and the execution knows how far.
    HistoryDense,
    /// Actions and executions move only along the arrows of their lifecycles.
    Lifecycle,
    /// Another attempt follows if and only if the policy says so, and when it says so.
    RetryPolicy,
    /// No more attempts at once, and no faster, than the limits allow.
    Limits,
    /// A paused or failed execution takes no step, a paused one starts no attempt, and neither does a process that is
    /// going down.
    HeldStands,
    /// A closed execution changes no more.
    ClosedStands,
    /// Once faults stop, everything comes to rest or waits for an operator.
    Settles,
    /// Who was asked to end gets no further attempt and ends in time; leaving a state ends what it must and no more.
    CancelHonoured,
    /// No attempt begins after the action's deadline, or may last beyond it.
    Deadlines,
    /// Occurrences that queue run one after the other, in the order of their times.
    OverlapQueued,
    /// A line is served by priority, then by due time.
    LineOrder,
    /// An action that keeps killing its process runs alone.
    SuspectsAlone,
    /// The engine never writes what the store must refuse.
    StoreAccepts,
    /// What the store refuses costs only what asked for it: an outcome ends its attempt all the same, no execution is left
    /// alone but those that the refused rows are of, and nothing is tried again as it was.
    Isolation,
    /// A refusal says what is so.
    HonestRefusals,
    /// No step begins without an approval that stands: of that very plan, by enough others, in time, since the last revocation.
    Approved,
    /// A step is triggered once, after the steps that it depends on; what was not done is not taken back.
    StepOrder,
    /// Nothing panics.
    NoPanic,
}

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// What was seen.
    pub detail: String,
}

impl Violation {
    /// Nothing is said by the text that the rule does not say.
    pub fn new(invariant: Invariant, detail: impl Into<String>) -> Self {
        Self {
            invariant,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.detail)
    }
}

/// What a check comes to.
pub(crate) type Checked = Result<(), Violation>;

/// Holds, or is a violation of `invariant` with the text that `detail` makes.
pub(crate) fn ensure(holds: bool, invariant: Invariant, detail: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Violation::new(invariant, detail()))
    }
}
