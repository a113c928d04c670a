//! What a program wrote, within bounds.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What is kept of the beginning and of the end of each stream, 64 KiB in all: the beginning says what was tried, the
/// end what went wrong.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const TAIL_BYTES_MAX: usize = 16 * 1024;
const CHUNK_BYTES: usize = 16 * 1024;

/// One stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl Stream {
    /// Reads to the end. What was read stays, even if this is dropped half way.
    pub(super) async fn read(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        // A pipe that can no longer be read has nothing more to say.
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            self.push(chunk.get(..count).unwrap_or_default());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES_MAX - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..excess);
        self.omitted += excess as u64;
    }

    fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let tail = String::from_utf8_lossy(&tail);
        match self.omitted {
            0 => format!("{head}{tail}"),
            omitted => format!("{head}\n… {omitted} bytes omitted …\n{tail}"),
        }
    }
}

/// Both streams.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
}

impl Output {
    /// `{exitCode, stdout, stderr, truncated}`.
    pub(super) fn result(&self, code: Option<i32>) -> Value {
        json!({
            "exitCode": code,
            "stdout": self.stdout.text(),
            "stderr": self.stderr.text(),
            "truncated": self.stdout.omitted > 0 || self.stderr.omitted > 0,
        })
    }
}
