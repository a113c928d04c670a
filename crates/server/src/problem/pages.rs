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
    "execution-closed"
    "execution-unknown"
    "host-refused"
    "inbox-full"
    "input-invalid"
    "internal-error"
    "key-in-use"
    "last-event-id-invalid"
    "machine-unknown"
    "media-type-unsupported"
    "message-too-large"
    "method-not-allowed"
    "migration-impossible"
    "name-invalid"
    "not-ready"
    "origin-refused"
    "overloaded"
    "path-invalid"
    "query-invalid"
    "reserved-type"
    "route-unknown"
    "shutting-down"
    "simulation-too-large"
    "status-conflict"
    "store-failed"
    "store-full"
    "store-read-only"
    "store-refused"
    "too-many-streams"
    "variables-too-large"
    "version-unknown"
}

/// The page of a code, in Markdown.
pub(crate) fn page(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == code).map(|(_, page)| *page)
}

#[cfg(test)]
pub(super) fn codes() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(code, _)| *code)
}
