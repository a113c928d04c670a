//! One connection: its statements, prepared once each, and transactions sent whole.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

use super::errors::{chain, classify, is_aftermath};
use super::part::{Form, StatementPart, statement};
use crate::traits::Error;

/// A parameter of a statement.
pub(super) type Value<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A statement with its parameters.
pub(super) type Call<'a> = (Statement, Vec<Value<'a>>);

/// Statements of commits that are kept prepared. There are as many as there are mixtures of what is written, which are few; the
/// bound guards against others.
const SHAPES_MAX: usize = 500;

/// A list of values, one a row, for `unnest`.
pub(super) fn list<'a, R: 'a, T: ToSql + Sync + Send + 'a>(rows: &[R], value: impl Fn(&R) -> T) -> Value<'a> {
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}

/// How many rows a statement must find, in its parameter.
pub(super) fn count<'a, R>(rows: &[R]) -> Value<'a> {
    Box::new(super::columns::limit(rows.len()))
}

/// An open connection.
pub(super) struct Session {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    /// Statements of commits, by their parts.
    shapes: Mutex<HashMap<Vec<Form>, Statement>>,
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            statements: Mutex::default(),
            shapes: Mutex::default(),
        }
    }

    /// Whether the connection is known to be over.
    pub(super) fn is_over(&self) -> bool {
        self.client.is_closed()
    }

    /// The rows of a statement.
    pub(super) async fn rows(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(sql).await?;
        let found = self.client.query(&statement, values).await;
        found.map_err(|problem| classify(&problem))
    }

    /// The rows of a statement, each as `read` reads it.
    pub(super) async fn all<T>(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.rows(sql, values).await?.iter().map(read).collect()
    }

    /// The first row of a statement, if there is one.
    pub(super) async fn first<T>(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.rows(sql, values).await?.first().map(read).transpose()
    }

    /// The rows of a statement that is not kept among the prepared ones: each search is another text. One round trip.
    pub(super) async fn once(&self, sql: &str, values: &[(Value<'_>, Type)]) -> Result<Vec<Row>, Error> {
        let values: Vec<(&(dyn ToSql + Sync), Type)> = values
            .iter()
            .map(|(value, kind)| (value.as_ref() as &(dyn ToSql + Sync), kind.clone()))
            .collect();
        let found = self.client.query_typed(sql, &values).await;
        found.map_err(|problem| classify(&problem))
    }

    /// Adds rows to a table, in the form in which the server takes them fastest.
    pub(super) async fn copy<T: ToSql + Sync>(&self, sql: &str, types: &[Type], rows: &[Vec<T>]) -> Result<(), Error> {
        let copying = async {
            let sink = self.client.copy_in(sql).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
            for row in rows {
                writer.as_mut().write_raw(row).await?;
            }
            writer.finish().await
        };
        match copying.await {
            Ok(_) => Ok(()),
            // A value that its column cannot hold never went out: the connection is as it was.
            Err(problem) if problem.as_db_error().is_none() && !self.is_over() => Err(Error::Refused {
                detail: chain(&problem),
            }),
            Err(problem) => Err(classify(&problem)),
        }
    }

    /// Statements without parameters, in one go.
    pub(super) async fn run(&self, sql: &str) -> Result<(), Error> {
        self.client
            .batch_execute(sql)
            .await
            .map_err(|problem| classify(&problem))
    }

    async fn prepared(&self, sql: &'static str) -> Result<Statement, Error> {
        let known = self.statements().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let prepared = self.client.prepare(sql).await;
        let statement = prepared.map_err(|problem| classify(&problem))?;
        self.statements().insert(sql, statement.clone());
        Ok(statement)
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What commits these stages: each is a statement. One statement is a transaction by itself.
    pub(super) async fn calls<'a>(&self, stages: Vec<Vec<StatementPart<'a>>>) -> Result<Vec<Call<'a>>, Error> {
        let mut calls = Vec::with_capacity(stages.len() + 2);
        for stage in stages {
            let statement = self.shaped(&stage).await?;
            let values = stage.into_iter().flat_map(|part| part.values);
            calls.push((statement, values.collect::<Vec<_>>()));
        }
        match calls.len() {
            1 => Ok(calls),
            _ => self.bracketed(calls).await,
        }
    }

    /// Statements as one transaction.
    pub(super) async fn bracketed<'a>(&self, mut calls: Vec<Call<'a>>) -> Result<Vec<Call<'a>>, Error> {
        calls.insert(0, self.call("BEGIN", Vec::new()).await?);
        calls.push(self.call("COMMIT", Vec::new()).await?);
        Ok(calls)
    }

    /// The statement of parts, prepared.
    async fn shaped(&self, parts: &[StatementPart<'_>]) -> Result<Statement, Error> {
        let shape: Vec<Form> = parts.iter().map(|part| part.form).collect();
        let known = self.shapes().get(&shape).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let sql = statement(shape.iter().copied());
        let prepared = self.client.prepare(&sql).await;
        let statement = prepared.map_err(|problem| classify(&problem))?;
        let mut shapes = self.shapes();
        if shapes.len() >= SHAPES_MAX {
            shapes.clear();
        }
        shapes.insert(shape, statement.clone());
        Ok(statement)
    }

    fn shapes(&self) -> MutexGuard<'_, HashMap<Vec<Form>, Statement>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run_call(&self, (statement, values): &Call<'_>) -> Result<(), tokio_postgres::Error> {
        let values = values.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync));
        self.client.execute_raw(statement, values).await.map(|_| ())
    }

    /// Runs statements, sent in one flush as soon as this is first asked for. All results are looked at before the last counts:
    /// after a failure the server takes a COMMIT for a ROLLBACK.
    pub(super) async fn run_calls(&self, calls: &[Call<'_>]) -> Result<(), Error> {
        let statements = calls.iter().map(|call| self.run_call(call));
        let results = in_order(statements.map(|statement| Box::pin(statement) as Pin<Box<_>>).collect()).await;
        let first = results
            .into_iter()
            .filter_map(Result::err)
            .find(|problem| !is_aftermath(problem));
        first.map_or(Ok(()), |problem| Err(classify(&problem)))
    }

    /// A statement for a transaction.
    pub(super) async fn call<'a>(&self, sql: &'static str, values: Vec<Value<'a>>) -> Result<Call<'a>, Error> {
        Ok((self.prepared(sql).await?, values))
    }
}

/// Runs all of them at once. Each sends its statement when it is first polled, so they are polled in their order.
async fn in_order<F: Future>(mut futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut left = false;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(ready) => *output = Some(ready),
                    Poll::Pending => left = true,
                }
            }
        }
        if left { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
