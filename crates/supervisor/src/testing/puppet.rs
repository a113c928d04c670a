//! A scripted worker: how long it takes to start and stop, what the collector observes, and where it misbehaves.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::{Map, Value};

use super::clockwork::Clockwork;
use crate::rule::Rule;
use crate::runtime::pool::lock;
use crate::worker::action::{Action, ActionContext, ActionError, ActionOptions, Outcome};
use crate::worker::child::ChildSpec;
use crate::worker::registry::{BuildError, WorkerFactory};
use crate::worker::snapshot::{Identity, Snapshot};
use crate::worker::{CollectError, Goal, Next, Phase, SpecError, State, Worker};

/// How one puppet behaves, and what was asked of it.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one way to misbehave, alone or with others"
)]
pub struct Script {
    /// How long starts take, in milliseconds; the last one repeats.
    pub starts: VecDeque<u64>,
    /// How long stops take, in milliseconds; the last one repeats.
    pub stops: VecDeque<u64>,
    /// Its stop never ends, also when it is cancelled.
    pub never_stops: bool,
    /// Its start never ends, also when it is cancelled.
    pub never_starts: bool,
    /// So many of its next attempts fail.
    pub fails: u64,
    /// Looks at it hang.
    pub hangs: bool,
    /// Looks at it fail.
    pub unseen: bool,
    /// Looks at it take so long, in milliseconds.
    pub look_millis: u64,
    /// `next` panics.
    pub panics: bool,
    /// `derive` fails.
    pub underivable: bool,
    /// It asks to be built anew, once.
    pub wants_rebuild: bool,
    /// It says that it is done, once.
    pub is_done: bool,
    /// Its action should be interrupted.
    pub interrupts: bool,
    /// Its constructor fails.
    pub unbuildable: bool,
    /// The reason it gives while it stays.
    pub reason: String,
    /// What else is seen of it.
    pub facts: Map<String, Value>,
    /// The children it declares; `None`: no opinion.
    pub children: Option<Vec<ChildSpec>>,
    /// Whether what it stands for is up.
    pub is_up: bool,
    /// Calls of `next`.
    pub asked: u64,
    /// Calls of `derive`.
    pub derived: u64,
    /// Calls of `collect`.
    pub looked: u64,
    /// Starts and stops that began.
    pub acted: u64,
    /// How often it was built.
    pub built: u64,
    /// The children's states it saw, each once in a row.
    pub saw: Vec<(String, &'static str)>,
    /// What it was told of children that were given up.
    pub escalations: Vec<String>,
}

/// All scripts, by path. Clones share them.
#[derive(Clone, Default)]
pub struct Stage {
    scripts: Arc<Mutex<BTreeMap<String, Script>>>,
    clockwork: Clockwork,
}

impl Stage {
    /// A stage whose puppets take their time on this clock.
    pub fn new(clockwork: &Clockwork) -> Self {
        Self {
            scripts: Arc::default(),
            clockwork: clockwork.clone(),
        }
    }

    /// Changes a script; one that is not there is made.
    pub fn script<T>(&self, path: &str, change: impl FnOnce(&mut Script) -> T) -> T {
        change(lock(&self.scripts).entry(path.to_owned()).or_default())
    }

    /// A copy of a script.
    pub fn read(&self, path: &str) -> Script {
        self.script(path, |script| script.clone())
    }

    /// Sets something that is seen of a puppet.
    pub fn shows(&self, path: &str, name: &str, value: impl Into<Value>) {
        self.script(path, |script| script.facts.insert(name.to_owned(), value.into()));
    }
}

/// Where a puppet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PuppetState {
    /// Down.
    Stopped,
    /// On its way up.
    Starting,
    /// Up.
    Running,
    /// On its way down.
    Stopping,
    /// Given up, because a child was.
    Failed,
}

impl State for PuppetState {
    const NAMES: &'static [&'static str] = &["stopped", "starting", "running", "stopping", "failed"];

    fn name(&self) -> &'static str {
        self.phase().name()
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Stopped => Phase::Stopped,
            Self::Starting => Phase::Starting,
            Self::Running => Phase::Running,
            Self::Stopping => Phase::Stopping,
            Self::Failed => Phase::Failed,
        }
    }
}

