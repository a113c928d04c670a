//! The observation of a worker as JSON text: smaller than a parsed value, and quick to compare.
//!
//! Few readers need its fields: rules that read the worker, the store when something is new, people.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A document that is parsed on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document(Arc<str>);

impl Document {
    pub(crate) fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|text| Self(text.into()))
    }

    /// What it says.
    pub fn read(&self) -> Value {
        // It was written here, from a value.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}
