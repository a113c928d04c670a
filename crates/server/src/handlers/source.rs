//! Machines that a request speaks of: sent with it, or kept here.

use std::sync::Arc;

use serde_json::Value;
use sprag_core::document::source::Format;
use sprag_core::machine::Machine;
use sprag_wire as wire;

use super::machines::load;
use crate::app::App;
use crate::problem::Problem;
use crate::request::body::{Definition, Fields, FromFields};

/// Where a machine comes from.
pub(crate) enum Source {
    /// The request.
    Sent(Definition),
    /// The store.
    Kept {
        /// Its name.
        machine: String,
        /// The newest, unless given.
        version: Option<u32>,
    },
}

impl FromFields for Source {
    type Shape = wire::MachineSource;

    /// `definition`, as an object or as the text of a file, or `machine` with or without `version`.
    fn read(fields: &mut Fields) -> Option<Self> {
        let (definition, machine) = (fields.value("definition"), fields.text("machine"));
        let version = fields.version("version");
        if definition.is_some() == machine.is_some() {
            fields.refuse("/definition", "give either `definition` or `machine`");
        }
        Some(match (definition, machine) {
            (Some(Value::String(text)), _) => {
                let format = Format::sniff(&text);
                Self::Sent(Definition { text, format })
            }
            (Some(definition), _) => Self::Sent(Definition {
                text: definition.to_string(),
                format: Format::Json,
            }),
            (None, machine) => Self::Kept {
                machine: machine.unwrap_or_default(),
                version,
            },
        })
    }
}

impl Source {
    /// The machine, compiled.
    pub(super) async fn machine(self, app: &App) -> Result<Arc<Machine>, Problem> {
        match self {
            Self::Sent(definition) => {
                let loaded = load(app, definition).await?;
                let machine = loaded.machine.map(Arc::new);
                machine.ok_or_else(|| Problem::of_findings(loaded.findings))
            }
            Self::Kept { machine, version } => Ok(app.engine.read().compiled_machine(machine, version).await?),
        }
    }
}
