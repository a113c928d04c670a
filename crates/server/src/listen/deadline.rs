//! A connection that gives up on a peer that does not read, or reads too slowly.
//!
//! What is written waits in buffers of bounded size. While they are full, the peer must take [`PACE_BYTES`] every
//! [`WRITE_MAX`]; otherwise the connection breaks off. So a stream or an answer that is not read holds neither memory nor a
//! seat for longer, and a peer that takes a byte now and then gains nothing by it.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::metrics::HttpMetrics;

/// How long a peer may leave what was written unread once the buffers are full.
pub(crate) const WRITE_MAX: Duration = Duration::from_secs(10);

/// What a peer must take in that time.
const PACE_BYTES: usize = 64 * 1_024;

/// A connection with a deadline for writes.
pub(crate) struct Deadline {
    stream: TcpStream,
    /// Runs while the buffers are full.
    stuck: Option<Pin<Box<Sleep>>>,
    /// What the peer has taken since it began to run.
    taken: usize,
    metrics: Arc<HttpMetrics>,
}

impl Deadline {
    pub(crate) fn new(stream: TcpStream, metrics: Arc<HttpMetrics>) -> Self {
        Self {
            stream,
            stuck: None,
            taken: 0,
            metrics,
        }
    }

    /// The first byte that the peer sends, which stays to be read; none if it sends nothing any more.
    pub(crate) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let read = self.stream.peek(&mut first).await?;
        Ok((read > 0).then_some(first[0]))
    }

    /// What became of a write of `length` bytes. One that could not continue breaks off when its time is up.
    fn judge(
        &mut self,
        context: &mut Context<'_>,
        length: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = &written {
            let bytes = result.as_ref().copied().unwrap_or(0);
            self.taken = self.taken.saturating_add(bytes);
            if bytes >= length || self.taken >= PACE_BYTES {
                self.stuck = None;
                self.taken = 0;
            }
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(WRITE_MAX)));
        ready!(stuck.as_mut().poll(context));
        self.metrics.cut.inc();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
    }
}

impl AsyncRead for Deadline {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Deadline {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, length, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
