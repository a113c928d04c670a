//! Searches: a condition becomes a walk along one index, newest first, that looks at a bounded number of rows.
//!
//! Of all indexes that a condition allows, the one with the fewest entries in question is walked; counting stops where
//! the walk would stop too. The condition itself is a column of the statement, so the planner is never asked to be
//! clever about it. Texts of statements are put together from the constants of this module alone: whatever a caller
//! gave is a parameter.

mod walk;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use sprag_core::filter::{Condition, Constant};
use sprag_core::ids::{ActionId, ExecutionId};

pub(super) use self::walk::{Walk, walks};
use super::columns::limit;
use super::{actions, executions};
use crate::page::{Page, PageLimit, Paged, Weight, continued, paged};
use crate::records::{Action, Execution};
pub(super) use crate::search::{Bounds, SearchedTable};
use crate::search::{Dialect, Rendered};
use crate::traits::{Counted, Search};

/// Rows that a page looks at where an index leads to them: they may lie anywhere in the file, one in each of its pages,
/// while those of the table itself lie side by side.
const SCATTERED_MAX: usize = 500;

/// Executions that meet a condition.
pub(super) fn executions(
    connection: &Connection,
    search: &Search<ExecutionId>,
) -> rusqlite::Result<Paged<Execution, ExecutionId>> {
    let snapshot = connection.unchecked_transaction()?;
    let before = search.page.after.map(ExecutionId::to_bytes);
    let ids = ids(&snapshot, SearchedTable::Execution, search, before)?;
    let read = |id: &[u8; 16]| executions::get(&snapshot, ExecutionId::from_bytes(*id));
    let rows = rows(&ids.rows, search.page.limit.bytes, read)?;
    Ok(Paged {
        next: continued(&ids.rows, &rows, ids.next).map(ExecutionId::from_bytes),
        rows,
    })
}

/// Actions that meet a condition.
pub(super) fn actions(connection: &Connection, search: &Search<ActionId>) -> rusqlite::Result<Paged<Action, ActionId>> {
    let snapshot = connection.unchecked_transaction()?;
    let before = search.page.after.map(ActionId::to_bytes);
    let ids = ids(&snapshot, SearchedTable::Action, search, before)?;
    let read = |id: &[u8; 16]| actions::get(&snapshot, ActionId::from_bytes(*id));
    let rows = rows(&ids.rows, search.page.limit.bytes, read)?;
    Ok(Paged {
        next: continued(&ids.rows, &rows, ids.next).map(ActionId::from_bytes),
        rows,
    })
}

/// How many actions meet a condition, of the newest `scan` along the narrowest walk.
pub(super) fn count_actions(connection: &Connection, condition: &Condition, scan: usize) -> rusqlite::Result<Counted> {
    let search: Search<ActionId> = Search {
        condition: condition.clone(),
        page: Page::default(),
        scan,
    };
    let Some(bounds) = Bounds::of(condition, None) else {
        return Ok(Counted { count: 0, more: false });
    };
    let snapshot = connection.unchecked_transaction()?;
    let walk = narrowest(&snapshot, SearchedTable::Action, &search, &bounds)?;
    let (sql, values) = statement(SearchedTable::Action, &walk, condition, &bounds, scan);
    let sql = format!("SELECT count(*), coalesce(sum(is_meant), 0) FROM ({sql})");
    let mut statement = snapshot.prepare(&sql)?;
    let (looked_at, count): (usize, u64) =
        statement.query_row(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Counted {
        count,
        more: looked_at >= scan,
    })
}

