//! Rows of a table as parameters: many as one array of a type for rows, a single one column by column.
//!
//! The server takes such an array apart with one function; an array for each column would cost it one for each, and as much time as
//! writing the rows. For a single row the array itself is what costs.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{Field, IsNull, Kind, ToSql, Type, to_sql_checked};

use super::session::Value;

type Failure = Box<dyn StdError + Sync + Send>;

/// A table whose rows are parameters.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RowTable {
    /// The type of its rows.
    pub(super) row: &'static str,
    /// Each with its type, in the order of the row's.
    pub(super) columns: &'static [(&'static str, &'static str)],
}

impl RowTable {
    /// Where rows come from in a statement, with their parameters from `$1` on.
    pub(super) fn source(&self, is_one: bool) -> String {
        if !is_one {
            return format!("unnest($1::{}[])", self.row);
        }
        let columns = self.columns.iter().zip(1..);
        let columns: Vec<String> = columns
            .map(|((name, kind), number)| format!("${number}::{kind} AS {name}"))
            .collect();
        format!("(SELECT {})", columns.join(", "))
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// How many parameters rows take.
    pub(super) fn values(&self, is_one: bool) -> usize {
        if is_one { self.columns.len() } else { 1 }
    }
}

/// The records as parameters; `row` puts one record's columns, in their order.
pub(super) fn rows<'a, R>(
    table: &'static RowTable,
    records: &[R],
    row: impl for<'o> Fn(&R, &mut Columns<'o>) + Sync + Send + 'a,
) -> Vec<Value<'a>>
where
    R: Copy + Sync + Send + 'a,
{
    let &[record] = records else {
        return vec![Box::new(Rows {
            records: records.to_vec(),
            row,
        })];
    };
    let row = Arc::new(row);
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(position, (name, _))| {
            Box::new(Column {
                record,
                row: Arc::clone(&row),
                position,
                name,
            }) as Value<'a>
        })
        .collect()
}

/// Many rows.
struct Rows<R, F> {
    records: Vec<R>,
    row: F,
}

impl<R, F> fmt::Debug for Rows<R, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} rows", self.records.len())
    }
}

impl<R, F> ToSql for Rows<R, F>
where
    F: for<'o> Fn(&R, &mut Columns<'o>),
{
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        let (member, fields) = row_type(kind).ok_or("no array of rows")?;
        // One dimension, no nulls, the type of its members; then how many, counted from 1.
        out.put_i32(1);
        out.put_i32(0);
        out.put_u32(member.oid());
        out.put_i32(i32::try_from(self.records.len())?);
        out.put_i32(1);
        for record in &self.records {
            let start = begin(out);
            out.put_i32(i32::try_from(fields.len())?);
            let mut columns = Columns::new(Wanted::All(fields.iter()), out);
            (self.row)(record, &mut columns);
            columns.end()?;
            fill(out, start)?;
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        row_type(kind).is_some()
    }

    to_sql_checked!();
}

fn row_type(kind: &Type) -> Option<(&Type, &[Field])> {
    let Kind::Array(member) = kind.kind() else { return None };
    let Kind::Composite(fields) = member.kind() else {
        return None;
    };
    Some((member, fields))
}

/// One column of a single row.
struct Column<R, F> {
    record: R,
    row: Arc<F>,
    position: usize,
    name: &'static str,
}

impl<R, F> fmt::Debug for Column<R, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "column `{}`", self.name)
    }
}

impl<R, F> ToSql for Column<R, F>
where
    F: for<'o> Fn(&R, &mut Columns<'o>),
{
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        let wanted = Wanted::One {
            before: self.position,
            name: self.name,
            kind,
        };
        let mut columns = Columns::new(wanted, out);
        (self.row)(&self.record, &mut columns);
        columns.end()
    }

    fn accepts(_: &Type) -> bool {
        // The value itself is asked.
        true
    }

    to_sql_checked!();
}

/// The columns of one row, or one of them, as they are put.
pub(super) struct Columns<'o> {
    wanted: Wanted<'o>,
    out: &'o mut BytesMut,
    result: Result<IsNull, Failure>,
}

enum Wanted<'o> {
    /// Those that are still to be put.
    All(std::slice::Iter<'o, Field>),
    /// One that comes after so many others.
    One {
        before: usize,
        name: &'static str,
        kind: &'o Type,
    },
    /// Nothing more.
    Done,
}

impl<'o> Columns<'o> {
    fn new(wanted: Wanted<'o>, out: &'o mut BytesMut) -> Self {
        Self {
            wanted,
            out,
            result: Ok(IsNull::No),
        }
    }

    /// Puts the next column, which must have this name: rows that are not as they were thought to be are noticed.
    pub(super) fn put(&mut self, name: &str, value: impl ToSql + Sync) -> &mut Self {
        match &mut self.wanted {
            _ if self.result.is_err() => {}
            Wanted::Done => {}
            Wanted::One {
                before: before @ 1.., ..
            } => *before -= 1,
            Wanted::One { name: named, kind, .. } => {
                self.result = if *named == name {
                    value.to_sql_checked(kind, self.out)
                } else {
                    Err(misplaced(name))
                };
                self.wanted = Wanted::Done;
            }
            Wanted::All(fields) => {
                let field = fields.next().filter(|field| field.name() == name);
                let put = field.ok_or_else(|| misplaced(name));
                self.result = put.and_then(|field| put_field(field.type_(), &value, self.out));
            }
        }
        self
    }

    fn end(self) -> Result<IsNull, Failure> {
        match self.wanted {
            Wanted::All(mut fields) => match fields.next() {
                Some(field) => self.result.and(Err(misplaced(field.name()))),
                None => self.result,
            },
            Wanted::One { name, .. } => Err(misplaced(name)),
            Wanted::Done => self.result,
        }
    }
}

fn put_field(kind: &Type, value: &(impl ToSql + Sync), out: &mut BytesMut) -> Result<IsNull, Failure> {
    out.put_u32(kind.oid());
    let start = begin(out);
    if matches!(value.to_sql_checked(kind, out)?, IsNull::No) {
        fill(out, start)?;
    }
    Ok(IsNull::No)
}

fn misplaced(name: &str) -> Failure {
    Box::new(Misplaced(name.to_owned()))
}

/// The type of rows in the database has not the columns that this program sends.
#[derive(Debug)]
pub(super) struct Misplaced(String);

impl fmt::Display for Misplaced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "column `{}` is not where it should be", self.0)
    }
}

impl StdError for Misplaced {}

/// Leaves room for the length of what follows. Unless it is filled in, nothing follows.
fn begin(out: &mut BytesMut) -> usize {
    out.put_i32(-1);
    out.len()
}

/// Fills in the length of what was written since.
fn fill(out: &mut BytesMut, start: usize) -> Result<(), Failure> {
    let length = i32::try_from(out.len() - start)?;
    out[start - 4..start].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
