//! Lists and searches: statements made of the conditions that were given.
//!
//! What a condition requires of every row narrows the walk, so that the planner finds the index; the whole condition is a
//! column of the statement. A page looks at a bounded number of rows. Texts of statements are put together from
//! constants of this code alone: whatever a caller gave is a parameter.

use std::fmt::Write as _;

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};
use sprag_core::ids::{ActionId, ExecutionId};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{self, Id, column, limit, number, page_rows};
use super::session::{Session, Value};
use super::{actions, executions};
use crate::page::{PageLimit, Paged, ROW_BYTES, continued};
use crate::records::{Action, Execution};
use crate::search::{Bounds, Dialect, Rendered, SearchedTable, statuses};
use crate::traits::{Counted, Error, Search};

/// The rows of a table as lists show them.
pub(super) struct Listed {
    /// The columns.
    pub(super) columns: &'static str,
    /// The table.
    pub(super) table: &'static str,
    /// What the unbounded columns of a row count for, in bytes.
    pub(super) bytes: &'static str,
}

impl Listed {
    /// Rows by their ids, newest first, as many as fit into so many bytes.
    pub(super) async fn of(&self, session: &Session, ids: Vec<Id>, bytes: usize) -> Result<Vec<Row>, Error> {
        let limit = PageLimit { rows: ids.len(), bytes };
        let mut filter = Filter::new(self);
        filter.given("id = ANY(", Some(ids), &Type::UUID_ARRAY);
        filter.sql.text.push(')');
        filter.newest(session, limit).await
    }
}

/// A page of a list that grows by conditions. The server adds up what its rows count for and sends only those that fit: a
/// client that stopped reading in between would have received the rest all the same.
pub(super) struct Filter<'a> {
    sql: Sql<'a>,
    next: &'static str,
}

impl<'a> Filter<'a> {
    /// All rows of a list.
    pub(super) fn new(listed: &Listed) -> Self {
        let Listed { columns, table, bytes } = listed;
        let mut sql = Sql::default();
        sql.add(format_args!(
            "SELECT {columns}, continues FROM (SELECT {columns}, bytes, sum(bytes) OVER listed AS total, \
             lead(true, 1, false) OVER listed AS continues FROM (SELECT {columns}, {ROW_BYTES} + {bytes} AS bytes FROM {table}"
        ));
        Self { sql, next: " WHERE " }
    }

    /// Only rows that satisfy `condition`.
    pub(super) fn condition(&mut self, condition: &str) {
        self.sql.text.push_str(self.next);
        self.sql.text.push_str(condition);
        self.next = " AND ";
    }

    /// Only rows that satisfy `condition`, which ends where its value begins; all rows when there is no value.
    pub(super) fn given<T: ToSql + Sync + Send + 'a>(&mut self, condition: &str, value: Option<T>, kind: &Type) {
        if let Some(value) = value {
            self.condition(condition);
            self.sql.value(value, kind);
        }
    }

    /// A page, newest first. The first row's total is its own size.
    pub(super) async fn newest(mut self, session: &Session, limit: PageLimit) -> Result<Vec<Row>, Error> {
        self.sql.text.push_str(" ORDER BY id DESC LIMIT ");
        let rows = self.sql.value(page_rows(limit), &Type::INT8);
        self.sql
            .text
            .push_str(") AS found WINDOW listed AS (ORDER BY id DESC)) AS page WHERE total <= ");
        self.sql.value(columns::limit(limit.bytes), &Type::INT8);
        self.sql
            .add(format_args!(" OR total = bytes ORDER BY id DESC LIMIT ${rows} - 1"));
        session.once(&self.sql.text, &self.sql.values).await
    }
}

/// Executions that meet a condition.
pub(super) async fn find_executions(
    session: &Session,
    search: &Search<ExecutionId>,
) -> Result<Paged<Execution, ExecutionId>, Error> {
    let found = ids(
        session,
        SearchedTable::Execution,
        search,
        search.page.after.map(ExecutionId::to_bytes),
    )
    .await?;
    let ids: Vec<ExecutionId> = found.rows.into_iter().map(|id| ExecutionId::from_bytes(id.0)).collect();
    let rows = executions::page(session, &ids, search.page.limit.bytes).await?;
    Ok(Paged {
        next: continued(&ids, &rows, found.next.map(|id| ExecutionId::from_bytes(id.0))),
        rows,
    })
}

/// Actions that meet a condition.
pub(super) async fn find_actions(
    session: &Session,
    search: &Search<ActionId>,
) -> Result<Paged<Action, ActionId>, Error> {
    let found = ids(
        session,
        SearchedTable::Action,
        search,
        search.page.after.map(ActionId::to_bytes),
    )
    .await?;
    let ids: Vec<ActionId> = found.rows.into_iter().map(|id| ActionId::from_bytes(id.0)).collect();
    let rows = actions::page(session, &ids, search.page.limit.bytes).await?;
    Ok(Paged {
        next: continued(&ids, &rows, found.next.map(|id| ActionId::from_bytes(id.0))),
        rows,
    })
}

