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

impl<T> Page<T> {
    /// A list that always fits one page.
    pub fn whole(data: Vec<T>) -> Self {
        Self {
            data,
            next_cursor: None,
        }
    }
}
