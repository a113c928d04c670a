//! A plan as it is used: typed and checked.

use std::time::Duration;

use serde_json::{Map, Value};
use sprag_core::document::Finding;
use sprag_core::document::source::Document;
use sprag_core::machine::testing::{Mock, TestSubject};

use super::threshold::Threshold;
use crate::lifecycle::ControllerLoss;

/// A load plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What the figures are about.
    pub main: Phase,
    /// What happens before, outside the figures.
    pub prepare: Option<Phase>,
    /// What must hold for the run to count as good.
    pub thresholds: Vec<Threshold>,
    /// Whether the controller aborts the run as soon as a threshold does not hold.
    pub abort_on_threshold: bool,
    /// What the controller does when an agent is lost.
    pub on_agent_lost: AgentLoss,
    /// What an agent does when the controller is lost.
    pub on_controller_lost: ControllerLoss,
    /// The seed of everything random.
    pub seed: u64,
}

/// One phase of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What one operation is.
    pub workload: Workload,
    /// When operations start.
    pub model: Model,
    /// For how long operations start.
    pub duration: Duration,
    /// How long the load rises; part of the duration.
    pub ramp_up: Duration,
    /// How long an operation may take.
    pub op_timeout: Duration,
}

/// What one operation is.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// One HTTP request.
    Http(HttpCall),
    /// One action, from its trigger to its end.
    Action(Box<ActionCall>),
    /// One run of a program, with its arguments.
    Exec(Vec<String>),
    /// One execution on a Sprag server, from its start to its end.
    Machine(MachineStart),
}

impl Workload {
    /// The word for it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Action(_) => "action",
            Self::Exec(_) => "exec",
            Self::Machine(_) => "machine",
        }
    }
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// Where.
    pub url: String,
    /// How.
    pub method: String,
    /// In which version of HTTP.
    pub protocol: Protocol,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Option<String>,
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// What a TLS server chooses; without TLS, HTTP/1.1.
    #[default]
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2; without TLS, the server must know that beforehand.
    Http2,
}

/// An action that is performed again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionCall {
    /// Its definition, or the machine that it belongs to.
    pub definition: Document,
    /// Which action of the machine.
    pub action_id: Option<String>,
    /// Mail templates of a definition without a machine.
    pub templates: Option<Document>,
    /// The variables at the trigger.
    pub variables: Map<String, Value>,
    /// What the action meets. Without any, its real target.
    pub scenarios: Vec<Scenario>,
}

/// Something that an action may meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its share among all scenarios.
    pub weight: u32,
    /// What comes back, in order; the last one repeats.
    pub mock: Vec<Mock>,
}

impl ActionCall {
    /// The action, compiled; or everything wrong with its definition, by its place in it.
    pub fn subject(&self) -> Result<TestSubject, Vec<Finding>> {
        match &self.action_id {
            Some(action_id) if is_machine(&self.definition.value) => TestSubject::within(&self.definition, action_id),
            _ => TestSubject::alone(&self.definition, "", self.templates.as_ref()),
        }
    }
}

/// Whether a definition is a machine.
pub(super) fn is_machine(definition: &Value) -> bool {
    definition.get("states").is_some()
}

/// The start of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineStart {
    /// The address of the server.
    pub server: String,
    /// The machine.
    pub machine: String,
    /// The start values of variables.
    pub variables: Map<String, Value>,
}

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Each of so many users starts an operation when the previous one ends.
    Closed {
        /// The users of all agents.
        users: u32,
    },
    /// So many operations start each second, however long they take.
    Open {
        /// Operations a second, of all agents.
        rate: u32,
        /// Operations at once on one agent. Later ones wait, and their wait counts.
        in_flight: u32,
    },
}

/// What the controller does when an agent is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentLoss {
    /// It aborts the run.
    #[default]
    FailFast,
    /// It continues while at least so many agents are left.
    Quorum(u32),
    /// It continues with the agents that are left.
    BestEffort,
}
