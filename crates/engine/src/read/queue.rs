//! The queue: how much waits, since when, how fast it drains, and what holds it back.
//!
//! The store counts what is queued: the dispatcher keeps only the head of each line in memory. Counting walks an index of
//! the queued actions, so it takes time in proportion to them. Callers therefore share a count for a while.

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::time::Timestamp;
use sprag_store::ReadKind;
use sprag_store::traits::QueuedCount;
use sprag_wire::{Queue, QueueDepth, QueueLine, QueuedType};

use super::cached::Cached;
use crate::engine::operate::OperatorHandle;
use crate::queue::line_named;
use crate::requests::{Refusal, ShowQueue};

/// What a lane knows of its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinesInMemory {
    /// Lines by name, without how much waits in them.
    pub lines: BTreeMap<String, QueueLine>,
    /// Types by name.
    pub types: BTreeMap<String, TypeInMemory>,
}

/// What a lane knows of an action type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeInMemory {
    /// Attempts under way.
    pub running: usize,
    /// Attempts that started in the last 60 seconds.
    pub started_last_minute: u64,
}

/// The last count, for the next caller.
pub(crate) type Depths = Cached<Vec<QueuedCount>>;

impl OperatorHandle<'_> {
    /// The queue: the whole store's depth, with what this process runs and what holds its lines back.
    pub async fn queue(&self) -> Result<Queue, Refusal> {
        let known = self.queue_in_memory().await?;
        let counted = self.queued().await?;
        Ok(status(known, &counted, self.0.now()))
    }

    /// What the lane knows of its queue. It answers only while the lane works.
    pub async fn queue_in_memory(&self) -> Result<LinesInMemory, Refusal> {
        self.0.ask(ShowQueue).await
    }

    /// Counts what is queued, or takes the last count while it is good.
    async fn queued(&self) -> Result<Arc<Vec<QueuedCount>>, Refusal> {
        let count = self.0.read().query(ReadKind::Scan, |reader| reader.queued_actions());
        self.0.caches.depths.get(|| self.0.micros(), 0, count).await
    }
}

/// The type of a line's actions, by the line's name.
pub(crate) fn kind_of_line(line: &str) -> &str {
    line.split(['\u{1d}', '\u{1e}', '\u{1f}']).next().unwrap_or_default()
}

fn status(known: LinesInMemory, counted: &[QueuedCount], now: Timestamp) -> Queue {
    let LinesInMemory { mut lines, types } = known;
    let mut types: BTreeMap<String, QueuedType> = types.into_iter().map(of_type).collect();
    let mut held = QueueDepth::default();
    for queued in counted {
        let kind = kind_of_line(&queued.queue);
        if kind.is_empty() {
            add(&mut held, queued, now);
            continue;
        }
        let line = lines.entry(queued.queue.clone());
        let line = line.or_insert_with(|| line_named(&queued.queue));
        add(&mut line.depth, queued, now);
        let of_kind = types
            .entry(kind.to_owned())
            .or_insert_with(|| of_type((kind.to_owned(), TypeInMemory::default())).1);
        add(&mut of_kind.depth, queued, now);
    }
    Queue {
        data: lines.into_values().collect(),
        next_cursor: None,
        types: types.into_values().collect(),
        held,
    }
}

fn of_type((kind, known): (String, TypeInMemory)) -> (String, QueuedType) {
    let TypeInMemory {
        running,
        started_last_minute,
    } = known;
    let shown = QueuedType {
        kind: kind.clone(),
        depth: QueueDepth::default(),
        running,
        started_last_minute,
    };
    (kind, shown)
}

/// Adds the queued actions of a line.
fn add(depth: &mut QueueDepth, queued: &QueuedCount, now: Timestamp) {
    let oldest = depth
        .oldest_ready_at
        .map_or(queued.oldest, |oldest| oldest.min(queued.oldest));
    *depth = QueueDepth {
        ready: depth.ready.saturating_add(queued.count),
        oldest_ready_at: Some(oldest),
        oldest_age: Some(now.since(oldest)),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(line: &str, count: u64, millis: i64) -> QueuedCount {
        QueuedCount {
            queue: line.to_owned(),
            count,
            oldest: Timestamp::from_millis(millis),
        }
    }

    #[test]
    fn the_store_counts_and_the_lane_says_what_runs() {
        let known = LinesInMemory {
            lines: BTreeMap::from([("webhook".to_owned(), line_named("webhook"))]),
            types: BTreeMap::from([(
                "webhook".to_owned(),
                TypeInMemory {
                    running: 3,
                    started_last_minute: 120,
                },
            )]),
        };
        let counted = [
            queued("", 2, 40),
            queued("email\u{1f}a", 1, 70),
            queued("webhook", 100_000, 60),
            queued("webhook\u{1e}h:1", 5, 50),
        ];
        let Queue {
            data: lines,
            types,
            held,
            ..
        } = status(known, &counted, Timestamp::from_millis(100));
        assert_eq!((held.ready, held.oldest_age), (2, Some(60)));
        let lines: Vec<_> = lines
            .iter()
            .map(|line| (line.kind.as_str(), line.depth.ready))
            .collect();
        assert_eq!(lines, [("email", 1), ("webhook", 100_000), ("webhook", 5)]);
        let types: Vec<_> = types
            .iter()
            .map(|one| {
                (
                    one.kind.as_str(),
                    one.depth.ready,
                    one.depth.oldest_age,
                    one.running,
                    one.started_last_minute,
                )
            })
            .collect();
        assert_eq!(
            types,
            [("email", 1, Some(30), 0, 0), ("webhook", 100_005, Some(50), 3, 120)]
        );
    }
}
