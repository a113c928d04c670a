//! Taking a body off the wire: bounded in bytes and in time.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::arrivals::{Arrivals, Arriving, SMALL_BYTES, Whole};
use crate::problem::{Code, Problem};

/// How long a body may take to arrive.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// What is taken off the wire of a body that is too large, so that its sender gets to read the answer: a connection
/// that is closed with input unread is reset, and the answer is lost with it.
const DRAINED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The whole body, if it has at most `most` bytes and arrives while there is room for it.
pub(crate) async fn collect(
    arrivals: &Arrivals,
    body: Body,
    headers: &HeaderMap,
    most: usize,
) -> Result<Whole, Problem> {
    let declared = body.size_hint().lower();
    let is_too_large = usize::try_from(declared).is_ok_and(|declared| declared > most);
    if is_too_large && headers.contains_key(header::EXPECT) {
        // The client waits to be told before it sends anything.
        return Err(too_large(most));
    }
    let arriving = arrivals.begin();
    let most = if is_too_large {
        Most::Drained(most)
    } else {
        Most::Kept(most)
    };
    let gathered = tokio::select! {
        biased;
        problem = arriving.cut_off() => Err(problem),
        gathered = timeout(ARRIVAL_MAX, gather(&arriving, body, most)) => gathered.unwrap_or_else(|_| Err(too_slow())),
    };
    gathered.map(|bytes| arriving.arrived(bytes))
}

/// What becomes of a body, given the most bytes it may have.
#[derive(Clone, Copy)]
enum Most {
    /// It is kept if it has no more.
    Kept(usize),
    /// It is known to have more.
    Drained(usize),
}

async fn gather(arriving: &Arriving, body: Body, most: Most) -> Result<Vec<u8>, Problem> {
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(0);
    let mut chunks = body.into_data_stream();
    let most = match most {
        Most::Kept(most) => most,
        Most::Drained(most) => {
            drain(chunks).await;
            return Err(too_large(most));
        }
    };
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            let detail = format!("the body ended early, after {} bytes", bytes.len());
            Problem::new(Code::BodyIncomplete, detail)
        })?;
        if chunk.len() > most - bytes.len() {
            drop(bytes);
            drain(chunks).await;
            return Err(too_large(most));
        }
        let after = bytes.len() + chunk.len();
        arriving.grow(after)?;
        if after > SMALL_BYTES && after > bytes.capacity() && after <= declared {
            // At once what the sender says it is: doubling would leave behind many pieces that others cannot use. What has not
            // arrived is not touched, so it takes no memory yet.
            bytes.reserve_exact(declared - bytes.len());
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

fn too_slow() -> Problem {
    let detail = format!("the body did not arrive within {} s", ARRIVAL_MAX.as_secs());
    Problem::new(Code::BodyTimeout, detail)
}
