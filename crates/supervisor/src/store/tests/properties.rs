//! For any documents: differences lead to the new document, and a reader of pages misses no change.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::world::{at, identity};
use crate::runtime::collector::Recorded;
use crate::store::{DeltaKind, Expected, Page, Part, Sight, Store, StoreOptions, apply, difference};

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u8..4).prop_map(Value::from),
        "[ab~/]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab~/]{0,2}", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// What happens to a store: a worker is seen, wanted, taken away or introduced; a reader reads; old things go.
#[derive(Clone, Debug)]
enum Move {
    See(u8, Value),
    Want(u8, Value),
    Retire(u8),
    Introduce(u8),
    Read(usize),
    Compact,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let worker = 0_u8..3;
    prop::collection::vec(
        prop_oneof![
            4 => (worker.clone(), document()).prop_map(|(worker, document)| Move::See(worker, document)),
            3 => (worker.clone(), document()).prop_map(|(worker, document)| Move::Want(worker, document)),
            1 => worker.clone().prop_map(Move::Retire),
            2 => worker.prop_map(Move::Introduce),
            2 => (1_usize..5).prop_map(Move::Read),
            1 => Just(Move::Compact),
        ],
        0..60,
    )
}

/// What a reader knows: documents by worker and part.
type KnownDocuments = BTreeMap<(String, &'static str), Value>;

#[derive(Default)]
struct DeltaReader {
    cursor: Option<crate::store::Cursor>,
    known: KnownDocuments,
}

impl DeltaReader {
    /// One page. Whether there is nothing more.
    fn read(&mut self, store: &Store, limit: usize) -> bool {
        match store.changes(self.cursor, limit) {
            Page::Everything { cursor, .. } => {
                self.cursor = Some(cursor);
                self.known = truth(store);
                true
            }
            Page::Deltas {
                deltas,
                cursor,
                has_more,
            } => {
                self.cursor = Some(cursor);
                for delta in deltas {
                    let worker = delta.worker.as_ref().to_owned();
                    match delta.kind {
                        DeltaKind::Gone => self.known.retain(|(known, _), _| *known != worker),
                        DeltaKind::Changed { part, changes } => {
                            apply(self.known.entry((worker, part.name())).or_default(), &changes);
                        }
                    }
                }
                !has_more
            }
        }
    }
}

/// What the store says in one answer.
fn truth(store: &Store) -> KnownDocuments {
    let Page::Everything { workers, .. } = store.changes(None, 1) else {
        panic!("a beginner is told everything");
    };
    let mut known = KnownDocuments::new();
    for worker in workers {
        let path = worker.worker.as_ref().to_owned();
        known.insert((path.clone(), Part::Identity.name()), worker.identity);
        if let Some(desired) = worker.desired {
            known.insert((path.clone(), Part::Desired.name()), desired.document);
        }
        if let Some(observed) = worker.observed {
            let body = json!({"state": observed.state, "observed": observed.document});
            known.insert((path, Part::Observed.name()), body);
        }
    }
    known
}

fn make(store: &Store, step: Move, now: i64) {
    let path = |worker: u8| format!("plant/{worker}");
    match step {
        Move::See(worker, document) => {
            let sight = Sight {
                at: at(now),
                state: "running",
                document: &document,
                recorded: &Recorded::default(),
            };
            // A worker that is not there is refused, which is as good as nothing.
            let _ = store.put_observed(&path(worker), sight);
        }
        Move::Want(worker, document) => {
            let _ = store.put_desired(&path(worker), &document, Expected::Any, at(now));
        }
        Move::Retire(worker) => drop(store.retire(&path(worker), at(now))),
        Move::Introduce(worker) => drop(store.put_identity(&identity(&path(worker), "pump"), at(now))),
        Move::Compact => drop(store.compact(at(now))),
        Move::Read(_) => {}
    }
}

proptest! {
    #[test]
    fn a_difference_leads_from_the_old_to_the_new_and_only_where_they_differ(old in document(), new in document()) {
        let changes = difference(&old, &new);
        prop_assert_eq!(changes.is_empty(), old == new);
        let mut document = old;
        apply(&mut document, &changes);
        prop_assert_eq!(&document, &new);
        apply(&mut document, &changes);
        prop_assert_eq!(&document, &new, "again does no harm");
    }

    #[test]
    fn changes_survive_being_written_down(old in document(), new in document()) {
        let changes = difference(&old, &new);
        let text = serde_json::to_string(&changes).unwrap();
        prop_assert_eq!(serde_json::from_str::<Vec<crate::store::Change>>(&text).unwrap(), changes);
    }

    // 80, 81.
    #[test]
    fn a_reader_of_pages_never_misses_a_change(moves in moves(), deltas_max in 1_usize..40) {
        let options = StoreOptions { deltas_max, age_max_millis: 10, ..StoreOptions::default() };
        let store = Store::in_memory(options, 1);
        let mut reader = DeltaReader::default();
        for (now, step) in (0_i64..).zip(moves) {
            if let Move::Read(limit) = step {
                reader.read(&store, limit);
            } else {
                make(&store, step, now);
            }
        }
        while !reader.read(&store, 3) {}
        prop_assert_eq!(reader.known, truth(&store));
    }
}