/// What a puppet does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PuppetAction {
    /// Comes up.
    Start,
    /// Goes down.
    Stop,
}

impl Action for PuppetAction {
    fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }

    fn options(&self) -> ActionOptions {
        let mut options = ActionOptions {
            timeout_millis: Some(60_000),
            ..ActionOptions::default()
        };
        options.retry.jitter = false;
        options
    }
}

/// What is seen of a puppet.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Whether it is up.
    pub up: bool,
    /// What else the script shows.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// The worker.
pub struct Puppet {
    path: String,
    stage: Stage,
}

/// What a script says about the next step.
struct Whims {
    panics: bool,
    wants_rebuild: bool,
    is_done: bool,
    reason: String,
    escalations: Vec<String>,
}

impl WorkerFactory for Stage {
    type Worker = Puppet;

    fn build(&self, identity: &Identity) -> Result<Puppet, BuildError> {
        let path = identity.path.as_ref().to_owned();
        let unbuildable = self.script(&path, |script| {
            script.built += u64::from(!script.unbuildable);
            script.unbuildable
        });
        if unbuildable {
            return Err(BuildError("the script says no".to_owned()));
        }
        Ok(Puppet {
            path,
            stage: self.clone(),
        })
    }
}

impl Puppet {
    fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        self.stage.script(&self.path, change)
    }

    fn note(&self, snapshot: &Snapshot<Self>) -> Whims {
        self.script(|script| {
            script.asked += 1;
            for child in snapshot.children.iter() {
                let last = script.saw.iter().rev().find(|(name, _)| **name == *child.name);
                if last.is_none_or(|(_, state)| *state != child.state) {
                    script.saw.push((child.name.as_ref().to_owned(), child.state));
                }
            }
            script.escalations = snapshot.escalations.iter().map(|known| known.cause.clone()).collect();
            Whims {
                panics: script.panics,
                wants_rebuild: std::mem::take(&mut script.wants_rebuild),
                is_done: script.is_done,
                reason: script.reason.clone(),
                escalations: script.escalations.clone(),
            }
        })
    }

    fn goes_up(state: PuppetState, is_up: bool, reason: String) -> Next<Self> {
        match (state, is_up) {
            (PuppetState::Stopped, _) => Next::To(PuppetState::Starting, "it should run".into()),
            (PuppetState::Starting, true) => Next::To(PuppetState::Running, "it is up".into()),
            (PuppetState::Starting, false) => Next::Act(PuppetAction::Start, "it is not up yet".into()),
            (PuppetState::Running, true) | (PuppetState::Failed, _) => Next::Stay(reason.into()),
            (PuppetState::Running, false) => Next::To(PuppetState::Starting, "it went down".into()),
            (PuppetState::Stopping, true) => Next::To(PuppetState::Running, "it should run after all".into()),
            (PuppetState::Stopping, false) => Next::To(PuppetState::Stopped, "it is down".into()),
        }
    }

    fn goes_down(state: PuppetState, snapshot: &Snapshot<Self>) -> Next<Self> {
        let has_stopped = snapshot.action.name == "stop" && snapshot.action.outcome == Outcome::Succeeded;
        let is_seen_down = snapshot.observed.as_ref().is_some_and(|seen| !seen.up);
        // A leaving worker decides on its last observation, however old, or on none: its own stop is believed, and
        // a look if it did nothing since. In doubt it stops.
        let is_idle = state == PuppetState::Stopped || snapshot.action.outcome == Outcome::None;
        let is_down = match snapshot.goal {
            Goal::Removed => has_stopped || (is_idle && is_seen_down),
            Goal::Running | Goal::Stopped => is_seen_down,
        };
        match state {
            PuppetState::Stopped if is_down && snapshot.goal == Goal::Removed => Next::Remove("it is down".into()),
            PuppetState::Stopped if is_down => Next::Stay("it should not run".into()),
            // What it stands for may be up although it never started it.
            PuppetState::Stopped | PuppetState::Starting | PuppetState::Running | PuppetState::Failed => {
                Next::To(PuppetState::Stopping, "it should stop".into())
            }
            PuppetState::Stopping if !is_down => Next::Act(PuppetAction::Stop, "it is still up".into()),
            PuppetState::Stopping => Next::To(PuppetState::Stopped, "it is down".into()),
        }
    }
}

