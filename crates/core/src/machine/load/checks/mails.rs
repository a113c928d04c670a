//! Mail templates, and the `email` actions that name them.
//!
//! A template is rendered when its mail is sent, over variables of the action's own: here its form is judged, and
//! whether the actions that name it give it what it needs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::paths::template_errors;
use crate::document::Findings;
use crate::document::source::{Spot, shown};
use crate::expression::template::Template;
use crate::machine::load::keys::MAIL;
use crate::machine::load::notes::Notes;
use crate::machine::model::Machine;

/// The type of the actions that send mail.
const EMAIL: &str = "email";
/// The provider whose mails are made here; others have templates of their own.
const PROVIDER: &str = "smtp";

/// Names everything wrong with the templates and with the actions that name one.
pub(super) fn check(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    check_templates(notes, findings);
    check_mails(machine, notes, findings);
}

/// Whether every part of every template can be read.
fn check_templates(notes: &Notes<'_>, findings: &mut Findings) {
    for (_, mail) in notes.root.get("templates").iter().flat_map(Spot::members) {
        for (name, part) in mail.members().filter(|(name, _)| MAIL.key(name).is_some()) {
            if let Err(errors) = Template::compile(part.value) {
                template_errors(findings, &part, &errors);
            }
            if name == "subject" && part.text().is_some_and(|text| text.trim_end().contains(['\r', '\n'])) {
                let detail = "the subject of a mail has one line";
                findings.error(&part.place(), "bad-template", detail, "put it on one line");
            }
        }
    }
}

/// Whether the templates that actions name are there, and get what they use.
fn check_mails(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let mails = notes.actions.iter().filter(|action| action.text("type") == Some(EMAIL));
    for config in mails.filter_map(|action| action.get("config")) {
        let named = member(&config, "template").and_then(|spot| Some((spot.text()?, spot)));
        let is_ours = member(&config, "provider").and_then(|spot| spot.text()) == Some(PROVIDER);
        if let Some((name, spot)) = named
            && is_ours
            && !name.contains("{{")
        {
            check_mail(machine, findings, &config, name, &spot);
        }
    }
}

fn check_mail(machine: &Machine, findings: &mut Findings, config: &Spot<'_>, name: &str, spot: &Spot<'_>) {
    let Some(template) = machine.templates.get(name) else {
        let remedy = match findings.nearest(name, machine.templates.keys().map(String::as_str)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("add `templates: {{{name}: {{subject, text}}}}` to the machine"),
        };
        let detail = format!("the machine has no template `{}`", shown(name));
        findings.error(&spot.place(), "unknown-template", detail, remedy);
        return;
    };
    let has = |part: &str| template.get(part).is_some_and(|part| !part.is_null());
    if !has("text") && !has("html") {
        let detail = format!("template `{}` has neither `text` nor `html`", shown(name));
        findings.error(&spot.place(), "bad-template", detail, "give it one of them");
    }
    if !has("subject") && member(config, "subject").is_none() {
        let detail = format!("template `{}` has no `subject`", shown(name));
        let remedy = "give the template or the action a `subject`";
        findings.error(&spot.place(), "bad-template", detail, remedy);
    }
    check_mail_variables(findings, config, name, template, spot);
}

/// Warns of a name that the template uses and `variables` does not give. It may have a default, so this is no error.
fn check_mail_variables(findings: &mut Findings, config: &Spot<'_>, name: &str, template: &Value, spot: &Spot<'_>) {
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
        findings.warning(&spot.place(), "missing-variable", detail, remedy);
    }
}

fn member<'n>(config: &Spot<'n>, name: &str) -> Option<Spot<'n>> {
    config.members().find(|(key, _)| *key == name).map(|(_, spot)| spot)
}
