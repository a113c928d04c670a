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

    /// The newest version of a machine, as of this batch.
    pub(super) fn newest(&self, machine: &str) -> Option<u32> {
        let stored = || {
            self.loaded
                .newest
                .iter()
                .find(|(name, _)| name == machine)
                .map(|(_, version)| *version)
        };
        let known = || self.machines.newest(machine);
        self.batch.newest.get(machine).copied().or_else(stored).or_else(known)
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
