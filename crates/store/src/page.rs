//! Pages: how much of a list one read returns.
//!
//! A page ends at its number of rows or at its number of bytes, whichever comes first. It holds at least one row if there is
//! one, however large, so a caller that follows pages always makes progress. All backends count the same bytes, so they cut
//! a list at the same rows.

use crate::records::{Action, Execution, HistoryEntry, Job, JobItem, MachineVersion};
use crate::traits::ActionQuery;

/// The bytes of a page, unless the caller asks for less.
pub const PAGE_BYTES_MAX: usize = 4 << 20;

/// What a row counts for besides its unbounded columns. The statements of `PostgreSQL` add it too.
pub(crate) const ROW_BYTES: usize = 64;

/// The bounds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Rows.
    pub rows: usize,
    /// Bytes of stored records.
    pub bytes: usize,
}

impl Most {
    /// So many rows, and the bytes of a full page.
    pub fn rows(rows: usize) -> Self {
        Self {
            rows,
            bytes: PAGE_BYTES_MAX,
        }
    }
}

impl ActionQuery {
    /// The bounds of its page.
    pub(crate) fn most(&self) -> Most {
        Most {
            rows: self.limit,
            bytes: self.bytes.unwrap_or(PAGE_BYTES_MAX),
        }
    }
}

/// A record that knows how many bytes it counts for.
pub(crate) trait Weight {
    /// The length of its unbounded columns, and [`ROW_BYTES`].
    fn bytes(&self) -> usize;
}

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

impl Weight for MachineVersion {
    fn bytes(&self) -> usize {
        ROW_BYTES + self.definition.len()
    }
}

/// Rows up to a bound, read one at a time. The row that would exceed the bound is the last one read.
pub(crate) fn filled<T: Weight, E>(
    rows: impl Iterator<Item = Result<T, E>>,
    Most { rows: most, bytes }: Most,
) -> Result<Vec<T>, E> {
    let (mut page, mut total) = (Vec::new(), 0_usize);
    for row in rows.take(most) {
        let row = row?;
        total = total.saturating_add(row.bytes());
        if total > bytes && !page.is_empty() {
            break;
        }
        page.push(row);
    }
    Ok(page)
}

/// The position at which a search continues: after the last row of its page if bytes cut it short, else where the search
/// itself ended.
pub fn continued<T, I: Copy>(found: &[I], page: &[T], next: Option<I>) -> Option<I> {
    let is_cut = page.len() < found.len();
    if is_cut {
        found.get(page.len().saturating_sub(1)).copied()
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
