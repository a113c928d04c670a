//! Following an execution: what its history holds beyond what a follower has seen, and what is open about it.
//!
//! Where an execution stands is read before its history, so the history read is never shorter than the sequence that
//! goes with it says.

use sprag_core::ids::{ActionId, ExecutionId};
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::{FileBytes, QueuedCount};
use sprag_store::{Page, PageLimit, ReadKind};
use sprag_wire::HistoryEntry;

use super::handle::ReadHandle;
use super::lists::history_page;
use crate::read::open::open_actions;
use crate::read::queue::kind_of_line;
use crate::requests::Refusal;

/// What a follower of an execution has not seen.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Where the execution stands.
    pub status: ExecutionStatus,
    /// The sequence of its newest history entry, as of its status.
    pub sequence: u64,
    /// The next entries, oldest first.
    pub entries: Vec<HistoryEntry>,
}

/// How much open work there is, and how large its store is.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// Open executions by status.
    pub executions: Vec<(ExecutionStatus, u64)>,
    /// Queued actions by type; those of paused executions have none.
    pub queued: Vec<(String, u64)>,
    /// Dead letters that wait for a person.
    pub dead_letters: u64,
    /// The store on disk.
    pub file_bytes: FileBytes,
}

impl ReadHandle {
    /// Where an execution stands and the next entries of its history after a sequence, up to `limit`.
    pub async fn follow(&self, id: ExecutionId, after: u64, limit: PageLimit) -> Result<Followed, Refusal> {
        self.of_execution(ReadKind::Point, id, move |handle, reader, row| {
            Ok(Followed {
                status: row.status,
                sequence: row.sequence,
                entries: history_page(handle, reader, row, &Page::new(Some(after), limit))?,
            })
        })
        .await
    }

    /// The ids of an execution's open actions, oldest first, up to a bound. A follower reads the actions one at a time.
    pub async fn open_actions(&self, id: ExecutionId) -> Result<Vec<ActionId>, Refusal> {
        self.query(ReadKind::Point, move |reader| {
            let mut ids: Vec<ActionId> = open_actions(reader, id)?.into_iter().map(|row| row.id).collect();
            ids.sort_unstable();
            Ok(ids)
        })
        .await
    }

    /// Counts the open work. It takes time in proportion to it.
    pub async fn census(&self) -> Result<Census, Refusal> {
        self.query(ReadKind::Scan, |reader| {
            let mut queued: Vec<(String, u64)> = Vec::new();
            for QueuedCount { queue: line, count, .. } in reader.queued_actions()? {
                // Lines come in order, so those of one type come together.
                let kind = kind_of_line(&line);
                match queued.last_mut() {
                    Some((known, sum)) if known == kind => *sum += count,
                    _ => queued.push((kind.to_owned(), count)),
                }
            }
            Ok(Census {
                executions: reader.open_executions()?,
                queued,
                dead_letters: reader.dead_letters()?,
                file_bytes: reader.file_bytes()?,
            })
        })
        .await
    }
}
