//! What is stored with an attempt so that its processes are found again after a crash.

use serde_json::{Value, json};
use sprag_process::{Identity, Mark, Tree, boot_id};

use super::process::MARKER;

/// The processes of an attempt, as far as they were known.
pub(super) struct Checkpoint {
    /// Stands in the environment of every one of them.
    pub(super) marker: String,
    /// The first of them, once it was started.
    pub(super) root: Option<Identity>,
}

impl Checkpoint {
    /// Before the program starts.
    pub(super) fn planned(marker: &str) -> Self {
        Self {
            marker: marker.to_owned(),
            root: None,
        }
    }

    /// Once it was started.
    pub(super) fn started(marker: &str, root: Identity) -> Self {
        Self {
            marker: marker.to_owned(),
            root: Some(root),
        }
    }

    /// What is left of the attempt's processes.
    pub(super) fn survivors(self) -> Tree {
        let Self { marker, root } = self;
        Tree::new(mark(&marker), root)
    }

    /// As it is stored. Process ids and start times mean something only until the machine starts anew.
    pub(super) fn to_value(&self) -> Value {
        match self.root {
            None => json!({"marker": self.marker}),
            Some(Identity { pid, start }) => {
                json!({"marker": self.marker, "pid": pid, "startTime": start, "bootId": boot_id()})
            }
        }
    }

    /// As it was stored, possibly by an earlier life of the machine.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let marker = value.get("marker")?.as_str()?.to_owned();
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let pid = number("pid").and_then(|pid| i32::try_from(pid).ok());
        let same_boot = value.get("bootId").and_then(Value::as_str) == boot_id().as_deref();
        let root = pid.zip(number("startTime")).filter(|_| same_boot);
        Some(Self {
            marker,
            root: root.map(|(pid, start)| Identity { pid, start }),
        })
    }
}

/// The mark of an attempt's processes.
pub(super) fn mark(marker: &str) -> Mark {
    Mark {
        name: MARKER,
        value: marker.to_owned(),
    }
}
