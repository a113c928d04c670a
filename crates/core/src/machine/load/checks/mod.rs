//! What makes no sense although every part of it reads well.

mod config;
mod cycles;
mod durations;
mod hooks;
mod mails;
mod paths;
mod secrets;
mod triggers;

pub(super) use paths::template_errors;

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::ConfigCheck;
use super::entry::LoadOptions;
use super::limits::DefinitionLimits;
use super::notes::Notes;
use crate::document::source::{Spot, shown};
use crate::document::{Fields, Findings};
use crate::machine::context::ROOTS;
use crate::machine::model::{Kind, Machine, StateIndex};
use crate::text::{TAGS_MAX, TAGS_RESERVED, check_limit_key};

/// Names all of it. Says whether the machine's structure is sound: what is checked after that does not decide it.
pub(super) fn check(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings, options: &LoadOptions<'_>) -> bool {
    let LoadOptions { limits, runners } = *options;
    check_size(machine, notes, findings, &limits);
    check_state_ids(machine, notes, findings);
    check_action_ids(notes, findings);
    check_tags(notes, findings);
    check_limit_keys(machine, notes, findings);
    check_kinds(machine, notes, findings);
    mails::check(machine, notes, findings);
    triggers::check(machine, notes, findings);
    durations::check(notes, findings);
    hooks::check(notes, findings);
    cycles::check(machine, notes, findings);
    let is_sound = !findings.has_errors();
    paths::check(notes, findings, &ROOTS);
    config::check(notes, findings, runners);
    secrets::check(machine, notes, findings, runners);
    is_sound
}

/// Names what concerns actions alone. `roots` are the names that their expressions may begin with.
pub(super) fn check_actions(
    machine: &Machine,
    notes: &Notes<'_>,
    findings: &mut Findings,
    roots: &[&str],
    runners: &dyn ConfigCheck,
) {
    durations::check(notes, findings);
    check_limit_keys(machine, notes, findings);
    check_tags(notes, findings);
    paths::check(notes, findings, roots);
    config::check(notes, findings, runners);
    secrets::check(machine, notes, findings, runners);
}

fn check_size(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings, limits: &DefinitionLimits) {
    let transitions = machine.transitions.len();
    if transitions > limits.transitions {
        let detail = format!(
            "the machine has `{transitions}` transitions, at most `{}` are allowed",
            limits.transitions
        );
        let remedy = "split it into several machines";
        findings.error(&notes.root.at.place(), "too-many-transitions", detail, remedy);
    }
    for (index, fields) in machine.indexes().zip(&notes.states) {
        let state = machine.state(index);
        let path = machine.display_path(index);
        if state.triggers.len() > limits.actions_per_state {
            let (count, most) = (state.triggers.len(), limits.actions_per_state);
            let detail = format!("`{path}` triggers `{count}` actions, at most `{most}` are allowed");
            findings.error(
                &fields.at.key_place(),
                "too-many-actions",
                detail,
                "spread them over several states",
            );
        }
        // Only the first state that is too deep is named, not everything inside it.
        if machine.ancestors(index).count() == limits.nesting + 1 {
            let detail = format!("`{path}` is nested deeper than `{}` states", limits.nesting);
            findings.error(
                &fields.at.key_place(),
                "nested-too-deep",
                detail,
                "nest less, or split the machine",
            );
        }
    }
}

fn check_state_ids(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<&str, StateIndex> = BTreeMap::new();
    for index in machine.indexes() {
        let Some(id) = machine.state(index).id.as_deref() else {
            continue;
        };
        if let Some(&first) = seen.get(id) {
            let place = notes.states.get(index.position()).and_then(|fields| fields.get("id"));
            let place = place.map_or_else(|| notes.root.at.place(), |spot| spot.place());
            let detail = format!(
                "id `{}` is already that of `{}`",
                shown(id),
                machine.display_path(first)
            );
            findings.error(&place, "duplicate-id", detail, "give one of them another id");
        } else {
            seen.insert(id, index);
        }
    }
}

fn check_action_ids(notes: &Notes<'_>, findings: &mut Findings) {
    for (position, fields) in notes.actions.iter().enumerate() {
        let Some(spot) = fields.get("actionId") else { continue };
        let Some(id) = spot.text() else { continue };
        if notes.action_positions.get(id) != Some(&position) {
            let detail = format!("there is another action `{}`", shown(id));
            findings.error(
                &spot.place(),
                "duplicate-action",
                detail,
                "give one of them another actionId",
            );
        }
    }
}

