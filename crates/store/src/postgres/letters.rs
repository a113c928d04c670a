//! Dead letters by fingerprint.
//!
//! A group costs a few look-ups in a partial index however many letters it has: its letters are counted up to a bound only.

use super::columns::{column, id_at, instant, limit, number};
use super::session::Session;
use crate::traits::{Error, GroupBounds, LetterGroup, LetterGroups, counted};

/// Goes from one fingerprint to the next by index. `$1` is one more group than the answer has, `$2` one more than the bound
/// of a count, `$3` since when a death is recent.
pub(super) const GROUPS: &str = "\
    WITH RECURSIVE print AS (\
    (SELECT fingerprint, 1::bigint AS number FROM action \
    WHERE status = 5 AND died_at IS NOT NULL AND fingerprint IS NOT NULL ORDER BY fingerprint LIMIT 1) \
    UNION ALL SELECT (SELECT next.fingerprint FROM action AS next \
    WHERE next.status = 5 AND next.died_at IS NOT NULL AND next.fingerprint > print.fingerprint \
    ORDER BY next.fingerprint LIMIT 1), print.number + 1 \
    FROM print WHERE print.fingerprint IS NOT NULL AND print.number < $1::bigint) \
    SELECT print.fingerprint, newest.id, newest.died_at, \
    (SELECT died_at FROM action WHERE status = 5 AND died_at IS NOT NULL AND fingerprint = print.fingerprint \
    ORDER BY died_at LIMIT 1), \
    (SELECT count(*) FROM (SELECT 1 FROM action WHERE status = 5 AND died_at IS NOT NULL \
    AND fingerprint = print.fingerprint LIMIT $2::bigint) AS alike), \
    (SELECT count(*) FROM (SELECT 1 FROM action WHERE status = 5 AND died_at >= $3::bigint \
    AND fingerprint = print.fingerprint LIMIT $2::bigint) AS recent) \
    FROM print CROSS JOIN LATERAL (SELECT id, died_at FROM action \
    WHERE status = 5 AND died_at IS NOT NULL AND fingerprint = print.fingerprint \
    ORDER BY died_at DESC, id DESC LIMIT 1) AS newest ORDER BY print.fingerprint";

/// Dead letters by fingerprint.
pub(super) async fn groups(session: &Session, bounds: &GroupBounds) -> Result<LetterGroups, Error> {
    let (groups, most) = (bounds.groups.saturating_add(1), bounds.counted.saturating_add(1));
    let read = |row: &tokio_postgres::Row| {
        Ok(LetterGroup {
            fingerprint: column(row, 0)?,
            sample: id_at(row, 1)?,
            last_at: instant(row, 2)?,
            first_at: instant(row, 3)?,
            all: counted(number::<i64, _>(row, 4)?, bounds.counted),
            recent: counted(number::<i64, _>(row, 5)?, bounds.counted),
        })
    };
    let since = bounds.recent_since.as_millis();
    let mut found = session
        .all(GROUPS, &[&limit(groups), &limit(most), &since], read)
        .await?;
    let more = found.len() > bounds.groups;
    found.truncate(bounds.groups);
    Ok(LetterGroups { groups: found, more })
}
