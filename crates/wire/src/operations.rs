//! Operations: the catalog, proposals, workflows, approvals.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sprag_core::action::ActionError;
use sprag_core::ids::{ActionId, ExecutionId, WorkflowId};
use sprag_core::operation::{self, PlanChange};
use sprag_core::time::Timestamp;

use crate::values::words::words;
use crate::{ActionStatus, Body, Waiting};

words! {
    /// What an entry of the catalog is.
    CatalogKind {
        /// A system that operations act on.
        Subject = "subject",
        /// Something that can be proposed.
        Operation = "operation",
    }
}

/// A document of the catalog that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedDocument {
    /// Its kind.
    pub kind: CatalogKind,
    /// Its name.
    pub id: String,
    /// Its newest version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// Whether the version is new. A document that is the newest version already changes nothing.
    pub created: bool,
}

/// An operation or subject of the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogEntry {
    /// Its kind.
    pub kind: CatalogKind,
    /// Its name.
    pub id: String,
    /// Its newest version.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The risk of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_level: Option<RiskLevel>,
    /// Whether an operation always needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_approval: Option<bool>,
    /// The subject of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The JSON Schema of the parameters of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub parameters: Option<Value>,
    /// The document, in the answer for one entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub definition: Option<Value>,
    /// The time when the version was applied. A built-in operation has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// The body of a proposal: either `operation`, or `name` and `steps`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Proposal(pub Map<String, Value>);

impl JsonSchema for Proposal {
    fn schema_name() -> Cow<'static, str> {
        "Proposal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let due = json_schema!({
            "delay": { "type": "string", "description": "How long after it could begin, as in `5m`." },
            "scheduledAt": { "type": "string", "format": "date-time", "description": "Not before this time." },
        });
        let params = json_schema!({ "type": "object", "description": "The parameters of the operation." });
        let step = json_schema!({
            "type": "object",
            "required": ["name", "operation"],
            "properties": {
                "name": { "type": "string" },
                "operation": { "type": "string" },
                "params": params,
                "reason": { "type": "string" },
                "dependsOn": { "type": "array", "items": { "type": "string" } },
                "delay": due.get("delay"),
                "scheduledAt": due.get("scheduledAt"),
                "continueOnError": { "type": "boolean" },
            },
            "additionalProperties": false,
        });
        json_schema!({
            "type": "object",
            "description": "One operation with its parameters, or a workflow of several steps.",
            "required": ["reason"],
            "properties": {
                "operation": { "type": "string", "description": "The operation, for a proposal of one." },
                "params": params,
                "name": { "type": "string", "description": "The name of a workflow." },
                "description": { "type": "string" },
                "reason": { "type": "string", "description": "Why it is needed." },
                "ticket": { "type": "string", "description": "A reference outside." },
                "urgency": { "enum": ["now", "soon", "later"], "description": "How soon somebody should decide." },
                "onFailure": { "enum": ["stop", "compensate"] },
                "supersedes": { "type": "string", "description": "The workflow that this one replaces." },
                "delay": due.get("delay"),
                "scheduledAt": due.get("scheduledAt"),
                "steps": { "type": "array", "minItems": 1, "items": step },
            },
            "additionalProperties": false,
        })
    }
}

/// The body of an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApproveRequest {
    /// The digest of the plan that the approver read.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub digest: String,
    /// A comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Body for ApproveRequest {}

/// The body of a rejection or a revocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommentRequest {
    /// Why.
    #[schemars(length(min = 1, max = 1_000))]
    pub comment: String,
}

impl Body for CommentRequest {}

/// The body of a cancellation or of resuming.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonRequest {
    /// Why.
    #[schemars(length(min = 1, max = 1_000))]
    pub reason: String,
}

impl Body for ReasonRequest {}

