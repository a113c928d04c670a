//! Keeping machine versions.
//!
//! New executions use the definition that was applied last, and that is always the newest version. A definition that
//! differs from the newest version therefore becomes a new version, even if an older version had the same content.

use std::sync::Arc;

use sprag_core::machine::Machine;
use sprag_store::records::MachineVersion;
use sprag_store::{Error, Mutation};

use super::control::changed;
use crate::command::{Answer, Applied, Apply, Reply};
use crate::lane::Lane;

impl Lane {
    /// Keeps a machine as its next version, unless it is the newest version already.
    pub(super) fn apply(&mut self, apply: &Apply) -> Result<Reply, Error> {
        let Apply { machine, matches } = apply;
        let newest = self.newest(&machine.id).unwrap_or(0);
        if !matches.is(newest.into()) {
            return Ok(Err(changed(&format!("machine `{}`", machine.id), newest.into())));
        }
        let is_newest = self
            .machine(&machine.id, newest)?
            .is_some_and(|known| known.digest == machine.digest);
        let applied = if is_newest {
            Applied {
                id: machine.id.clone(),
                version: newest,
                created: false,
                same_as: None,
            }
        } else {
            self.keep_version(machine, newest + 1)?
        };
        Ok(Ok(Answer::Applied(applied)))
    }

    fn keep_version(&mut self, machine: &Arc<Machine>, version: u32) -> Result<Applied, Error> {
        let same_as = self.version_with_digest(machine)?;
        self.batch.newest.insert(machine.id.clone(), version);
        self.batch.log.push(Mutation::InsertMachineVersion(MachineVersion {
            machine: machine.id.clone(),
            version,
            digest: machine.digest,
            definition: machine.definition.to_string().into_bytes(),
            created_at: self.now,
        }));
        self.machines.put(&machine.id, version, Arc::clone(machine));
        Ok(Applied {
            id: machine.id.clone(),
            version,
            created: true,
            same_as,
        })
    }

    /// The newest version of a machine, as of this batch. Where others write to the store, the batch counts only if it still is
    /// when the batch is written.
    pub(super) fn newest(&mut self, machine: &str) -> Option<u32> {
        let read = self.loaded.newest.iter().find(|(name, _)| name == machine);
        let at_hand = self.batch.newest.get(machine).or(read.map(|(_, version)| version));
        if let Some(version) = at_hand {
            return Some(*version);
        }
        let known = self.machines.newest(machine)?;
        if self.is_shared && !self.batch.expected.contains_key(machine) {
            self.batch.expected.insert(machine.to_owned(), known);
        }
        Some(known)
    }

    /// The highest earlier version with the same content. Memory holds the versions of this batch, the store all others.
    fn version_with_digest(&mut self, machine: &Machine) -> Result<Option<u32>, Error> {
        let in_memory = self.machines.with_digest(&machine.id, &machine.digest);
        let stored = self.store.get()?.version_with_digest(&machine.id, &machine.digest)?;
        Ok(in_memory.max(stored))
    }
}
