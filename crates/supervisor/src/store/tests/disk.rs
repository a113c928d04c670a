//! A store in a file: what survives, what it refuses, what it cannot read.

use futures_util::FutureExt;
use rusqlite::Connection;
use serde_json::json;

use super::world::*;
use crate::runtime::collector::Recorder;
use crate::runtime::executor::Marks;
use crate::store::{Expected, Opened, Page, Sight, Store, StoreError, StoreOptions};
use crate::worker::action::{ActionStatus, Outcome};

/// Blocks until it is on disk.
fn on_disk(durable: crate::store::Durable) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(durable.wait()).unwrap();
}

#[test]
fn everything_but_the_deltas_is_there_after_a_restart() {
    let folder = StoreFolder::new();
    let store = folder.open();
    introduce(&store, PUMP);
    store
        .put_desired(PUMP, &json!({"speed": 1}), Expected::Any, at(5))
        .unwrap();
    store
        .put_desired(PUMP, &json!({"speed": 2}), Expected::Any, at(6))
        .unwrap();
    let recorder = Recorder::default();
    recorder.add("batches", 10);
    let sight = Sight {
        at: at(7),
        state: "running",
        document: &json!({"flow": 1}),
        recorded: &recorder.take(),
    };
    store.put_observed(PUMP, sight).unwrap();
    let status = ActionStatus {
        id: 3,
        generation: 9,
        outcome: Outcome::InProgress,
        ..ActionStatus::default()
    };
    store.mark(&PUMP.into(), &status, at(8));
    store
        .put_memory(
            &"plant".into(),
            "rule:output",
            &json!({"window": [1_000, 2_000]}),
            at(8),
        )
        .unwrap();
    let before = store.snapshot(PUMP).unwrap();
    let cursor = end(&store);
    store.close().unwrap();

    let store = folder.open();
    let mut after = store.snapshot(PUMP).unwrap();
    assert_eq!(after.observed.as_ref().unwrap().at, None, "nobody looked in this life");
    after.observed.as_mut().unwrap().at = Some(at(7));
    assert_eq!(after, before);
    assert_eq!(
        store.memory("plant", "rule:output"),
        Some(json!({"window": [1_000, 2_000]}))
    );
    // 81.
    assert!(matches!(store.changes(Some(cursor), 10), Page::Everything { .. }));
    // 31, over a restart.
    recorder.add("batches", 3);
    let sight = Sight {
        recorded: &recorder.take(),
        ..sight
    };
    store.put_observed(PUMP, sight).unwrap();
    let metrics = store.snapshot(PUMP).unwrap().observed.unwrap().metrics;
    assert_eq!(metrics.counters["batches"], 13);
    let put = store
        .put_desired(PUMP, &json!({"speed": 3}), Expected::Version(2), at(9))
        .unwrap();
    assert_eq!(put.version, 3);
}

// 77.
#[test]
fn what_did_not_change_is_not_written() {
    let folder = StoreFolder::new();
    let store = folder.open();
    introduce(&store, PUMP);
    on_disk(want(&store, &json!({"speed": 1})).durable);
    see(&store, &json!({"flow": 1}), 5);
    let connection = Connection::open(folder.path()).unwrap();
    let count = "\
        CREATE TABLE written (part TEXT); \
        CREATE TRIGGER came AFTER INSERT ON document BEGIN INSERT INTO written VALUES (new.part); END; \
        CREATE TRIGGER changed AFTER UPDATE ON document BEGIN INSERT INTO written VALUES (new.part); END;";
    connection.execute_batch(count).unwrap();
    let unchanged = want(&store, &json!({"speed": 1}));
    assert!(
        unchanged.durable.wait().now_or_never().is_some(),
        "there is nothing to wait for"
    );
    see(&store, &json!({"flow": 1}), 1_005);
    introduce(&store, PUMP);
    want(&store, &json!({"speed": 2}));
    store.close().unwrap();
    let mut statement = connection.prepare("SELECT part FROM written ORDER BY part").unwrap();
    let written: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let count = |part: &str| written.iter().filter(|written| *written == part).count();
    assert_eq!((count("identity"), count("desired")), (0, 1));
    // The first observation is written at leisure: before the counting began, or after.
    assert!(count("observed") <= 1);
}

