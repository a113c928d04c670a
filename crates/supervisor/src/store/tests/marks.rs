//! The mark of an action's start: the action does nothing before the mark is on disk, unless the disk fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use serde_json::json;
use sprag_core::time::Timestamp;
use tokio::sync::watch;

use super::super::durable::WriteProgress;
use super::world::*;
use crate::runtime::executor::{CancelReason, Executor, ExecutorOptions, Marks};
use crate::runtime::pool::{Pool, Threads};
use crate::store::{Durable, NotDurable};
use crate::worker::action::{ActionCall, ActionOptions, ActionStatus, Outcome};

/// A disk that takes its time.
struct Slow(watch::Sender<WriteProgress>);

impl Marks for Slow {
    fn mark(&self, _worker: &Arc<str>, status: &ActionStatus, _now: Timestamp) -> Durable {
        assert!(status.in_progress() || status.outcome != Outcome::None);
        Durable::on_its_way(1, self.0.subscribe())
    }
}

struct MarkWorld {
    threads: Arc<Threads>,
    executor: Executor,
    disk: Arc<Slow>,
    effects: Arc<AtomicU64>,
}

impl MarkWorld {
    fn new() -> Self {
        let threads = Arc::new(Threads::none());
        let disk = Arc::new(Slow(watch::Sender::new(WriteProgress::default())));
        let pool = Pool::new(Arc::clone(&threads), 4);
        let executor = Executor::new(ExecutorOptions::default(), pool, Arc::clone(&disk) as _);
        let effects = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&effects);
        let call = ActionCall {
            worker: PUMP.into(),
            name: "open".into(),
            options: ActionOptions::default(),
            perform: Arc::new(move |_| {
                counter.fetch_add(1, Ordering::SeqCst);
                Box::pin(async { Ok(()) })
            }),
        };
        executor.start(call, at(0)).unwrap();
        Self {
            threads,
            executor,
            disk,
            effects,
        }
    }

    /// How many effects there are after a tick.
    fn tick(&self, now: i64) -> u64 {
        self.threads.drive();
        self.executor.scan(at(now));
        self.effects.load(Ordering::SeqCst)
    }
}

// D15.
#[test]
fn nothing_happens_before_the_mark_is_on_disk_and_waiting_for_it_is_not_being_stuck() {
    let world = MarkWorld::new();
    assert_eq!(world.tick(0), 0);
    assert_eq!(world.tick(10_000_000), 0);
    assert!(world.executor.status(PUMP).in_progress());
    assert_eq!(world.executor.status(PUMP).started, None);
    world.disk.0.send_replace(WriteProgress {
        durable: 1,
        is_failing: false,
    });
    assert_eq!(world.tick(10_000_100), 1);
    assert_eq!(world.executor.status(PUMP).outcome, Outcome::Succeeded);
}

#[test]
fn what_is_cancelled_while_its_mark_is_on_its_way_never_happens() {
    let world = MarkWorld::new();
    world.tick(0);
    world.executor.cancel(PUMP, CancelReason::Operator, at(100));
    world.disk.0.send_replace(WriteProgress {
        durable: 1,
        is_failing: false,
    });
    assert_eq!(world.tick(200), 0);
    assert!(world.executor.status(PUMP).failed());
}

#[test]
fn a_disk_that_fails_does_not_keep_a_repair_from_being_made() {
    let world = MarkWorld::new();
    assert_eq!(world.tick(0), 0);
    world.disk.0.send_replace(WriteProgress {
        durable: 0,
        is_failing: true,
    });
    assert_eq!(world.tick(100), 1);
}

#[test]
fn what_the_disk_refused_is_kept_and_written_when_it_takes_it() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    introduce(&store, PUMP);
    runtime
        .block_on(want(&store, &json!({"speed": 1})).durable.wait())
        .unwrap();
    let connection = Connection::open(folder.path()).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON document BEGIN SELECT RAISE(ABORT, 'no'); END";
    connection.execute_batch(refuse).unwrap();
    let put = want(&store, &json!({"speed": 2}));
    assert_eq!(runtime.block_on(put.durable.clone().wait()), Err(NotDurable));
    let document = store.snapshot(PUMP).unwrap().desired.unwrap().document;
    assert_eq!(document, json!({"speed": 2}), "in memory it counts");
    connection.execute_batch("DROP TRIGGER refuse").unwrap();
    // Until it is tried again, waiting is answered at once.
    while runtime.block_on(put.durable.clone().wait()).is_err() {
        std::thread::yield_now();
    }
    let text = "SELECT body FROM document WHERE part = 'desired'";
    let written: String = connection.query_row(text, [], |row| row.get(0)).unwrap();
    assert_eq!(written, r#"{"speed":2}"#);
}

#[test]
fn a_store_that_closes_while_its_disk_refuses_says_so() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let connection = Connection::open(folder.path()).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON document BEGIN SELECT RAISE(ABORT, 'no'); END";
    connection.execute_batch(refuse).unwrap();
    introduce(&store, PUMP);
    assert_eq!(store.close(), Err(NotDurable));
}
