//! Who asks the engine for something: the caller, and the idempotency key of the request.

use std::sync::Arc;

use sprag_core::access::Caller;

use crate::requests::idempotency::Key;

/// Who asks, and under which key. By default: the embedding program itself, without a key.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Who asks, from where and why.
    pub caller: Arc<Caller>,
    /// What makes the request act once.
    pub key: Option<Key>,
}

impl Default for Asker {
    fn default() -> Self {
        Self {
            caller: Arc::new(Caller::local()),
            key: None,
        }
    }
}

impl From<Option<Key>> for Asker {
    fn from(key: Option<Key>) -> Self {
        Self { key, ..Self::default() }
    }
}