// 82.
#[test]
fn a_worker_that_went_is_gone_from_the_file_and_may_come_back() {
    let folder = StoreFolder::new();
    let store = folder.open();
    introduce(&store, PUMP);
    want(&store, &json!({"speed": 1}));
    store.put_memory(&PUMP.into(), "window", &json!([1]), at(1)).unwrap();
    on_disk(store.retire(PUMP, at(2)));
    store.close().unwrap();
    let store = folder.open();
    assert!(store.snapshot(PUMP).is_err());
    assert_eq!(store.memory(PUMP, "window"), None);
    introduce(&store, PUMP);
    store.retire(PUMP, at(3));
    introduce(&store, PUMP);
    let put = want(&store, &json!({"speed": 2}));
    assert_eq!(put.version, 1);
    store.close().unwrap();
    let store = folder.open();
    assert_eq!(
        store.snapshot(PUMP).unwrap().desired.unwrap().document,
        json!({"speed": 2})
    );
}

// 82.
#[test]
fn documents_that_cannot_be_read_are_left_out_and_named() {
    let folder = StoreFolder::new();
    let store = folder.open();
    introduce(&store, PUMP);
    introduce(&store, "plant/fan");
    want(&store, &json!({"speed": 1}));
    see(&store, &json!({"flow": 1}), 5);
    store.close().unwrap();
    let connection = Connection::open(folder.path()).unwrap();
    let spoil = "UPDATE document SET body = ?1 WHERE worker = 'plant/pump' AND part = ?2";
    connection.execute(spoil, ["{\"speed\": ", "desired"]).unwrap();
    connection.execute(spoil, ["[1]", "observed"]).unwrap();
    let strange = "INSERT INTO document VALUES ('plant/fan', 'mood', '', '{}', 1, 0, 0)";
    connection.execute(strange, []).unwrap();
    drop(connection);
    let Opened { store, malformed } = Store::open(&folder.path(), StoreOptions::default()).unwrap();
    let named: Vec<_> = malformed.iter().map(|one| (&*one.worker, one.part.as_str())).collect();
    assert_eq!(named, [("plant/fan", "mood"), (PUMP, "desired"), (PUMP, "observed")]);
    assert!(malformed.iter().all(|one| !one.problem.is_empty()));
    let snapshot = store.snapshot(PUMP).unwrap();
    assert!(snapshot.desired.is_none() && snapshot.observed.is_none());
    assert!(store.snapshot("plant/fan").is_ok());
    on_disk(want(&store, &json!({"speed": 2})).durable);
    store.close().unwrap();
    let Opened { malformed, .. } = Store::open(&folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(malformed.len(), 2, "what is written anew can be read again");
}

#[test]
fn a_second_process_and_a_foreign_file_are_refused() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let refused = Store::open(&folder.path(), StoreOptions::default()).err().unwrap();
    assert!(refused.to_string().contains("another process has"), "{refused}");
    drop(store);
    let other = folder.path().with_file_name("sprag.db");
    drop(sprag_store::sqlite::open(&sprag_store::sqlite::Options { path: other.clone() }).unwrap());
    let refused = Store::open(&other, StoreOptions::default()).err().unwrap();
    assert!(matches!(
        refused,
        StoreError::Open(sprag_store::sqlite::OpenError::ForeignDatabase { .. })
    ));
}

#[test]
fn many_workers_are_written_together() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let mut last = crate::store::Durable::at_once();
    for number in 0..5_000 {
        let identity = identity(&format!("plant/{number}"), "pump");
        last = store.put_identity(&identity, at(0)).unwrap();
    }
    on_disk(last);
    let connection = Connection::open(folder.path()).unwrap();
    let written: i64 = connection
        .query_row("SELECT count(*) FROM document", [], |row| row.get(0))
        .unwrap();
    assert_eq!(written, 5_000);
}
