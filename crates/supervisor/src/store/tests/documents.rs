//! Documents that the store accepts, refuses and returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::world::*;
use crate::runtime::collector::Recorder;
use crate::runtime::executor::Marks;
use crate::store::{Expected, PutError, Sight, Store, StoreOptions};
use crate::worker::action::{ActionStatus, Outcome};

// 77.
#[test]
fn what_says_the_same_changes_nothing() {
    let store = store();
    assert!(want(&store, &json!({"speed": 3, "mode": {"eco": true}})).is_changed);
    let before = store.sync_id();
    let again = want(&store, &json!({"mode": {"eco": true}, "speed": 3}));
    assert_eq!((again.is_changed, again.version), (false, 1));
    store.put_identity(&identity(PUMP, "pump"), at(9)).unwrap();
    assert_eq!(store.sync_id(), before);
    assert!(see(&store, &json!({"flow": 1}), 10));
    assert!(!see(&store, &json!({"flow": 1}), 20));
    assert_eq!(store.sync_id(), before + 1);
}

// 77.
#[test]
fn an_observation_that_differs_by_its_time_makes_no_delta_and_is_newer() {
    let store = store();
    see(&store, &json!({"flow": 1}), 10);
    let before = store.sync_id();
    assert!(!see(&store, &json!({"flow": 1}), 1_010));
    let observed = store.snapshot(PUMP).unwrap().observed.unwrap();
    assert_eq!((observed.at, observed.updated), (Some(at(1_010)), at(10)));
    assert_eq!(store.sync_id(), before);
}

// 77.
#[test]
fn a_field_that_is_gone_is_a_change() {
    let store = store();
    want(&store, &json!({"speed": 3, "mode": "eco"}));
    let cursor = end(&store);
    assert!(want(&store, &json!({"speed": 3})).is_changed);
    let (deltas, _) = follow(&store, cursor);
    let text = serde_json::to_value(&deltas).unwrap();
    assert_eq!(text[0]["changes"], json!([{"path": "/mode"}]));
    assert_eq!(
        (text[0]["part"].as_str(), text[0]["worker"].as_str()),
        (Some("desired"), Some(PUMP))
    );
}

// 78. Whatever the caller's document calls its fields, the version is the store's.
#[test]
fn versions_rise_by_one_and_the_created_time_survives() {
    let store = store();
    let document = |number: u64| json!({"version": 90 - number, "created": "never", "number": number});
    for number in 1..=5 {
        let now = at(i64::try_from(number).unwrap() * 100);
        let put = store
            .put_desired(PUMP, &document(number), Expected::Version(number - 1), now)
            .unwrap();
        assert_eq!(put.version, number);
    }
    let desired = store.snapshot(PUMP).unwrap().desired.unwrap();
    assert_eq!(
        (desired.version, desired.created, desired.updated),
        (5, at(100), at(500))
    );
    assert_eq!(desired.document, document(5));
}

// 78.
#[test]
fn who_read_an_older_version_is_refused() {
    let store = store();
    want(&store, &json!({"speed": 1}));
    want(&store, &json!({"speed": 2}));
    let stale = store
        .put_desired(PUMP, &json!({"speed": 3}), Expected::Version(1), at(5))
        .unwrap_err();
    assert_eq!(
        stale.to_string(),
        "`plant/pump` now has desired version `2`, not `1`; read it again and decide again"
    );
    assert_eq!(
        store.snapshot(PUMP).unwrap().desired.unwrap().document,
        json!({"speed": 2})
    );
    let absent = store
        .put_desired(PUMP, &json!({}), Expected::Version(0), at(5))
        .unwrap_err();
    assert!(matches!(absent, PutError::Conflict { found: 2, .. }));
}

// 78.
#[test]
fn of_those_who_race_with_one_version_one_wins() {
    let store = store();
    for round in 0..200 {
        let won = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..3)
                .map(|racer| {
                    let store = &store;
                    scope.spawn(move || {
                        let document = json!({"round": round, "racer": racer});
                        store
                            .put_desired(PUMP, &document, Expected::Version(round), at(1))
                            .is_ok()
                    })
                })
                .collect();
            racers
                .into_iter()
                .filter_map(|racer| racer.join().ok())
                .filter(|won| *won)
                .count()
        });
        assert_eq!(won, 1);
    }
}

// 78.
#[test]
fn an_identity_never_changes_until_its_worker_is_gone() {
    let store = store();
    let refused = store.put_identity(&identity(PUMP, "fan"), at(1)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`plant/pump` is known with another identity; remove it first, or use another name"
    );
    assert_eq!(store.snapshot(PUMP).unwrap().identity["type"], "pump");
    store.retire(PUMP, at(2));
    store.put_identity(&identity(PUMP, "fan"), at(3)).unwrap();
    let snapshot = store.snapshot(PUMP).unwrap();
    assert_eq!(
        (snapshot.identity["type"].as_str(), snapshot.gone_at),
        (Some("fan"), None)
    );
}

