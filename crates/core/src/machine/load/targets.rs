//! From the text of a target to the state it means.
//!
//! Seen from a state, a target is tried as: `#id` or `#id.path`; `.child` of the state; a sibling, or a path below one;
//! a path from the root; at last a name that only one state of the machine has.

use super::loader::Loader;
use crate::document::source::{Spot, shown};
use crate::machine::model::{Kind, Machine, StateIndex};

/// Why a target means no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Unresolved {
    /// There is no such state.
    Missing,
    /// Several states have this name; these are their paths.
    Ambiguous(Vec<String>),
}

impl Machine {
    /// The state that `target` means, seen from the root: `#id`, `#machine.path`, a path from the root, or
    /// a name that only one state has.
    pub(crate) fn find(&self, target: &str) -> Option<StateIndex> {
        self.resolve(StateIndex::ROOT, target).ok()
    }

    /// The state that `target` means to `source`.
    pub(in crate::machine) fn resolve(&self, source: StateIndex, target: &str) -> Result<StateIndex, Unresolved> {
        if let Some(named) = target.strip_prefix('#') {
            return self.by_id(named).ok_or(Unresolved::Missing);
        }
        if let Some(path) = target.strip_prefix('.') {
            return self.below(source, path).ok_or(Unresolved::Missing);
        }
        let around = self.state(source).parent.unwrap_or(StateIndex::ROOT);
        let by_path = self
            .below(around, target)
            .or_else(|| self.below(StateIndex::ROOT, target));
        by_path.map_or_else(|| self.by_unique_name(target), Ok)
    }

    /// The state that `initial` means to the state that has it: a child comes first.
    fn resolve_initial(&self, owner: StateIndex, target: &str) -> Result<StateIndex, Unresolved> {
        self.below(owner, target)
            .map_or_else(|| self.resolve(owner, target), Ok)
    }

    /// `id`, or an id and a path below it; the longest id wins.
    fn by_id(&self, named: &str) -> Option<StateIndex> {
        let candidates = self.indexes().filter_map(|index| {
            let id = self.state(index).id.as_deref()?;
            let rest = named.strip_prefix(id)?;
            let found = if rest.is_empty() {
                index
            } else {
                self.below(index, rest.strip_prefix('.')?)?
            };
            Some((id.len(), found))
        });
        candidates.max_by_key(|(length, _)| *length).map(|(_, found)| found)
    }

    fn below(&self, ancestor: StateIndex, path: &str) -> Option<StateIndex> {
        match self.state(ancestor).path.as_str() {
            "" => self.by_path(path),
            above => self.by_path(&format!("{above}.{path}")),
        }
    }

    fn by_unique_name(&self, name: &str) -> Result<StateIndex, Unresolved> {
        let named: Vec<StateIndex> = self
            .indexes()
            .skip(1)
            .filter(|&index| self.state(index).name == name)
            .collect();
        match named.as_slice() {
            [] => Err(Unresolved::Missing),
            [only] => Ok(*only),
            several => Err(Unresolved::Ambiguous(
                several.iter().map(|&index| self.state(index).path.clone()).collect(),
            )),
        }
    }

    /// Two of the targets that cannot be active together: neither lies in a parallel region of its own.
    fn conflict(&self, targets: &[StateIndex]) -> Option<(StateIndex, StateIndex)> {
        let pairs = targets
            .iter()
            .enumerate()
            .flat_map(|(position, &first)| targets.iter().skip(position + 1).map(move |&second| (first, second)));
        pairs
            .into_iter()
            .find(|&(first, second)| !self.are_in_different_regions(first, second))
    }

    fn are_in_different_regions(&self, first: StateIndex, second: StateIndex) -> bool {
        // A history state stands for whatever its parent held.
        let held = |state: StateIndex| {
            if self.is_history(state) {
                self.state(state).parent
            } else {
                Some(state)
            }
        };
        let (Some(first), Some(second)) = (held(first), held(second)) else {
            return false;
        };
        let contains = |outer, inner| outer == inner || self.is_descendant(inner, outer);
        if contains(first, second) || contains(second, first) {
            return false;
        }
        let around = self
            .ancestors(first)
            .find(|&ancestor| self.is_descendant(second, ancestor));
        around.is_some_and(|around| self.state(around).kind == Kind::Parallel)
    }
}

impl<'n> Loader<'n> {
    /// The states that the targets of a transition, or of a history state, mean to `source`.
    pub(super) fn targets(&mut self, source: StateIndex, spot: &Spot<'n>) -> Vec<StateIndex> {
        self.each_target(source, spot, Machine::resolve)
    }

    /// The states that `initial` means to `owner`.
    pub(super) fn initial_targets(&mut self, owner: StateIndex, spot: &Spot<'n>) -> Vec<StateIndex> {
        self.each_target(owner, spot, Machine::resolve_initial)
    }

    fn each_target(
        &mut self,
        source: StateIndex,
        spot: &Spot<'n>,
        resolve: impl Fn(&Machine, StateIndex, &str) -> Result<StateIndex, Unresolved>,
    ) -> Vec<StateIndex> {
        let mut targets = Vec::new();
        for item in spot.each() {
            let Some(text) = item.text() else { continue };
            match resolve(&self.machine, source, text) {
                Ok(target) => targets.push(target),
                Err(unresolved) => self.unresolved(&item, text, &unresolved),
            }
        }
        if let Some((first, second)) = self.machine.conflict(&targets) {
            let path = |state| self.machine.display_path(state);
            let detail = format!("`{}` and `{}` cannot be entered together", path(first), path(second));
            let remedy = "several targets must lie in different regions of a parallel state";
            self.findings
                .error(&spot.place(), "conflicting-targets", detail, remedy);
        }
        targets
    }

    /// Notes that a target means no state.
    pub(super) fn unresolved(&mut self, spot: &Spot<'n>, target: &str, unresolved: &Unresolved) {
        match unresolved {
            Unresolved::Missing => {
                let detail = format!("there is no state `{}`", shown(target));
                let remedy = match self.nearest_state(target) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => "name a state, its path from the root, or `#id`".to_owned(),
                };
                self.findings.error(&spot.place(), "missing-target", detail, remedy);
            }
            Unresolved::Ambiguous(paths) => {
                let detail = format!("`{}` could be any of `{}`", shown(target), paths.join("`, `"));
                self.findings.error(
                    &spot.place(),
                    "ambiguous-target",
                    detail,
                    "write its path from the root",
                );
            }
        }
    }

    fn nearest_state(&mut self, target: &str) -> Option<String> {
        let states = self.machine.states.iter().skip(1);
        let ids = self.machine.states.iter().filter_map(|state| state.id.as_ref());
        let mut known: Vec<String> = ids.map(|id| format!("#{id}")).collect();
        known.extend(states.flat_map(|state| [state.name.clone(), state.path.clone()]));
        self.findings
            .nearest(target, known.iter().map(String::as_str))
            .map(str::to_owned)
    }
}
