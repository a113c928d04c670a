//! Many rows in one statement.
//!
//! A statement opens each tree of its table, runs, and closes them all again: for a row with a few indexes that is nearly
//! half of what inserting it costs. Neighbours in a commit therefore share a statement, as many as go into one of the
//! sizes below. All rows of a call are inserted, in order, or an error says so: then the whole transaction is rolled back
//! already, because `SQLite` would otherwise keep a copy of every page that such a statement changes until it ended.

use rusqlite::{Connection, Statement, ToSql};

/// Rows that one statement takes, largest first. A longer one saves no more; a shorter one is there for what is left over.
const SIZES: [usize; 3] = [16, 4, 1];

/// The statements that insert rows into one table, one for each size.
pub(super) struct Insert {
    statements: [String; SIZES.len()],
    columns: usize,
}

impl Insert {
    /// Into `table`, these `columns`.
    pub(super) fn into(table: &str, columns: &[&str]) -> Self {
        let places = format!("({})", vec!["?"; columns.len()].join(", "));
        let statement = |size| {
            let rows = vec![places.as_str(); size].join(", ");
            format!("INSERT OR ROLLBACK INTO {table} ({}) VALUES {rows}", columns.join(", "))
        };
        Self {
            statements: SIZES.map(statement),
            columns: columns.len(),
        }
    }

    /// Inserts a row for each record; `bind` gives the columns of one, in order.
    pub(super) fn all<T>(
        &self,
        connection: &Connection,
        mut records: &[T],
        bind: impl Fn(&mut Places<'_, '_>, &T) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        for (sql, size) in self.statements.iter().zip(SIZES) {
            while let Some((rows, rest)) = records.split_at_checked(size) {
                let mut statement = connection.prepare_cached(sql)?;
                let mut places = Places::of(&mut statement);
                for row in rows {
                    bind(&mut places, row)?;
                }
                debug_assert_eq!(places.next, 1 + size * self.columns, "every column is bound");
                let changed = statement.raw_execute()?;
                if changed != size {
                    return Err(rusqlite::Error::StatementChangedRows(changed));
                }
                records = rest;
                if records.is_empty() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The places of a statement, filled from the first to the last.
pub(super) struct Places<'a, 'c> {
    statement: &'a mut Statement<'c>,
    next: usize,
}

impl<'a, 'c> Places<'a, 'c> {
    /// Those of `statement`.
    pub(super) fn of(statement: &'a mut Statement<'c>) -> Self {
        Self { statement, next: 1 }
    }

    /// Runs the statement, and gives how many rows it changed.
    pub(super) fn run(self) -> rusqlite::Result<usize> {
        self.statement.raw_execute()
    }

    /// Fills the next one.
    pub(super) fn put(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.statement.raw_bind_parameter(self.next, value)?;
        self.next += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: i64) -> Vec<i64> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a, b)").unwrap();
        let insert = Insert::into("t", &["a", "b"]);
        let given: Vec<i64> = (0..count).collect();
        insert
            .all(&connection, &given, |places, number| {
                places.put(number)?;
                places.put(-number)
            })
            .unwrap();
        let mut read = connection
            .prepare("SELECT a FROM t WHERE a = -b ORDER BY rowid")
            .unwrap();
        read.query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn any_number_of_rows_arrives_whole_and_in_order() {
        for count in [0, 1, 3, 4, 5, 15, 16, 17, 20, 37, 100] {
            assert_eq!(numbers(count), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_row_that_is_refused_refuses_all_of_its_transaction() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (a UNIQUE); BEGIN; INSERT INTO t VALUES (9)")
            .unwrap();
        let insert = Insert::into("t", &["a"]);
        let twice = [1, 2, 3, 2];
        assert!(
            insert
                .all(&connection, &twice, |places, number| places.put(number))
                .is_err()
        );
        assert!(connection.is_autocommit(), "nothing is left to roll back");
        let rows: i64 = connection
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 0);
    }
}
