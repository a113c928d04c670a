//! Files for growth: so many real executions, written through the store in large commits.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;
use sprag_store::LaneStore;
use sprag_store::sqlite;
use sprag_store::traits::{Mutation, ShardId};
use tempfile::TempDir;

use crate::samples::{self, Sample};
use crate::work::Work;

/// Executions in one commit.
const COMMIT: u64 = 5_000;
/// The first id is of this instant (2026-01-01); there is a new one every millisecond.
const FIRST_MILLIS: i64 = 1_767_225_600_000;

/// A prefilled file in a folder that goes with it.
pub(crate) struct File {
    /// Owned so that it is removed in the end.
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

/// Makes the file that a work is measured on.
pub(crate) fn file(work: Work, count: u64) -> anyhow::Result<File> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sprag.db");
    let sample = match work {
        Work::Queued => samples::queued()?,
        _ => samples::closed()?,
    };
    fill(&path, &sample, count)?;
    Ok(File { _folder: folder, path })
}

fn fill(path: &Path, sample: &Sample, count: u64) -> anyhow::Result<()> {
    let mut store = sqlite::open(&sqlite::Options { path: path.to_owned() })?.writer;
    let fence = store.acquire(ShardId(0))?;
    store.commit(&[fence], &[Mutation::InsertMachineVersion(sample.machine.clone())])?;
    let mut next = 0;
    while next < count {
        let until = (next + COMMIT).min(count);
        let mut mutations = Vec::new();
        for index in next..until {
            let at = Timestamp::from_millis(FIRST_MILLIS + i64::try_from(index)?);
            let slot = Slot(u16::try_from(index % 65_536)?);
            mutations.extend(sample.under(
                ExecutionId::compose(at, slot, index),
                ActionId::compose(at, slot, index),
            ));
        }
        store.commit(&[fence], &mutations).context("prefilling")?;
        next = until;
    }
    Ok(())
}