fn check_tags(notes: &Notes<'_>, findings: &mut Findings) {
    for fields in notes.states.iter().chain(&notes.actions) {
        let Some(spot) = fields.get("tags") else { continue };
        check_reserved_tags(&spot, findings);
        let count = spot.items().count();
        if count > TAGS_MAX {
            let detail = format!("there are `{count}` tags, at most `{TAGS_MAX}` are allowed");
            findings.error(&spot.place(), "too-many-tags", detail, "remove some");
        }
    }
}

/// Switches find the actions of an operation and of a subject by their tags, so nobody else writes such tags.
pub(crate) fn check_reserved_tags(tags: &Spot<'_>, findings: &mut Findings) {
    for spot in tags.each() {
        let tag = spot.text().unwrap_or_default();
        let Some(reserved) = TAGS_RESERVED.into_iter().find(|prefix| tag.starts_with(prefix)) else {
            continue;
        };
        let detail = format!(
            "the tag `{}` begins with `{reserved}`, which Sprag writes itself",
            shown(tag)
        );
        findings.error(&spot.place(), "reserved-tag", detail, "choose another tag");
    }
}

/// The keys of limits that are known already. Those that templates make are checked when they are rendered.
fn check_limit_keys(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    for (action, fields) in machine.actions.iter().zip(&notes.actions) {
        let constants = action
            .limits
            .iter()
            .map(|limit| limit.key.as_ref()?.constant()?.as_str());
        for (key, spot) in constants.zip(fields.get("limits").iter().flat_map(Spot::items)) {
            let Some(Err(problem)) = key.map(check_limit_key) else {
                continue;
            };
            let detail = format!("the key of a limit {problem}");
            findings.error(&spot.place(), "bad-limit", detail, "use a shorter, printable key");
        }
    }
}

fn check_kinds(machine: &Machine, notes: &Notes<'_>, findings: &mut Findings) {
    for (index, fields) in machine.indexes().zip(&notes.states) {
        check_children(machine, findings, index, fields);
        if index != StateIndex::ROOT {
            check_keys(machine, findings, index, fields);
        }
    }
}

fn check_children(machine: &Machine, findings: &mut Findings, index: StateIndex, fields: &Fields<'_>) {
    let kind = machine.state(index).kind;
    let needs_children = matches!(kind, Kind::Compound | Kind::Parallel) || index == StateIndex::ROOT;
    if needs_children && machine.child_states(index).next().is_none() {
        let detail = format!("`{}` has no states inside", machine.display_path(index));
        findings.error(&fields.at.key_place(), "no-states", detail, "add `states`");
    }
    if kind == Kind::Parallel
        && let Some(initial) = fields.get("initial")
    {
        let detail = format!(
            "`{}` is parallel: all its states are entered",
            machine.display_path(index)
        );
        findings.warning(&initial.key_place(), "initial-ignored", detail, "remove `initial`");
    }
}

/// Keys that can have no effect in a state of this kind. Empty ones are left alone: exporters write them.
fn check_keys(machine: &Machine, findings: &mut Findings, index: StateIndex, fields: &Fields<'_>) {
    let (called, misplaced) = misplaced(machine.state(index).kind);
    for name in misplaced {
        let Some(spot) = fields.get(name) else { continue };
        if spot.is_empty() || *spot.value == Value::Bool(false) {
            continue;
        }
        let detail = format!(
            "`{name}` has no meaning in {called} state such as `{}`",
            machine.display_path(index)
        );
        let place = spot.key_place();
        findings.error(
            &place,
            "misplaced-key",
            detail,
            format!("remove `{name}`, or change the state's `type`"),
        );
    }
}

/// What a message calls a state of this kind, and the keys that mean nothing in it.
fn misplaced(kind: Kind) -> (&'static str, &'static [&'static str]) {
    match kind {
        Kind::Atomic => (
            "an atomic",
            &["states", "initial", "onDone", "history", "target", "output"],
        ),
        Kind::Compound => ("a compound", &["history", "target", "output"]),
        Kind::Parallel => ("a parallel", &["history", "target", "output"]),
        Kind::Final => (
            "a final",
            &[
                "states", "initial", "on", "always", "after", "onDone", "history", "target",
            ],
        ),
        Kind::History(_) => (
            "a history",
            &[
                "states", "initial", "on", "always", "after", "entry", "exit", "onDone", "output",
            ],
        ),
    }
}
