//! Paths that expressions name and that can lead nowhere, and templates that do not parse.

use crate::document::Findings;
use crate::document::source::{Spot, shown};
use crate::expression::template::{LATE_ROOTS, TemplateError};
use crate::machine::load::notes::{Notes, Site, Use};

/// The names right below the roots that have a fixed set of them.
const FIELDS: [(&str, &[&str]); 3] = [
    (
        "execution",
        &["id", "key", "machine", "version", "state", "variables", "createdAt"],
    ),
    ("event", &["type", "payload", "result", "error", "source", "timestamp"]),
    ("message", &["id", "type", "payload"]),
];

/// Names every path that can lead nowhere, whatever happens. `roots` are the names that a path may begin with, besides
/// late-bound ones.
pub(super) fn check(notes: &Notes<'_>, findings: &mut Findings, roots: &[&str]) {
    for found in &notes.uses {
        check_root(findings, found, roots);
        check_field(findings, found);
    }
}

fn check_root(findings: &mut Findings, found: &Use<'_>, roots: &[&str]) {
    let Some(root) = found.path.root() else { return };
    let is_late = LATE_ROOTS.contains(&root);
    if roots.contains(&root) || (is_late && matches!(found.site, Site::Config(_))) {
        return;
    }
    let remedy = match findings.nearest(root, roots.iter().copied()) {
        _ if is_late => "name it in an action's `config`, where it is bound for each attempt".to_owned(),
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("begin with one of `{}`", roots.join("`, `")),
    };
    let detail = format!(
        "`{}` begins with `{}`, which is not known here",
        shown(&found.path.to_string()),
        shown(root)
    );
    findings.error(&found.place(), "unknown-root", detail, remedy);
}

fn check_field(findings: &mut Findings, found: &Use<'_>) {
    let [root, field, ..] = found.path.segments() else {
        return;
    };
    let Some((_, fields)) = FIELDS.iter().find(|(known, _)| *known == root.as_ref()) else {
        return;
    };
    if fields.contains(&field.as_ref()) {
        return;
    }
    let remedy = match findings.nearest(field, fields.iter().copied()) {
        Some(nearest) => format!("did you mean `{root}.{nearest}`?"),
        None => format!("`{root}` has `{}`", fields.join("`, `")),
    };
    let detail = format!("`{root}` has no `{}`", shown(field));
    findings.error(&found.place(), "unknown-field", detail, remedy);
}

/// Notes what does not parse in a template; a message says what is wrong, then what to write.
pub(in crate::machine::load) fn template_errors(findings: &mut Findings, spot: &Spot<'_>, errors: &[TemplateError]) {
    for error in errors {
        let message = error.detail.as_str();
        let (detail, remedy) = message
            .split_once("; ")
            .unwrap_or((message, "fix the expression between the braces"));
        findings.error(&spot.inside(&error.pointer), "bad-template", detail, remedy);
    }
}
