//! How values of records become columns and come back.
//!
//! What cannot be read back is an error of its column, which surfaces as a damaged database: nothing is guessed.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row};
use sprag_core::ids::{ActionId, ExecutionId, JobId, WorkflowId};
use sprag_core::time::Timestamp;

use crate::page::{PageLimit, Paged, Weight, paged};
use crate::records::{CatalogKind, ExecutionStatus, JobResult, JobStatus, WorkflowStatus};

/// A value in the form of its column.
pub(super) struct Column<T>(pub(super) T);

impl ToSql for Column<Timestamp> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.as_millis()))
    }
}

impl FromSql for Column<Timestamp> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(Timestamp::from_millis(i64::column_result(value)?)))
    }
}

macro_rules! ids {
    ($($id:ident),+) => {
        $(impl FromSql for Column<$id> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                Ok(Self($id::from_bytes(FromSql::column_result(value)?)))
            }
        })+
    };
}

ids!(ActionId, ExecutionId, JobId, WorkflowId);

macro_rules! numbered {
    ($($kind:ident),+) => {
        $(impl FromSql for Column<$kind> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                numbered(value, &$kind::ALL)
            }
        })+
    };
}

numbered!(CatalogKind, ExecutionStatus, JobResult, JobStatus, WorkflowStatus);

/// The one of `all` that is stored by its number.
fn numbered<T: Copy>(value: ValueRef<'_>, all: &[T]) -> FromSqlResult<Column<T>> {
    let number = i64::column_result(value)?;
    usize::try_from(number)
        .ok()
        .and_then(|index| all.get(index).copied())
        .map(Column)
        .ok_or(FromSqlError::OutOfRange(number))
}

/// Tags as a JSON array. None is null, so that rows without tags, which are most, do not pay for them.
impl ToSql for Column<&[String]> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        if self.0.is_empty() {
            return Ok(ToSqlOutput::Borrowed(ValueRef::Null));
        }
        let text = serde_json::to_string(self.0)
            .map_err(|problem| rusqlite::Error::ToSqlConversionFailure(Box::new(problem)))?;
        Ok(ToSqlOutput::from(text))
    }
}

impl FromSql for Column<Vec<String>> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_str_or_null()? {
            None => Ok(Self(Vec::new())),
            Some(text) => serde_json::from_str(text).map(Self).map_err(FromSqlError::other),
        }
    }
}

/// The rows that a page reads at most.
pub(super) fn page_rows(limit: PageLimit) -> i64 {
    self::limit(limit.rows_to_read())
}

/// A bound on the number of rows. A greater one than `SQLite` can count bounds nothing anyway.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A number to compare with. Columns hold nothing above `i64::MAX`, so the comparison comes out the same.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A write that must have changed just one row.
pub(super) fn one_row(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 {
        Ok(())
    } else {
        Err(rusqlite::Error::StatementChangedRows(changed))
    }
}

/// All rows of a query, read by `read`.
pub(super) fn rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, read)?.collect()
}

/// A page of a query that has as many rows as [`page_rows`] allows, each read by `read`, with its place in the list by
/// `cursor`. Rows are read one at a time, so those beyond the page stay in the file.
pub(super) fn page<T: Weight, C>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    limit: PageLimit,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    cursor: impl Fn(&T) -> C,
) -> rusqlite::Result<Paged<T, C>> {
    paged(connection.prepare_cached(sql)?.query_map(params, read)?, limit, cursor)
}

/// The first row of a query, if there is one, read by `read`.
pub(super) fn row<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    connection.prepare_cached(sql)?.query_row(params, read).optional()
}
