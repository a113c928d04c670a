//! Pages of deltas, expired positions, compaction.

use serde_json::json;

use super::world::*;
use crate::store::{Compacted, Cursor, DeltaKind, PAGE_MAX, Page, Store, StoreOptions};

fn small(options: StoreOptions) -> Store {
    let store = Store::in_memory(options, 1);
    introduce(&store, PUMP);
    store
}

fn change(store: &Store, times: u64) {
    for number in 0..times {
        see(store, &json!({ "number": number }), 10 + i64::try_from(number).unwrap());
    }
}

// 80.
#[test]
fn pages_have_at_most_100_deltas_in_order_and_go_on_where_they_end() {
    let store = store();
    let start = end(&store);
    change(&store, 250);
    let mut cursor = start;
    let mut sizes = Vec::new();
    let mut next = start.id + 1;
    loop {
        let Page::Deltas {
            deltas,
            cursor: last,
            has_more,
        } = store.changes(Some(cursor), usize::MAX)
        else {
            panic!("nothing was lost");
        };
        for delta in &deltas {
            assert_eq!(delta.id, next);
            next += 1;
        }
        assert_eq!(Some(last.id), deltas.last().map(|delta| delta.id));
        sizes.push(deltas.len());
        cursor = last;
        if !has_more {
            break;
        }
    }
    assert_eq!(sizes, [PAGE_MAX, PAGE_MAX, 50]);
    let nothing = store.changes(Some(cursor), 10);
    assert_eq!(
        nothing,
        Page::Deltas {
            deltas: Vec::new(),
            cursor,
            has_more: false
        }
    );
    assert!(matches!(store.changes(Some(start), 7), Page::Deltas { deltas, .. } if deltas.len() == 7));
}

// 81.
#[test]
fn a_place_that_is_gone_or_never_was_is_answered_with_everything() {
    let store = small(StoreOptions {
        deltas_max: 5,
        ..StoreOptions::default()
    });
    let start = end(&store);
    change(&store, 5);
    assert!(matches!(store.changes(Some(start), 10), Page::Deltas { deltas, .. } if deltas.len() == 5));
    change(&store, 6);
    let run = start.run;
    let newest = store.sync_id();
    for (run, id) in [(run, start.id), (run + 1, newest), (run, newest + 1), (0, 0)] {
        let Page::Everything { workers, cursor } = store.changes(Some(Cursor { run, id }), 10) else {
            panic!("{run} {id}");
        };
        assert_eq!((workers.len(), cursor.id), (1, newest));
        assert_eq!(workers[0].observed.as_ref().unwrap().document["number"], 5);
    }
    let oldest = Cursor { run, id: newest - 5 };
    assert!(matches!(store.changes(Some(oldest), 10), Page::Deltas { deltas, .. } if deltas.len() == 5));
}

// 81.
#[test]
fn with_all_deltas_compacted_only_the_newest_place_goes_on() {
    let store = store();
    change(&store, 3);
    let newest = end(&store);
    store.compact(at(10_000_000));
    assert!(matches!(store.changes(Some(newest), 10), Page::Deltas { deltas, .. } if deltas.is_empty()));
    let older = Cursor {
        id: newest.id - 1,
        ..newest
    };
    assert!(matches!(store.changes(Some(older), 10), Page::Everything { .. }));
}

#[test]
fn a_cursor_is_a_text_and_back() {
    let cursor = Cursor { run: 3, id: 0xabc };
    assert_eq!(cursor.to_string(), "3.abc");
    assert_eq!("3.abc".parse(), Ok(cursor));
    for wrong in ["", "3", "3.", ".3", "x.1", "3.abc.1", "3 .1"] {
        let error = wrong.parse::<Cursor>().unwrap_err().to_string();
        assert!(error.contains("is not a cursor"), "{error}");
    }
}

// 82.
#[test]
fn only_old_deltas_are_compacted() {
    let store = small(StoreOptions {
        age_max_millis: 1_000,
        ..StoreOptions::default()
    });
    let start = end(&store);
    see(&store, &json!(1), 500);
    let place = end(&store);
    see(&store, &json!(2), 1_500);
    see(&store, &json!(3), 2_000);
    assert_eq!(store.compact(at(2_500)), Compacted { deltas: 2, gone: 0 });
    assert!(matches!(store.changes(Some(place), 10), Page::Deltas { deltas, .. } if deltas.len() == 2));
    assert!(matches!(store.changes(Some(start), 10), Page::Everything { .. }));
    assert_eq!(store.compact(at(2_500)), Compacted::default());
}

// 82.
#[test]
fn the_size_of_deltas_is_bounded_too() {
    let store = small(StoreOptions {
        delta_bytes_max: 64 << 10,
        ..StoreOptions::default()
    });
    let start = end(&store);
    for number in 0..20 {
        see(&store, &json!({"text": format!("{number}").repeat(10_000)}), number);
    }
    assert!(matches!(store.changes(Some(start), 10), Page::Everything { .. }));
    let recent = Cursor {
        id: store.sync_id() - 2,
        ..start
    };
    assert!(matches!(store.changes(Some(recent), 10), Page::Deltas { deltas, .. } if deltas.len() == 2));
}

// 82.
#[test]
fn a_worker_that_went_is_a_tombstone_until_it_is_old() {
    let store = small(StoreOptions {
        age_max_millis: 1_000,
        gone_max: 2,
        ..StoreOptions::default()
    });
    store.put_memory(&PUMP.into(), "window", &json!([1]), at(0)).unwrap();
    let cursor = end(&store);
    store.retire(PUMP, at(100));
    store.retire(PUMP, at(150));
    store.retire("nobody", at(150));
    let (deltas, _) = follow(&store, cursor);
    assert!(matches!(&deltas[..], [delta] if delta.kind == DeltaKind::Gone));
    assert!(matches!(store.changes(None, 1), Page::Everything { workers, .. } if workers.is_empty()));
    assert_eq!(store.memory(PUMP, "window"), None);
    assert_eq!(store.compact(at(1_100)).gone, 0);
    assert!(store.snapshot(PUMP).is_ok());
    assert_eq!(store.compact(at(1_101)).gone, 1);
    assert!(store.snapshot(PUMP).is_err());
    for number in 0..5 {
        let path = format!("plant/{number}");
        introduce(&store, &path);
        store.retire(&path, at(2_000 + number));
    }
    assert_eq!(store.compact(at(2_010)).gone, 3);
    assert!(
        store.snapshot("plant/2").is_err() && store.snapshot("plant/3").is_ok(),
        "the oldest go first"
    );
}
