//! How many reads of the store run at once, by kind.

use std::sync::Arc;

use sprag_store::ReadKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many reads of each kind run at once. A read waits here, on no thread, until it may have a connection: reads of one kind
/// never take the threads that the other kind needs.
pub(crate) struct ReadPermits {
    points: Arc<Semaphore>,
    scans: Arc<Semaphore>,
}

impl Default for ReadPermits {
    fn default() -> Self {
        let permits = |kind: ReadKind| Arc::new(Semaphore::new(kind.width()));
        Self {
            points: permits(ReadKind::Point),
            scans: permits(ReadKind::Scan),
        }
    }
}

impl ReadPermits {
    /// Waits for a permit; none only if the semaphore were closed, which it never is.
    pub(crate) async fn get(&self, kind: ReadKind) -> Option<OwnedSemaphorePermit> {
        let permits = match kind {
            ReadKind::Point => &self.points,
            ReadKind::Scan => &self.scans,
        };
        Arc::clone(permits).acquire_owned().await.ok()
    }
}
