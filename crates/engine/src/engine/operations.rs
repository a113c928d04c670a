//! What proposers, approvers and operators ask of an engine about operations.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::access::Caller;
use sprag_core::document::source::Format;
use sprag_core::ids::{ExecutionId, WorkflowId};
use sprag_core::operation::approval::Policy;
use sprag_core::operation::{CatalogFile, read_catalog};

use super::asker::Asker;
use super::handle::Handle;
use crate::read::compensation::{Compensations, compensations};
use crate::requests::operations::{
    ApplyCatalog, CatalogApplied, CompensateExecution, Propose, ResumeWorkflow, WorkflowChanged,
};
use crate::requests::{Refusal, Replied};
use sprag_store::ReadKind;

/// The catalog of operations, workflows and their approval.
#[derive(Clone, Copy)]
pub struct OperationsHandle<'a>(pub(crate) &'a Handle);

impl OperationsHandle<'_> {
    /// Which plans need approval, and whose.
    pub fn approval_policy(&self) -> &Policy {
        &self.0.read().approval
    }

    /// Reads a catalog file, and says everything that is wrong with it by itself.
    pub fn lint_catalog(&self, text: &str, format: Format) -> CatalogFile {
        read_catalog(text, format, self.0)
    }

    /// Applies documents of a catalog, all or none.
    pub async fn apply_catalog(&self, file: CatalogFile, asker: &Asker) -> Replied<CatalogApplied> {
        let request = ApplyCatalog {
            documents: Arc::new(file.documents),
            caller: Box::new(Caller::clone(&asker.caller)),
        };
        self.0.ask_once(request, asker).await
    }

    /// Proposes one operation, or a workflow.
    pub async fn propose(&self, body: Value, asker: &Asker) -> Replied<WorkflowChanged> {
        let caller = Box::new(Caller::clone(&asker.caller));
        self.0.ask_once(Propose { body, caller }, asker).await
    }

    /// Proposes the workflow that takes back what a closed execution did.
    pub async fn compensate(&self, id: ExecutionId, asker: &Asker) -> Replied<WorkflowChanged> {
        let (machine, steps) = match self.compensations(id).await {
            Ok(found) => found,
            Err(refusal) => return Replied::now(Err(refusal)),
        };
        let request = CompensateExecution {
            id,
            machine,
            steps,
            caller: Box::new(Caller::clone(&asker.caller)),
        };
        self.0.ask_once(request, asker).await
    }

    async fn compensations(&self, id: ExecutionId) -> Result<Compensations, Refusal> {
        let handle = self.0.read().clone();
        let read = self
            .0
            .read()
            .query(ReadKind::Scan, move |reader| compensations(&handle, reader, id));
        read.await?
    }

    /// Continues a failed workflow from the steps that failed.
    pub async fn resume_workflow(&self, id: WorkflowId, reason: String, asker: &Asker) -> Replied<WorkflowChanged> {
        let dead = match self.workflow_letters(id).await {
            Ok(dead) => dead,
            Err(refusal) => return Replied::now(Err(refusal)),
        };
        let request = ResumeWorkflow {
            id,
            dead,
            reason,
            caller: Box::new(Caller::clone(&asker.caller)),
        };
        self.0.ask_once(request, asker).await
    }
}
