//! A query made of the conditions that were given, so that the planner sees only those and can use an index.

use rusqlite::{Connection, Row, ToSql, params_from_iter};

use super::columns::{page, page_rows};
use crate::page::{PageLimit, Paged, Weight};

/// A `SELECT` that grows by conditions.
pub(super) struct Filter<'a> {
    sql: String,
    values: Vec<&'a dyn ToSql>,
    next: &'static str,
}

impl<'a> Filter<'a> {
    /// All rows of `select`, which must not have a `WHERE` yet.
    pub(super) fn new(select: &str) -> Self {
        Self {
            sql: select.to_owned(),
            values: Vec::new(),
            next: " WHERE ",
        }
    }

    /// Only rows that satisfy `condition`.
    pub(super) fn condition(&mut self, condition: &str) {
        self.sql.push_str(self.next);
        self.sql.push_str(condition);
        self.next = " AND ";
    }

    /// Only rows that satisfy `condition`, which has one parameter, with `value`; all rows when there is no value.
    pub(super) fn given<T: ToSql>(&mut self, condition: &str, value: Option<&'a T>) {
        if let Some(value) = value {
            self.condition(condition);
            self.values.push(value);
        }
    }

    /// The statement, newest first.
    pub(super) fn sql(&self) -> String {
        format!("{} ORDER BY id DESC LIMIT ?", self.sql)
    }

    /// A page, newest first.
    pub(super) fn newest<T: Weight, C>(
        self,
        connection: &Connection,
        limit: PageLimit,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        cursor: impl Fn(&T) -> C,
    ) -> rusqlite::Result<Paged<T, C>> {
        let sql = self.sql();
        let rows = page_rows(limit);
        let values = self.values.into_iter().chain([&rows as &dyn ToSql]);
        page(connection, &sql, params_from_iter(values), limit, read, cursor)
    }
}
