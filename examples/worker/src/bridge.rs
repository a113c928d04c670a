//! A bridge to some device, as a worker: trying to start, running, failed.
//!
//! `next` is pure and quick: it reads what was observed and how the last action stands, and says one thing. The action
//! itself may take its time; while it runs, nothing here waits for it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use sprag_core::action::retry::Policy;
use sprag_supervisor::{
    Action, ActionContext, ActionError, ActionOptions, CollectError, Goal, Next, Phase, Snapshot, SpecError, State,
    Worker,
};

/// What is written down about a bridge.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spec {
    /// The device: here, a file that is there while the bridge is up.
    device: PathBuf,
    /// How often the device refuses before it lets somebody in.
    refusals: u32,
    /// How often it is tried.
    attempts: u32,
}

/// What is seen of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Seen {
    is_up: bool,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bridge {
    /// Nobody wants it.
    Stopped,
    /// Its action is asked for, runs, or is tried again.
    TryingToStart,
    /// The device is reached.
    Running,
    /// Every attempt failed.
    Failed,
}

/// What can be done to it.
#[derive(Debug)]
pub(crate) enum Step {
    /// Reach the device.
    Connect(Spec),
    /// Let it go.
    Disconnect(Spec),
}

impl State for Bridge {
    const NAMES: &'static [&'static str] = &["stopped", "trying-to-start", "running", "failed"];

    fn name(&self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::TryingToStart => "trying-to-start",
            Self::Running => "running",
            Self::Failed => "failed",
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Stopped => Phase::Stopped,
            Self::TryingToStart => Phase::Starting,
            Self::Running => Phase::Running,
            Self::Failed => Phase::Failed,
        }
    }
}

impl Action for Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::Disconnect(_) => "disconnect",
        }
    }

    /// The executor retries, with growing pauses; no state has to count.
    fn options(&self) -> ActionOptions {
        let (Self::Connect(spec) | Self::Disconnect(spec)) = self;
        let retry = Policy {
            max_attempts: spec.attempts,
            base_delay: 200,
            jitter: false,
            ..Policy::default()
        };
        ActionOptions {
            timeout_millis: Some(5_000),
            retry,
        }
    }
}

/// Why it failed: the status of the action is there until the next one starts.
fn given_up(snapshot: &Snapshot<BridgeWorker>) -> String {
    let (tries, error) = (snapshot.action.attempt, snapshot.action.error.as_deref());
    format!(
        "given up after {tries} attempts: {}",
        error.unwrap_or("nobody knows why")
    )
}

/// A bridge.
#[derive(Debug, Default)]
pub(crate) struct BridgeWorker {
    asked: AtomicU32,
}

impl Worker for BridgeWorker {
    type Spec = Spec;
    type Desired = Spec;
    type Observed = Seen;
    type Action = Step;
    type State = Bridge;

    fn initial(&self) -> Bridge {
        Bridge::Stopped
    }

    fn derive(&self, spec: &Spec) -> Result<Spec, SpecError> {
        if spec.attempts == 0 {
            return Err(SpecError::new("`attempts` is 0; write 1 or more"));
        }
        Ok(spec.clone())
    }

    fn next(&self, state: &Bridge, snapshot: &Snapshot<Self>) -> Next<Self> {
        let is_up = snapshot.observed.as_ref().is_some_and(|seen| seen.is_up);
        let spec = || snapshot.desired.as_ref().clone();
        if snapshot.goal != Goal::Running {
            return match (is_up, snapshot.goal) {
                (true, _) => Next::Act(Step::Disconnect(spec()), "asked to stop".into()),
                (false, Goal::Removed) => Next::Remove("the device is let go".into()),
                (false, _) => Next::To(Bridge::Stopped, "the device is let go".into()),
            };
        }
        match state {
            Bridge::Stopped => Next::To(Bridge::TryingToStart, "to be started".into()),
            Bridge::TryingToStart if is_up => Next::To(Bridge::Running, "the device is reached".into()),
            Bridge::TryingToStart if snapshot.action.failed() => Next::To(Bridge::Failed, given_up(snapshot).into()),
            Bridge::TryingToStart => Next::Act(Step::Connect(spec()), "the device is not reached yet".into()),
            Bridge::Running if !is_up => Next::To(Bridge::TryingToStart, "the device was lost".into()),
            Bridge::Running => Next::Stay("the device is reached".into()),
            Bridge::Failed => Next::Stay(given_up(snapshot).into()),
        }
    }

    async fn collect(&self, spec: &Spec) -> Result<Seen, CollectError> {
        Ok(Seen {
            is_up: spec.device.exists(),
        })
    }

    async fn perform(&self, step: &Step, cx: ActionContext) -> Result<(), ActionError> {
        match step {
            Step::Connect(spec) => {
                println!("  attempt {} to reach the device", cx.attempt);
                if self.asked.fetch_add(1, Ordering::SeqCst) < spec.refusals {
                    return Err(ActionError::temporary("the device refuses"));
                }
                std::fs::write(&spec.device, "").map_err(|error| ActionError::temporary(error.to_string()))
            }
            Step::Disconnect(spec) => {
                std::fs::remove_file(&spec.device).map_err(|error| ActionError::temporary(error.to_string()))
            }
        }
    }
}
