//! Machine versions in memory, by (machine, version) only: a version never changes once it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::machine::{Machine, load_stored};
use sprag_store::{Error, LaneStore};

/// How many problems of one input are reported.
const PROBLEMS_MAX: usize = 20;
/// How many versions are kept in memory.
const MACHINES_MAX: usize = 1_000;

/// Compiled machine versions, and the validators of their `input`.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    machines: BTreeMap<(String, u32), Arc<Machine>>,
    validators: BTreeMap<(String, u32), Arc<jsonschema::Validator>>,
}

impl Machines {
    /// The version, compiled; read from the store the first time.
    pub(crate) fn get(
        &mut self,
        store: &mut dyn LaneStore,
        machine: &str,
        version: u32,
    ) -> Result<Option<Arc<Machine>>, Error> {
        let key = (machine.to_owned(), version);
        if let Some(known) = self.machines.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(row) = store.machine_version(machine, version)? else {
            return Ok(None);
        };
        let compiled = compile(&row.definition).map_err(|detail| Error::Corrupt {
            detail: format!("machine `{machine}` version {version}: {detail}"),
        })?;
        Ok(Some(self.put(key, Arc::new(compiled))))
    }

    /// Keeps a version that was just applied.
    pub(crate) fn put(&mut self, key: (String, u32), machine: Arc<Machine>) -> Arc<Machine> {
        if self.machines.len() >= MACHINES_MAX {
            self.machines.pop_first();
        }
        self.machines.insert(key, Arc::clone(&machine));
        machine
    }

    /// Forgets the versions of a machine after `version`: they were kept for a batch that was not stored.
    pub(crate) fn forget_after(&mut self, machine: &str, version: u32) {
        let stays = |(name, number): &(String, u32)| name != machine || *number <= version;
        self.machines.retain(|key, _| stays(key));
        self.validators.retain(|key, _| stays(key));
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
        let problem = |error: jsonschema::ValidationError<'_>| (error.instance_path().to_string(), error.to_string());
        validator
            .iter_errors(variables)
            .take(PROBLEMS_MAX)
            .map(problem)
            .collect()
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
