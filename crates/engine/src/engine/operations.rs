//! What proposers, approvers and operators ask of an engine about operations.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::access::Caller;
use sprag_core::ids::WorkflowId;
use sprag_core::operation::approval::Policy;
use sprag_core::operation::{CatalogFile, read_catalog};
use sprag_core::source::Format;

use super::handle::Handle;
use crate::requests::idempotency::Key;
use crate::requests::operations::{ApplyCatalog, CatalogApplied, Propose, ResumeWorkflow, WorkflowChanged};
use crate::requests::{Refusal, Replied};

impl Handle {
    /// Which plans need approval, and whose.
    pub fn approval_policy(&self) -> &Policy {
        &self.approval
    }

    /// Reads a catalog file, and says everything that is wrong with it by itself.
    pub fn lint_catalog(&self, text: &str, format: Format) -> CatalogFile {
        read_catalog(text, format, self)
    }

    /// Applies documents of a catalog, all or none.
    pub async fn apply_catalog(&self, file: CatalogFile, caller: Caller, key: Option<&Key>) -> Replied<CatalogApplied> {
        let documents = Arc::new(file.documents);
        self.ask_once(ApplyCatalog { documents, caller }, key).await
    }

    /// Proposes one operation, or a workflow.
    pub async fn propose(&self, body: Value, caller: Caller, key: Option<&Key>) -> Replied<WorkflowChanged> {
        self.ask_once(Propose { body, caller }, key).await
    }

    /// Continues a failed workflow from the steps that failed.
    pub async fn resume_workflow(
        &self,
        id: WorkflowId,
        reason: String,
        caller: Caller,
        key: Option<&Key>,
    ) -> Replied<WorkflowChanged> {
        let dead = match self.workflow_letters(id).await {
            Ok(dead) => dead,
            Err(refusal) => return refused(refusal),
        };
        let request = ResumeWorkflow {
            id,
            dead,
            reason,
            caller,
        };
        self.ask_once(request, key).await
    }
}

fn refused(refusal: Refusal) -> Replied<WorkflowChanged> {
    Replied {
        answer: Err(refusal),
        replayed: false,
    }
}
