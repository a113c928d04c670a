//! How much can go wrong.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// How much can go wrong when an operation runs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Risk as word {
        /// Nothing that matters.
        #[default]
        Low => "low",
        /// Something that is put right quickly.
        Medium => "medium",
        /// Something that users notice.
        High => "high",
        /// Something that cannot be put right.
        Critical => "critical",
    }
}

impl Risk {
    /// The level of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|risk| risk.word() == word)
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}
