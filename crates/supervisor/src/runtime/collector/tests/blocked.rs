//! Passes that block their threads: real threads, virtual time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::world::{Look, PUMP, Seen, at, observed, restarts};
use crate::runtime::collector::{Collector, CollectorOptions};
use crate::runtime::pool::{Pool, Threads, ThreadsOptions, lock};

/// A collector on real threads, over a source that blocks as long as a test wants.
struct BlockedWorld {
    collector: Collector<u64>,
    threads: Arc<Threads>,
    begun: Arc<AtomicU64>,
    is_blocking: Arc<AtomicBool>,
    /// One per blocked pass, in turn.
    releases: Arc<Mutex<Vec<Sender<()>>>>,
    _runtime: tokio::runtime::Runtime,
}

impl BlockedWorld {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let threads = Arc::new(Threads::start(ThreadsOptions { threads: 2 }, runtime.handle().clone()));
        let pool = Pool::new(Arc::clone(&threads), 4);
        let mut collector = Collector::new(CollectorOptions::default(), pool).unwrap();
        let begun = Arc::new(AtomicU64::new(0));
        let is_blocking = Arc::new(AtomicBool::new(true));
        let releases: Arc<Mutex<Vec<Sender<()>>>> = Arc::default();
        let source = {
            let (begun, is_blocking, releases) = (Arc::clone(&begun), Arc::clone(&is_blocking), Arc::clone(&releases));
            move || -> Option<Look> {
                let (begun, releases) = (Arc::clone(&begun), Arc::clone(&releases));
                let wait: Option<Receiver<()>> = is_blocking.load(Ordering::SeqCst).then(|| {
                    let (release, wait) = channel();
                    lock(&releases).push(release);
                    wait
                });
                let wait = Mutex::new(wait);
                Some(Box::pin(async move {
                    let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
                    if let Some(wait) = lock(&wait).take() {
                        let _ = wait.recv();
                    }
                    Ok(number)
                }))
            }
        };
        collector.start(&PUMP.into(), Arc::new(source), at(0)).unwrap();
        Self {
            collector,
            threads,
            begun,
            is_blocking,
            releases,
            _runtime: runtime,
        }
    }

    /// A tick, after which every pass that was started has begun.
    fn tick(&mut self, now: i64) -> Vec<Seen> {
        let events = self.collector.scan(at(now));
        let started = self.collector.counts().passes;
        while self.begun.load(Ordering::SeqCst) < started {
            // A blocked thread is replaced by the ticks; here they are the same moment.
            self.threads.watch(at(now + 99));
            std::thread::yield_now();
        }
        events
    }

    fn run(&mut self, from: i64, to: i64) -> Vec<(i64, Seen)> {
        let ticks = (from..=to).step_by(100);
        ticks
            .flat_map(|now| self.tick(now).into_iter().map(move |event| (now, event)))
            .collect()
    }

    fn release(&self, pass: usize) {
        lock(&self.releases)[pass].send(()).unwrap();
    }
}

// 24. That the ticks come through is the proof that none of them waits.
#[test]
fn a_pass_that_blocks_its_thread_is_restarted_on_time_and_no_tick_waits() {
    let mut world = BlockedWorld::new();
    let events = world.run(0, 36_000);
    let times: Vec<i64> = restarts(&events).iter().map(|(now, _)| *now).collect();
    assert_eq!(times, [20_000, 24_000, 30_000, 36_000]);
    assert_eq!(
        world.begun.load(Ordering::SeqCst),
        5,
        "a blocked pass is not doubled before its time"
    );
    let standing = world.collector.standing(PUMP, at(36_000)).unwrap();
    assert_eq!(standing.strays, 4);
}

// 28. D17.
#[test]
fn a_hung_collection_is_replaced_and_what_it_brings_later_is_dropped() {
    let mut world = BlockedWorld::new();
    world.run(0, 19_900);
    world.is_blocking.store(false, Ordering::SeqCst);
    let events = world.run(20_000, 23_900);
    assert!(!observed(&events).is_empty());
    assert_eq!(world.collector.standing(PUMP, at(23_900)).unwrap().strays, 1);
    world.release(0);
    let mut now = 24_000;
    while world.collector.counts().late == 0 {
        world.tick(now);
        now += 1;
        std::thread::yield_now();
    }
    let standing = world.collector.standing(PUMP, at(now)).unwrap();
    assert_eq!((standing.strays, standing.restarts, standing.is_current), (0, 0, true));
    let events = world.run(now, now + 5_000);
    assert!(observed(&events).len() >= 4, "the new loop stays");
}

#[test]
fn blocked_passes_of_one_worker_are_bounded() {
    let mut world = BlockedWorld::new();
    world.run(0, 120_000);
    let standing = world.collector.standing(PUMP, at(120_000)).unwrap();
    assert_eq!(standing.strays, 8);
    assert_eq!(world.begun.load(Ordering::SeqCst), 8);
    world.is_blocking.store(false, Ordering::SeqCst);
    world.release(3);
    while world.collector.standing(PUMP, at(120_100)).unwrap().strays == 8 {
        world.tick(120_100);
        std::thread::yield_now();
    }
    world.tick(121_100);
    while world.collector.standing(PUMP, at(121_100)).unwrap().restarts > 0 {
        world.tick(121_100);
        std::thread::yield_now();
    }
    assert_eq!(
        world.begun.load(Ordering::SeqCst),
        9,
        "one that returns is enough to go on"
    );
}
