//! A collector without threads, over a scripted source.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use sprag_core::time::Timestamp;

use crate::runtime::collector::{Collector, CollectorEvent, CollectorOptions, Observation, Source, Standing};
use crate::runtime::pool::{Pool, Threads, lock};
use crate::worker::CollectError;

pub(super) type Seen = CollectorEvent<u64>;
pub(super) type Look = BoxFuture<'static, Result<u64, CollectError>>;

pub(super) const PUMP: &str = "plant/pump";

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// What the next passes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// Nothing is desired.
    Idle,
    /// Sees how many passes there were.
    Well,
    /// Fails.
    Ill,
    /// Panics.
    Mad,
    /// Never ends.
    Hung,
}

#[derive(Clone)]
pub(super) struct Eye {
    mood: Arc<Mutex<Mood>>,
    calls: Arc<AtomicU64>,
}

impl Eye {
    pub(super) fn new(mood: Mood) -> Self {
        Self {
            mood: Arc::new(Mutex::new(mood)),
            calls: Arc::default(),
        }
    }

    pub(super) fn be(&self, mood: Mood) {
        *lock(&self.mood) = mood;
    }

    /// How often it was asked to look.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Source<u64> for Eye {
    fn pass(&self) -> Option<Look> {
        let mood = *lock(&self.mood);
        let calls = Arc::clone(&self.calls);
        let look = async move {
            let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
            match mood {
                Mood::Well | Mood::Idle => Ok(call),
                Mood::Ill => Err(CollectError::new("no route to pump")),
                Mood::Mad => panic!("pump on fire"),
                Mood::Hung => std::future::pending().await,
            }
        };
        (mood != Mood::Idle).then(|| -> Look { Box::pin(look) })
    }
}

pub(super) struct CollectorWorld {
    pub(super) threads: Arc<Threads>,
    pub(super) collector: Collector<u64>,
    pub(super) eye: Eye,
}

impl CollectorWorld {
    pub(super) fn new(mood: Mood) -> Self {
        let threads = Arc::new(Threads::none());
        let pool = Pool::new(Arc::clone(&threads), 16);
        let mut collector = Collector::new(CollectorOptions::default(), pool).unwrap();
        let eye = Eye::new(mood);
        collector.start(&PUMP.into(), Arc::new(eye.clone()), at(0)).unwrap();
        Self {
            threads,
            collector,
            eye,
        }
    }

    /// What a tick sees once everything that can happen at `now` has happened.
    pub(super) fn tick(&mut self, now: i64) -> Vec<Seen> {
        let mut events = Vec::new();
        for _ in 0..3 {
            events.extend(self.collector.scan(at(now)));
            self.threads.drive();
        }
        events.extend(self.collector.scan(at(now)));
        events
    }

    /// Ticks every 100 ms, and says when what happened.
    pub(super) fn run(&mut self, from: i64, to: i64) -> Vec<(i64, Seen)> {
        let ticks = (from..=to).step_by(100);
        ticks
            .flat_map(|now| self.tick(now).into_iter().map(move |event| (now, event)))
            .collect()
    }

    pub(super) fn standing(&self, now: i64) -> Standing {
        self.collector.standing(PUMP, at(now)).unwrap()
    }

    pub(super) fn observation(&self, now: i64) -> Observation {
        self.standing(now).observation
    }
}

/// When collection was restarted, and how often before.
pub(super) fn restarts(events: &[(i64, Seen)]) -> Vec<(i64, u32)> {
    let restarted = events.iter().filter_map(|(now, event)| match event {
        CollectorEvent::Restarted { restarts, .. } => Some((*now, *restarts)),
        _ => None,
    });
    restarted.collect()
}

/// When something was observed.
pub(super) fn observed(events: &[(i64, Seen)]) -> Vec<i64> {
    let observed = events
        .iter()
        .filter(|(_, event)| matches!(event, CollectorEvent::Observed { .. }));
    observed.map(|(now, _)| *now).collect()
}

pub(super) fn exhausted(events: &[(i64, Seen)]) -> Vec<i64> {
    let exhausted = events
        .iter()
        .filter(|(_, event)| matches!(event, CollectorEvent::Exhausted { .. }));
    exhausted.map(|(now, _)| *now).collect()
}
