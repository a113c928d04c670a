//! Stored machine versions: as the API shows them, and compiled.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::document::json::hex;
use sprag_core::machine::Machine;
use sprag_store::records::MachineVersion;
use sprag_store::{Error, ReadKind};
use sprag_wire as wire;

use super::handle::ReadHandle;
use crate::requests::Refusal;

impl ReadHandle {
    /// A version of a machine, compiled; the newest unless given.
    pub async fn compiled_machine(&self, name: String, version: Option<u32>) -> Result<Arc<Machine>, Refusal> {
        let version = self.machine(name.clone(), version).await?.version;
        let handle = self.clone();
        self.query(ReadKind::Point, move |reader| handle.version(reader, &name, version))
            .await
    }

    /// A version as the API shows it, with what its actions may reach.
    pub async fn shown_machine(&self, row: MachineVersion) -> Result<wire::Machine, Refusal> {
        let handle = self.clone();
        self.query(ReadKind::Point, move |reader| {
            let compiled = handle.version(reader, &row.machine, row.version)?;
            let (summary, definition) = shown(row)?;
            Ok(wire::Machine {
                summary,
                permissions: handle.permissions(&compiled),
                definition,
            })
        })
        .await
    }
}

/// A version as lists show it, and its definition.
pub(crate) fn shown(row: MachineVersion) -> Result<(wire::MachineSummary, Value), Error> {
    let MachineVersion {
        machine,
        version,
        digest,
        definition,
        created_at,
    } = row;
    let definition: Value = serde_json::from_slice(&definition).map_err(|_| Error::Corrupt {
        detail: format!("version {version} of machine `{machine}` cannot be read"),
    })?;
    let description = definition.get("description").and_then(Value::as_str);
    let summary = wire::MachineSummary {
        id: machine,
        version,
        digest: hex(&digest),
        description: description.map(str::to_owned),
        created_at,
    };
    Ok((summary, definition))
}
