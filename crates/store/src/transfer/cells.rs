//! Rows without what they mean: values as both stores have them, and their tables.
//!
//! Both stores compare ids, texts and bytes as bytes, so a table has one order on both sides.

use std::error::Error as StdError;
use std::fmt::Write as _;

use bytes::{BufMut, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Failure = Box<dyn StdError + Sync + Send>;

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// None.
    Null,
    /// Any whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes, ids among them.
    Bytes(Vec<u8>),
}

/// The values of a row, in the order of its table's columns.
pub(crate) type RowCells = Vec<Cell>;

/// A table as it is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransferTable {
    /// Its name, on both sides.
    pub(crate) name: String,
    /// Its columns; the shard, where the target has one, comes last.
    pub(crate) columns: Vec<String>,
    /// The places of the key's columns, in the key's order.
    pub(crate) key: Vec<usize>,
    /// The place of the column whose slot decides on the shard, where the target has one.
    pub(crate) home: Option<usize>,
    /// What the columns are in the target.
    pub(crate) types: Vec<Type>,
}

impl TransferTable {
    /// The key of a row.
    pub(crate) fn key_of(&self, line: &RowCells) -> RowCells {
        let values = self.key.iter().filter_map(|&place| line.get(place).cloned());
        values.collect()
    }

    /// The names of the key's columns, separated by commas.
    pub(crate) fn key_names(&self) -> String {
        let names: Vec<&str> = self
            .key
            .iter()
            .filter_map(|&place| self.columns.get(place).map(String::as_str))
            .collect();
        names.join(", ")
    }
}

impl Cell {
    /// How much room it takes, roughly.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) => size_of::<i64>(),
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Adds it to a digest, such that no two rows of values look the same.
    pub(super) fn digest(&self, sum: &mut Sha256) {
        let (kind, bytes): (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Integer(number) => {
                sum.update([1]);
                sum.update(number.to_be_bytes());
                return;
            }
            Self::Text(text) => (2, text.as_bytes()),
            Self::Bytes(bytes) => (3, bytes),
        };
        sum.update([kind]);
        sum.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        sum.update(bytes);
    }
}

/// A key as it is shown.
pub(super) fn shown(key: &RowCells) -> String {
    let values: Vec<String> = key.iter().map(shown_cell).collect();
    values.join(", ")
}

fn shown_cell(cell: &Cell) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Bytes(bytes) => hex(bytes),
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether values of a type can be moved.
pub(crate) fn is_known(kind: &Type) -> bool {
    [
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::TEXT,
        Type::BYTEA,
        Type::UUID,
        Type::BOOL,
    ]
    .contains(kind)
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match (self, kind) {
            (Self::Null, _) => return Ok(IsNull::Yes),
            (Self::Integer(number), &Type::INT2) => out.put_i16(i16::try_from(*number)?),
            (Self::Integer(number), &Type::INT4) => out.put_i32(i32::try_from(*number)?),
            (Self::Integer(number), &Type::INT8) => out.put_i64(*number),
            (Self::Integer(number), &Type::BOOL) => out.put_u8(u8::from(*number != 0)),
            (Self::Text(text), &Type::TEXT) => out.put_slice(text.as_bytes()),
            (Self::Bytes(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (Self::Bytes(bytes), &Type::UUID) => out.put_slice(<&[u8; 16]>::try_from(bytes.as_slice())?),
            (cell, kind) => return Err(format!("`{}` is no `{kind}`", shown_cell(cell)).into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        is_known(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        Ok(match *kind {
            Type::INT2 => Self::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(kind, raw)?),
            Type::BOOL => Self::Integer(bool::from_sql(kind, raw)?.into()),
            Type::TEXT => Self::Text(String::from_sql(kind, raw)?),
            _ => Self::Bytes(raw.to_vec()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failure> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        is_known(kind)
    }
}
