//! Backups: a copy of everything, as of one instant, as a download. The server writes nowhere that a request names.

use serde_json::json;
use sprag_wire as wire;
use std::fs::File;
use std::io::{Read as _, Seek as _};

use axum::body::Body as Stream;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use sprag_core::integrity::digest::{self, Digest};
use sprag_engine::requests;
use tokio::io::AsyncReadExt as _;

use super::system;
use crate::access::caller::Who;
use crate::access::rule::ADMIN;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, Success, at};
use crate::problem::{Code, Problem};
use crate::request::body::{Body, NoFields};
use crate::request::query::{Nothing, Query};

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/system/backup").post(ADMIN, take).is(backup_operation()),
        at("/v1/system/restored").get(ADMIN, restored).is(Operation::new(
            system::RESOURCE,
            "showRestored",
            "List the effects that may repeat after a restore",
        )
        .answers::<Option<wire::RestoreReport>>(200, "The report, or null if the store was not restored.")
        .reads()),
    ]
}

fn backup_operation() -> Operation {
    let copy = Success::of(
        200,
        "The copy, complete before its first byte.",
        "application/vnd.sqlite3",
        json!({}),
    );
    Operation::new(system::RESOURCE, "takeBackup", "Back up the store of the server")
        .body::<NoFields>()
        .gives(copy)
        .changes_nothing()
        .writes()
        .audited()
        .refuses([requests::Code::BackupUnderWay, requests::Code::BackupUnsupported])
}

/// What a backup is.
const MEDIA_TYPE: &str = "application/vnd.sqlite3";
/// What a browser would call it.
const DISPOSITION: &str = "attachment; filename=\"sprag-backup.db\"";
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// `POST /v1/system/backup`: the copy is complete before its first byte is sent.
pub(crate) async fn take(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    Who(asker): Who,
    Body(NoFields {}): Body<NoFields>,
) -> Answer {
    let file = app.engine.operate().backup(&asker).await?;
    let digested = tokio::task::spawn_blocking(move || digested(file)).await;
    let read = digested.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    read.and_then(|(file, digest)| download(file, digest)).map_err(|error| {
        tracing::error!(%error, "backup not readable");
        Problem::new(
            Code::InternalError,
            "the server cannot read the backup; read its log for the cause",
        )
    })
}

/// The file, at its beginning again, with the digest of everything in it.
fn digested(mut file: File) -> std::io::Result<(File, String)> {
    let mut digest = Digest::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            read => digest.add(chunk.get(..read).unwrap_or_default()),
        }
    }
    file.rewind()?;
    Ok((file, digest.header()))
}

/// A file as a body of known length, read as fast as it is taken.
fn download(file: File, digest: String) -> std::io::Result<Response> {
    let length = file.metadata()?.len();
    let chunks = stream::try_unfold(tokio::fs::File::from_std(file), |mut file| async move {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok::<_, std::io::Error>((read > 0).then_some((chunk, file)))
    });
    let headers = [
        (header::CONTENT_TYPE, MEDIA_TYPE.to_owned()),
        (header::CONTENT_LENGTH, length.to_string()),
        (header::CONTENT_DISPOSITION, DISPOSITION.to_owned()),
        (HeaderName::from_static(digest::HEADER), digest),
    ];
    Ok((headers, Stream::from_stream(chunks)).into_response())
}

/// `GET /v1/system/restored`: the effects that may repeat, where the store comes from a backup; `null` where not.
pub(crate) async fn restored(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.operate().restored().await?))
}
