//! Dead letters by fingerprint.
//!
//! A group costs a few look-ups in a partial index however many letters it has: its letters are counted up to a bound only.

use rusqlite::{Connection, params};

use super::columns::{Column, limit, row};
use crate::traits::{GroupBounds, LetterGroup, LetterGroups, counted};

/// The least fingerprint after another one.
pub(super) const NEXT: &str = "\
    SELECT fingerprint FROM action INDEXED BY action_dead_group \
    WHERE status = 5 AND died_at IS NOT NULL AND fingerprint > ?1 ORDER BY fingerprint LIMIT 1";

/// `?2` is one more than the bound of a count, `?3` since when a death is recent.
pub(super) const GROUP: &str = "\
    SELECT id, died_at, \
    (SELECT died_at FROM action INDEXED BY action_dead_group \
    WHERE status = 5 AND died_at IS NOT NULL AND fingerprint = ?1 ORDER BY died_at LIMIT 1), \
    (SELECT count(*) FROM (SELECT 1 FROM action INDEXED BY action_dead_group \
    WHERE status = 5 AND died_at IS NOT NULL AND fingerprint = ?1 LIMIT ?2)), \
    (SELECT count(*) FROM (SELECT 1 FROM action INDEXED BY action_dead_group \
    WHERE status = 5 AND died_at >= ?3 AND fingerprint = ?1 LIMIT ?2)) \
    FROM action INDEXED BY action_dead_group WHERE status = 5 AND died_at IS NOT NULL AND fingerprint = ?1 \
    ORDER BY died_at DESC, id DESC LIMIT 1";

/// Dead letters by fingerprint, as of one instant.
pub(super) fn groups(connection: &Connection, bounds: &GroupBounds) -> rusqlite::Result<LetterGroups> {
    let snapshot = connection.unchecked_transaction()?;
    let mut found = LetterGroups::default();
    let mut last = String::new();
    while let Some(fingerprint) = row(&snapshot, NEXT, params![last], |row| row.get::<_, String>(0))? {
        if found.groups.len() == bounds.groups {
            found.more = true;
            break;
        }
        found.groups.extend(group(&snapshot, &fingerprint, bounds)?);
        last = fingerprint;
    }
    Ok(found)
}

fn group(connection: &Connection, fingerprint: &str, bounds: &GroupBounds) -> rusqlite::Result<Option<LetterGroup>> {
    let most = limit(bounds.counted.saturating_add(1));
    let params = params![fingerprint, most, Column(bounds.recent_since)];
    row(connection, GROUP, params, |row| {
        Ok(LetterGroup {
            fingerprint: fingerprint.to_owned(),
            sample: row.get::<_, Column<_>>(0)?.0,
            last_at: row.get::<_, Column<_>>(1)?.0,
            first_at: row.get::<_, Column<_>>(2)?.0,
            all: counted(row.get(3)?, bounds.counted),
            recent: counted(row.get(4)?, bounds.counted),
        })
    })
}
