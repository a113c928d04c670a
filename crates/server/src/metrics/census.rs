//! The open work, counted in the store on request, and not again right away.
//!
//! Counted and not kept: a number that is derived cannot drift. It takes time in proportion to what is open, so askers
//! share one count for a few seconds, and only one count is under way at a time.

use std::sync::Arc;

use sprag_engine::{Census, Handle};
use tokio::sync::Mutex;

/// How long a count is good for, in microseconds.
const GOOD_FOR_MICROS: u64 = 5_000_000;

/// Counts the open work, or remembers having done so.
#[derive(Default)]
pub(crate) struct CensusTaker {
    last: Mutex<Option<(u64, Arc<Census>)>>,
}

impl CensusTaker {
    /// The open work as of a few seconds ago at most; none when the store cannot be read.
    pub(crate) async fn take(&self, engine: &Handle) -> Option<Arc<Census>> {
        let mut last = self.last.lock().await;
        if let Some((at, census)) = last.as_ref()
            && engine.micros().saturating_sub(*at) < GOOD_FOR_MICROS
        {
            return Some(Arc::clone(census));
        }
        match engine.read().census().await {
            Ok(census) => {
                let census = Arc::new(census);
                *last = Some((engine.micros(), Arc::clone(&census)));
                Some(census)
            }
            Err(refusal) => {
                tracing::warn!(error = refusal.detail, "open work not counted");
                None
            }
        }
    }
}
