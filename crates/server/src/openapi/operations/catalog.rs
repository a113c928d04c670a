//! The catalog of operations.

use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, text, words};
use crate::handlers::operations::Listed;

/// The group.
pub(crate) const RESOURCE: &str = "operations";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

pub(crate) fn list() -> Operation {
    operation("listOperations", "List the catalog by name, with the newest versions")
        .query(
            "kind",
            words(&Listed::ALL.map(Listed::word)),
            "What to list. Default: `operation`.",
        )
        .paged()
        .answers::<wire::Page<wire::CatalogEntry>>(200, "The entries.")
        .reads()
}

pub(crate) fn show() -> Operation {
    operation("showOperation", "Show an operation with its document")
        .path("id", text(), "The name of the operation.")
        .answers::<wire::CatalogEntry>(200, "The operation.")
        .reads()
        .refuses([requests::Code::OperationUnknown])
}

pub(crate) fn apply() -> Operation {
    operation("applyOperations", "Apply a catalog file: all of its documents, or none")
        .catalog_file()
        .answers::<wire::Page<wire::AppliedDocument>>(201, "The documents with their versions.")
        .answers::<wire::Page<wire::AppliedDocument>>(200, "Every document is the newest version. Nothing changed.")
        .answers::<wire::Workflow>(
            202,
            "A document makes an operation weaker: another principal must approve it first.",
        )
        .located()
        .writes()
        .once()
        .refuses([requests::Code::DefinitionInvalid])
}
