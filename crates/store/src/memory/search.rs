//! Searches: every row is looked at, newest first, as far as the search may.

use sprag_core::filter::Row;

use crate::page::{Paged, Weight};
use crate::traits::Search;

/// What a search finds among rows that come newest first.
pub(super) fn newest<'r, T: Row + Weight + Clone + 'r, I: Copy + Ord + 'r>(
    rows: impl Iterator<Item = (&'r I, &'r T)>,
    search: &Search<I>,
) -> Paged<T, I> {
    let mut found = Paged::default();
    let limit = search.page.limit;
    if limit.rows == 0 {
        return found;
    }
    let (mut last_found, mut bytes) = (None, 0_usize);
    let older = rows.filter(|(id, _)| search.page.after.is_none_or(|before| **id < before));
    for (looked_at, (id, row)) in older.enumerate() {
        if looked_at == search.scan {
            return found;
        }
        if search.condition.holds(row) {
            bytes = bytes.saturating_add(row.bytes());
            let is_full = found.rows.len() == limit.rows || bytes > limit.bytes;
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