/// How many actions meet a condition, of the newest `scan` that meet what it requires.
pub(super) async fn count_actions(session: &Session, condition: &Condition, scan: usize) -> Result<Counted, Error> {
    let nothing = Counted { count: 0, more: false };
    let Some(bounds) = Bounds::of(condition, None) else {
        return Ok(nothing);
    };
    let mut sql = Sql::default();
    sql.text
        .push_str("SELECT count(*), count(*) FILTER (WHERE is_meant) FROM (");
    sql.walk(SearchedTable::Action, condition, &bounds, scan);
    sql.text.push_str(") AS walked");
    let rows = session.once(&sql.text, &sql.values).await?;
    let Some(row) = rows.first() else { return Ok(nothing) };
    let looked_at: usize = number::<i64, _>(row, 0)?;
    Ok(Counted {
        count: number::<i64, _>(row, 1)?,
        more: looked_at >= scan,
    })
}

/// The ids of what is found. Rows are read afterwards: most that are looked at may not be meant, and some are large.
async fn ids<I>(
    session: &Session,
    table: SearchedTable,
    search: &Search<I>,
    before: Option<[u8; 16]>,
) -> Result<Paged<Id, Id>, Error> {
    let mut found = Paged::default();
    let Some(bounds) = Bounds::of(&search.condition, before).filter(|_| search.page.limit.rows > 0) else {
        return Ok(found);
    };
    let mut sql = Sql::default();
    sql.walk(table, &search.condition, &bounds, search.scan);
    let (mut looked_at, mut last) = (0, None);
    for row in session.once(&sql.text, &sql.values).await? {
        let (id, is_meant): (Id, bool) = (column(&row, 0)?, column(&row, 1)?);
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
    found.next = last.filter(|_| looked_at >= search.scan);
    Ok(found)
}

/// A statement with its parameters, in order.
#[derive(Default)]
struct Sql<'a> {
    text: String,
    values: Vec<(Value<'a>, Type)>,
}

impl<'a> Sql<'a> {
    /// A parameter, and its number.
    fn value(&mut self, value: impl ToSql + Sync + Send + 'a, kind: &Type) -> usize {
        self.values.push((Box::new(value), kind.clone()));
        self.mark()
    }

    /// The mark of the newest parameter, and its number.
    fn mark(&mut self) -> usize {
        let number = self.values.len();
        self.add(format_args!("${number}"));
        number
    }

    /// More of the text.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Ids, newest first, each with whether the condition holds.
    fn walk(&mut self, table: SearchedTable, condition: &'a Condition, bounds: &Bounds, scan: usize) {
        let name = match table {
            SearchedTable::Execution => "execution",
            SearchedTable::Action => "action",
        };
        let Rendered { text, constants, .. } = Rendered::of(Dialect::Postgres, table, condition);
        for constant in constants {
            self.parameter(constant);
        }
        self.add(format_args!(
            "SELECT id, {text} AS is_meant FROM (SELECT * FROM {name} WHERE id >= "
        ));
        let [first, last] = bounds.ids();
        self.value(Id(first), &Type::UUID);
        self.text.push_str(" AND id <= ");
        self.value(Id(last), &Type::UUID);
        for test in condition.required() {
            self.place(table, test);
        }
        self.text.push_str(" ORDER BY id DESC LIMIT ");
        self.value(limit(scan), &Type::INT8);
        self.add(format_args!(") AS {name} ORDER BY id DESC"));
    }

    /// What a test says in a way that leads to an index; nothing where there is none.
    fn place(&mut self, table: SearchedTable, test: &'a Comparison) {
        if let Some(statuses) = statuses(test).filter(|statuses| !statuses.is_empty()) {
            // Written out, because only then does the planner see that a partial index holds them; the numbers are ours.
            let numbers: Vec<String> = statuses.iter().map(i64::to_string).collect();
            self.add(format_args!(" AND status IN ({})", numbers.join(", ")));
            return;
        }
        let [Constant::Text(_) | Constant::Id(_)] = test.constants.as_slice() else {
            return;
        };
        if test.relation != Relation::Equal || test.field == Field::Id {
            return;
        }
        if test.field == Field::Tag {
            let tagged = match table {
                SearchedTable::Execution => " AND id IN (SELECT execution FROM execution_tag WHERE tag = ",
                SearchedTable::Action => " AND id IN (SELECT action FROM action_tag WHERE tag = ",
            };
            self.text.push_str(tagged);
            self.constant(test);
            self.text.push(')');
        } else if let Some(column) = table.column(test.field) {
            self.add(format_args!(" AND {column} = "));
            self.constant(test);
        }
    }

    /// The one constant of a test.
    fn constant(&mut self, test: &'a Comparison) {
        if let Some(constant) = test.constants.first() {
            self.parameter(constant);
            self.mark();
        }
    }

    /// A constant as a parameter, which is marked elsewhere.
    fn parameter(&mut self, constant: &'a Constant) {
        self.values.push(match constant {
            Constant::Text(text) => (Box::new(text.as_str()), Type::TEXT),
            Constant::Number(number) => (Box::new(*number), Type::INT8),
            Constant::Id(id) => (Box::new(Id(*id)), Type::UUID),
        });
    }
}
