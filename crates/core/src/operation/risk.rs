//! How much can go wrong.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much can go wrong when an operation runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Nothing that matters.
    #[default]
    Low,
    /// Something that is put right quickly.
    Medium,
    /// Something that users notice.
    High,
    /// Something that cannot be put right.
    Critical,
}

/// The words of all levels, from the lowest.
pub const RISKS: [&str; 4] = [
    Risk::Low.word(),
    Risk::Medium.word(),
    Risk::High.word(),
    Risk::Critical.word(),
];

impl Risk {
    /// All levels, from the lowest.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risks_are_in_order_and_read_back() {
        assert!(Risk::ALL.is_sorted());
        for risk in Risk::ALL {
            assert_eq!(serde_json::from_value::<Risk>(risk.word().into()).unwrap(), risk);
            assert_eq!(Risk::from_word(risk.word()), Some(risk));
        }
    }
}
