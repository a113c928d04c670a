//! Pages of what is in memory, in the order that the other backends give.

use std::collections::BTreeMap;

use crate::page::{Page, PageLimit, Paged, Weight, paged};
use crate::traits::Error;

/// A page of the items in the order of their cursors.
pub(super) fn by_cursor<T: Weight, C: Ord>(
    items: impl Iterator<Item = T>,
    Page { after, limit }: &Page<C>,
    cursor: impl Fn(&T) -> C,
) -> Result<Paged<T, C>, Error> {
    in_order(items, &cursor, after.as_ref(), *limit, &cursor)
}

/// A page of the items after `after`, in the order of `key`.
pub(super) fn in_order<T: Weight, K: Ord, C>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
    after: Option<&K>,
    limit: PageLimit,
    cursor: impl Fn(&T) -> C,
) -> Result<Paged<T, C>, Error> {
    let mut items: Vec<T> = items
        .filter(|item| after.is_none_or(|after| key(item) > *after))
        .collect();
    items.sort_unstable_by_key(|item| key(item));
    paged(items.into_iter().map(Ok), limit, cursor)
}

/// How often each is among them, in their order.
pub(super) fn counted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<(T, u64)> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts.into_iter().collect()
}
