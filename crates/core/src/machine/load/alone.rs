//! Action definitions that belong to no machine: those of operations. They are read as the only action of a machine of one
//! state, so everything that is wrong with an action of a machine is found in them too, at the same places.

use super::checks;
use super::config::ConfigCheck;
use super::loader::Loader;
use crate::document::source::{Document, Position, Spot};
use crate::document::{Finding, Findings};
use crate::machine::state_set::STATES_CEILING;

/// What the one state is called.
const STATE: &str = "a";
/// Where the action stands in the machine around it.
const POINTER: &str = "/actions/0";

/// Everything wrong with the values of an action whose keys were checked before. `owner` is whose secrets it may name, and
/// `roots` are the names its expressions may begin with.
pub(crate) fn check_action(action: &Spot<'_>, owner: &str, roots: &[&str], runners: &dyn ConfigCheck) -> Vec<Finding> {
    let around = around(action, owner);
    let findings = match Loader::compile(around.root(), Findings::default(), STATES_CEILING - 1) {
        Ok(loader) => {
            let Loader {
                machine,
                notes,
                mut findings,
            } = loader;
            checks::check_actions(&machine, &notes, &mut findings, roots, runners);
            findings
        }
        Err(findings) => findings,
    };
    let base = action.place().pointer;
    let within = |mut finding: Finding| {
        let rest = finding.pointer.strip_prefix(POINTER).unwrap_or_default();
        finding.pointer = format!("{base}{rest}");
        finding
    };
    findings.in_order().into_iter().map(within).collect()
}

fn around(action: &Spot<'_>, owner: &str) -> Document {
    let at = action.place().at;
    let text = |name: &'static str, value: &str| (name, at, Document::text(value, at));
    let members = action
        .members()
        .map(|(name, member)| (name, member.key_place().at, member.to_document()));
    let named = [text("actionId", "action"), text("triggerState", STATE)];
    let action = Document::map(members.chain(named).collect(), at);
    let states = Document::map(vec![(STATE, at, Document::map(Vec::new(), at))], at);
    Document::map(
        vec![
            text("id", owner),
            text("initial", STATE),
            entry("states", at, states),
            entry("actions", at, Document::list(vec![action], at)),
        ],
        at,
    )
}

fn entry(name: &'static str, at: Position, document: Document) -> (&'static str, Position, Document) {
    (name, at, document)
}
