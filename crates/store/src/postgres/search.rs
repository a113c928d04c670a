//! Lists and searches: statements made of the conditions that were given.
//!
//! What a condition requires of every row narrows the walk, so that the planner finds the index; the whole condition is a
//! column of the statement. A page looks at a bounded number of rows. Texts of statements are put together from
//! constants of this code alone: whatever a caller gave is a parameter.

use std::fmt::Write as _;

use sprag_core::filter::{Condition, Constant, Field, Relation, Test};
use sprag_core::ids::{ActionId, ExecutionId};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{Id, column, limit, number};
use super::session::{Session, Value};
use super::{actions, executions};
use crate::records::{Action, Execution};
use crate::search::{Bounds, Table, statuses};
use crate::traits::{Counted, Error, Found, Search};

/// A `SELECT` that grows by conditions.
pub(super) struct Filter<'a> {
    sql: Sql<'a>,
    next: &'static str,
}

impl<'a> Filter<'a> {
    /// All rows of `select`, which must not have a `WHERE` yet.
    pub(super) fn new(select: &str) -> Self {
        let mut sql = Sql::default();
        sql.text.push_str(select);
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

    /// At most `max` rows, newest first.
    pub(super) async fn newest(mut self, session: &Session, max: usize) -> Result<Vec<Row>, Error> {
        self.sql.text.push_str(" ORDER BY id DESC LIMIT ");
        self.sql.value(limit(max), &Type::INT8);
        session.once(&self.sql.text, &self.sql.values).await
    }
}

/// Executions that meet a condition.
pub(super) async fn find_executions(
    session: &Session,
    search: &Search<ExecutionId>,
) -> Result<Found<Execution, ExecutionId>, Error> {
    let found = ids(
        session,
        Table::Execution,
        search,
        search.before.map(ExecutionId::to_bytes),
    )
    .await?;
    let rows: Vec<ExecutionId> = found.rows.into_iter().map(|id| ExecutionId::from_bytes(id.0)).collect();
    Ok(Found {
        rows: executions::get(session, &rows).await?,
        next: found.next.map(|id| ExecutionId::from_bytes(id.0)),
    })
}

/// Actions that meet a condition.
pub(super) async fn find_actions(
    session: &Session,
    search: &Search<ActionId>,
) -> Result<Found<Action, ActionId>, Error> {
    let found = ids(session, Table::Action, search, search.before.map(ActionId::to_bytes)).await?;
    let rows: Vec<ActionId> = found.rows.into_iter().map(|id| ActionId::from_bytes(id.0)).collect();
    Ok(Found {
        rows: actions::get(session, &rows).await?,
        next: found.next.map(|id| ActionId::from_bytes(id.0)),
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
    sql.walk(Table::Action, condition, &bounds, scan);
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
    table: Table,
    search: &Search<I>,
    before: Option<[u8; 16]>,
) -> Result<Found<Id, Id>, Error> {
    let mut found = Found {
        rows: Vec::new(),
        next: None,
    };
    let Some(bounds) = Bounds::of(&search.condition, before).filter(|_| search.limit > 0) else {
        return Ok(found);
    };
    let mut sql = Sql::default();
    sql.walk(table, &search.condition, &bounds, search.scan);
    let (mut looked_at, mut last) = (0, None);
    for row in session.once(&sql.text, &sql.values).await? {
        let (id, is_meant): (Id, bool) = (column(&row, 0)?, column(&row, 1)?);
        if is_meant && found.rows.len() == search.limit {
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
    /// A parameter.
    fn value(&mut self, value: impl ToSql + Sync + Send + 'a, kind: &Type) {
        self.values.push((Box::new(value), kind.clone()));
        self.text.push('$');
        self.text.push_str(&self.values.len().to_string());
    }

    /// More of the text.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Ids, newest first, each with whether the condition holds.
    fn walk(&mut self, table: Table, condition: &'a Condition, bounds: &Bounds, scan: usize) {
        let name = match table {
            Table::Execution => "execution",
            Table::Action => "action",
        };
        self.text.push_str("SELECT id, ");
        self.condition(table, condition);
        self.add(format_args!(" AS is_meant FROM (SELECT * FROM {name} WHERE id >= "));
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
    fn place(&mut self, table: Table, test: &'a Test) {
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
                Table::Execution => " AND id IN (SELECT execution FROM execution_tag WHERE tag = ",
                Table::Action => " AND id IN (SELECT action FROM action_tag WHERE tag = ",
            };
            self.text.push_str(tagged);
            self.constant(test);
            self.text.push(')');
        } else if let Some(column) = table.column(test.field) {
            self.add(format_args!(" AND {column} = "));
            self.constant(test);
        }
    }

    /// An expression that is true or false of every row, never null.
    fn condition(&mut self, table: Table, condition: &'a Condition) {
        match condition {
            Condition::All(parts) if parts.is_empty() => self.text.push_str("true"),
            Condition::Any(parts) if parts.is_empty() => self.text.push_str("false"),
            Condition::All(parts) => self.joined(table, parts, " AND "),
            Condition::Any(parts) => self.joined(table, parts, " OR "),
            Condition::Not(inner) => {
                self.text.push_str("NOT (");
                self.condition(table, inner);
                self.text.push(')');
            }
            Condition::Is(test) => self.test(table, test),
        }
    }

    fn joined(&mut self, table: Table, parts: &'a [Condition], sign: &str) {
        self.text.push('(');
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                self.text.push_str(sign);
            }
            self.condition(table, part);
        }
        self.text.push(')');
    }

    fn test(&mut self, table: Table, test: &'a Test) {
        if test.field == Field::Tag {
            return self.tag(table, test);
        }
        let Some(column) = table.column(test.field) else {
            // A field that the rows do not have differs from everything and is nothing else.
            let differs = test.relation == Relation::NotEqual;
            return self.text.push_str(if differs { "true" } else { "false" });
        };
        let (before, after) = match test.relation {
            Relation::Equal => (" IS NOT DISTINCT FROM ", ")"),
            Relation::NotEqual => (" IS DISTINCT FROM ", ")"),
            Relation::Less => (" < ", ", false)"),
            Relation::LessOrEqual => (" <= ", ", false)"),
            Relation::Greater => (" > ", ", false)"),
            Relation::GreaterOrEqual => (" >= ", ", false)"),
            Relation::In => (" = ANY(", "), false)"),
        };
        self.text.push_str(if after == ")" { "(" } else { "coalesce(" });
        self.text.push_str(column);
        self.text.push_str(before);
        if test.relation == Relation::In {
            self.list(test);
        } else {
            self.constant(test);
        }
        self.text.push_str(after);
    }

    fn tag(&mut self, table: Table, test: &'a Test) {
        if test.relation == Relation::NotEqual {
            self.text.push_str("NOT ");
        }
        self.text.push_str("coalesce(");
        self.text.push_str(table.tags());
        self.text.push_str("::jsonb ?| ");
        self.list(test);
        self.text.push_str(", false)");
    }

    /// The one constant of a test.
    fn constant(&mut self, test: &'a Test) {
        match test.constants.first() {
            Some(Constant::Text(wanted)) => self.value(wanted.as_str(), &Type::TEXT),
            Some(Constant::Number(number)) => self.value(*number, &Type::INT8),
            Some(Constant::Id(id)) => self.value(Id(*id), &Type::UUID),
            None => self.text.push_str("NULL"),
        }
    }

    /// All constants of a test, which are of one type.
    fn list(&mut self, test: &'a Test) {
        let constants = &test.constants;
        match constants.first() {
            Some(Constant::Number(_)) => {
                let numbers = constants.iter().filter_map(|constant| match constant {
                    Constant::Number(number) => Some(*number),
                    Constant::Text(_) | Constant::Id(_) => None,
                });
                self.value(numbers.collect::<Vec<_>>(), &Type::INT8_ARRAY);
            }
            Some(Constant::Id(_)) => {
                let ids = constants.iter().filter_map(|constant| match constant {
                    Constant::Id(id) => Some(Id(*id)),
                    Constant::Text(_) | Constant::Number(_) => None,
                });
                self.value(ids.collect::<Vec<_>>(), &Type::UUID_ARRAY);
            }
            Some(Constant::Text(_)) | None => {
                let texts = constants.iter().filter_map(|constant| match constant {
                    Constant::Text(wanted) => Some(wanted.as_str()),
                    Constant::Number(_) | Constant::Id(_) => None,
                });
                self.value(texts.collect::<Vec<_>>(), &Type::TEXT_ARRAY);
            }
        }
    }
}
