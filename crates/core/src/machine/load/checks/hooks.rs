//! What is wrong with inbound webhooks, and what their templates may name.

use super::paths::template_errors;
use crate::document::source::{Spot, shown};
use crate::document::{Fields, Findings};
use crate::expression::scope::Path;
use crate::expression::template::Template;
use crate::machine::event::is_reserved;
use crate::machine::hook::{REQUEST_FIELDS, REQUEST_ROOT, SECRETS_ROOT, Verify};
use crate::machine::load::notes::Notes;

/// More hooks than any machine needs.
const HOOKS_MAX: usize = 64;
/// More secrets than any rotation needs.
const SECRETS_MAX: usize = 8;

/// Names everything wrong with the hooks.
pub(super) fn check(notes: &Notes<'_>, findings: &mut Findings) {
    for (position, fields) in notes.hooks.iter().enumerate() {
        if position == HOOKS_MAX {
            let detail = format!("the machine has more than `{HOOKS_MAX}` hooks");
            findings.error(&fields.at.key_place(), "too-many-hooks", detail, "split the machine");
            return;
        }
        check_hook(findings, fields);
    }
}

fn check_hook(findings: &mut Findings, fields: &Fields<'_>) {
    let pointer = fields.at.place().pointer;
    if pointer.rsplit('/').next().is_some_and(|name| name.contains("~1")) {
        let remedy = "leave out `/`: the name is a segment of its address";
        let detail = "the name of a hook holds a `/`";
        findings.error(&fields.at.key_place(), "bad-name", detail, remedy);
    }
    check_secrets(findings, fields, fields.text("verify").and_then(Verify::of));
    for field in ["key", "type", "payload"] {
        if let Some(spot) = fields.get(field) {
            check_request_template(findings, &spot);
        }
    }
    if let Some(kind) = fields.get("type")
        && kind.text().is_some_and(is_reserved)
    {
        let detail = format!(
            "only Sprag sends messages of type `{}`",
            shown(kind.text().unwrap_or_default())
        );
        findings.error(&kind.place(), "reserved-type", detail, "choose another type");
    }
}

fn check_secrets(findings: &mut Findings, fields: &Fields<'_>, verify: Option<Verify>) {
    let spot = fields.get("secret");
    let count = spot.as_ref().map_or(0, |spot| spot.each().len());
    let wrong = match verify {
        Some(Verify::Nothing) if spot.is_some() => Some((
            "unused-secret",
            "the hook has a `secret`, but does not check it".to_owned(),
            "let `verify` say how, or remove `secret`",
        )),
        Some(Verify::StandardWebhooks | Verify::DocusignHmac) if count == 0 => Some((
            "missing-secret",
            "the hook has no `secret` to check signatures with".to_owned(),
            "add `secret`, such as `{{secrets.hook}}`",
        )),
        _ if count > SECRETS_MAX => Some((
            "too-many-secrets",
            format!("the hook has more than `{SECRETS_MAX}` secrets"),
            "remove those that are used no more",
        )),
        _ => None,
    };
    if let Some((code, detail, remedy)) = wrong {
        let place = spot.as_ref().map_or_else(|| fields.at.key_place(), Spot::place);
        findings.error(&place, code, detail, remedy);
    }
    for each in spot.iter().flat_map(Spot::each) {
        check_secret_template(findings, &each);
    }
}

fn check_secret_template(findings: &mut Findings, spot: &Spot<'_>) {
    let Some(compiled) = template(findings, spot) else {
        return;
    };
    let is_secret = |path: &Path| path.root() == Some(SECRETS_ROOT) && path.segments().len() == 2;
    if let Some(other) = compiled.paths().find(|path| !is_secret(path)) {
        let detail = format!("`{}` is not a secret", shown(&other.to_string()));
        findings.error(&spot.place(), "unknown-root", detail, "write `{{secrets.<name>}}`");
    }
}

/// A template sees the request and nothing else.
fn check_request_template(findings: &mut Findings, spot: &Spot<'_>) {
    let Some(compiled) = template(findings, spot) else {
        return;
    };
    for path in compiled.paths() {
        if path.root() == Some(REQUEST_ROOT) {
            check_request_field(findings, spot, path);
            continue;
        }
        let detail = format!(
            "`{}` begins with `{}`, which is not known here",
            shown(&path.to_string()),
            shown(path.root().unwrap_or_default())
        );
        let known = REQUEST_FIELDS
            .map(|field| format!("`{REQUEST_ROOT}.{field}`"))
            .join(", ");
        findings.error(
            &spot.place(),
            "unknown-root",
            detail,
            format!("a hook sees {known} and nothing else"),
        );
    }
}

fn check_request_field(findings: &mut Findings, spot: &Spot<'_>, path: &Path) {
    let [_, field, ..] = path.segments() else { return };
    if REQUEST_FIELDS.contains(&field.as_ref()) {
        return;
    }
    let remedy = match findings.nearest(field, REQUEST_FIELDS) {
        Some(nearest) => format!("did you mean `{REQUEST_ROOT}.{nearest}`?"),
        None => format!("`{REQUEST_ROOT}` has `{}`", REQUEST_FIELDS.join("`, `")),
    };
    let detail = format!("`{REQUEST_ROOT}` has no `{}`", shown(field));
    findings.error(&spot.place(), "unknown-field", detail, remedy);
}

fn template(findings: &mut Findings, spot: &Spot<'_>) -> Option<Template> {
    let compiled = Template::compile(spot.value);
    compiled.map_err(|errors| template_errors(findings, spot, &errors)).ok()
}

/// The secrets of a hook, each where it is written.
pub(super) fn each_secret<'n>(fields: &Fields<'n>) -> Vec<Spot<'n>> {
    let spot = fields.get("secret");
    spot.iter().flat_map(Spot::each).collect()
}
