//! Taking a body off the wire: bounded in bytes and in time.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::problem::{Code, Problem};

/// How long a body may take to arrive.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// What is taken off the wire of a body that is too large, so that its sender gets to read the answer: a connection
/// that is closed with input unread is reset, and the answer is lost with it.
const DRAINED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The whole body, if it has at most `most` bytes.
pub(crate) async fn collect(body: Body, headers: &HeaderMap, most: usize) -> Result<Vec<u8>, Problem> {
    let declared = body.size_hint().lower();
    let is_too_large = usize::try_from(declared).is_ok_and(|declared| declared > most);
    if is_too_large && headers.contains_key(header::EXPECT) {
        // The client waits to be told before it sends anything.
        return Err(too_large(most));
    }
    timeout(ARRIVAL_MAX, gather(body, most)).await.unwrap_or_else(|_| {
        let detail = format!("the body did not arrive within {} s", ARRIVAL_MAX.as_secs());
        Err(Problem::new(Code::BodyTimeout, detail))
    })
}

async fn gather(body: Body, most: usize) -> Result<Vec<u8>, Problem> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            let detail = format!("the body ended early, after {} bytes", bytes.len());
            Problem::new(Code::BodyIncomplete, detail)
        })?;
        if chunk.len() > most - bytes.len() {
            drain(chunks).await;
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn drain(mut chunks: BodyDataStream) {
    let mut left = DRAINED_BYTES_MAX;
    while let Some(Ok(chunk)) = chunks.next().await {
        match left.checked_sub(chunk.len()) {
            Some(fewer) => left = fewer,
            None => return,
        }
    }
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body has more than {most} bytes; send less at a time, or raise `limits.bodyBytes`");
    Problem::new(Code::BodyTooLarge, detail)
}