impl Worker for Puppet {
    type Spec = Value;
    type Desired = Value;
    type Observed = Facts;
    type Action = PuppetAction;
    type State = PuppetState;

    fn initial(&self) -> PuppetState {
        PuppetState::Stopped
    }

    fn derive(&self, spec: &Value) -> Result<Value, SpecError> {
        let underivable = self.script(|script| {
            script.derived += 1;
            script.underivable
        });
        if underivable || spec.get("invalid").is_some() {
            return Err(SpecError::new("the script says no"));
        }
        Ok(spec.clone())
    }

    fn next(&self, state: &PuppetState, snapshot: &Snapshot<Self>) -> Next<Self> {
        let script = self.note(snapshot);
        assert!(!script.panics, "the script says so");
        if script.wants_rebuild {
            return Next::Restart("it wants to be built anew".into());
        }
        if script.is_done {
            return Next::Remove("it is done".into());
        }
        match snapshot.goal {
            Goal::Running if *state == PuppetState::Running && !script.escalations.is_empty() => {
                Next::To(PuppetState::Failed, script.escalations.concat().into())
            }
            Goal::Running if *state == PuppetState::Failed => Next::Stay(script.escalations.concat().into()),
            Goal::Running => {
                let is_up = snapshot.observed.as_ref().is_some_and(|seen| seen.up);
                Self::goes_up(*state, is_up, script.reason)
            }
            Goal::Stopped | Goal::Removed => Self::goes_down(*state, snapshot),
        }
    }

    fn children(&self, _snapshot: &Snapshot<Self>) -> Option<Vec<ChildSpec>> {
        self.script(|script| script.children.clone())
    }

    fn rules(&self) -> Vec<Rule> {
        Vec::new()
    }

    fn interrupt(&self, _snapshot: &Snapshot<Self>) -> bool {
        self.script(|script| script.interrupts)
    }

    fn completed(&self, state: &PuppetState, snapshot: &Snapshot<Self>) -> bool {
        let is_complete = |seen: &Arc<Facts>| seen.facts.get("complete") == Some(&Value::Bool(true));
        *state == PuppetState::Stopped && snapshot.observed.as_ref().is_some_and(is_complete)
    }

    async fn collect(&self, _desired: &Value) -> Result<Facts, CollectError> {
        let (hangs, millis) = self.script(|script| {
            script.looked += 1;
            (script.hangs, script.look_millis)
        });
        if hangs {
            std::future::pending::<()>().await;
        }
        if millis > 0 {
            self.stage.clockwork.sleep(millis).await;
        }
        // What is true when the look ends, not when it began.
        self.script(|script| {
            if script.unseen {
                return Err(CollectError::new("the script says no"));
            }
            Ok(Facts {
                up: script.is_up,
                facts: script.facts.clone(),
            })
        })
    }

    async fn perform(&self, action: &PuppetAction, cx: ActionContext) -> Result<(), ActionError> {
        let fails = self.script(|script| {
            let fails = script.fails > 0;
            script.fails = script.fails.saturating_sub(1);
            fails
        });
        if fails {
            return Err(ActionError::temporary("the script says no"));
        }
        let (millis, never) = self.script(|script| {
            script.acted += 1;
            let (times, never) = match action {
                PuppetAction::Start => (&mut script.starts, script.never_starts),
                PuppetAction::Stop => (&mut script.stops, script.never_stops),
            };
            let millis = if times.len() > 1 {
                times.pop_front()
            } else {
                times.front().copied()
            };
            (millis.unwrap_or(0), never)
        });
        if never {
            // It does not even listen.
            std::future::pending::<()>().await;
        }
        let sleep = self.stage.clockwork.sleep(millis);
        tokio::select! {
            () = sleep => {}
            () = cx.cancelled() => return Err(ActionError::temporary("it was cancelled")),
        }
        self.script(|script| script.is_up = *action == PuppetAction::Start);
        Ok(())
    }
}
