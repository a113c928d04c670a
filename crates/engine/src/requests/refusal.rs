//! Why something was refused.

use sprag_store::ShardId;

use super::Code;

/// Why something was refused. Codes are stable and have a page each.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    /// The stable name.
    pub code: Code,
    /// What, with the value.
    pub detail: String,
    /// Where in what was sent, as JSON pointers, with what is wrong there.
    pub errors: Vec<(String, String)>,
    /// The shard whose owner must be asked: this node decided nothing.
    pub elsewhere: Option<ShardId>,
    /// The machine that does not exist, where that is why.
    pub unknown_machine: Option<Box<str>>,
}

impl Refusal {
    /// A refusal that points nowhere in particular.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            elsewhere: None,
            unknown_machine: None,
        }
    }

    /// A refusal of one field.
    pub(crate) fn at(pointer: &str, code: Code, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            errors: vec![(pointer.to_owned(), detail.clone())],
            ..Self::new(code, detail)
        }
    }

    /// The refusal of a request that another node decides.
    pub(crate) fn elsewhere(shard: ShardId) -> Self {
        let detail = format!(
            "shard {} belongs to another node, or to none at the moment; try again in a moment",
            shard.0
        );
        Self {
            elsewhere: Some(shard),
            ..Self::new(Code::ShardMoved, detail)
        }
    }
}
