//! A service as a worker: its types, its actions, and the connection to its process.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use sprag_core::action::retry;
use sprag_process::Stopped;

use super::decide;
use super::observed::ServiceObservation;
use super::runtime::{Blame, Runtime};
use crate::services::{self, Service};
use crate::worker::action::{Action, ActionContext, ActionError, ActionOptions};
use crate::worker::snapshot::Snapshot;
use crate::worker::{CollectError, Next, Phase, SpecError, State, Worker};

/// How long a start may take: looking for the program, ending what is left, one call to the system.
const START_MILLIS: u64 = 30_000;
/// How long a stop may take beyond its grace.
const STOP_MILLIS: u64 = 15_000;
/// What is hashed when a change of it must not pass unnoticed by a process that runs.
const PROCESS_KEYS: [&str; 5] = ["command", "env", "cwd", "user", "limits"];

/// A service.
pub struct ServiceWorker {
    runtime: Arc<Runtime>,
    initial: ServiceState,
}

/// Where a service stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceState {
    /// Nothing of it runs, and that is well.
    Stopped,
    /// On its way up.
    Starting,
    /// As it should be.
    Running,
    /// Running, and unwell by its own probe or its own word.
    Degraded,
    /// On its way down.
    Stopping,
    /// It cannot run.
    Failed,
}

/// What can be done to a service.
#[derive(Clone, Debug)]
pub enum ServiceAction {
    /// Start its process.
    Start(Arc<Desired>),
    /// End all its processes.
    Stop(Arc<Desired>, Blame),
    /// Forget its failures.
    Forget,
}

/// What a parent writes down about a service.
#[derive(Clone, Debug, Deserialize)]
pub struct Spec {
    name: String,
    /// Where relative paths begin.
    folder: PathBuf,
    /// The service as it stands in the file, as JSON.
    written: String,
    /// Children without which it is not up.
    #[serde(default)]
    expected: Vec<String>,
}

/// What follows from it.
#[derive(Clone, Debug)]
pub struct Desired {
    pub(super) service: Service,
    pub(super) folder: PathBuf,
    /// Children without which it is not up.
    pub(super) expected: Vec<String>,
    /// Changes with everything that a running process cannot follow.
    pub(super) digest: u64,
    /// Changes with everything that is asked of it.
    pub(super) questions: u64,
}

impl State for ServiceState {
    const NAMES: &'static [&'static str] = &["stopped", "starting", "running", "degraded", "stopping", "failed"];

    fn name(&self) -> &'static str {
        self.phase().name()
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Stopped => Phase::Stopped,
            Self::Starting => Phase::Starting,
            Self::Running => Phase::Running,
            Self::Degraded => Phase::Degraded,
            Self::Stopping => Phase::Stopping,
            Self::Failed => Phase::Failed,
        }
    }
}

impl Action for ServiceAction {
    fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Stop(..) => "stop",
            Self::Forget => "forget",
        }
    }

    /// Once: what follows a failure is decided from what is seen then.
    fn options(&self) -> ActionOptions {
        let timeout_millis = match self {
            Self::Stop(desired, _) => {
                let grace = desired.service.stop.grace.as_millis();
                Some(STOP_MILLIS.saturating_add(u64::try_from(grace).unwrap_or(u64::MAX)))
            }
            _ => Some(START_MILLIS),
        };
        let retry = retry::Policy {
            max_attempts: 1,
            ..retry::Policy::default()
        };
        ActionOptions { timeout_millis, retry }
    }
}

impl ServiceWorker {
    pub(super) fn new(runtime: Arc<Runtime>, initial: ServiceState) -> Self {
        Self { runtime, initial }
    }
}

impl Worker for ServiceWorker {
    type Spec = Spec;
    type Desired = Desired;
    type Observed = ServiceObservation;
    type Action = ServiceAction;
    type State = ServiceState;

    fn initial(&self) -> ServiceState {
        self.initial
    }

    fn derive(&self, spec: &Spec) -> Result<Desired, SpecError> {
        let Spec {
            name,
            folder,
            written,
            expected,
        } = spec;
        let written: Value = serde_json::from_str(written).map_err(|error| SpecError::new(error.to_string()))?;
        let service = services::read_service(name, &written, folder).map_err(SpecError::new)?;
        let digest = PROCESS_KEYS.iter().fold(digest("", 0), |sum, key| {
            let part = written.get(key).map(ToString::to_string).unwrap_or_default();
            self::digest(&part, sum)
        });
        Ok(Desired {
            service,
            folder: folder.clone(),
            expected: expected.clone(),
            digest,
            questions: self::digest(&written.to_string(), 0),
        })
    }

    fn next(&self, state: &ServiceState, snapshot: &Snapshot<Self>) -> Next<Self> {
        decide::next(*state, snapshot)
    }

    fn completed(&self, state: &ServiceState, snapshot: &Snapshot<Self>) -> bool {
        let observed = snapshot.observed.as_ref();
        *state == ServiceState::Stopped && observed.is_some_and(|seen| seen.is_done(snapshot.desired.digest))
    }

    fn obstacle(&self, snapshot: &Snapshot<Self>) -> Option<String> {
        let seen = snapshot.observed.as_ref()?;
        let is_checked = seen.checked == snapshot.desired.digest;
        seen.obstacle.clone().filter(|_| is_checked)
    }

    /// It fails because of what was counted, of its children or of an escalation, and follows each of them.
    fn recovers(&self) -> bool {
        true
    }

    fn edition(&self, observed: &ServiceObservation) -> Option<u64> {
        let answers = observed.found.answers;
        (answers > 0).then_some(answers)
    }

    async fn collect(&self, desired: &Desired) -> Result<ServiceObservation, CollectError> {
        Ok(self.runtime.observe(desired))
    }

    async fn perform(&self, action: &ServiceAction, cx: ActionContext) -> Result<(), ActionError> {
        match action {
            ServiceAction::Start(desired) => {
                let started = self.runtime.start(desired).await;
                started.map_err(|error| ActionError::new("start_failed", error.to_string()).hopeless())
            }
            ServiceAction::Stop(desired, blame) => match self.runtime.stop(desired, *blame, cx.cancelled()).await {
                Stopped::Gracefully | Stopped::Forced => Ok(()),
                Stopped::Survived => Err(ActionError::temporary("a process could not be killed")),
            },
            ServiceAction::Forget => {
                let runtime = Arc::clone(&self.runtime);
                let forgotten = tokio::task::spawn_blocking(move || runtime.forget()).await;
                forgotten.map_err(|_| ActionError::temporary("the record could not be written"))
            }
        }
    }
}

/// FNV-1a: the same for ever, as what is stored must be.
fn digest(text: &str, seed: u64) -> u64 {
    let begin = 0xcbf2_9ce4_8422_2325 ^ seed;
    text.bytes().fold(begin, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
