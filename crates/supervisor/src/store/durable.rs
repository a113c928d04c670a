//! Waits until a change of the store is on disk.

use tokio::sync::watch;

/// How far the writer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WriteProgress {
    /// Everything up to this number is on disk.
    pub(super) durable: u64,
    /// The disk takes nothing at present.
    pub(super) is_failing: bool,
}

/// The disk takes nothing at present; what was put is in memory, and is written when it does again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store cannot write at present; what was put is kept in memory")]
pub struct NotDurable;

/// Something that was put, on its way to disk.
#[derive(Clone, Debug)]
pub struct Durable(Option<(u64, watch::Receiver<WriteProgress>)>);

impl Durable {
    /// Nothing is on its way: there is no disk, or nothing was changed.
    pub const fn at_once() -> Self {
        Self(None)
    }

    pub(super) const fn on_its_way(number: u64, progress: watch::Receiver<WriteProgress>) -> Self {
        Self(Some((number, progress)))
    }

    /// Waits until it is on disk, or until the disk fails.
    pub async fn wait(self) -> Result<(), NotDurable> {
        let Some((number, mut progress)) = self.0 else {
            return Ok(());
        };
        let reached = progress
            .wait_for(|progress| progress.durable >= number || progress.is_failing)
            .await;
        match reached {
            Ok(progress) if progress.durable >= number => Ok(()),
            _ => Err(NotDurable),
        }
    }
}
