//! The audit as readers see it: entries that meet a condition, newest first, and the ends of the chains.

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};
use sprag_core::integrity::audit::{Entry, Head};
use sprag_core::time::Timestamp;
use sprag_store::traits::{AuditKey, Reader, SCAN_MAX};
use sprag_store::{Error, Page, Paged, ReadKind, ShardId};

use super::handle::ReadHandle;
use crate::requests::Refusal;

/// Entries that are read at once.
const PAGE: usize = 500;

impl ReadHandle {
    /// Entries of the audit that meet a condition, newest first. A page may be short and still not be the last.
    pub async fn audit<T: Send + 'static>(
        &self,
        condition: Condition,
        after: Option<AuditKey>,
        limit: usize,
        mut show: impl FnMut(Entry) -> Option<T> + Send + 'static,
    ) -> Result<Paged<T, AuditKey>, Refusal> {
        self.query(ReadKind::Scan, move |reader| {
            find(reader, &condition, after, limit, &mut show)
        })
        .await
    }

    /// The newest entry of every chain that has one, by shard.
    pub async fn audit_heads(&self) -> Result<Vec<Head>, Refusal> {
        self.query(ReadKind::Point, |reader| reader.audit_heads()).await
    }
}

/// Walks entries until a page is full, or as many were looked at as one page may cost.
fn find<T>(
    reader: &dyn Reader,
    condition: &Condition,
    after: Option<AuditKey>,
    limit: usize,
    show: &mut impl FnMut(Entry) -> Option<T>,
) -> Result<Paged<T, AuditKey>, Error> {
    let Span { shard, first, last } = Span::of(condition);
    let newest = AuditKey {
        at: last,
        ..AuditKey::END
    };
    // A chain is walked by sequence, so its beginning cannot be found by time.
    let mut place = Some(
        after
            .unwrap_or(AuditKey::END)
            .min(if shard.is_none() { newest } else { AuditKey::END }),
    );
    let (mut rows, mut looked) = (Vec::new(), 0);
    while looked < SCAN_MAX {
        let page = reader.audit(shard, &Page::new(place, PAGE))?;
        for entry in page.rows {
            looked += 1;
            let key = AuditKey::of(&entry);
            if entry.at < first {
                return Ok(Paged { rows, next: None });
            }
            if condition.holds(&entry) {
                if rows.len() == limit {
                    return Ok(Paged { rows, next: place });
                }
                let Some(shown) = show(entry) else {
                    return Ok(Paged { rows, next: place });
                };
                rows.push(shown);
            }
            place = Some(key);
        }
        if page.next.is_none() {
            return Ok(Paged { rows, next: None });
        }
    }
    Ok(Paged { rows, next: place })
}

/// The part of the audit in which all entries are that can meet a condition.
struct Span {
    shard: Option<ShardId>,
    first: Timestamp,
    last: Timestamp,
}

impl Span {
    fn of(condition: &Condition) -> Self {
        let mut span = Self {
            shard: None,
            first: Timestamp::from_millis(i64::MIN),
            last: Timestamp::MAX,
        };
        for test in condition.required() {
            match test.field {
                Field::At => {
                    if let Some((first, last)) = test.instants() {
                        span.first = span.first.max(first);
                        span.last = span.last.min(last);
                    }
                }
                Field::Shard => span.shard = span.shard.or(shard_in(test)),
                _ => {}
            }
        }
        span
    }
}

/// The one shard that a test allows.
fn shard_in(test: &Comparison) -> Option<ShardId> {
    match (test.relation, test.constants.as_slice()) {
        (Relation::Equal | Relation::In, [Constant::Number(shard)]) => u32::try_from(*shard).ok().map(ShardId),
        _ => None,
    }
}
