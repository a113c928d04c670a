//! Which secrets an action's configuration may name, and where.
//!
//! The same rules are applied when a machine is applied or linted, when a person edits a dead letter, and before each
//! attempt: a definition that was stored before a rule existed, or before an operator changed `[secrets] allow`, is
//! refused at its next attempt.

use super::cost::COST_ESTIMATE;
use super::runner::{ConfigProblem, Fault};
use crate::expression::template::SecretUse;

/// Who knows where secrets may stand and which machines may name them.
pub trait SecretRules {
    /// Whether an action of type `kind` takes a secret at `pointer` of its configuration.
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        let _ = (kind, pointer);
        true
    }

    /// Whether the operator lets this machine name this secret.
    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        let _ = (machine, name);
        true
    }
}

/// Lets every secret stand everywhere.
impl SecretRules for () {}

/// Whose configuration it is.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The machine.
    pub machine: &'a str,
    /// The action's type.
    pub kind: &'a str,
}

/// Everything wrong with these uses of secrets.
pub fn problems(uses: &[SecretUse], owner: Owner<'_>, rules: &(impl SecretRules + ?Sized)) -> Vec<ConfigProblem> {
    uses.iter().filter_map(|one| problem(one, owner, rules)).collect()
}

fn problem(one: &SecretUse, owner: Owner<'_>, rules: &(impl SecretRules + ?Sized)) -> Option<ConfigProblem> {
    let Owner { machine, kind } = owner;
    let SecretUse { pointer, name, .. } = one;
    if let Some(detail) = one.problem() {
        return Some(wrong(pointer, detail, one.remedy()));
    }
    if is_cost(pointer) || !rules.takes_secret(kind, pointer) {
        let detail = format!("an action of type `{kind}` accepts no secret here, and `secrets.{name}` is one");
        return Some(wrong(pointer, detail, "leave the secret out".to_owned()));
    }
    allowance(pointer, name, machine, rules)
}

/// What is wrong with a secret that the operator does not let the machine name.
pub fn allowance(
    pointer: &str,
    name: &str,
    machine: &str,
    rules: &(impl SecretRules + ?Sized),
) -> Option<ConfigProblem> {
    if rules.allows_secret(machine, name) {
        return None;
    }
    let detail = format!("machine `{machine}` may not use the secret `{name}`");
    let remedy = format!("the operator adds `\"{machine}={name}\"` to `[secrets] allow`");
    Some(wrong(pointer, detail, remedy))
}

/// A cost is stored and shown.
fn is_cost(pointer: &str) -> bool {
    pointer.split('/').nth(1) == Some(COST_ESTIMATE)
}

fn wrong(pointer: &str, detail: String, remedy: String) -> ConfigProblem {
    ConfigProblem {
        pointer: pointer.to_owned(),
        detail,
        remedy,
        fault: Fault::Definition,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expression::template::Template;

    /// Takes secrets in `headers` only, and lets the machine `billing` name `stripe` only.
    struct Strict;

    impl SecretRules for Strict {
        fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
            pointer.starts_with("/headers/")
        }

        fn allows_secret(&self, machine: &str, name: &str) -> bool {
            (machine, name) == ("billing", "stripe")
        }
    }

    fn found(config: &serde_json::Value, machine: &str) -> Vec<(String, String)> {
        let template = Template::compile(config).unwrap();
        let owner = Owner { machine, kind: "call" };
        let problems = problems(template.secrets(), owner, &Strict);
        problems.into_iter().map(|one| (one.pointer, one.detail)).collect()
    }

    #[test]
    fn each_rule_names_the_place_and_what_is_wrong() {
        let good = json!({"headers": {"a": "Bearer {{secrets.stripe}}", "b": "{{secrets['stripe'] | base64}}"}});
        assert_eq!(found(&good, "billing"), []);
        for (config, machine, pointer, word) in [
            (
                json!({"headers": {"a/b": "{{secrets.stripe | upper}}"}}),
                "billing",
                "/headers/a~1b",
                "used unchanged",
            ),
            (
                json!({"headers": {"a": "{{secrets.other}}"}}),
                "billing",
                "/headers/a",
                "may not use",
            ),
            (
                json!({"headers": {"a": "{{secrets.stripe}}"}}),
                "shop",
                "/headers/a",
                "may not use",
            ),
            (
                json!({"body": "x {{secrets.stripe}}"}),
                "billing",
                "/body",
                "accepts no secret here",
            ),
            (
                json!({"costEstimate": "{{secrets.stripe}}"}),
                "billing",
                "/costEstimate",
                "accepts no secret here",
            ),
        ] {
            let found = found(&config, machine);
            let [(at, detail)] = found.as_slice() else {
                panic!("{found:?}")
            };
            assert_eq!(at, pointer);
            assert!(detail.contains(word), "{detail}");
        }
    }
}
