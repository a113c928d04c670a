//! What happened, sent to the listener that draws traces: off the lane's path, bounded, and dropped rather than waited
//! for.
//!
//! Only what is durable is sent, once. An engine without a listener gathers nothing.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;

pub use crate::decide::{AttemptEnded, ExecutionClosed, StepTaken, Traced};
use crate::effects::metrics::Labels;

/// What waits for a listener at most. More is dropped and counted.
pub const QUEUE_MAX: usize = 16_384;

/// Spans, counted by result.
#[derive(Debug)]
pub struct Counts {
    spans: Family<Labels<1>, Counter>,
    /// Accepted by the collector.
    pub exported: Counter,
    /// Refused by the collector after every retry.
    pub failed: Counter,
    /// Dropped because the queue was full.
    pub dropped: Counter,
}

impl Default for Counts {
    fn default() -> Self {
        let spans = Family::<Labels<1>, Counter>::default();
        let with = |result: &'static str| spans.get_or_create_owned(&[("result", Cow::Borrowed(result))]);
        Self {
            exported: with("exported"),
            failed: with("failed"),
            dropped: with("dropped"),
            spans,
        }
    }
}

impl Counts {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Spans for the trace collector, by result";
        registry.register("trace_spans", help, self.spans.clone());
    }
}

/// Where to tell it. Off unless it was made by [`Traces::queue`].
#[derive(Clone, Default)]
pub struct Traces {
    sender: Option<mpsc::Sender<Traced>>,
    counts: Arc<Counts>,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("is_on", &self.is_on()).finish()
    }
}

impl Traces {
    /// A queue with room for `room`, and the end where it is listened to.
    pub fn queue(room: usize) -> (Self, mpsc::Receiver<Traced>) {
        let (sender, receiver) = mpsc::channel(room);
        let traces = Self {
            sender: Some(sender),
            counts: Arc::default(),
        };
        (traces, receiver)
    }

    /// Whether anybody listens.
    pub fn is_on(&self) -> bool {
        self.sender.is_some()
    }

    /// What became of what was told.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Tells it, or drops and counts what there is no room for.
    pub(crate) fn tell(&self, happened: Vec<Traced>) {
        let Some(sender) = &self.sender else { return };
        for one in happened {
            if sender.try_send(one).is_err() {
                self.counts.dropped.inc();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::ids::{ExecutionId, Slot};
    use sprag_core::time::Timestamp;
    use sprag_store::records::ExecutionStatus;

    use super::*;

    fn closed(entropy: u64) -> Traced {
        let at = Timestamp::from_millis(1_767_225_600_000);
        Traced::Closed(ExecutionClosed {
            execution: ExecutionId::compose(at, Slot(0), entropy),
            machine: Arc::from("m"),
            version: 1,
            key: None,
            status: ExecutionStatus::Completed,
            start: at,
            end: at,
        })
    }

    #[test]
    fn what_there_is_no_room_for_is_dropped_and_counted() {
        let (traces, mut receiver) = Traces::queue(2);
        traces.tell(vec![closed(1), closed(2), closed(3)]);
        assert_eq!(traces.counts().dropped.get(), 1);
        assert_eq!(receiver.try_recv().unwrap(), closed(1));
        traces.tell(vec![closed(4)]);
        assert_eq!(traces.counts().dropped.get(), 1, "there is room again");
    }

    #[test]
    fn without_a_listener_nothing_is_kept() {
        let traces = Traces::default();
        traces.tell(vec![closed(1)]);
        assert!(!traces.is_on() && traces.counts().dropped.get() == 0);
    }
}
