//! A connection that gives up on a peer that does not read.
//!
//! What is written waits in buffers of bounded size. Once they are full and stay full for [`WRITE_MAX`], the connection
//! breaks off: a stream or an answer that nobody reads holds neither memory nor a place for longer.

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

/// A connection with a deadline for writes.
pub(crate) struct Deadline {
    stream: TcpStream,
    /// Runs while a write cannot go on.
    stuck: Option<Pin<Box<Sleep>>>,
    metrics: Arc<HttpMetrics>,
}

impl Deadline {
    pub(crate) fn new(stream: TcpStream, metrics: Arc<HttpMetrics>) -> Self {
        Self {
            stream,
            stuck: None,
            metrics,
        }
    }

    /// What became of a write: one that could not go on breaks off when its time is up.
    fn judge<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(WRITE_MAX)));
        ready!(stuck.as_mut().poll(context));
        self.metrics.cut.add(1);
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
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, written)
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
