//! How values of records become columns and come back.
//!
//! What cannot be read back is an error of its column, which surfaces as a damaged database: nothing is guessed.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::hash::Hash;

use bytes::{BufMut, BytesMut};
use sprag_core::ids::{ActionId, ExecutionId, JobId, NodeId, Slot, WorkflowId};
use sprag_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::page::{PageLimit, Paged, ROW_BYTES};
use crate::traits::{Error, shard_of};

type Failure = Box<dyn StdError + Sync + Send>;

/// The 16 bytes of an id, in a `uuid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) [u8; 16]);

impl Id {
    /// Before every id.
    pub(super) const FIRST: Self = Self([0; 16]);
    /// After every id.
    pub(super) const LAST: Self = Self([u8::MAX; 16]);
}

macro_rules! ids {
    ($($id:ident),+) => {
        $(impl From<$id> for Id {
            fn from(id: $id) -> Self {
                Self(id.to_bytes())
            }
        }

        impl From<Id> for $id {
            fn from(Id(bytes): Id) -> Self {
                Self::from_bytes(bytes)
            }
        })+
    };
}

ids!(ActionId, ExecutionId, JobId, NodeId, WorkflowId);

impl ToSql for Id {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        out.put_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Id {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

/// A column of a row, by its position.
pub(super) fn column<'r, T: FromSql<'r>>(row: &'r Row, position: usize) -> Result<T, Error> {
    row.try_get(position).map_err(|problem| damaged(&problem.to_string()))
}

/// An instant.
pub(super) fn instant(row: &Row, position: usize) -> Result<Timestamp, Error> {
    column(row, position).map(Timestamp::from_millis)
}

/// The id of something.
pub(super) fn id_at<T: From<Id>>(row: &Row, position: usize) -> Result<T, Error> {
    column::<Id>(row, position).map(T::from)
}

/// A number that is stored as a greater or a signed one.
pub(super) fn number<'r, S: FromSql<'r>, T: TryFrom<S>>(row: &'r Row, position: usize) -> Result<T, Error> {
    let stored: S = column(row, position)?;
    T::try_from(stored).map_err(|_| damaged("a number is out of range"))
}

/// 32 bytes.
pub(super) fn digest(row: &Row, position: usize) -> Result<[u8; 32], Error> {
    let bytes: &[u8] = column(row, position)?;
    bytes.try_into().map_err(|_| damaged("a digest has not 32 bytes"))
}

/// The one of `all` that is stored by its number.
pub(super) fn numbered<T: Copy>(row: &Row, position: usize, all: &[T]) -> Result<T, Error> {
    let index: usize = number::<i16, _>(row, position)?;
    all.get(index)
        .copied()
        .ok_or_else(|| damaged(&format!("`{index}` is the number of nothing")))
}

/// Tags as a JSON array. None is null, so that rows without tags, which are most, do not pay for them.
pub(super) fn tags(tags: &[String]) -> Option<String> {
    // A list of texts is always JSON.
    (!tags.is_empty()).then(|| serde_json::to_string(tags).unwrap_or_default())
}

/// Tags as they were.
pub(super) fn read_tags(row: &Row, position: usize) -> Result<Vec<String>, Error> {
    match column::<Option<&str>>(row, position)? {
        None => Ok(Vec::new()),
        Some(text) => serde_json::from_str(text).map_err(|problem| damaged(&problem.to_string())),
    }
}

/// A number in its column. What is too great was refused before; see `checks`.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A bound on the number of rows. A greater one than can be counted bounds nothing anyway.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The rows that a page reads at most.
pub(super) fn page_rows(limit: PageLimit) -> i64 {
    self::limit(limit.rows_to_read())
}

/// The rows of a page, of which each carries whether the list continues behind it.
pub(super) fn page<T, C>(
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, Error>,
    cursor: impl Fn(&T) -> C,
) -> Result<Paged<T, C>, Error> {
    let continues = match rows.last() {
        Some(last) => last
            .try_get("continues")
            .map_err(|problem| damaged(&problem.to_string()))?,
        None => false,
    };
    let rows = rows.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Paged::of(rows, continues, cursor))
}

/// What a row counts for on a page besides its unbounded columns.
pub(super) fn row_bytes() -> i32 {
    i32::try_from(ROW_BYTES).unwrap_or(i32::MAX)
}

/// The shard of a slot in its column.
pub(super) fn shard(slot: Slot, shards: u32) -> i16 {
    i16::try_from(shard_of(slot, shards).0).unwrap_or(i16::MAX)
}

/// What was written by this code can be read by it: anything else came from outside.
fn damaged(detail: &str) -> Error {
    Error::Corrupt {
        detail: detail.to_owned(),
    }
}

/// What was found, in the order in which it was wanted: a statement that looks up many gives them in any.
pub(super) fn as_wanted<K: Eq + Hash, T: Clone>(wanted: &[K], found: &[T], key: impl Fn(&T) -> &K) -> Vec<T> {
    let by_key: HashMap<&K, &T> = found.iter().map(|one| (key(one), one)).collect();
    let ordered = wanted.iter().filter_map(|key| by_key.get(key).copied().cloned());
    ordered.collect()
}
