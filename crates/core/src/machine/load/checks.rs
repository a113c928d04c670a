//! What makes no sense although every part of it reads well.

use std::collections::BTreeMap;

use serde_json::Value;

use super::limits::DefinitionLimits;
use super::loader::Loader;
use crate::document::Fields;
use crate::document::source::Place;
use crate::document::source::{Spot, shown};
use crate::machine::model::{Kind, StateIndex};
use crate::text::{TAGS_MAX, check_limit_key};

impl Loader<'_> {
    /// Names all of it.
    pub(super) fn check(&mut self, limits: &DefinitionLimits) {
        self.check_size(limits);
        self.check_state_ids();
        self.check_action_ids();
        self.check_tags();
        self.check_limit_keys();
        self.check_kinds();
        self.check_triggers();
        self.check_durations();
        self.check_hooks();
        self.check_cycles();
    }

    fn check_size(&mut self, limits: &DefinitionLimits) {
        let transitions = self.machine.transitions.len();
        if transitions > limits.transitions {
            let detail = format!(
                "the machine has `{transitions}` transitions, at most `{}` are allowed",
                limits.transitions
            );
            let remedy = "split it into several machines";
            self.findings
                .error(&self.root.place(), "too-many-transitions", detail, remedy);
        }
        for (index, place) in self.machine.indexes().zip(&self.notes.states) {
            let state = self.machine.state(index);
            let path = self.machine.display_path(index);
            if state.triggers.len() > limits.actions_per_state {
                let (count, most) = (state.triggers.len(), limits.actions_per_state);
                let detail = format!("`{path}` triggers `{count}` actions, at most `{most}` are allowed");
                self.findings
                    .error(place, "too-many-actions", detail, "spread them over several states");
            }
            // Only the first state that is too deep is named, not everything inside it.
            if self.machine.ancestors(index).count() == limits.nesting + 1 {
                let detail = format!("`{path}` is nested deeper than `{}` states", limits.nesting);
                self.findings
                    .error(place, "nested-too-deep", detail, "nest less, or split the machine");
            }
        }
    }

    fn check_state_ids(&mut self) {
        let mut seen: BTreeMap<&str, StateIndex> = BTreeMap::new();
        for index in self.machine.indexes() {
            let Some(id) = self.machine.state(index).id.as_deref() else {
                continue;
            };
            if let Some(&first) = seen.get(id) {
                let place = self.states.get(index.position()).and_then(|fields| fields.get("id"));
                let place = place.map_or_else(|| self.root.place(), |spot| spot.place());
                let detail = format!(
                    "id `{}` is already that of `{}`",
                    shown(id),
                    self.machine.display_path(first)
                );
                self.findings
                    .error(&place, "duplicate-id", detail, "give one of them another id");
            } else {
                seen.insert(id, index);
            }
        }
    }

    fn check_action_ids(&mut self) {
        for (position, fields) in self.notes.actions.iter().enumerate() {
            let Some(spot) = fields.get("actionId") else { continue };
            let Some(id) = spot.text() else { continue };
            if self.action_positions.get(id) != Some(&position) {
                let detail = format!("there is another action `{}`", shown(id));
                self.findings.error(
                    &spot.place(),
                    "duplicate-action",
                    detail,
                    "give one of them another actionId",
                );
            }
        }
    }

    fn check_tags(&mut self) {
        for fields in self.states.iter().chain(&self.notes.actions) {
            let Some(spot) = fields.get("tags") else { continue };
            let count = spot.items().count();
            if count > TAGS_MAX {
                let detail = format!("there are `{count}` tags, at most `{TAGS_MAX}` are allowed");
                self.findings
                    .error(&spot.place(), "too-many-tags", detail, "remove some");
            }
        }
    }

    /// The keys of limits that are known already. Those that templates make are checked when they are rendered.
    fn check_limit_keys(&mut self) {
        for (action, fields) in self.machine.actions.iter().zip(&self.notes.actions) {
            let constants = action
                .limits
                .iter()
                .map(|limit| limit.key.as_ref()?.constant()?.as_str());
            for (key, spot) in constants.zip(fields.get("limits").iter().flat_map(Spot::items)) {
                let Some(Err(problem)) = key.map(check_limit_key) else {
                    continue;
                };
                let detail = format!("the key of a limit {problem}");
                self.findings
                    .error(&spot.place(), "bad-limit", detail, "use a shorter, printable key");
            }
        }
    }

    fn check_kinds(&mut self) {
        let states: Vec<_> = self.machine.indexes().zip(self.states.clone()).collect();
        for (index, fields) in states {
            self.check_children(index, &fields);
            if index != StateIndex::ROOT {
                self.check_keys(index, &fields);
            }
        }
    }

    fn check_children(&mut self, index: StateIndex, fields: &Fields<'_>) {
        let kind = self.machine.state(index).kind;
        let needs_children = matches!(kind, Kind::Compound | Kind::Parallel) || index == StateIndex::ROOT;
        if needs_children && self.machine.child_states(index).next().is_none() {
            let detail = format!("`{}` has no states inside", self.machine.display_path(index));
            self.findings
                .error(&fields.at.key_place(), "no-states", detail, "add `states`");
        }
        if kind == Kind::Parallel
            && let Some(initial) = fields.get("initial")
        {
            let detail = format!(
                "`{}` is parallel: all its states are entered",
                self.machine.display_path(index)
            );
            self.findings
                .warning(&initial.key_place(), "initial-ignored", detail, "remove `initial`");
        }
    }

    /// Keys that can have no effect in a state of this kind. Empty ones are left alone: exporters write them.
    fn check_keys(&mut self, index: StateIndex, fields: &Fields<'_>) {
        let (called, misplaced) = misplaced(self.machine.state(index).kind);
        for name in misplaced {
            let Some(spot) = fields.get(name) else { continue };
            if spot.is_empty() || *spot.value == Value::Bool(false) {
                continue;
            }
            let detail = format!(
                "`{name}` has no meaning in {called} state such as `{}`",
                self.machine.display_path(index)
            );
            let place: Place = spot.key_place();
            self.findings.error(
                &place,
                "misplaced-key",
                detail,
                format!("remove `{name}`, or change the state's `type`"),
            );
        }
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
