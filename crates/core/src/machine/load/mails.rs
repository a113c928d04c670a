//! Mail templates, and the `email` actions that name them.
//!
//! A template is rendered when its mail is sent, over variables of the action's own: here its form is judged, and
//! whether those who name it give it what it needs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::keys::MAIL;
use super::loader::Loader;
use crate::document::Fields;
use crate::document::source::{Spot, shown};
use crate::expression::template::Template;

/// The type of the actions that send mail.
const EMAIL: &str = "email";
/// The provider whose mails are made here; others have templates of their own.
const PROVIDER: &str = "smtp";

impl<'n> Loader<'n> {
    /// Whether every part of every template can be read.
    pub(super) fn check_mail_templates(&mut self, root: &Fields<'n>) {
        for (_, mail) in root.get("templates").iter().flat_map(Spot::members) {
            for (name, part) in mail.members().filter(|(name, _)| MAIL.key(name).is_some()) {
                if let Err(errors) = Template::compile(part.value) {
                    let errors = errors
                        .iter()
                        .map(|error| (error.pointer.as_str(), error.detail.as_str()));
                    self.template_errors(&part, errors);
                }
                if name == "subject" && part.text().is_some_and(|text| text.trim_end().contains(['\r', '\n'])) {
                    let detail = "the subject of a mail has one line";
                    self.findings
                        .error(&part.place(), "bad-template", detail, "put it on one line");
                }
            }
        }
    }

    /// Whether the templates that actions name are there, and get what they use.
    pub(super) fn check_mails(&mut self) {
        let configs: Vec<Spot<'n>> = self
            .notes
            .actions
            .iter()
            .filter(|action| action.text("type") == Some(EMAIL))
            .filter_map(|action| action.get("config"))
            .collect();
        for config in configs {
            let named = member(&config, "template").and_then(|spot| Some((spot.text()?, spot)));
            let is_ours = member(&config, "provider").and_then(|spot| spot.text()) == Some(PROVIDER);
            if let Some((name, spot)) = named
                && is_ours
                && !name.contains("{{")
            {
                self.check_mail(&config, name, &spot);
            }
        }
    }

    fn check_mail(&mut self, config: &Spot<'n>, name: &str, spot: &Spot<'n>) {
        let Some(template) = self.machine.templates.get(name).cloned() else {
            let templates = std::sync::Arc::clone(&self.machine.templates);
            let remedy = match self.findings.nearest(name, templates.keys().map(String::as_str)) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("add `templates: {{{name}: {{subject, text}}}}` to the machine"),
            };
            let detail = format!("the machine has no template `{}`", shown(name));
            self.findings.error(&spot.place(), "unknown-template", detail, remedy);
            return;
        };
        let has = |part: &str| template.get(part).is_some_and(|part| !part.is_null());
        if !has("text") && !has("html") {
            let detail = format!("template `{}` has neither `text` nor `html`", shown(name));
            self.findings
                .error(&spot.place(), "bad-template", detail, "give it one of them");
        }
        if !has("subject") && member(config, "subject").is_none() {
            let detail = format!("template `{}` has no `subject`", shown(name));
            let remedy = "give the template or the action a `subject`";
            self.findings.error(&spot.place(), "bad-template", detail, remedy);
        }
        self.check_mail_variables(config, name, &template, spot);
    }

    /// A name that the template uses and nobody gives it may have a default, so this is not an error.
    fn check_mail_variables(&mut self, config: &Spot<'n>, name: &str, template: &Value, spot: &Spot<'n>) {
        let variables = member(config, "variables");
        if variables.as_ref().is_some_and(|spot| spot.text().is_some()) {
            return;
        }
        let given: BTreeSet<&str> = variables.iter().flat_map(Spot::members).map(|(name, _)| name).collect();
        let Ok(compiled) = Template::compile(template) else {
            return;
        };
        let used: BTreeSet<&str> = compiled.paths().filter_map(|path| path.root()).collect();
        for missing in used.difference(&given) {
            let detail = format!(
                "template `{}` uses `{missing}`, which `variables` does not give",
                shown(name)
            );
            let remedy = format!("add `{missing}` to `variables`, or give it a default in the template");
            self.findings.warning(&spot.place(), "missing-variable", detail, remedy);
        }
    }
}

fn member<'n>(config: &Spot<'n>, name: &str) -> Option<Spot<'n>> {
    config.members().find(|(key, _)| *key == name).map(|(_, spot)| spot)
}
