//! Keeping machine versions.
//!
//! New executions use the definition that was applied last, and that is always the newest version. A definition that
//! differs from the newest version therefore becomes a new version, even if an older version had the same content.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::integrity::audit::Verb;
use sprag_core::machine::Machine;
use sprag_core::operation::is_workflow_machine;
use sprag_store::Mutation;
use sprag_store::records::MachineVersion;

use super::audit::Audit;
use super::idempotency::stored_answer;
use super::switches::changed;
use super::{Answer, Code, Matches, Refusal, Request, Route, Subject};
use crate::decide::{Decider, Reads};

/// Keep a machine version.
#[derive(Clone, Debug)]
pub struct Apply {
    /// What it is.
    pub machine: Arc<Machine>,
    /// Only if its newest version is this one.
    pub matches: Matches,
}

impl From<Arc<Machine>> for Apply {
    /// Whatever its newest version is.
    fn from(machine: Arc<Machine>) -> Self {
        Self {
            machine,
            matches: Matches::Any,
        }
    }
}

/// What came of applying a machine: the version that new executions use from now on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Applied {
    /// The machine's name.
    pub id: String,
    /// Its newest version.
    pub version: u32,
    /// Whether the version is new, or was the newest before.
    pub created: bool,
    /// The latest earlier version with the same content as a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u32>,
}

impl Answer for Applied {
    stored_answer!("applied");
}

impl Request for Apply {
    type Answer = Applied;
    const NAME: &'static str = "apply";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ApplyMachine, |request| request.machine.id.clone())
            .changing(|request, decider, applied| version_of(decider, request, applied)),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.newest(&self.machine.id);
        reads.version_by_digest(&self.machine.id, self.machine.digest);
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject {
            target: Value::Null,
            body: json!({"digest": self.machine.digest, "matches": self.matches}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Applied, Refusal> {
        let Self { machine, matches } = self;
        if is_workflow_machine(&machine.id) {
            let detail = format!(
                "`{}` is the name of a machine that is made of a plan; give it another name",
                machine.id
            );
            return Err(Refusal::at("/id", Code::NameInvalid, detail));
        }
        let newest = decider.newest(&machine.id).unwrap_or(0);
        if !matches.is(newest.into()) {
            return Err(changed(&format!("machine `{}`", machine.id), newest.into()));
        }
        let same_as = version_with_digest(decider, machine);
        if newest > 0 && same_as == Some(newest) {
            return Ok(Applied {
                id: machine.id.clone(),
                version: newest,
                created: false,
                same_as: None,
            });
        }
        Ok(keep_version(decider, machine, newest + 1, same_as))
    }
}

/// The newest version; after the decision with the digest of what was applied.
fn version_of(decider: &mut Decider<'_>, apply: &Apply, applied: Option<&Applied>) -> Option<String> {
    let Some(applied) = applied else {
        return decider
            .newest(&apply.machine.id)
            .map(|version| format!("version {version}"));
    };
    let digest = sprag_core::document::json::hex(&apply.machine.digest);
    Some(format!("version {}, sha256 {digest}", applied.version))
}

fn keep_version(decider: &mut Decider<'_>, machine: &Arc<Machine>, version: u32, same_as: Option<u32>) -> Applied {
    decider.batch.newest.insert(machine.id.clone(), version);
    decider.batch.log.push(Mutation::InsertMachineVersion(MachineVersion {
        machine: machine.id.clone(),
        version,
        digest: machine.digest,
        definition: machine.definition.to_string().into_bytes(),
        created_at: decider.at.now,
    }));
    decider.known.machines.put(&machine.id, version, Arc::clone(machine));
    Applied {
        id: machine.id.clone(),
        version,
        created: true,
        same_as,
    }
}

/// The highest earlier version with the same content. Memory holds the versions of this batch, the store all others.
fn version_with_digest(decider: &Decider<'_>, machine: &Machine) -> Option<u32> {
    let name = (machine.id.clone(), machine.digest);
    let stored = decider.known.found.digests.get(&name).copied().flatten();
    decider
        .known
        .machines
        .with_digest(&machine.id, &machine.digest)
        .max(stored)
}
