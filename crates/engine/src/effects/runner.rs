//! What runs the attempts of a lane: tasks in production, a script in the simulator.

use sprag_core::ids::AttemptId;

use crate::decide::AttemptJob;
use crate::jobs::dead_letters::LettersToRetry;
use crate::leases::Grant;
use crate::limits::LimitDemand;
use crate::requests::AttemptRef;

/// Runs attempts and speaks to other nodes. The lane calls it once the commit is durable, never before.
pub trait EffectRunner: Send {
    /// Starts an attempt; its outcome comes back as a command.
    fn start(&mut self, job: AttemptJob);

    /// Gives attempts to an external runner that polled, or tells it that there are none. Attempts that cannot be given
    /// come back as an outcome.
    fn grant(&mut self, grant: Grant);

    /// Asks the attempt to stop.
    fn cancel(&mut self, attempt: AttemptRef);

    /// The attempt's outcome no longer matters: stop it.
    fn abandon(&mut self, attempt: AttemptId);

    /// Sends this node's demand to the owner of a limit, on another node. The answer comes back as a command; it may be
    /// lost.
    fn send_demand(&mut self, demand: LimitDemand);

    /// Has the owners of these dead letters retry them, for a job. The results come back as a command; they may be lost.
    fn retry_elsewhere(&mut self, letters: LettersToRetry);
}
