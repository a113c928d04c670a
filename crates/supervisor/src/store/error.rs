//! Errors of a change to the store, and of reading its file.

use std::sync::Arc;

/// Why something was not put. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    /// The worker was not introduced.
    #[error("there is no worker `{worker}`; put its identity first")]
    NotFound {
        /// Who.
        worker: String,
    },
    /// Another caller changed it meanwhile.
    #[error("`{worker}` now has desired version `{found}`, not `{expected}`; read it again and decide again")]
    Conflict {
        /// Whose desired state.
        worker: String,
        /// The version the caller had read.
        expected: u64,
        /// The version there is.
        found: u64,
    },
    /// Who a worker is never changes.
    #[error("`{worker}` is known with another identity; remove it first, or use another name")]
    IdentityChanged {
        /// Who.
        worker: String,
    },
    /// A document that cannot be written as JSON.
    #[error("the document of `{worker}` cannot be written as JSON: {problem}")]
    NotJson {
        /// Whose.
        worker: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file.
    #[error(transparent)]
    Open(#[from] sprag_store::sqlite::OpenError),
    /// Reading it.
    #[error(transparent)]
    Read(#[from] sprag_store::Error),
    /// The thread that writes.
    #[error("the thread that writes the store could not be started")]
    Thread(#[source] std::io::Error),
}

/// A document of the file that cannot be read. It was skipped and stays in the file until its worker writes it anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Whose.
    pub worker: Arc<str>,
    /// Which part.
    pub part: String,
    /// What is wrong with it.
    pub problem: String,
}