/// The first rows of what was found, as many as fit on a page of so many bytes.
fn rows<T: Weight>(
    ids: &[[u8; 16]],
    bytes: usize,
    read: impl Fn(&[u8; 16]) -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Vec<T>> {
    let found = ids
        .iter()
        .map(|id| read(id)?.ok_or(rusqlite::Error::QueryReturnedNoRows));
    let limit = PageLimit { rows: ids.len(), bytes };
    Ok(paged(found, limit, |_| ())?.rows)
}

/// The ids of what is found. Rows are read afterwards: most that are looked at may not be meant, and some are large.
fn ids<I>(
    connection: &Connection,
    table: SearchedTable,
    search: &Search<I>,
    before: Option<[u8; 16]>,
) -> rusqlite::Result<Paged<[u8; 16], [u8; 16]>> {
    let mut found = Paged::default();
    let Some(bounds) = Bounds::of(&search.condition, before).filter(|_| search.page.limit.rows > 0) else {
        return Ok(found);
    };
    let walk = narrowest(connection, table, search, &bounds)?;
    let scan = most_of(&walk, search);
    let (sql, values) = statement(table, &walk, &search.condition, &bounds, scan);
    // Not kept among the prepared statements: each filter is another text, and would push out those in daily use.
    let mut statement = connection.prepare(&sql)?;
    let mut entries = statement.query(params_from_iter(values))?;
    let (mut looked_at, mut last) = (0, None);
    while let Some(entry) = entries.next()? {
        let (id, is_meant) = read(entry)?;
        if is_meant && found.rows.len() == search.page.limit.rows {
            found.next = found.rows.last().copied();
            return Ok(found);
        }
        if is_meant {
            found.rows.push(id);
        }
        looked_at += 1;
        last = Some(id);
    }
    found.next = last.filter(|_| looked_at >= scan);
    Ok(found)
}

/// How many rows a page looks at along a walk. What needs sorting is looked at whole: it is open, so it lies together
/// with what is written now.
fn most_of<I>(walk: &Walk, search: &Search<I>) -> usize {
    if walk.is_whole() || !walk.in_order {
        search.scan
    } else {
        search.scan.min(SCATTERED_MAX)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<([u8; 16], bool)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// The walk with the fewest entries. One that needs sorting counts only if all of it may be looked at.
fn narrowest<I>(
    connection: &Connection,
    table: SearchedTable,
    search: &Search<I>,
    bounds: &Bounds,
) -> rusqlite::Result<Walk> {
    let mut best = (search.scan, Walk::whole(table));
    for walk in walks(table, &search.condition) {
        let most = best.0.saturating_add(1);
        let (sql, values) = probe(&walk, bounds, most);
        let count = connection
            .prepare_cached(&sql)?
            .query_row(params_from_iter(values), |row| row.get::<_, usize>(0))?;
        let is_whole = best.1.is_whole();
        if count < best.0 || (is_whole && (walk.in_order || count <= search.scan)) {
            best = (count.min(search.scan), walk);
        }
    }
    Ok(best.1)
}

/// The parameters of a range of ids.
fn range(bounds: &Bounds) -> [Value; 2] {
    bounds.ids().map(|id| Value::Blob(id.to_vec()))
}

/// How many entries a walk has, counted up to a bound.
pub(super) fn probe(walk: &Walk, bounds: &Bounds, most: usize) -> (String, Vec<Value>) {
    let mut values = walk.values.clone();
    values.extend(range(bounds));
    values.push(Value::Integer(limit(most)));
    let Walk { index, place, id, .. } = walk;
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {place} AND {id} >= ? AND {id} <= ? LIMIT ?)");
    (sql, values)
}

/// The walk itself: ids, newest first, each with whether the condition holds.
pub(super) fn statement(
    table: SearchedTable,
    walk: &Walk,
    condition: &Condition,
    bounds: &Bounds,
    scan: usize,
) -> (String, Vec<Value>) {
    let Rendered {
        text: is_meant,
        constants,
        ..
    } = Rendered::of(Dialect::Sqlite, table, condition);
    let mut values: Vec<Value> = constants.into_iter().map(value).collect();
    values.extend(walk.values.iter().cloned());
    values.extend(range(bounds));
    values.push(Value::Integer(limit(scan)));
    let Walk { from, place, id, .. } = walk;
    let sql = format!(
        "SELECT {id}, {is_meant} AS is_meant FROM {from} WHERE {place} AND {id} >= ? AND {id} <= ? ORDER BY {id} DESC LIMIT ?"
    );
    (sql, values)
}

/// A constant as a parameter.
fn value(constant: &Constant) -> Value {
    match constant {
        Constant::Text(text) => Value::Text(text.clone()),
        Constant::Number(number) => Value::Integer(*number),
        Constant::Id(id) => Value::Blob(id.to_vec()),
    }
}
