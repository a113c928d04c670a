//! Applying catalog documents: all of them or none, each a new version unless it is the newest already.
//!
//! A version that makes an operation weaker needs approval by another principal first: then the documents become a plan,
//! and are applied in the transaction in which it is approved.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sprag_core::access::Caller;
use sprag_core::document::json;
use sprag_core::document::source::Place;
use sprag_core::document::{Finding, Severity};
use sprag_core::ids::{Slot, WorkflowId};
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::change::{Weakening, weakenings};
use sprag_core::operation::{Document, Kind, Plan, PlanHead, PlanStep, Risk, StepAction, read_stored};
use sprag_store::Mutation;
use sprag_store::records::CatalogVersion;

use super::super::audit::Audit;
use super::super::idempotency::stored_answer;
use super::super::{Answer, Code, Refusal, Request, Route, Subject};
use crate::decide::catalog::{CATALOG_MAX, StoredCatalog, kind_of};
use crate::decide::plans::PlanState;
use crate::decide::{Decider, Reads};

/// The name of plans that apply documents. No operation has it: names of operations begin with a letter or digit.
const CATALOG_APPLY: &str = "catalog:apply";

/// Keep documents of a catalog.
#[derive(Clone, Debug)]
pub struct ApplyCatalog {
    /// The documents, with the place of each.
    pub documents: Arc<Vec<(Document, Place)>>,
    /// Who applies them.
    pub caller: Box<Caller>,
}

/// What came of applying documents.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CatalogApplied {
    /// The documents, in their order; none while they wait for approval.
    pub documents: Vec<AppliedDocument>,
    /// The workflow that must be approved first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
}

/// What came of applying a document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AppliedDocument {
    /// `subject` or `operation`.
    pub kind: String,
    /// Its name.
    pub id: String,
    /// Its newest version.
    pub version: u32,
    /// Whether the version is new.
    pub created: bool,
}

impl Answer for CatalogApplied {
    stored_answer!("documents");
}

