//! Searches: every row is looked at, newest first, as far as the search may.

use sprag_core::filter::Row;

use crate::page::{PAGE_BYTES_MAX, Weight};
use crate::traits::{Found, Search};

/// What a search finds among rows that come newest first.
pub(super) fn newest<'r, T: Row + Weight + Clone + 'r, I: Copy + Ord + 'r>(
    rows: impl Iterator<Item = (&'r I, &'r T)>,
    search: &Search<I>,
) -> Found<T, I> {
    let mut found = Found {
        rows: Vec::new(),
        next: None,
    };
    if search.limit == 0 {
        return found;
    }
    let (mut last_found, mut bytes) = (None, 0_usize);
    let older = rows.filter(|(id, _)| search.before.is_none_or(|before| **id < before));
    for (looked_at, (id, row)) in older.enumerate() {
        if looked_at == search.scan {
            return found;
        }
        if search.condition.holds(row) {
            bytes = bytes.saturating_add(row.bytes());
            let is_full = found.rows.len() == search.limit || bytes > PAGE_BYTES_MAX;
            if is_full && last_found.is_some() {
                found.next = last_found;
                return found;
            }
            found.rows.push(row.clone());
            last_found = Some(*id);
        }
        found.next = (looked_at + 1 == search.scan).then_some(*id);
    }
    found
}
