//! Why a store did not do what it was asked. Each kind asks something else of the caller.

use crate::traits::ShardId;

/// Why nothing was written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another owner has the shard now. Nothing of the commit was written.
    #[error("shard {} has another owner now", shard.0)]
    FenceBroken {
        /// Which shard.
        shard: ShardId,
    },
    /// The machine has a version that the decision did not know of. Nothing of the commit was written.
    #[error("machine `{machine}` has a newer version now")]
    Outdated {
        /// Its name.
        machine: String,
    },
    /// Another node has answered a request of the commit meanwhile. Nothing of the commit was written.
    #[error("another node has answered the same request")]
    Answered,
    /// The store cannot hold a record, or look for it: a constraint, a bound, a text that it has no room for. The same
    /// would be refused again. Nothing of the commit was written.
    #[error("the store refused a record: {detail}")]
    Refused {
        /// What the backend said.
        detail: String,
    },
    /// No room. Nothing of the commit was written.
    #[error("the disk is full")]
    Full,
    /// The store can be read, not written. Nothing of the commit was written.
    #[error("the store is read-only")]
    ReadOnly,
    /// The database is out of reach. Whether a commit was written shows once it is back; until then nothing can be read.
    #[error("the database is unreachable: {detail}")]
    Away {
        /// What was tried, and what came of it.
        detail: String,
    },
    /// A flush failed, so what is on disk is unknown: the process must stop and recover by reading.
    #[error("the disk failed: {detail}")]
    Disk {
        /// What the backend said.
        detail: String,
    },
    /// The file was deleted, renamed, replaced or linked while it was open: what is committed to it may be lost, so the process must
    /// stop.
    #[error("{detail}")]
    Gone {
        /// What became of which file.
        detail: String,
    },
    /// The file is damaged.
    #[error("the database is damaged: {detail}")]
    Corrupt {
        /// What the backend said.
        detail: String,
    },
    /// One record is damaged, or was written by a newer version; the others are not concerned.
    #[error("{detail}")]
    Unreadable {
        /// Which record, and how.
        detail: String,
    },
    /// This store does not do what was asked; something else does.
    #[error("{remedy}")]
    Unsupported {
        /// What to do in its place.
        remedy: String,
    },
    /// Something else.
    #[error("the store failed: {detail}")]
    Failed {
        /// What the backend said.
        detail: String,
    },
}