impl Request for ApplyCatalog {
    type Answer = CatalogApplied;
    const NAME: &'static str = "apply-catalog";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ApplyOperations, names).changing(|_, _, applied| applied.map(applied_versions)),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.catalog();
    }

    fn subject(&self) -> Option<Subject> {
        let digests: Vec<String> = self
            .documents
            .iter()
            .map(|(document, _)| json::hex(&document.digest()))
            .collect();
        Some(Subject {
            target: Value::Null,
            body: json!(digests),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Self::Answer, Refusal> {
        let catalog = known(decider)?;
        refuse_findings("the catalog cannot be applied", catalog.catalog.check(&self.documents))?;
        let documents: Vec<Document> = self.documents.iter().map(|(document, _)| document.clone()).collect();
        let weaker = weakened(&catalog, &documents);
        if weaker.is_empty() {
            return Ok(CatalogApplied {
                documents: keep_all(decider, &documents)?,
                workflow: None,
            });
        }
        let plan = guarded_plan(decider, &documents, &weaker, &self.caller);
        let id = plan.id;
        decider.put_plan(plan);
        Ok(CatalogApplied {
            documents: Vec::new(),
            workflow: Some(id),
        })
    }
}

/// The names of the documents.
fn names(apply: &ApplyCatalog) -> String {
    let names: Vec<&str> = apply.documents.iter().map(|(document, _)| document.name()).collect();
    names.join(", ")
}

/// What came of the documents, for the audit.
fn applied_versions(applied: &CatalogApplied) -> String {
    if let Some(workflow) = applied.workflow {
        return format!("waits for approval of workflow {workflow}");
    }
    let versions = applied.documents.iter();
    let versions: Vec<String> = versions
        .map(|kept| format!("{} version {}", kept.id, kept.version))
        .collect();
    versions.join(", ")
}

/// Why documents need approval, by the names of the operations that they make weaker.
fn weakened(catalog: &StoredCatalog, documents: &[Document]) -> Vec<String> {
    let of = |document: &Document| {
        let Document::Operation(new) = document else {
            return None;
        };
        let old = &catalog.catalog.operation(&new.name)?.operation;
        let texts: Vec<String> = weakenings(old, new).into_iter().map(Weakening::text).collect();
        (!texts.is_empty()).then(|| format!("operation `{}`: {}", new.name, texts.join(", ")))
    };
    documents.iter().filter_map(of).collect()
}

/// The plan of documents that need approval: one step, which applies them.
fn guarded_plan(decider: &mut Decider<'_>, documents: &[Document], weaker: &[String], caller: &Caller) -> PlanState {
    let id = decider.at.mint.workflow(Slot::default());
    let now = decider.now();
    let definitions: Vec<&Value> = documents.iter().map(Document::definition).collect();
    let mut action = Map::new();
    action.insert("type".to_owned(), CATALOG_APPLY.into());
    action.insert("config".to_owned(), json!({ "documents": definitions }));
    let action = StepAction {
        operation: CATALOG_APPLY.to_owned(),
        version: 1,
        digest: json::hex(&json::digest(&json::canonical(&json!(definitions)))),
        kind: Kind::Tool,
        subject: None,
        risk_level: Risk::High,
        requires_approval: true,
        params: Map::new(),
        parameters: Map::new(),
        secrets: Vec::new(),
        action,
        open: Vec::new(),
        permissions: Vec::new(),
    };
    let head = PlanHead {
        id: id.to_string(),
        name: CATALOG_APPLY.to_owned(),
        description: None,
        reason: weaker.join("; "),
        proposer: caller.principal.to_string(),
        execution: None,
        now,
    };
    let step = PlanStep::new("apply".to_owned(), action);
    let plan = Plan::of_steps(head, vec![step]);
    let mut plan = PlanState::new(id, plan, now);
    plan.ask_for_approval(&decider.rules.approval, now);
    plan
}

/// Whether a plan applies documents.
pub(super) fn applies_documents(plan: &Plan) -> bool {
    plan.name == CATALOG_APPLY
}

/// The documents that a plan applies, if it is one that applies documents.
pub(super) fn documents_of(plan: &Plan) -> Option<Result<Vec<Document>, Refusal>> {
    let step = plan.steps.first().filter(|_| applies_documents(plan))?;
    let config = step.action.action.get("config")?;
    let definitions = config.get("documents").and_then(Value::as_array)?;
    let damaged =
        |error: sprag_core::operation::StoredDocumentError| Refusal::new(Code::RecordDamaged, error.to_string());
    Some(
        definitions
            .iter()
            .map(|definition| read_stored(definition).map_err(damaged))
            .collect(),
    )
}

/// Keeps documents as new versions, unless they are the newest already.
pub(super) fn keep_all(decider: &mut Decider<'_>, documents: &[Document]) -> Result<Vec<AppliedDocument>, Refusal> {
    let mut catalog = known(decider)?;
    let mut rows = Vec::new();
    let mut applied = Vec::with_capacity(documents.len());
    for document in documents {
        let kept = keep(Arc::make_mut(&mut catalog), document);
        if kept.created {
            rows.push(row(decider, document, kept.version));
        }
        applied.push(kept);
    }
    if catalog.len() > CATALOG_MAX {
        let detail = format!(
            "the catalog would have {} entries; {CATALOG_MAX} are the most",
            catalog.len()
        );
        return Err(Refusal::new(Code::DefinitionInvalid, detail));
    }
    decider.batch.log.extend(rows);
    decider.known.catalog = Some(catalog);
    Ok(applied)
}

/// The catalog that the request declared.
pub(super) fn known(decider: &Decider<'_>) -> Result<Arc<StoredCatalog>, Refusal> {
    let read = decider.known.catalog.as_ref().map(Arc::clone);
    read.ok_or_else(|| Refusal::new(Code::StoreFailed, "the catalog was not read"))
}

/// Refuses what has errors, with the place of each.
pub(super) fn refuse_findings(what: &str, findings: Vec<Finding>) -> Result<(), Refusal> {
    let errors: Vec<Finding> = findings
        .into_iter()
        .filter(|found| found.severity == Severity::Error)
        .collect();
    let Some(first) = errors.first() else { return Ok(()) };
    let detail = match errors.len() {
        1 => format!("{what}: {}", first.detail),
        all => format!("{what}: {} ({all} errors)", first.detail),
    };
    let said = |found: Finding| {
        let remedy = found.remedy;
        let detail = if remedy.is_empty() {
            found.detail
        } else {
            format!("{}; {remedy}", found.detail)
        };
        (found.pointer, detail)
    };
    Err(Refusal {
        errors: errors.into_iter().map(said).collect(),
        ..Refusal::new(Code::DefinitionInvalid, detail)
    })
}

fn keep(catalog: &mut StoredCatalog, document: &Document) -> AppliedDocument {
    let newest = catalog.newest(document);
    let applied = |version, created| AppliedDocument {
        kind: kind_of(document).word().to_owned(),
        id: document.name().to_owned(),
        version,
        created,
    };
    if let Some((version, _)) = newest.filter(|(_, digest)| *digest == document.digest()) {
        return applied(version, false);
    }
    let version = newest.map_or(1, |(version, _)| version + 1);
    catalog.insert(version, document.clone());
    applied(version, true)
}

fn row(decider: &Decider<'_>, document: &Document, version: u32) -> Mutation {
    Mutation::InsertCatalogVersion(CatalogVersion {
        kind: kind_of(document),
        name: document.name().to_owned(),
        version,
        digest: document.digest(),
        definition: document.definition().to_string().into_bytes(),
        created_at: decider.now(),
    })
}
