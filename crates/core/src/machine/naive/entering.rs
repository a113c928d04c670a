//! The naive interpreter's sets: what transitions leave and what they enter.

use super::chart::{Id, ROOT, ids};
use super::interpreter::Interpreter;
use crate::machine::{Kind, Transition};

/// Where a transition moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Domain {
    /// Strictly inside this state.
    Inside(Id),
    /// The root itself is left as well.
    Whole,
}

impl Interpreter<'_> {
    /// `computeExitSet`.
    pub(super) fn exit_set(&self, transitions: &[&Transition]) -> Vec<Id> {
        let mut exited = Vec::new();
        for transition in transitions {
            let Some(domain) = self.domain(transition) else {
                continue;
            };
            for &state in &self.present.configuration {
                let leaves = match domain {
                    Domain::Whole => true,
                    Domain::Inside(domain) => self.chart.is_descendant(state, domain),
                };
                if leaves && !exited.contains(&state) {
                    exited.push(state);
                }
            }
        }
        exited
    }

    /// `getTransitionDomain`, with `XState`'s default instead of the `type` attribute: a transition stays inside its
    /// source when all its targets do, unless it asks to re-enter.
    fn domain(&self, transition: &Transition) -> Option<Domain> {
        let source = transition.source.position();
        let effective = self.effective_targets(&ids(&transition.targets));
        if effective.is_empty() {
            return None;
        }
        let stays = |&target: &Id| target == source || self.chart.is_descendant(target, source);
        if !transition.reenter && effective.iter().all(stays) {
            return Some(Domain::Inside(source));
        }
        Some(self.find_lcca(source, &effective).map_or(Domain::Whole, Domain::Inside))
    }

    /// `findLCCA`.
    fn find_lcca(&self, head: Id, tail: &[Id]) -> Option<Id> {
        let mut ancestors = self.chart.proper_ancestors(head, None);
        ancestors.retain(|&ancestor| ancestor == ROOT || self.chart.kind(ancestor) == Kind::Compound);
        ancestors.retain(|&ancestor| tail.iter().all(|&state| self.chart.is_descendant(state, ancestor)));
        ancestors.first().copied()
    }

    /// `getEffectiveTargetStates`.
    fn effective_targets(&self, targets: &[Id]) -> Vec<Id> {
        let mut effective = Vec::new();
        for &target in targets {
            if self.chart.is_history(target) {
                effective.extend(self.effective_targets(&self.remembered(target)));
            } else {
                effective.push(target);
            }
        }
        effective
    }

    fn remembered(&self, history: Id) -> Vec<Id> {
        let default = || ids(&self.chart.state(history).history_default);
        self.present.history.get(&history).cloned().unwrap_or_else(default)
    }

    /// A transition about to be taken. The W3C text defines its sets for the configuration it was selected in, so what
    /// history states remember of the states it leaves decides where it leads, but not how far it reaches.
    pub(super) fn plan<'m>(&self, transition: &'m Transition) -> Move<'m> {
        let exited = self.exit_set(&[transition]);
        let mut kept = self.present.configuration.clone();
        kept.retain(|state| !exited.contains(state));
        // One that leaves nothing enters nothing: its target is its own, atomic source.
        let domain = self.domain(transition).filter(|_| !exited.is_empty());
        Move {
            transition,
            domain,
            kept,
        }
    }

    /// The states that entering the machine enters.
    pub(super) fn initial_states(&self) -> Vec<Id> {
        let mut entered = Entered::default();
        self.add_descendant_states(ROOT, &mut entered);
        entered.states
    }

    /// `computeEntrySet`.
    pub(super) fn entry_set(&self, moves: &[Move<'_>]) -> Vec<Id> {
        let mut entered = Entered::default();
        for Move {
            transition,
            domain,
            kept,
        } in moves
        {
            entered.kept.clone_from(kept);
            let top = match domain {
                None => continue,
                Some(Domain::Whole) => None,
                Some(Domain::Inside(state)) => Some(*state),
            };
            let targets = ids(&transition.targets);
            for &target in &targets {
                self.add_descendant_states(target, &mut entered);
            }
            for target in self.effective_targets(&targets) {
                self.add_ancestor_states(target, top, &mut entered);
            }
            // The W3C text knows compound domains only. `XState`'s default, and a parallel root, allow a parallel one:
            // all its regions were left, so all are entered.
            if let Some(parallel) = top.filter(|&top| self.chart.is_parallel(top)) {
                self.add_regions(parallel, &mut entered);
            }
        }
        entered.states
    }

    /// `addDescendantStatesToEnter`.
    fn add_descendant_states(&self, state: Id, entered: &mut Entered) {
        if self.chart.is_history(state) {
            let remembered = self.remembered(state);
            return self.add_all(&remembered, self.chart.parent(state), entered);
        }
        entered.add(state);
        match self.chart.kind(state) {
            Kind::Compound => self.add_all(&ids(&self.chart.state(state).initial), Some(state), entered),
            Kind::Parallel => self.add_regions(state, entered),
            Kind::Atomic | Kind::Final | Kind::History(_) => {}
        }
    }

    fn add_all(&self, states: &[Id], top: Option<Id>, entered: &mut Entered) {
        for &state in states {
            self.add_descendant_states(state, entered);
        }
        for &state in states {
            self.add_ancestor_states(state, top, entered);
        }
    }

    /// `addAncestorStatesToEnter`. Around a state that stays active, everything does.
    fn add_ancestor_states(&self, state: Id, top: Option<Id>, entered: &mut Entered) {
        for ancestor in self.chart.proper_ancestors(state, top) {
            if entered.add(ancestor) == Added::No {
                break;
            }
            if self.chart.is_parallel(ancestor) {
                self.add_regions(ancestor, entered);
            }
        }
    }

    fn add_regions(&self, parallel: Id, entered: &mut Entered) {
        for region in self.chart.child_states(parallel) {
            if !entered
                .states
                .iter()
                .any(|&state| self.chart.is_descendant(state, region))
            {
                self.add_descendant_states(region, entered);
            }
        }
    }
}

/// A transition about to be taken.
pub(super) struct Move<'m> {
    transition: &'m Transition,
    domain: Option<Domain>,
    /// What is active and not in its exit set.
    kept: Vec<Id>,
}

/// The entry set so far.
///
/// Taken to the letter, the procedures enter active states again when a history state remembers something deeper than
/// the transition's domain. Section 3.13 says what is meant: of a transition's complete target set, only what is not
/// active, or is in its exit set, is entered.
#[derive(Default)]
struct Entered {
    states: Vec<Id>,
    /// What the transition at hand leaves active.
    kept: Vec<Id>,
}

/// Whether a state is entered.
#[derive(PartialEq, Eq)]
enum Added {
    Yes,
    No,
}

impl Entered {
    fn add(&mut self, state: Id) -> Added {
        if self.kept.contains(&state) {
            return Added::No;
        }
        if !self.states.contains(&state) {
            self.states.push(state);
        }
        Added::Yes
    }
}
