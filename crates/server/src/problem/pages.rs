//! The page of every public error code, as it stands in the documentation, for whoever follows a problem's `type`.

macro_rules! pages {
    ($($code:literal)*) => {
        /// Every page by its code.
        const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../../../../docs/errors/", $code, ".md"))),)*];
    };
}

pages! {
    "action-unknown"
    "attempt-superseded"
    "attempt-unknown"
    "backup-under-way"
    "backup-unsupported"
    "body-incomplete"
    "body-invalid"
    "body-timeout"
    "body-too-deep"
    "body-too-large"
    "body-unreadable"
    "cursor-invalid"
    "dead-letter-unknown"
    "decision-failed"
    "definition-invalid"
    "edit-invalid"
    "execution-closed"
    "execution-unknown"
    "filter-invalid"
    "hook-unknown"
    "hook-unmapped"
    "hook-unverified"
    "host-refused"
    "idempotency-key-invalid"
    "idempotency-key-reused"
    "inbox-full"
    "input-invalid"
    "internal-error"
    "job-unknown"
    "jobs-full"
    "key-in-use"
    "limit-unknown"
    "limits-full"
    "last-event-id-invalid"
    "machine-unknown"
    "media-type-unsupported"
    "message-too-large"
    "method-not-allowed"
    "migration-impossible"
    "name-invalid"
    "not-ready"
    "operation-refused"
    "origin-refused"
    "overloaded"
    "path-invalid"
    "precondition-failed"
    "query-invalid"
    "reserved-type"
    "record-damaged"
    "route-unknown"
    "scope-unknown"
    "secret-unavailable"
    "services-invalid"
    "shard-moved"
    "shutting-down"
    "signature-invalid"
    "simulation-too-large"
    "status-conflict"
    "store-away"
    "store-failed"
    "store-full"
    "store-read-only"
    "store-refused"
    "supervision-off"
    "supervisor-stopped"
    "switch-unknown"
    "switches-full"
    "too-many-streams"
    "variables-too-large"
    "version-unknown"
    "worker-leaving"
    "worker-unknown"
}

/// The page of a code, in Markdown.
pub(crate) fn page(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == code).map(|(_, page)| *page)
}

#[cfg(test)]
pub(super) fn codes() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(code, _)| *code)
}
