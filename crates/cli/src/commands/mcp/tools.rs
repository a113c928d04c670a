//! The tools of an agent: one for each operation that it may propose, and those that read.
//!
//! They are read from the server at each request, so that a call always means the catalog as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use sprag_core::operation::{RESERVED_PARAMETERS, tool_name};
use sprag_engine::requests::operations::CheckHosts;
use sprag_wire::{CatalogEntry, CatalogKind, Page, RiskLevel};

use super::agent::Agent;
use super::readers::Reader;
use crate::failure::Failure;
use crate::output;

/// Operations of a catalog at most; an agent does not see those beyond.
const OPERATIONS_MAX: usize = 10_000;
/// Operations that the server is asked for at once.
const PAGE: usize = 1_000;

/// What a tool does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// It proposes this operation.
    Propose(String),
    /// It reads.
    Read(Reader),
}

/// The tools of an agent by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tools(BTreeMap<String, (Tool, Act)>);

impl Tools {
    /// What the catalog of the server holds for this agent now.
    pub(super) async fn load(agent: &Agent, hosts: &CheckHosts) -> Result<Self, Failure> {
        let mut tools = Self::default();
        for reader in Reader::ALL {
            tools.put(reader.tool(), Act::Read(reader));
        }
        for kind in ["operation", "builtin"] {
            for entry in entries(agent, kind).await? {
                if let Some(tool) = proposing(&entry, hosts).filter(|_| agent.may_propose(&entry)) {
                    tools.put(tool, Act::Propose(entry.id));
                }
            }
        }
        Ok(tools)
    }

    fn put(&mut self, tool: Tool, act: Act) {
        self.0.insert(tool.name.clone().into_owned(), (tool, act));
    }

    /// What the tool of this name does.
    pub(super) fn act(&self, name: &str) -> Option<&Act> {
        self.0.get(name).map(|(_, act)| act)
    }

    /// At most `count` tools after a name, and the name after which there are more.
    pub(super) fn page(&self, after: Option<&str>, count: usize) -> (Vec<Tool>, Option<String>) {
        let is_after = |name: &&String| after.is_none_or(|after| name.as_str() > after);
        let mut rest = self.0.iter().filter(|(name, _)| is_after(name)).peekable();
        let page: Vec<Tool> = rest.by_ref().take(count).map(|(_, (tool, _))| tool.clone()).collect();
        let last = page.last().map(|tool| tool.name.clone().into_owned());
        (page, last.filter(|_| rest.peek().is_some()))
    }
}

/// The entries of the catalog of one kind.
async fn entries(agent: &Agent, kind: &str) -> Result<Vec<CatalogEntry>, Failure> {
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let request = agent.client.get(&["operations"]).query("kind", Some(kind));
        let request = request.query("limit", Some(PAGE)).query("cursor", cursor.as_ref());
        let Page { data, next_cursor } = output::read(request.send().await?)?;
        found.extend(data);
        cursor = next_cursor;
        if cursor.is_none() || found.len() >= OPERATIONS_MAX {
            found.retain(|entry: &CatalogEntry| entry.kind == CatalogKind::Operation);
            return Ok(found);
        }
    }
}

/// The tool that proposes an operation. There is none for a check without hosts that it may reach, and none for an older
/// operation with a parameter whose name tools use themselves.
fn proposing(entry: &CatalogEntry, hosts: &CheckHosts) -> Option<Tool> {
    let mut schema: JsonObject = entry.parameters.as_ref()?.as_object()?.clone();
    let mut about = description(entry);
    if hosts.problem(&entry.id, &Value::Null).is_some() {
        let names: Vec<String> = hosts.names().map(|name| format!("`{name}`")).collect();
        if names.is_empty() {
            return None;
        }
        about = format!("{about} Only these hosts may be checked: {}.", names.join(", "));
    }
    let properties = schema.get_mut("properties")?.as_object_mut()?;
    for (name, property) in RESERVED_PARAMETERS.into_iter().zip(own_properties()) {
        if properties.insert(name.to_owned(), property).is_some() {
            return None;
        }
    }
    schema.get_mut("required")?.as_array_mut()?.push(json!("reason"));
    let is_destructive = !matches!(entry.risk_level, Some(RiskLevel::Low | RiskLevel::Medium));
    let annotations = ToolAnnotations::new().read_only(false).destructive(is_destructive);
    let mut tool = Tool::new(tool_name(&entry.id), about, Arc::new(schema)).annotate(annotations);
    tool.title.clone_from(&entry.title);
    Some(tool)
}

/// The schemas of `reason`, `ticket` and `delay`.
fn own_properties() -> [Value; 3] {
    [
        json!({"type": "string", "minLength": 1, "description": "Why it is needed. A person who approves reads it."}),
        json!({"type": "string", "description": "A reference outside, such as a ticket."}),
        json!({"type": "string", "description": "How long after it could begin it should begin, such as `5m`."}),
    ]
}

fn description(entry: &CatalogEntry) -> String {
    let about = entry.description.as_ref().or(entry.title.as_ref()).unwrap_or(&entry.id);
    let risk = entry.risk_level.as_ref().map_or("unknown", |risk| risk.word());
    let approval = if entry.requires_approval == Some(true) {
        "a person must approve it"
    } else {
        "a person must approve it if the server's policy says so"
    };
    format!("{about} (A call proposes this operation; its risk is {risk}, and {approval} before it runs.)")
}

/// A tool that reads and changes nothing.
pub(super) fn reading(name: &'static str, about: &'static str, properties: &Value, required: &[&str]) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let schema: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::new()
        .read_only(true)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, Cow::Borrowed(about), Arc::new(schema)).annotate(annotations)
}
