//! The load generator: so many requests over kept connections, each connection with one request under way.
//!
//! One thread, so that on a small machine the other cores are left to what is measured.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::bail;
use tokio::task::JoinSet;

use crate::http::Connection;
use crate::stopwatch::Stopwatch;

/// What to send.
pub(crate) struct Flood {
    pub(crate) address: SocketAddr,
    pub(crate) count: u64,
    pub(crate) in_flight: usize,
    /// The least time from the sending of one request to the next.
    pub(crate) pace: Duration,
    /// The request with this index, as bytes.
    pub(crate) request: Arc<dyn Fn(u64) -> Vec<u8> + Send + Sync>,
}

impl Flood {
    /// The same request over and over.
    pub(crate) fn of(address: SocketAddr, count: u64, in_flight: usize, request: Vec<u8>) -> Self {
        Self {
            address,
            count,
            in_flight,
            pace: Duration::ZERO,
            request: Arc::new(move |_| request.clone()),
        }
    }

    /// Sends everything; the latency of each in milliseconds. An answer that is no success ends it.
    pub(crate) fn send(self) -> anyhow::Result<Vec<f64>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let flood = Arc::new(self);
            let next = Arc::new(AtomicU64::new(0));
            let watch = Arc::new(Stopwatch::start());
            let mut lanes = JoinSet::new();
            for _ in 0..flood.in_flight {
                lanes.spawn(lane(Arc::clone(&flood), Arc::clone(&next), Arc::clone(&watch)));
            }
            let mut latencies = Vec::new();
            while let Some(lane) = lanes.join_next().await {
                latencies.extend(lane??);
            }
            Ok(latencies)
        })
    }
}

async fn lane(flood: Arc<Flood>, next: Arc<AtomicU64>, watch: Arc<Stopwatch>) -> anyhow::Result<Vec<f64>> {
    let mut connection = Connection::open(flood.address).await?;
    let mut latencies = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= flood.count {
            return Ok(latencies);
        }
        let at = flood.pace.saturating_mul(u32::try_from(index)?);
        if let Some(early) = at.checked_sub(watch.elapsed()) {
            tokio::time::sleep(early).await;
        }
        let request = (flood.request)(index);
        let before = watch.elapsed();
        let answer = connection.exchange(&request).await?;
        latencies.push(crate::stopwatch::millis(watch.elapsed().saturating_sub(before)));
        if !answer.status().is_some_and(|status| (200..300).contains(&status)) {
            bail!("`{}`: {}", answer.first, String::from_utf8_lossy(&answer.body));
        }
    }
}
