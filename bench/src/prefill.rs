//! Files for growth: so many real executions, written through the store in large commits.
//!
//! The rows are those of executions that an engine really ran, under other ids and at other times; only the instants of
//! attempts inside the actions' bodies stay those of the sample.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sprag_core::ids::{ActionId, ExecutionId, Slot};
use sprag_core::time::Timestamp;
use sprag_store::LaneStore;
use sprag_store::traits::{Mutation, ShardId};
use sprag_store::{postgres, sqlite};
use tempfile::TempDir;

use crate::samples::{self, Fresh, Sample};
use crate::work::Work;

/// Executions in one commit.
const COMMIT: u64 = 2_000;
/// The first id is of this instant (2026-01-01); there is a new one every millisecond.
const FIRST_MILLIS: i64 = 1_767_225_600_000;
/// One of so many has a key, tags and a dead letter.
const MARKED_EVERY: u64 = 100;
/// One of so many is cancelled.
const CANCELLED_EVERY: u64 = 1_000;
/// So many in a row share the rarer tag, those that have any.
const BATCH: u64 = 1_000;

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
    fill(&mut open(&path)?, &[&sample], count, |_| Copy::of(&sample))?;
    Ok(File { _folder: folder, path })
}

/// Fills a database that a work is measured on.
pub(crate) fn database(url: &str, count: u64) -> anyhow::Result<()> {
    let sample = samples::queued()?;
    let options = postgres::Options {
        address: url.parse()?,
        shards: 1,
    };
    let mut store = postgres::open(&options)?.writer;
    fill(&mut store, &[&sample], count, |_| Copy::of(&sample))
}

/// Makes a file to search in: closed executions, one of a hundred with a key, tags and a dead letter, one of a thousand
/// cancelled. Of the keys half are the same, of the tags one is common and one is shared by few.
pub(crate) fn mixed(path: &Path, count: u64) -> anyhow::Result<()> {
    let (closed, marked, cancelled) = (samples::closed()?, samples::marked()?, samples::cancelled()?);
    fill(&mut open(path)?, &[&closed, &marked, &cancelled], count, |index| {
        if index.is_multiple_of(MARKED_EVERY) {
            let key = if index.is_multiple_of(2 * MARKED_EVERY) {
                format!("order-{index}")
            } else {
                "daily".to_owned()
            };
            Copy {
                sample: &marked,
                key: Some(key),
                tags: vec!["marked".to_owned(), format!("batch-{}", index / BATCH)],
            }
        } else if index % CANCELLED_EVERY == 1 {
            Copy::of(&cancelled)
        } else {
            Copy::of(&closed)
        }
    })
}

/// What one execution of a file is a copy of.
struct Copy<'s> {
    sample: &'s Sample,
    key: Option<String>,
    tags: Vec<String>,
}

impl<'s> Copy<'s> {
    fn of(sample: &'s Sample) -> Self {
        Self {
            sample,
            key: None,
            tags: Vec::new(),
        }
    }

    fn at(self, index: u64) -> anyhow::Result<Vec<Mutation>> {
        let Self { sample, key, tags } = self;
        let at = Timestamp::from_millis(FIRST_MILLIS + i64::try_from(index)?);
        let slot = Slot(u16::try_from(index % 65_536)?);
        Ok(sample.under(Fresh {
            execution: ExecutionId::compose(at, slot, index),
            action: ActionId::compose(at, slot, index),
            at,
            key,
            tags,
        }))
    }
}

fn open(path: &Path) -> anyhow::Result<sqlite::Writer> {
    Ok(sqlite::open(&sqlite::Options { path: path.to_owned() })?.writer)
}

fn fill<'s>(
    store: &mut dyn LaneStore,
    samples: &[&Sample],
    count: u64,
    copy: impl Fn(u64) -> Copy<'s>,
) -> anyhow::Result<()> {
    let fence = store.acquire(ShardId(0))?;
    let machines = samples
        .iter()
        .map(|sample| Mutation::InsertMachineVersion(sample.machine.clone()));
    store.commit(&[fence], &machines.collect::<Vec<_>>())?;
    let mut next = 0;
    while next < count {
        let until = (next + COMMIT).min(count);
        let mut mutations = Vec::new();
        for index in next..until {
            mutations.extend(copy(index).at(index)?);
        }
        store.commit(&[fence], &mutations).context("prefilling")?;
        next = until;
    }
    Ok(())
}