/// A workflow: a plan, what was decided about it, and how its steps stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// Its id.
    pub id: WorkflowId,
    /// The operation, or the name of the workflow.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its status.
    pub status: WorkflowStatus,
    /// SHA-256 of the canonical plan, to be sent with an approval.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub digest: String,
    /// The highest risk of a step.
    pub risk_level: RiskLevel,
    /// What was decided.
    pub approval: Approval,
    /// The steps, in the order of the plan.
    pub steps: Vec<WorkflowStep>,
    /// The principal that proposed it.
    pub proposer: String,
    /// Why it is needed.
    pub reason: String,
    /// A reference outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// How soon somebody should decide.
    pub urgency: Urgency,
    /// What else people did to it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// The execution that runs it, once it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
    /// The time of the proposal.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

words! {
    /// The status of a workflow.
    WorkflowStatus from operation::WorkflowStatus {
        /// Proposed, and nobody looked at it yet.
        Pending = "pending",
        /// It waits for a person.
        AwaitingApproval = "awaiting_approval",
        /// Its steps run, or wait for each other or for their time.
        InProgress = "in_progress",
        /// Every step succeeded, or was allowed to fail.
        Completed = "completed",
        /// A step failed.
        Failed = "failed",
        /// A person ended it.
        Cancelled = "cancelled",
        /// A person refused it.
        Rejected = "rejected",
        /// Nobody decided in time.
        Expired = "expired",
    }
}

words! {
    /// How much can go wrong.
    RiskLevel from operation::Risk {
        /// Nothing that matters.
        Low = "low",
        /// Something that is put right quickly.
        Medium = "medium",
        /// Something that users notice.
        High = "high",
        /// Something that cannot be put right.
        Critical = "critical",
    }
}

words! {
    /// How soon somebody should decide.
    Urgency from operation::Urgency {
        /// At once.
        Now = "now",
        /// Today.
        Soon = "soon",
        /// When there is time.
        Later = "later",
    }
}

/// What was decided about a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Whether it needs approval.
    pub required: bool,
    /// How many principals must approve it.
    pub needed: u32,
    /// The approvals that stand.
    pub given: Vec<GivenApproval>,
    /// The time when it expires unless it is approved, or by which its steps must begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenApproval {
    /// The principal.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// What the principal said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Whether the principal proposed it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_approval: bool,
}

/// Something that a person did to a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// What: `rejected`, `revoked`, `cancelled` or `resumed`.
    pub what: String,
    /// The principal.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStep {
    /// Its name.
    pub name: String,
    /// The operation that it runs.
    pub operation: String,
    /// The version of the operation.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// The risk of the operation.
    pub risk_level: RiskLevel,
    /// The subject that it acts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The status of its action. A step that has not begun is `scheduled`; one that never will is `skipped`.
    pub status: ActionStatus,
    /// What it waits for.
    pub waiting: Waiting,
    /// Whether its time has come, and nobody has approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overdue: bool,
    /// Its action, once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Why it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The steps before it.
    pub depends_on: Vec<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// The time of the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry_at: Option<Timestamp>,
    /// What came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it last failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ActionError>,
    /// The action that takes it back, once that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Compensation>,
}

/// The action that takes a step back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compensation {
    /// The action.
    pub action_id: ActionId,
    /// Its status. The next compensation waits until this one succeeds.
    pub status: ActionStatus,
    /// Why it last failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ActionError>,
}

/// The plan that people approve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowPlan {
    /// SHA-256 of the canonical plan.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub digest: String,
    /// The plan. Its canonical form (RFC 8785) is what the digest is of.
    #[schemars(with = "Map<String, Value>")]
    pub plan: Value,
    /// The last workflow of the same name that ran, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<WorkflowId>,
    /// What differs from the plan of that workflow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PlanDifference>,
}

/// A value that differs between two plans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDifference {
    /// Where, as a JSON pointer. Steps are named: `/steps/drain/params/node`.
    pub path: String,
    /// What it was; null if it was not there.
    pub before: Value,
    /// What it is; null if it is not there any more.
    pub after: Value,
}

impl From<PlanChange> for PlanDifference {
    fn from(change: PlanChange) -> Self {
        let PlanChange { path, before, after } = change;
        Self { path, before, after }
    }
}
