//! Keeping machine versions.

use std::sync::Arc;

use sprag_core::machine::Machine;
use sprag_store::records::MachineVersion;
use sprag_store::{Error, Mutation};

use super::control::changed;
use crate::command::{Answer, Applied, Apply, Reply};
use crate::lane::Lane;

impl Lane {
    /// Keeps a machine as its next version, unless a version with its digest is there already.
    pub(super) fn apply(&mut self, apply: &Apply) -> Result<Reply, Error> {
        let Apply { machine, matches } = apply;
        let newest = self.newest(&machine.id).unwrap_or(0);
        if !matches.is(newest.into()) {
            return Ok(Err(changed(&format!("machine `{}`", machine.id), newest.into())));
        }
        if let Some(version) = self.version_with_digest(machine, newest)? {
            return Ok(Ok(Answer::Applied(Applied {
                id: machine.id.clone(),
                version,
                created: false,
            })));
        }
        let version = newest + 1;
        self.batch.newest.insert(machine.id.clone(), version);
        self.batch.log.push(Mutation::InsertMachineVersion(MachineVersion {
            machine: machine.id.clone(),
            version,
            digest: machine.digest,
            definition: machine.definition.to_string().into_bytes(),
            created_at: self.now,
        }));
        self.machines.put(&machine.id, version, Arc::clone(machine));
        Ok(Ok(Answer::Applied(Applied {
            id: machine.id.clone(),
            version,
            created: true,
        })))
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

    fn version_with_digest(&mut self, machine: &Machine, newest: u32) -> Result<Option<u32>, Error> {
        for version in (1..=newest).rev() {
            if self
                .machine(&machine.id, version)?
                .is_some_and(|known| known.digest == machine.digest)
            {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }
}
