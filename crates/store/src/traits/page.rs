//! Pages: every list is read as a [`Page`] (after which row, how much) and answered as a [`Paged`] (the rows, where the next
//! page begins).
//!
//! A page ends at its number of rows or at its number of bytes, whichever comes first. It holds at least one row if there is
//! one, however large, so a caller that follows pages always makes progress. All backends count the same bytes, so they cut
//! a list at the same rows.

use sprag_core::ids::ExecutionId;
use sprag_core::integrity::audit::{Decision, Entry};

use crate::records::{Action, CatalogVersion, Execution, HistoryEntry, Job, JobItem, MachineVersion, Plan, Timer};
use crate::traits::{Aged, DueAction, DuePlan, OpenAction, ReadyRef};

/// The bytes of a page, unless the caller asks for less.
pub const PAGE_BYTES_MAX: usize = 4 << 20;

/// What a row counts for besides its unbounded columns. The statements of `PostgreSQL` add it too.
pub(crate) const ROW_BYTES: usize = 64;

/// Which part of a list a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<C> {
    /// The row that the page follows, in the order of the list. None: the page is the first.
    pub after: Option<C>,
    /// How much the page holds.
    pub limit: PageLimit,
}

impl<C> Page<C> {
    /// A page after a row.
    pub fn new(after: Option<C>, limit: impl Into<PageLimit>) -> Self {
        Self {
            after,
            limit: limit.into(),
        }
    }

    /// The first page.
    pub fn first(limit: impl Into<PageLimit>) -> Self {
        Self::new(None, limit)
    }
}

impl<C> Default for Page<C> {
    fn default() -> Self {
        Self::first(PageLimit::default())
    }
}

/// How much a page holds: so many rows, and no more bytes unless its first row alone has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimit {
    /// Rows.
    pub rows: usize,
    /// Bytes of stored records.
    pub bytes: usize,
}

impl PageLimit {
    /// The rows to read: one more than the page holds, to see whether the list continues.
    pub(crate) fn rows_to_read(self) -> usize {
        self.rows.saturating_add(1)
    }
}

/// As much as fits into the bytes of a full page.
impl Default for PageLimit {
    fn default() -> Self {
        Self::from(usize::MAX)
    }
}

/// So many rows, and the bytes of a full page.
impl From<usize> for PageLimit {
    fn from(rows: usize) -> Self {
        Self {
            rows,
            bytes: PAGE_BYTES_MAX,
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged<T, C> {
    /// In the order of the list.
    pub rows: Vec<T>,
    /// Where the next page begins: the `after` to ask for. None at the end of the list.
    pub next: Option<C>,
}

impl<T, C> Default for Paged<T, C> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            next: None,
        }
    }
}

impl<T, C> Paged<T, C> {
    /// Rows, and the cursor of the last one if the list continues behind it.
    pub(crate) fn of(rows: Vec<T>, continues: bool, cursor: impl Fn(&T) -> C) -> Self {
        let next = rows.last().filter(|_| continues).map(cursor);
        Self { rows, next }
    }
}

/// A row that knows how many bytes it counts for.
pub(crate) trait Weight {
    /// The length of its unbounded columns, and [`ROW_BYTES`].
    fn bytes(&self) -> usize {
        ROW_BYTES
    }
}

impl Weight for Aged {}
impl Weight for DueAction {}
impl Weight for DuePlan {}
impl Weight for ExecutionId {}
impl Weight for OpenAction {}
impl Weight for ReadyRef {}
impl Weight for Timer {}

impl Weight for Execution {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.body.len() + self.variables.len()
    }
}

impl Weight for Action {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.body.len()
    }
}

impl Weight for HistoryEntry {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.body.len()
    }
}

impl Weight for Job {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.body.len()
    }
}

impl Weight for JobItem {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.detail.as_ref().map_or(0, String::len)
    }
}

impl Weight for Entry {
    fn bytes(&self) -> usize {
        let Decision {
            principal,
            verb,
            target,
            reason,
            address,
            refused,
            before,
            after,
        } = &self.decision;
        let given = [reason, address, refused, before, after].into_iter().flatten();
        let texts = [principal, verb, target].into_iter().chain(given);
        ROW_BYTES + texts.map(String::len).sum::<usize>()
    }
}

impl Weight for CatalogVersion {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.definition.len()
    }
}

impl Weight for Plan {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.document.len() + self.body.len()
    }
}

impl Weight for MachineVersion {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.definition.len()
    }
}

/// A page of rows, read one at a time. The row that would exceed the limit is the last one read.
pub(crate) fn paged<T: Weight, C, E>(
    rows: impl IntoIterator<Item = Result<T, E>>,
    limit: PageLimit,
    cursor: impl Fn(&T) -> C,
) -> Result<Paged<T, C>, E> {
    let (mut page, mut total) = (Vec::new(), 0_usize);
    for row in rows.into_iter().take(limit.rows_to_read()) {
        let row = row?;
        total = total.saturating_add(row.bytes());
        let is_full = page.len() == limit.rows || (total > limit.bytes && !page.is_empty());
        if is_full {
            return Ok(Paged::of(page, true, cursor));
        }
        page.push(row);
    }
    Ok(Paged::of(page, false, cursor))
}

/// Where a list continues that was cut after reading: after the last row of `page` if it lacks some of those `found`, else
/// where the reading itself ended.
pub fn continued<T, C: Clone>(found: &[C], page: &[T], next: Option<C>) -> Option<C> {
    let is_cut = page.len() < found.len();
    if is_cut {
        found.get(page.len().saturating_sub(1)).cloned()
    } else {
        next
    }
}

/// What a reader is for. Each kind has connections of its own, so that a read by id never waits for a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// Reads a few rows by their ids.
    Point,
    /// Walks a list, or counts.
    Scan,
}

impl ReadKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Point, Self::Scan];

    /// How many reads of this kind run at once; more wait. Scans are few: each parses and writes megabytes, and together
    /// they must leave processor time for everything else.
    pub const fn width(self) -> usize {
        match self {
            Self::Point => 4,
            Self::Scan => 2,
        }
    }
}
