//! Pages of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A number that Sprag counted up to a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The number that Sprag counted.
    pub count: u64,
    /// Whether there are more than Sprag counted.
    pub more: bool,
}

impl<T> Page<T> {
    /// A list that always fits one page.
    pub fn whole(data: Vec<T>) -> Self {
        Self {
            data,
            next_cursor: None,
        }
    }
}
