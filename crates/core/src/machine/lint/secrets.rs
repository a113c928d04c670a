//! Secrets that stand in the file in clear.

use crate::document::Findings;
use crate::document::source::Spot;
use crate::machine::load::Notes;

/// Keys that end so hold secrets, letter case, `-` and `_` aside.
const SECRET_KEYS: [&str; 9] = [
    "authorization",
    "token",
    "password",
    "passwd",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "credentials",
];

/// Names literal values under such keys in the configuration of actions, and literal secrets of hooks.
pub(super) fn check(notes: &Notes<'_>, findings: &mut Findings) {
    for config in notes.actions.iter().filter_map(|action| action.get("config")) {
        check_inside(&config, findings);
    }
    for secret in notes.hooks.iter().filter_map(|hook| hook.get("secret")) {
        for text in secret.each() {
            check_text("secret", &text, findings);
        }
    }
}

fn check_inside(spot: &Spot<'_>, findings: &mut Findings) {
    for (name, member) in spot.members() {
        if is_secret(name) {
            check_text(name, &member, findings);
        }
        check_inside(&member, findings);
    }
    spot.items().for_each(|item| check_inside(&item, findings));
}

fn check_text(name: &str, spot: &Spot<'_>, findings: &mut Findings) {
    if spot.text().is_some_and(|text| !text.is_empty() && !text.contains("{{")) {
        let detail = format!("`{name}` is in clear text in the definition");
        findings.warning(&spot.place(), "secret-in-clear", detail, "write `{{secrets.<name>}}`");
    }
}

fn is_secret(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect();
    SECRET_KEYS.iter().any(|secret| plain.ends_with(secret))
}
