//! Secrets that a definition names: each stands alone, where its action takes one, and its machine may name it.

use super::hooks::each_secret;
use crate::action::secret::{self, Owner};
use crate::action::{ConfigProblem, SecretRules};
use crate::document::Findings;
use crate::expression::template::{SecretUse, Template};
use crate::machine::load::config::ConfigCheck;
use crate::machine::load::notes::Notes;
use crate::machine::model::Machine;

/// Names every secret that stands where it may not, or does not stand alone.
pub(super) fn check(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings, rules: &dyn ConfigCheck) {
    for fields in &notes.actions {
        let (Some(kind), Some(spot)) = (fields.text("type"), fields.get("config")) else {
            continue;
        };
        let Ok(template) = Template::compile(spot.value) else {
            continue;
        };
        let owner = Owner {
            machine: &machine.id,
            kind,
        };
        // What a program elsewhere takes is its own affair.
        let found = if fields.get("runner").is_some() {
            secret::problems(template.secrets(), owner, &Elsewhere(rules))
        } else {
            secret::problems(template.secrets(), owner, rules)
        };
        for ConfigProblem {
            pointer,
            detail,
            remedy,
            fault: _,
        } in found
        {
            let place = spot.inside(&pointer);
            findings.error(&place, "secret-misused", detail, remedy);
        }
    }
    check_hook_secrets(&machine.id, notes, findings, rules);
}

fn check_hook_secrets(machine: &str, notes: &Notes<'_>, findings: &mut Findings, rules: &dyn ConfigCheck) {
    for spot in notes.hooks.iter().flat_map(each_secret) {
        let Ok(template) = Template::compile(spot.value) else {
            continue;
        };
        for used in template.secrets() {
            let SecretUse { pointer, name, .. } = used;
            let form = used.problem().map(|detail| (detail, used.remedy()));
            let allowed = || secret::allowance(pointer, name, machine, rules);
            let wrong = form.or_else(|| allowed().map(|problem| (problem.detail, problem.remedy)));
            if let Some((detail, remedy)) = wrong {
                findings.error(&spot.place(), "secret-misused", detail, remedy);
            }
        }
    }
}

/// The rules for an action that a program elsewhere performs: it takes secrets everywhere.
struct Elsewhere<'a>(&'a dyn ConfigCheck);

impl SecretRules for Elsewhere<'_> {
    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.0.allows_secret(machine, name)
    }
}
