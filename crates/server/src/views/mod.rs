//! From what the engine and the supervisor know to what the API says: every field by name, so that a new one cannot be
//! forgotten.

mod actions;
mod executions;
mod jobs;
mod operate;
mod runners;

use schemars::JsonSchema;
use serde::Serialize;

/// Something that the API shows.
pub(crate) trait IntoWire {
    /// How it shows it.
    type Wire: Serialize + JsonSchema;

    /// The same as the API shows it.
    fn into_wire(self) -> Self::Wire;
}

impl<T: IntoWire> IntoWire for Option<T> {
    type Wire = Option<T::Wire>;

    fn into_wire(self) -> Self::Wire {
        self.map(T::into_wire)
    }
}

impl<T: IntoWire> IntoWire for Vec<T> {
    type Wire = Vec<T::Wire>;

    fn into_wire(self) -> Self::Wire {
        self.into_iter().map(T::into_wire).collect()
    }
}
