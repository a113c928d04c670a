//! A restored store: held before anybody opens it, with what may repeat.

use sprag_core::action::{Outcome, Status};
use sprag_core::operation::approval::Policy;
use sprag_core::time::Timestamp;
use sprag_engine::read::restored::{Hold, backup_mark, hold};
use sprag_engine::requests::{Matches, SwitchOff};
use sprag_store::records::FactKind;
use sprag_store::traits::{CommitStore, Reader};
use sprag_store::{Mutation, ShardId};
use sprag_wire::Because;

use crate::rig::{Rig, START};

const MACHINE: &str = r"
id: m
initial: a
states: { a: { on: { NEXT: b } }, b: {} }
actions:
  - { actionId: runs, type: noop, triggerState: a, config: {} }
  - { actionId: doubtful, type: noop, triggerState: a, config: {}, retryPolicy: { baseDelay: 60000, jitter: false } }
  - { actionId: later, type: noop, triggerState: a, delay: 1h, config: {} }
  - { actionId: over, type: noop, triggerState: a, config: {} }
";

#[test]
fn a_restored_store_lists_what_may_repeat_and_begins_nothing_until_it_is_released() {
    let mut rig = Rig::new(MACHINE);
    let id = rig.start("m").id;
    rig.finish("doubtful", Outcome::unknown("timeout", "who knows"));
    rig.done("over");
    let fence = rig.store.acquire(ShardId(0)).unwrap();
    let taken_at = Timestamp::from_millis(START + 5);
    rig.store
        .commit(&[fence], &[Mutation::PutFact(backup_mark(taken_at))])
        .unwrap();
    let now = rig.now().plus(1_000);
    let report = hold(
        &mut rig.store,
        Hold {
            now,
            entropy: 7,
            by: "test",
            shards: 1,
            approval: &Policy::default(),
        },
    )
    .unwrap();
    assert_eq!((report.total, report.taken_at), (3, Some(taken_at)));
    let listed: Vec<_> = report
        .effects
        .iter()
        .map(|effect| (effect.action_id.as_str(), effect.because.clone()))
        .collect();
    assert_eq!(
        listed,
        [
            ("runs", Because::Running),
            ("doubtful", Because::InDoubt),
            ("later", Because::Open)
        ]
    );
    assert!(rig.store.fact(FactKind::Restored, "report").unwrap().is_some());
    rig.crash();
    rig.advance(2 * 60 * 60 * 1_000);
    assert_eq!(rig.started(), Vec::<String>::new());
    for name in ["runs", "doubtful", "later"] {
        assert_eq!(rig.action_status(id, name), Status::Queued, "{name}");
    }
    let request = SwitchOff {
        id: report.switch.parse().unwrap(),
        matches: Matches::Any,
        held: sprag_engine::queue::control::Held::Run,
        rate: None,
    };
    rig.ask(request).unwrap();
    assert_eq!(rig.started().len(), 3);
}
