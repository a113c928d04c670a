//! `[approval]`: which plans need approval, and whose.

use sprag_core::operation::approval::{Policy, Rule, Rules};
use sprag_core::operation::{Approvals, Risk};
use sprag_core::time::duration::Millis;

use super::layers::Layers;

/// The section.
const SECTION: &str = "approval";

/// The policy of a configuration, and the keys that cannot be used: each with what is wrong.
pub(super) fn read(layers: &Layers) -> (Policy, Vec<(&'static str, String)>) {
    let default = Policy::default();
    let mode = match layers.text(SECTION, "mode") {
        Some("all") => Approvals::All,
        Some("declared") => Approvals::Declared,
        _ => Approvals::DeclaredOrRisk,
    };
    let threshold = layers.text(SECTION, "threshold").and_then(Risk::from_word);
    let rule = Rule {
        quorum: layers.whole(SECTION, "quorum").unwrap_or(1),
        ..default.rules.low
    };
    let mut wrong = Vec::new();
    let mut millis = |name: &'static str| {
        let parsed = layers.text(SECTION, name).map(Millis::parse)?;
        match parsed {
            Ok(millis) => Some(millis.get()),
            Err(problem) => {
                wrong.push((name, format!("`[{SECTION}] {name}`: {problem}")));
                None
            }
        }
    };
    let policy = Policy {
        mode,
        threshold: threshold.unwrap_or(default.threshold),
        rules: Rules {
            low: rule,
            medium: rule,
            high: rule,
            critical: rule,
        },
        self_approval: layers.flag(SECTION, "selfApproval").unwrap_or(false),
        decide_within: millis("decideWithin"),
        valid_for: millis("validFor"),
    };
    (policy, wrong)
}
