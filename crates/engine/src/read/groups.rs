//! Dead letters by cause.
//!
//! A fingerprint stands for a cause, so its newest dead letter stands for all of them. Groups are counted up to a bound, and
//! callers share an answer for a while.

use std::cmp::Reverse;
use std::sync::Arc;

use sprag_store::traits::{Counted, GroupBounds, LetterGroup, Reader};
use sprag_store::{Error, ReadKind};
use sprag_wire::{Count, DeadLetterGroup, ErrorSummary};

use super::case::{Diagnosis, diagnosis_of};
use super::handle::ReadHandle;
use super::lookup::LookupHandle;
use crate::decide::convert;
use crate::lane::damaged;
use crate::requests::Refusal;

/// Groups that are looked at.
const GROUPS_MAX: usize = 1_000;
/// Dead letters of one group are counted up to here.
const COUNTED_MAX: usize = 10_000;
/// A death so long ago is recent, in milliseconds.
const RECENT_MILLIS: i64 = 3_600_000;
/// An answer is good for at least so long, in microseconds.
const GOOD_FOR_MICROS: u64 = 1_000_000;

/// Dead letters by cause.
#[derive(Debug, Default)]
pub struct Groups {
    /// Those that grew most within the last hour first, then the largest.
    pub groups: Vec<DeadLetterGroup>,
    /// Whether there are more than were looked at.
    pub more: bool,
}

impl LookupHandle<'_> {
    /// Dead letters by cause.
    pub async fn letter_groups(&self) -> Result<Arc<Groups>, Refusal> {
        let (read, handle) = (self.0.read(), self.0.read().clone());
        let find = read.query(ReadKind::Scan, move |reader| groups(&handle, reader));
        let cache = &self.0.caches.groups;
        cache.get(|| self.0.micros(), GOOD_FOR_MICROS, find).await
    }
}

fn groups(handle: &ReadHandle, reader: &dyn Reader) -> Result<Groups, Error> {
    let since = handle.clock.now().as_millis().saturating_sub(RECENT_MILLIS);
    let found = reader.letter_groups(&GroupBounds {
        groups: GROUPS_MAX,
        counted: COUNTED_MAX,
        recent_since: sprag_core::time::Timestamp::from_millis(since),
    })?;
    let mut groups = Vec::with_capacity(found.groups.len());
    for group in found.groups {
        groups.extend(shown(handle, reader, group)?);
    }
    groups.sort_by_key(|group: &DeadLetterGroup| {
        (
            Reverse(group.recent.count),
            Reverse(group.count.count),
            Reverse(group.last_at),
        )
    });
    Ok(Groups {
        groups,
        more: found.more,
    })
}

/// A group with what its newest dead letter says; none if that was settled meanwhile.
fn shown(handle: &ReadHandle, reader: &dyn Reader, group: LetterGroup) -> Result<Option<DeadLetterGroup>, Error> {
    let LetterGroup {
        fingerprint,
        all,
        recent,
        first_at,
        last_at,
        sample,
    } = group;
    let Some(row) = reader.action(sample)? else {
        return Ok(None);
    };
    let action = convert::action_from(row).map_err(|error| damaged(&error))?;
    let Diagnosis {
        recoverable,
        manual_review_required,
        suggested_fix,
        fix_patch,
    } = diagnosis_of(handle, reader, &action)?;
    Ok(Some(DeadLetterGroup {
        fingerprint,
        count: count(all),
        recent: count(recent),
        first_at,
        last_at,
        sample,
        execution_id: action.origin.execution,
        machine: action.origin.machine,
        version: action.origin.version,
        action_id: action.action_id,
        kind: action.kind,
        error: action.body.last_error.map(ErrorSummary::from),
        recoverable,
        manual_review_required,
        suggested_fix,
        fix_patch,
    }))
}

/// A count as the API shows it.
pub(crate) fn count(Counted { count, more }: Counted) -> Count {
    Count { count, more }
}
