//! Reading a request body, within bounds of size and time.
//!
//! Most bodies are small and arrive together with their head: the server takes these as they are. A body that is large, or
//! that is not here yet, takes a seat among the arrivals first ([`crate::listen::arrivals`]).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::listen::arrivals::{Arrivals, Arriving, SMALL_BYTES, Whole};
use crate::problem::{Code, Problem};

/// How long a body may take to arrive.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and thrown away before it is refused, at most. A connection
/// that is closed with input unread is reset, and the answer is lost with it.
const DRAINED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The whole body, if it has at most `most` bytes and arrives while there is room for it.
pub(crate) async fn collect(
    arrivals: &Arrivals,
    body: Body,
    headers: &HeaderMap,
    most: usize,
) -> Result<Whole, Problem> {
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > most && headers.contains_key(header::EXPECT) {
        // The client waits to be told before it sends anything.
        return Err(too_large(most));
    }
    let mut gathered = Gathered {
        chunks: body.into_data_stream(),
        next: None,
        bytes: Vec::new(),
        declared,
        most,
    };
    match prompt(gathered.read_small()).await {
        Some(Ok(End::Reached)) => Ok(Whole::small(gathered.bytes)),
        Some(Err(problem)) => Err(problem),
        Some(Ok(End::Ahead)) | None => Box::pin(slowly(arrivals.begin(), gathered)).await,
    }
}

/// What a future comes to, if it comes to it at once. It is polled twice: a body that is here is asked for by the first.
async fn prompt<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut is_first = true;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if is_first => {
            is_first = false;
            context.waker().wake_by_ref();
            Poll::Pending
        }
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// The rest of a body that takes its time, or much room.
async fn slowly(arriving: Arriving, mut gathered: Gathered) -> Result<Whole, Problem> {
    let read = tokio::select! {
        biased;
        problem = arriving.cut_off() => Err(problem),
        read = timeout(ARRIVAL_MAX, gathered.read(&arriving)) => read.unwrap_or_else(|_| Err(too_slow())),
    };
    read.map(|()| arriving.arrived(gathered.bytes))
}

/// A body as far as it is here.
struct Gathered {
    chunks: BodyDataStream,
    /// A chunk that was read and is not among the bytes yet.
    next: Option<Bytes>,
    bytes: Vec<u8>,
    /// As large as the sender says it is, at least.
    declared: usize,
    most: usize,
}

/// Where reading stopped.
enum End {
    /// At the end.
    Reached,
    /// Before a chunk that is too much.
    Ahead,
}

impl Gathered {
    async fn chunk(&mut self) -> Result<Option<Bytes>, Problem> {
        let next = match self.next.take() {
            Some(chunk) => return Ok(Some(chunk)),
            None => self.chunks.next().await,
        };
        next.transpose().map_err(|_| {
            let detail = format!(
                "the body ended early, after {} bytes; send the request again",
                self.bytes.len()
            );
            Problem::new(Code::BodyIncomplete, detail)
        })
    }

    /// Reads as long as the body is small. What was read is kept if it is dropped before it is done.
    async fn read_small(&mut self) -> Result<End, Problem> {
        while let Some(chunk) = self.chunk().await? {
            if self.bytes.len() + chunk.len() > SMALL_BYTES.min(self.most) {
                self.next = Some(chunk);
                return Ok(End::Ahead);
            }
            self.bytes.extend_from_slice(&chunk);
        }
        Ok(End::Reached)
    }

    /// Reads to the end.
    async fn read(&mut self, arriving: &Arriving) -> Result<(), Problem> {
        if self.declared > self.most {
            return Err(self.refuse().await);
        }
        while let Some(chunk) = self.chunk().await? {
            let after = self.bytes.len() + chunk.len();
            if after > self.most {
                return Err(self.refuse().await);
            }
            arriving.grow(after)?;
            if after > SMALL_BYTES && after > self.bytes.capacity() && after <= self.declared {
                // At once what the sender says it is: doubling would leave behind many pieces that others cannot use. What has
                // not arrived is not touched, so it takes no memory yet.
                self.bytes.reserve_exact(self.declared - self.bytes.len());
            }
            self.bytes.extend_from_slice(&chunk);
        }
        Ok(())
    }

    /// Throws away a body that is too large.
    async fn refuse(&mut self) -> Problem {
        (self.bytes, self.next) = (Vec::new(), None);
        let mut left = DRAINED_BYTES_MAX;
        while let Some(Ok(chunk)) = self.chunks.next().await {
            match left.checked_sub(chunk.len()) {
                Some(fewer) => left = fewer,
                None => break,
            }
        }
        too_large(self.most)
    }
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body has more than {most} bytes; send less at a time, or raise `limits.bodyBytes`");
    Problem::new(Code::BodyTooLarge, detail)
}

fn too_slow() -> Problem {
    let detail = format!(
        "the body did not arrive within {} s; send it again, faster or in smaller parts",
        ARRIVAL_MAX.as_secs()
    );
    Problem::new(Code::BodyTimeout, detail)
}
