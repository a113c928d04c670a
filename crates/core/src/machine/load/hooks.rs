//! Inbound webhooks: compiled, with their templates checked for what they may name.

use super::keys::HOOK;
use super::loader::Loader;
use crate::document::Fields;
use crate::document::source::{Spot, shown};
use crate::expression::scope::Path;
use crate::expression::template::Template;
use crate::machine::event::is_reserved;
use crate::machine::hook::{Hook, REQUEST_FIELDS, REQUEST_ROOT, SECRETS_ROOT, Verify};

/// More hooks than any machine needs.
const HOOKS_MAX: usize = 64;
/// More secrets than any rotation needs.
const SECRETS_MAX: usize = 8;

impl<'n> Loader<'n> {
    /// Reads the hooks, in the order of the file. One that cannot be compiled is left out: [`Loader::check_hooks`] says
    /// why, when it is applied.
    pub(super) fn read_hooks(&mut self, root: &Fields<'n>) {
        for (name, member) in root.get("hooks").iter().flat_map(Spot::members) {
            let fields = Fields::new(member, &HOOK);
            self.machine.hooks.extend(compile(name, &fields));
            self.notes.hooks.push(fields);
        }
    }

    /// Names everything wrong with the hooks.
    pub(super) fn check_hooks(&mut self) {
        let hooks = self.notes.hooks.clone();
        for (position, fields) in hooks.iter().enumerate() {
            if position == HOOKS_MAX {
                let detail = format!("the machine has more than `{HOOKS_MAX}` hooks");
                self.findings
                    .error(&fields.at.key_place(), "too-many-hooks", detail, "split the machine");
                return;
            }
            self.check_hook(fields);
        }
    }

    fn check_hook(&mut self, fields: &Fields<'n>) {
        let pointer = fields.at.place().pointer;
        if pointer.rsplit('/').next().is_some_and(|name| name.contains("~1")) {
            let remedy = "leave out `/`: the name is a segment of its address";
            let detail = "the name of a hook holds a `/`";
            self.findings.error(&fields.at.key_place(), "bad-name", detail, remedy);
        }
        self.check_secrets(fields, fields.text("verify").and_then(Verify::of));
        for field in ["key", "type", "payload"] {
            if let Some(spot) = fields.get(field) {
                self.check_request_template(&spot);
            }
        }
        if let Some(kind) = fields.get("type")
            && kind.text().is_some_and(is_reserved)
        {
            let detail = format!(
                "only Sprag sends messages of type `{}`",
                shown(kind.text().unwrap_or_default())
            );
            self.findings
                .error(&kind.place(), "reserved-type", detail, "choose another type");
        }
    }

    fn check_secrets(&mut self, fields: &Fields<'n>, verify: Option<Verify>) {
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
            self.findings.error(&place, code, detail, remedy);
        }
        for each in spot.iter().flat_map(Spot::each) {
            self.check_secret_template(&each);
        }
    }

    fn check_secret_template(&mut self, spot: &Spot<'n>) {
        let Some(template) = self.hook_template(spot) else {
            return;
        };
        let is_secret = |path: &Path| path.root() == Some(SECRETS_ROOT) && path.segments().len() == 2;
        if let Some(other) = template.paths().find(|path| !is_secret(path)) {
            let detail = format!("`{}` is not a secret", shown(&other.to_string()));
            self.findings
                .error(&spot.place(), "unknown-root", detail, "write `{{secrets.<name>}}`");
        }
    }

    /// A template sees the request and nothing else.
    fn check_request_template(&mut self, spot: &Spot<'n>) {
        let Some(template) = self.hook_template(spot) else {
            return;
        };
        for path in template.paths() {
            if path.root() == Some(REQUEST_ROOT) {
                self.check_request_field(spot, path);
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
            self.findings.error(
                &spot.place(),
                "unknown-root",
                detail,
                format!("a hook sees {known} and nothing else"),
            );
        }
    }

    fn check_request_field(&mut self, spot: &Spot<'n>, path: &Path) {
        let [_, field, ..] = path.segments() else { return };
        if REQUEST_FIELDS.contains(&field.as_ref()) {
            return;
        }
        let remedy = match self.findings.nearest(field, REQUEST_FIELDS) {
            Some(nearest) => format!("did you mean `{REQUEST_ROOT}.{nearest}`?"),
            None => format!("`{REQUEST_ROOT}` has `{}`", REQUEST_FIELDS.join("`, `")),
        };
        let detail = format!("`{REQUEST_ROOT}` has no `{}`", shown(field));
        self.findings.error(&spot.place(), "unknown-field", detail, remedy);
    }

    fn hook_template(&mut self, spot: &Spot<'n>) -> Option<Template> {
        match Template::compile(spot.value) {
            Ok(template) => Some(template),
            Err(errors) => {
                let errors = errors
                    .iter()
                    .map(|error| (error.pointer.as_str(), error.detail.as_str()));
                self.template_errors(spot, errors);
                None
            }
        }
    }
}

/// The secrets of a hook, each where it is written.
pub(super) fn each_secret<'n>(fields: &Fields<'n>) -> Vec<Spot<'n>> {
    let spot = fields.get("secret");
    spot.iter().flat_map(Spot::each).collect()
}

fn compile(name: &str, fields: &Fields<'_>) -> Option<Hook> {
    let template = |spot: Spot<'_>| Template::compile(spot.value).ok();
    let secrets = fields.get("secret");
    Some(Hook {
        name: name.to_owned(),
        verify: Verify::of(fields.text("verify")?)?,
        secrets: secrets.iter().flat_map(Spot::each).filter_map(template).collect(),
        key: template(fields.get("key")?)?,
        kind: template(fields.get("type")?)?,
        payload: match fields.get("payload") {
            Some(payload) => Some(template(payload)?),
            None => None,
        },
    })
}
