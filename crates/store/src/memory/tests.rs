//! The memory backend against the suite.

use std::sync::Arc;

use sprag_core::clock::{Clock, Manual};
use sprag_core::time::Timestamp;

use crate::conformance::{self, Crowd, Subject};
use crate::nodes::Nodes;
use crate::traits::{Error, LaneStore, Reader};
use crate::{Memory, memory::state::State};

impl Subject for Memory {
    fn open(&self) -> (Box<dyn LaneStore>, Box<dyn Reader>) {
        (Box::new(self.clone()), Box::new(self.clone()))
    }
}

#[test]
fn it_serves_lanes() -> Result<(), Error> {
    conformance::run(conformance::LANE, Memory::default)
}

/// A store with sixteen shards and a clock that stands until it is moved.
struct Standing {
    memory: Memory,
    clock: Arc<Manual>,
}

impl Crowd for Standing {
    fn nodes(&self) -> Box<dyn Nodes> {
        Box::new(self.memory.nodes(Arc::clone(&self.clock) as Arc<dyn Clock>))
    }

    fn lane(&self) -> Box<dyn LaneStore> {
        Box::new(self.memory.clone())
    }

    fn pass(&self, millis: u64) {
        self.clock.advance_to(self.clock.now().plus(millis));
    }
}

#[test]
fn it_lets_nodes_share_its_shards() -> Result<(), Error> {
    conformance::run_crowd(conformance::NODES, || Standing {
        memory: Memory::with_shards(16),
        clock: Arc::new(Manual::new(Timestamp::from_millis(1_000_000))),
    })
}

#[test]
fn it_keeps_values() -> Result<(), Error> {
    conformance::run(conformance::VALUES, Memory::default)
}

#[test]
fn it_keeps_texts_and_refuses_what_it_cannot_hold() -> Result<(), Error> {
    conformance::run(conformance::TEXTS, Memory::default)
}

#[test]
fn it_keeps_answers_to_idempotency_keys() -> Result<(), Error> {
    conformance::run(conformance::IDEMPOTENCY, Memory::default)
}

#[test]
fn it_serves_queues() -> Result<(), Error> {
    conformance::run(conformance::QUEUES, Memory::default)
}

#[test]
fn it_keeps_facts_and_lets_old_executions_go() -> Result<(), Error> {
    conformance::run(conformance::CONTROL, Memory::default)
}

#[test]
fn dead_letters_are_found_and_counted_by_what_they_have_in_common() -> Result<(), Error> {
    conformance::run(conformance::DEAD_LETTERS, Memory::default)
}

#[test]
fn what_people_look_up_is_found_in_bounded_parts() -> Result<(), Error> {
    conformance::run(conformance::LOOKUP, Memory::default)
}

#[test]
fn it_keeps_the_audit() -> Result<(), Error> {
    conformance::run(conformance::AUDIT, Memory::default)
}

#[test]
fn it_serves_jobs_and_searches() -> Result<(), Error> {
    conformance::run(conformance::JOBS, Memory::default)
}

#[test]
fn it_keeps_the_catalog_and_plans() -> Result<(), Error> {
    conformance::run(conformance::PLANS, Memory::default)
}

#[test]
fn it_serves_readers() -> Result<(), Error> {
    conformance::run(conformance::READER, Memory::default)
}

#[test]
fn a_refused_row_in_a_queue_fails_its_commit_alone() -> Result<(), Error> {
    conformance::run(conformance::REFUSALS, Memory::default)
}

#[test]
fn what_follows_from_the_records_follows_them_through_undone_commits() -> Result<(), Error> {
    let memory = Memory::default();
    conformance::differential(1, 200, &memory, &Memory::default())?;
    let state = memory.state();
    let mut rebuilt = State {
        cluster: state.cluster.clone(),
        ..State::default()
    };
    for execution in state.executions.values() {
        let key = execution.key.clone().filter(|_| execution.status.is_open());
        rebuilt
            .holders
            .extend(key.map(|key| ((execution.machine.clone(), key), execution.id)));
    }
    let open = state.actions.values().filter(|action| action.status <= 3);
    rebuilt.open.extend(open.map(|action| (action.execution, action.id)));
    assert!(!rebuilt.holders.is_empty() && !rebuilt.open.is_empty());
    assert_eq!(rebuilt.holders, state.holders);
    assert_eq!(rebuilt.open, state.open);
    Ok(())
}
