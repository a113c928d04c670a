//! The store's file: its schema, its rows, and reading all of them at the start.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Transaction, params};
use sprag_core::time::Timestamp;
use sprag_store::sqlite::{Migration, OwnFile, Schema};

use super::error::{Malformed, StoreError};
use super::journal::DocumentKey;
use super::load;
use super::record::{Part, Text, WorkerRecord};
use super::service::Texts;

/// The mark in the file's header that says whose database it is: `SPRS`.
const SCHEMA: Schema = Schema {
    application_id: 0x5350_5253,
    migrations: &[Migration {
        version: 1,
        name: "services",
        sql: include_str!("migrations/0001_services.sql"),
    }],
};

const PUT: &str = "\
    INSERT INTO document (worker, part, name, body, version, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
    ON CONFLICT (worker, part, name) DO UPDATE SET \
    body = excluded.body, version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at";

const DELETE: &str = "DELETE FROM document WHERE worker = ?1";

const BEGIN_RUN: &str = "UPDATE life SET count = count + 1";

const RUN: &str = "SELECT count FROM life";

/// What is done to the file.
pub(super) enum Row {
    /// A document is as it is here.
    Put {
        worker: Arc<str>,
        part: Part,
        name: Option<Arc<str>>,
        text: Text,
    },
    /// Nothing of the worker is left.
    Delete(Arc<str>),
}

/// An open file and everything in it.
pub(super) struct Contents {
    pub(super) file: OwnFile,
    pub(super) run: u64,
    pub(super) records: BTreeMap<Arc<str>, WorkerRecord>,
    pub(super) malformed: Vec<Malformed>,
}

pub(super) fn open(path: &Path) -> Result<Contents, StoreError> {
    let mut file = OwnFile::open(path, &SCHEMA)?;
    file.commit(|transaction| transaction.execute(BEGIN_RUN, []).map(drop))?;
    let run = file.read(|connection| connection.query_row(RUN, [], |row| row.get(0)))?;
    let (records, malformed) = file.read(load::all)?;
    Ok(Contents {
        file,
        run,
        records,
        malformed,
    })
}

/// What is to be done for a key, by what is true now.
pub(super) fn rows(texts: &Texts, key: &DocumentKey) -> Vec<Row> {
    let record = texts.records.get(&key.worker).filter(|record| record.gone_at.is_none());
    let put = |part, name: &Option<Arc<str>>, text: &Text| Row::Put {
        worker: Arc::clone(&key.worker),
        part,
        name: name.clone(),
        text: text.clone(),
    };
    let Some(part) = key.part else {
        let documents = record.into_iter().flat_map(|record| &record.documents);
        let rows = documents.map(|document| put(document.part, &document.name, &document.text));
        return [Row::Delete(Arc::clone(&key.worker))].into_iter().chain(rows).collect();
    };
    let text = record.and_then(|record| record.text(part, key.name.as_deref()));
    text.map(|text| put(part, &key.name, text)).into_iter().collect()
}

pub(super) fn write(transaction: &Transaction<'_>, rows: &[Row]) -> rusqlite::Result<()> {
    rows.iter().try_for_each(|row| write_one(transaction, row))
}

fn write_one(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    match row {
        Row::Put {
            worker,
            part,
            name,
            text,
        } => {
            let Text {
                body,
                version,
                created,
                updated,
            } = text;
            let millis = |at: &Timestamp| at.as_millis();
            connection.prepare_cached(PUT)?.execute(params![
                worker,
                part.name(),
                name.as_deref().unwrap_or(""),
                body,
                version,
                millis(created),
                millis(updated)
            ])
        }
        Row::Delete(worker) => connection.prepare_cached(DELETE)?.execute(params![worker]),
    }
    .map(drop)
}
