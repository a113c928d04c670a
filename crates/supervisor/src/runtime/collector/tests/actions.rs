//! Actions and observations together, in the order in which a tick calls them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use super::world::{PUMP, at};
use crate::runtime::collector::{Collector, CollectorEvent, CollectorOptions};
use crate::runtime::executor::{Event, Executor, ExecutorOptions, NoMarks};
use crate::runtime::pool::{Pool, Threads};
use crate::worker::action::{ActionCall, ActionOptions};

/// A pump whose valve an action opens, and a look at the valve.
struct PumpWorld {
    threads: Arc<Threads>,
    executor: Executor,
    collector: Collector<bool>,
    looks: Arc<AtomicU64>,
    effect: Arc<Notify>,
}

impl PumpWorld {
    fn new() -> Self {
        let threads = Arc::new(Threads::none());
        let pool = || Pool::new(Arc::clone(&threads), 4);
        let executor = Executor::new(ExecutorOptions::default(), pool(), Arc::new(NoMarks));
        let mut collector = Collector::new(CollectorOptions::default(), pool()).unwrap();
        let is_open = Arc::new(AtomicBool::new(false));
        let looks = Arc::new(AtomicU64::new(0));
        let effect = Arc::new(Notify::new());
        let source = {
            let (is_open, looks) = (Arc::clone(&is_open), Arc::clone(&looks));
            move || {
                let (is_open, looks) = (Arc::clone(&is_open), Arc::clone(&looks));
                let look: futures_util::future::BoxFuture<'static, _> = Box::pin(async move {
                    looks.fetch_add(1, Ordering::SeqCst);
                    Ok(is_open.load(Ordering::SeqCst))
                });
                Some(look)
            }
        };
        collector.start(&PUMP.into(), Arc::new(source), at(0)).unwrap();
        let world = Self {
            threads,
            executor,
            collector,
            looks,
            effect: Arc::clone(&effect),
        };
        let call = ActionCall {
            worker: PUMP.into(),
            name: "open".into(),
            options: ActionOptions::default(),
            perform: Arc::new(move |_| {
                let (is_open, effect) = (Arc::clone(&is_open), Arc::clone(&effect));
                Box::pin(async move {
                    effect.notified().await;
                    is_open.store(true, Ordering::SeqCst);
                    Ok(())
                })
            }),
        };
        world.executor.start(call, at(0)).unwrap();
        world
    }

    /// As a tick does it: results first, then what they trigger.
    fn tick(&mut self, now: i64) -> (Vec<Event>, Vec<CollectorEvent<bool>>) {
        let ended = self.executor.scan(at(now));
        for event in &ended {
            if let Event::Ended { worker, .. } = event {
                self.collector.trigger(worker, at(now));
            }
        }
        let seen = self.collector.scan(at(now));
        self.threads.drive();
        (ended, seen)
    }
}

// 17.
#[test]
fn the_end_of_an_action_is_followed_by_a_look_at_once() {
    let mut world = PumpWorld::new();
    world.tick(0);
    world.tick(100);
    assert_eq!(world.looks.load(Ordering::SeqCst), 1);
    world.effect.notify_one();
    world.threads.drive();
    let (ended, _) = world.tick(200);
    assert!(matches!(ended.last(), Some(Event::Ended { .. })));
    assert_eq!(
        world.looks.load(Ordering::SeqCst),
        2,
        "long before the interval is over"
    );
    let (_, seen) = world.tick(300);
    let observed = CollectorEvent::Observed {
        worker: PUMP.into(),
        at: at(200),
        value: true,
    };
    assert_eq!(
        seen,
        [observed],
        "no older than the tick that heard of the end, and it saw the effect"
    );
}

// 18.
#[test]
fn two_looks_before_a_tick_do_not_hide_a_result() {
    let mut world = PumpWorld::new();
    world.tick(0);
    world.effect.notify_one();
    world.threads.drive();
    for now in [1_000, 2_000] {
        world.collector.scan(at(now));
        world.threads.drive();
    }
    assert_eq!(world.looks.load(Ordering::SeqCst), 3);
    let (ended, _) = world.tick(2_100);
    assert_eq!(
        ended
            .iter()
            .filter(|event| matches!(event, Event::Ended { .. }))
            .count(),
        1
    );
    let (ended, _) = world.tick(2_200);
    assert!(ended.is_empty());
}
