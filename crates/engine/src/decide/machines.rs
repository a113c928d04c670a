//! Machine versions in memory, by (machine, version) only: a version never changes once it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::Action;
use sprag_core::machine::{Machine, load_stored};

use super::input;

/// How many versions are kept in memory.
const MACHINES_MAX: usize = 1_000;

/// Compiled machine versions, and the validators of their `input`.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    compiled: BTreeMap<String, BTreeMap<u32, Arc<Machine>>>,
    /// How many versions that is.
    kept: usize,
    validators: BTreeMap<(String, u32), Arc<jsonschema::Validator>>,
    /// The newest version of machines, where only this lane makes new ones.
    newest: BTreeMap<String, u32>,
}

/// The machine versions that an execution and its open actions refer to.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    /// The version of the execution itself.
    pub(crate) own: Arc<Machine>,
    /// Other versions that open actions follow: the execution was migrated, or a person retried a dead letter with
    /// another version. They are few.
    others: Vec<(u32, Arc<Machine>)>,
}

impl Pinned {
    pub(crate) fn new(own: Arc<Machine>) -> Self {
        Self {
            own,
            others: Vec::new(),
        }
    }

    /// Keeps a version that an open action follows.
    pub(crate) fn keep(&mut self, version: u32, machine: Arc<Machine>) {
        if self.others.iter().all(|(known, _)| *known != version) {
            self.others.push((version, machine));
        }
    }

    /// Another version that an open action follows.
    pub(crate) fn other(&self, version: u32) -> Option<&Arc<Machine>> {
        self.others
            .iter()
            .find(|(known, _)| *known == version)
            .map(|(_, machine)| machine)
    }

    /// The execution moves to another version. Its open actions still follow the old one.
    pub(crate) fn migrate(&mut self, from: u32, to: Arc<Machine>) {
        let old = std::mem::replace(&mut self.own, to);
        self.keep(from, old);
    }
}

/// A machine version that an execution refers to is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissingVersion(pub(crate) u32);

impl Machines {
    /// The version, compiled, if it is in memory.
    pub(crate) fn known(&self, machine: &str, version: u32) -> Option<Arc<Machine>> {
        self.compiled.get(machine)?.get(&version).map(Arc::clone)
    }

    /// The highest version in memory with this digest.
    pub(crate) fn with_digest(&self, machine: &str, digest: &[u8; 32]) -> Option<u32> {
        let mut newest_first = self.compiled.get(machine)?.iter().rev();
        newest_first.find_map(|(version, known)| (known.digest == *digest).then_some(*version))
    }

    /// Whether a version is in memory.
    pub(crate) fn has(&self, machine: &str, version: u32) -> bool {
        self.compiled
            .get(machine)
            .is_some_and(|versions| versions.contains_key(&version))
    }

    /// Keeps a version that was read, or just applied.
    pub(crate) fn put(&mut self, machine: &str, version: u32, compiled: Arc<Machine>) {
        let versions = self.compiled.entry(machine.to_owned()).or_default();
        if versions.insert(version, compiled).is_none() {
            self.kept += 1;
        }
    }

    /// Forgets versions down to the bound. Only between batches: within one, nothing is forgotten.
    pub(crate) fn shrink(&mut self) {
        while self.kept > MACHINES_MAX {
            let Some((_, versions)) = self.compiled.pop_first() else {
                break;
            };
            self.kept = self.kept.saturating_sub(versions.len());
        }
    }

    /// The versions that an execution of this version and its open actions refer to, if all of them are in memory.
    pub(crate) fn pin<'a>(
        &self,
        machine: &str,
        version: u32,
        actions: impl Iterator<Item = &'a Action>,
    ) -> Result<Pinned, MissingVersion> {
        let known = |version| self.known(machine, version).ok_or(MissingVersion(version));
        let mut pinned = Pinned::new(known(version)?);
        for action in actions.filter(|action| action.origin.version != version) {
            pinned.keep(action.origin.version, known(action.origin.version)?);
        }
        Ok(pinned)
    }

    /// The newest version of a machine, if it is known. On a store with others a newer one may be stored by now.
    pub(crate) fn newest(&self, machine: &str) -> Option<u32> {
        self.newest.get(machine).copied()
    }

    /// Remembers newest versions that are stored. Those of some machines are enough.
    pub(crate) fn learn(&mut self, newest: impl IntoIterator<Item = (String, u32)>) {
        for (machine, version) in newest {
            if self.newest.len() < MACHINES_MAX || self.newest.contains_key(&machine) {
                self.newest.insert(machine, version);
            }
        }
    }

    /// The newest version of a machine is another.
    pub(crate) fn forget_newest(&mut self, machine: &str) {
        self.newest.remove(machine);
    }

    /// Forgets everything about a machine: some of it was kept for a batch that was not stored.
    pub(crate) fn forget(&mut self, machine: &str) {
        let versions = self.compiled.remove(machine);
        self.kept = self.kept.saturating_sub(versions.map_or(0, |versions| versions.len()));
        self.validators.retain(|(name, _), _| name != machine);
        self.newest.remove(machine);
    }

    /// What is wrong with start variables, as (pointer, detail), by the version's `input`.
    pub(crate) fn check_input(&mut self, machine: &Machine, version: u32, variables: &Value) -> Vec<(String, String)> {
        let Some(schema) = &machine.input else {
            return Vec::new();
        };
        let key = (machine.id.clone(), version);
        let validator = match self.validators.get(&key) {
            Some(known) => Arc::clone(known),
            // A schema that does not compile was refused when the machine was applied; a stored one restricts nothing.
            None => match jsonschema::validator_for(schema) {
                Ok(validator) => self.keep_validator(key, validator),
                Err(_) => return Vec::new(),
            },
        };
        input::problems(&validator, variables)
    }

    fn keep_validator(&mut self, key: (String, u32), validator: jsonschema::Validator) -> Arc<jsonschema::Validator> {
        if self.validators.len() >= MACHINES_MAX {
            self.validators.pop_first();
        }
        let validator = Arc::new(validator);
        self.validators.insert(key, Arc::clone(&validator));
        validator
    }
}

/// Compiles a stored definition.
pub(crate) fn compile(definition: &[u8]) -> Result<Machine, String> {
    let definition: Value = serde_json::from_slice(definition).map_err(|error| error.to_string())?;
    load_stored(&definition).map_err(|error| error.to_string())
}
