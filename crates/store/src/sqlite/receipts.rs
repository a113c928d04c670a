//! Receipts: the first answer to a message with an id.

use rusqlite::{Connection, params};
use sprag_core::ids::ExecutionId;

use super::columns::{one_row, row};
use crate::records::Receipt;

pub(super) const INSERT: &str = "INSERT INTO receipt (execution, message, answer) VALUES (?1, ?2, ?3)";

pub(super) const DELETE: &str = "DELETE FROM receipt WHERE execution = ?1 AND message = ?2";

pub(super) const GET: &str = "SELECT message, answer FROM receipt WHERE execution = ?1 AND message = ?2";

/// Adds an answer.
pub(super) fn insert(connection: &Connection, record: &Receipt) -> rusqlite::Result<()> {
    let Receipt {
        execution,
        message,
        answer,
    } = record;
    one_row(
        connection
            .prepare_cached(INSERT)?
            .execute(params![execution.to_bytes(), message, answer])?,
    )
}

/// Deletes an answer, if it is still there.
pub(super) fn delete(connection: &Connection, execution: ExecutionId, message: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(DELETE)?
        .execute(params![execution.to_bytes(), message])?;
    Ok(())
}

/// One answer.
pub(super) fn get(connection: &Connection, execution: ExecutionId, message: &str) -> rusqlite::Result<Option<Receipt>> {
    row(connection, GET, params![execution.to_bytes(), message], |row| {
        Ok(Receipt {
            execution,
            message: row.get(0)?,
            answer: row.get(1)?,
        })
    })
}
