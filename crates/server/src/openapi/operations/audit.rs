//! The audit.

use sprag_wire as wire;

use super::Operation;

/// The group.
pub(crate) const RESOURCE: &str = "audit";

pub(crate) fn list() -> Operation {
    Operation::new(RESOURCE, "listAudit", "List decisions of principals, newest first")
        .filtered()
        .paged()
        .answers::<wire::Page<wire::AuditEntry>>(200, "The entries.")
        .reads()
}

pub(crate) fn heads() -> Operation {
    Operation::new(
        RESOURCE,
        "showAuditHeads",
        "Show the ends of the audit's chains, to keep them elsewhere",
    )
    .answers::<wire::AuditHeads>(200, "The heads.")
    .reads()
}
