//! Reads all documents at the start. It leaves out and names a document that it cannot read; the others stay usable.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, Row};
use serde::de::IgnoredAny;
use sprag_core::time::Timestamp;

use super::error::Malformed;
use super::record::{ObservedBody, Part, StoredDocument, Text, WorkerRecord};
use crate::worker::action::ActionStatus;

const ALL: &str = "\
    SELECT worker, part, name, body, version, created_at, updated_at FROM document ORDER BY worker, part, name";

type WorkerRecords = BTreeMap<Arc<str>, WorkerRecord>;

/// Every document that can be read, and those that cannot.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<(WorkerRecords, Vec<Malformed>)> {
    let mut records = WorkerRecords::new();
    let mut malformed = Vec::new();
    let mut statement = connection.prepare(ALL)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let worker: Arc<str> = row.get::<_, String>(0)?.into();
        let part: String = row.get(1)?;
        match document(row, Part::of_name(&part)) {
            Ok(document) => take(&mut records, worker, document),
            Err(problem) => malformed.push(Malformed { worker, part, problem }),
        }
    }
    Ok((records, malformed))
}

fn document(row: &Row<'_>, part: Option<Part>) -> Result<StoredDocument, String> {
    let part = part.ok_or("there is no such part")?;
    let problem = |problem: rusqlite::Error| problem.to_string();
    let name: String = row.get(2).map_err(problem)?;
    let body: String = row.get(3).map_err(problem)?;
    check(part, &body).map_err(|problem| problem.to_string())?;
    Ok(StoredDocument {
        part,
        name: (!name.is_empty()).then(|| name.into()),
        text: Text {
            body: body.into(),
            version: row.get(4).map_err(problem)?,
            created: Timestamp::from_millis(row.get(5).map_err(problem)?),
            updated: Timestamp::from_millis(row.get(6).map_err(problem)?),
        },
    })
}

fn check(part: Part, body: &str) -> serde_json::Result<()> {
    match part {
        Part::Identity | Part::Desired | Part::Memory => serde_json::from_str::<IgnoredAny>(body).map(drop),
        Part::Observed => serde_json::from_str::<ObservedBody>(body).map(drop),
        Part::Action => serde_json::from_str::<ActionStatus>(body).map(drop),
    }
}

fn take(records: &mut WorkerRecords, worker: Arc<str>, document: StoredDocument) {
    let record = records.entry(worker).or_default();
    if document.part == Part::Observed {
        let body: Option<ObservedBody> = serde_json::from_str(&document.text.body).ok();
        record.metrics = body.and_then(|body| body.metrics).map(Box::new);
    }
    record.documents.push(document);
}
