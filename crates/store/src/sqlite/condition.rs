//! How an open file is: its log, and whether it is still the file that its name says.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::traits::Error;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4_096;

/// Shared by the writer, the readers and the keeper of one file.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Pages in the log, as of the last commit.
    log_pages: AtomicU32,
    /// Pages in the log that a checkpoint could not copy, as of the last one.
    held_pages: AtomicU32,
    /// Commits of the writer.
    commits: AtomicU64,
    /// Why nothing may be acknowledged any more.
    gone: OnceLock<Error>,
}

impl Shared {
    /// A commit left so many pages in the log.
    pub(super) fn committed(&self, pages: i32) {
        self.log_pages
            .store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// Pages in the log.
    pub(super) fn log_pages(&self) -> u32 {
        self.log_pages.load(Ordering::Relaxed)
    }

    /// How many commits there were.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// A checkpoint found so many pages in the log and copied so many of them.
    pub(super) fn copied(&self, (pages, copied): (i32, i32)) {
        let held = u32::try_from(pages.saturating_sub(copied)).unwrap_or(0);
        self.held_pages.store(held, Ordering::Relaxed);
    }

    /// Nothing may be acknowledged from now on. The first reason stays.
    pub(super) fn lose(&self, reason: Error) {
        let _ = self.gone.set(reason);
    }

    /// Whether something may be acknowledged.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.gone.get() {
            None => Ok(()),
            Some(Error::Disk { detail }) => Err(Error::Disk { detail: detail.clone() }),
            Some(Error::Corrupt { detail }) => Err(Error::Corrupt { detail: detail.clone() }),
            Some(reason) => Err(Error::Gone {
                detail: reason.to_string(),
            }),
        }
    }

    /// Bytes of the log that a checkpoint could not copy.
    pub(super) fn held_bytes(&self) -> u64 {
        u64::from(self.held_pages.load(Ordering::Relaxed)) * PAGE_BYTES
    }
}