// 79.
#[test]
fn a_snapshot_is_the_readers_own() {
    let store = store();
    want(&store, &json!({"mode": {"eco": true}}));
    let mut snapshot = store.snapshot(PUMP).unwrap();
    let desired = snapshot.desired.as_mut().unwrap();
    desired.document["mode"]["eco"] = json!(false);
    snapshot.identity["path"] = json!("elsewhere");
    let again = store.snapshot(PUMP).unwrap();
    assert_eq!(again.desired.unwrap().document, json!({"mode": {"eco": true}}));
    assert_eq!(again.identity["path"], PUMP);
}

// 79.
#[test]
fn parts_may_be_missing_but_not_the_identity() {
    let store = store();
    let snapshot = store.snapshot(PUMP).unwrap();
    assert!(snapshot.desired.is_none() && snapshot.observed.is_none() && snapshot.action.is_none());
    for unknown in ["plant", ""] {
        assert!(matches!(store.snapshot(unknown), Err(PutError::NotFound { .. })));
        let put = store.put_desired(unknown, &json!({}), Expected::Any, at(0));
        assert!(matches!(put, Err(PutError::NotFound { .. })));
    }
    store.put_memory(&"plant".into(), "window", &json!([1]), at(0)).unwrap();
    assert!(
        matches!(store.snapshot("plant"), Err(PutError::NotFound { .. })),
        "what is kept for it is no identity"
    );
}

// 79.
#[test]
fn the_parts_of_a_snapshot_are_from_one_instant() {
    let store = store();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..20_000 {
                want(&store, &json!({ "number": number }));
                see(&store, &json!({ "number": number }), 1);
            }
            is_over.store(true, Ordering::SeqCst);
        });
        while !is_over.load(Ordering::SeqCst) {
            let snapshot = store.snapshot(PUMP).unwrap();
            let (Some(desired), Some(observed)) = (snapshot.desired, snapshot.observed) else {
                continue;
            };
            let wanted = desired.document["number"].as_u64().unwrap();
            let seen = observed.document["number"].as_u64().unwrap();
            assert!(seen <= wanted && wanted <= seen + 1, "{wanted} {seen}");
        }
    });
}

// 30.
#[test]
fn the_last_observation_of_a_worker_that_went_names_its_state() {
    let store = store();
    see(&store, &json!({"flow": 1}), 10);
    let sight = Sight {
        at: at(20),
        state: "stopped",
        document: &json!({"flow": 0}),
        recorded: &Recorder::default().take(),
    };
    store.put_observed(PUMP, sight).unwrap();
    store.retire(PUMP, at(21));
    let last = store.snapshot(PUMP).unwrap();
    assert_eq!(last.gone_at, Some(at(21)));
    assert_eq!(last.observed.unwrap().state, "stopped");
}

// 31.
#[test]
fn a_stored_counter_of_10_and_3_recorded_are_13() {
    let store = store();
    let recorder = Recorder::default();
    let see = |now| {
        let sight = Sight {
            at: at(now),
            state: "running",
            document: &json!({}),
            recorded: &recorder.take(),
        };
        store.put_observed(PUMP, sight).unwrap();
        store.snapshot(PUMP).unwrap().observed.unwrap().metrics
    };
    recorder.add("batches", 10);
    recorder.set("pressure", 7.0);
    assert_eq!(see(1).counters["batches"], 10);
    recorder.add("batches", 3);
    recorder.set("pressure", 5.0);
    let metrics = see(2);
    assert_eq!((metrics.counters["batches"], metrics.gauges["pressure"]), (13, 5.0));
    assert_eq!(see(3), metrics, "an observation without any keeps them");
}

#[test]
fn an_actions_status_is_a_part_of_its_worker() {
    let store = store();
    let status = ActionStatus {
        id: 1,
        name: "open".to_owned(),
        outcome: Outcome::Failed {
            class: "timeout".to_owned(),
        },
        ..ActionStatus::default()
    };
    store.mark(&PUMP.into(), &status, at(4));
    assert_eq!(store.snapshot(PUMP).unwrap().action, Some(status));
}

#[test]
fn a_worker_costs_well_under_a_kibibyte() {
    // What the texts take, what the map and the record take, and what there may be twice.
    let store = Store::in_memory(
        StoreOptions {
            deltas_max: 0,
            ..StoreOptions::default()
        },
        1,
    );
    introduce(&store, PUMP);
    want(&store, &json!({"command": ["pump", "--speed", "3"]}));
    see(&store, &json!({"pid": 4_711, "exit": null, "cpu": 0.25}), 1);
    let texts = store.lock();
    let record = &texts.records[PUMP];
    let documents: usize = record
        .documents
        .iter()
        .map(|document| size_of_val(document) + document.text.body.len() + 16)
        .sum();
    let slack = record.documents.capacity() * 80;
    let own: usize = size_of_val(record) + size_of::<Arc<str>>() + PUMP.len() + 16;
    assert!(documents + slack + own < 900, "{documents} {slack} {own}");
}
