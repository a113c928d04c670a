//! Many workers at once: for tests that count visits, and for measurements.

use serde::Serialize;
use serde_json::{Value, json};

use super::clockwork::Clockwork;
use super::puppet::Stage;
use super::world::World;
use crate::runtime::collector::ThresholdsError;
use crate::supervisor::Declaration;
use crate::worker::action::{Action, ActionContext, ActionError};
use crate::worker::child::ChildSpec;
use crate::worker::registry::Registry;
use crate::worker::snapshot::{Identity, Snapshot};
use crate::worker::{CollectError, Goal, Next, Phase, SpecError, State, Worker};

/// A tree of many puppets beside each other, all running.
pub struct Crowd {
    /// The tree.
    pub world: World,
    /// The puppets' scripts.
    pub stage: Stage,
}

/// Brings up so many puppets, named `w0`, `w1`, ….
pub fn crowd(workers: usize) -> Result<Crowd, ThresholdsError> {
    let clockwork = Clockwork::default();
    let stage = Stage::new(&clockwork);
    let registry = Registry::default().with("puppet", stage.clone());
    let mut world = World::new(registry, &clockwork)?;
    world.declare(beside(workers, "puppet"));
    world.run_until(60_000, |world| world.counts().healthy == workers);
    Ok(Crowd { world, stage })
}

/// So many workers of one type beside each other, named `w0`, `w1`, ….
pub fn beside(workers: usize, kind: &str) -> Declaration {
    let children = (0..workers).map(|number| ChildSpec::new(format!("w{number}"), kind, json!({})));
    Declaration {
        children: children.collect(),
        ..Declaration::default()
    }
}

/// A registry that knows the type `steady`.
pub fn steady() -> Registry {
    Registry::default().with("steady", |_: &Identity| Ok(Steady))
}

/// A worker that runs, is looked at, and has nothing to do: what is left is what supervision itself costs.
pub struct Steady;

/// What is seen of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pulse {
    /// Whether it lives.
    pub alive: bool,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyState {
    /// Before it was first seen, and after it was told to go.
    Stopped,
    /// Since then.
    Running,
}

impl State for SteadyState {
    const NAMES: &'static [&'static str] = &["stopped", "running"];

    fn name(&self) -> &'static str {
        self.phase().name()
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Stopped => Phase::Stopped,
            Self::Running => Phase::Running,
        }
    }
}

/// It has nothing to do.
#[derive(Clone, Copy, Debug)]
pub enum Nothing {}

impl Action for Nothing {
    fn name(&self) -> &'static str {
        match *self {}
    }
}

impl Worker for Steady {
    type Spec = Value;
    type Desired = ();
    type Observed = Pulse;
    type Action = Nothing;
    type State = SteadyState;

    fn initial(&self) -> SteadyState {
        SteadyState::Stopped
    }

    fn derive(&self, _spec: &Value) -> Result<(), SpecError> {
        Ok(())
    }

    fn next(&self, state: &SteadyState, snapshot: &Snapshot<Self>) -> Next<Self> {
        match (state, snapshot.goal) {
            (SteadyState::Stopped, Goal::Running) => Next::To(SteadyState::Running, "it lives".into()),
            (SteadyState::Running, Goal::Running) => Next::Stay("it lives".into()),
            (_, Goal::Stopped) => Next::To(SteadyState::Stopped, "it rests".into()),
            (_, Goal::Removed) => Next::Remove("it goes".into()),
        }
    }

    async fn collect(&self, _desired: &()) -> Result<Pulse, CollectError> {
        Ok(Pulse { alive: true })
    }

    async fn perform(&self, action: &Nothing, _cx: ActionContext) -> Result<(), ActionError> {
        match *action {}
    }
}
