//! The tools that read: how a workflow stands, why an execution waits, the case file of a dead letter, executions.

use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Value, json};
use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::operation::RESERVED_TOOLS;

use super::result::{Refused, read, result};
use super::tools::reading;
use super::workflow;
use crate::client::{Client, Request};

/// Executions of a page unless the agent asks for another number.
const LISTED: u64 = 20;
/// Executions of a page at most.
const LISTED_MAX: u64 = 50;
/// What narrows a list of executions.
const CONDITIONS: [&str; 5] = ["machine", "status", "key", "filter", "cursor"];

/// A tool that reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// How a workflow stands.
    WorkflowStatus,
    /// Why an execution waits.
    ExecutionExplain,
    /// Everything about a dead letter.
    DeadLetterCase,
    /// A page of executions.
    ListExecutions,
}

impl Reader {
    /// All of them, as [`RESERVED_TOOLS`] names them.
    pub(super) const ALL: [Self; 4] = [
        Self::WorkflowStatus,
        Self::ExecutionExplain,
        Self::DeadLetterCase,
        Self::ListExecutions,
    ];

    /// The tool as clients see it.
    pub(super) fn tool(self) -> Tool {
        let one = |about, what: &str| {
            let id = json!({"id": {"type": "string", "description": what}});
            reading(self.name(), about, &id, &["id"])
        };
        match self {
            Self::WorkflowStatus => one(
                "Show how a proposed workflow stands: its status, its approval, what it waits for, and the results of its steps.",
                "the workflow, such as `wfl_…`",
            ),
            Self::ExecutionExplain => one(
                "Explain why an execution waits or failed, with its open actions and its dead letters.",
                "the execution, such as `exe_…`",
            ),
            Self::DeadLetterCase => one(
                "Show the case file of a dead letter: what was tried, how it failed, and what would fix it.",
                "the action that is a dead letter, such as `act_…`",
            ),
            Self::ListExecutions => reading(
                self.name(),
                "List executions, newest first.",
                &json!({
                    "machine": {"type": "string", "description": "only of this machine"},
                    "status": {"type": "string", "enum": ["running", "paused", "failed", "completed", "cancelled"]},
                    "key": {"type": "string", "description": "only with this key"},
                    "filter": {"type": "string", "description": "only executions that match this filter"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": LISTED_MAX, "default": LISTED},
                    "cursor": {"type": "string", "description": "`nextCursor` of the page before"},
                }),
                &[],
            ),
        }
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        let [workflow, execution, letter, list] = RESERVED_TOOLS;
        match self {
            Self::WorkflowStatus => workflow,
            Self::ExecutionExplain => execution,
            Self::DeadLetterCase => letter,
            Self::ListExecutions => list,
        }
    }

    /// What the server has about it.
    pub(super) async fn read(self, client: &Client, arguments: &JsonObject) -> Result<CallToolResult, Refused> {
        let request = match self {
            Self::WorkflowStatus => {
                let request = client.get(&["workflows", &id::<WorkflowId>(arguments)?]);
                return workflow::shown(read(request).await?);
            }
            Self::ExecutionExplain => client.get(&["executions", &id::<ExecutionId>(arguments)?, "explain"]),
            Self::DeadLetterCase => client.get(&["dead-letters", &id::<ActionId>(arguments)?]),
            Self::ListExecutions => list(client, arguments)?,
        };
        Ok(result("Sprag found this.", read(request).await?))
    }
}

/// The argument `id`, and nothing else.
fn id<T: std::str::FromStr + ToString>(arguments: &JsonObject) -> Result<String, Refused> {
    known(arguments, &["id"])?;
    let Some(text) = arguments.get("id").and_then(Value::as_str) else {
        return Err(Refused::here(
            "`id` is missing or no text; give the id as Sprag showed it",
        ));
    };
    let parsed: Result<T, _> = text.parse();
    let wrong = |_| {
        Refused::here(format!(
            "`{text}` is no id of this kind; give the id as Sprag showed it"
        ))
    };
    parsed.map(|id| id.to_string()).map_err(wrong)
}

fn list<'c>(client: &'c Client, arguments: &JsonObject) -> Result<Request<'c>, Refused> {
    known(arguments, &["machine", "status", "key", "filter", "cursor", "limit"])?;
    let limit = match arguments.get("limit") {
        None => LISTED,
        Some(given) => given
            .as_u64()
            .filter(|limit| (1..=LISTED_MAX).contains(limit))
            .ok_or_else(|| Refused::here(format!("`limit` is `{given}`; give a number from 1 to {LISTED_MAX}")))?,
    };
    let mut request = client.get(&["executions"]).query("limit", Some(limit));
    for name in CONDITIONS {
        match arguments.get(name) {
            Some(Value::String(text)) => request = request.query(name, Some(text)),
            Some(other) => return Err(Refused::here(format!("`{name}` is `{other}`; give a text"))),
            None => {}
        }
    }
    Ok(request)
}

/// Refuses arguments that a tool does not have.
fn known(arguments: &JsonObject, names: &[&str]) -> Result<(), Refused> {
    let unknown = arguments.keys().find(|name| !names.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let detail = format!("there is no argument `{name}`; known are {}", names.join(", "));
        Err(Refused::here(detail))
    })
}
