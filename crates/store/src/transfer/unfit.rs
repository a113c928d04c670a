//! Which row it was that the database did not take, in words that lead to it.
//!
//! Names have bounds today; the definitions of earlier times had none, and the file keeps what they made. `PostgreSQL`
//! keeps no NUL in a text and no index entry of more than about 2,700 bytes, and does not say which row had one.

use serde_json::Value;
use sprag_core::ids::ActionId;
use sprag_core::text::{INDEXED_BYTES_MAX, is_storable};

use super::{Cell, RowCells, TransferError, TransferTable, cells};
use crate::sqlite::Source;
use crate::traits::Error;

/// The error of a page that was not written: it names the row and the column, where one stands out.
pub(super) fn explained(
    source: &Source,
    table: &TransferTable,
    page: &[RowCells],
    problem: TransferError,
) -> TransferError {
    let TransferError::Writing(Error::Refused { detail }) = &problem else {
        return problem;
    };
    let Some((line, column, what)) = culprit(table, page) else {
        return problem;
    };
    TransferError::Unfit {
        table: table.name.clone(),
        column: column.to_owned(),
        row: owner(source, table, line).unwrap_or_else(|| format!("row `{}`", cells::shown(&table.key_of(line)))),
        problem: what,
        said: detail.clone(),
    }
}

/// The text that cannot be kept: one with a NUL, or else the longest of those that are too long.
fn culprit<'p>(table: &'p TransferTable, page: &'p [RowCells]) -> Option<(&'p RowCells, &'p str, String)> {
    let texts = page.iter().flat_map(|line| {
        let columns = line.iter().zip(&table.columns);
        columns.filter_map(move |(cell, column)| match cell {
            Cell::Text(text) => Some((line, column.as_str(), text)),
            Cell::Null | Cell::Integer(_) | Cell::Bytes(_) => None,
        })
    });
    let nul = texts.clone().find(|(_, _, text)| !is_storable(text));
    if let Some((line, column, _)) = nul {
        return Some((line, column, "holds a NUL character".to_owned()));
    }
    let longest = texts.max_by_key(|(_, _, text)| text.len());
    let (line, column, text) = longest.filter(|(_, _, text)| text.len() > INDEXED_BYTES_MAX)?;
    Some((line, column, format!("has {} bytes", text.len())))
}

/// The action that a row is about, with the definition that made it.
fn owner(source: &Source, table: &TransferTable, line: &RowCells) -> Option<String> {
    let column = match table.name.as_str() {
        "action" => "id",
        "action_tag" => "action",
        _ => return None,
    };
    let place = table.columns.iter().position(|name| name == column)?;
    let Some(Cell::Bytes(bytes)) = line.get(place) else {
        return None;
    };
    let (machine, body) = source.action(bytes).ok()??;
    let id = ActionId::from_bytes(bytes.as_slice().try_into().ok()?);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let version = body.get("version").and_then(Value::as_u64);
    let version = version
        .map(|version| format!(", version {version}"))
        .unwrap_or_default();
    Some(format!("action `{id}` of machine `{machine}`{version}"))
}
