//! Those who wait for an execution hear that it is closed, once that is durable.

use sprag_engine::read::view::ExecutionView;
use sprag_engine::requests::{Call, Cancel, Command, Start};
use sprag_wire::ExecutionStatus;
use tokio::sync::oneshot;

use crate::rig::Rig;

const WAITS: &str = "
id: m
initial: waiting
states:
  waiting: { on: { go: over } }
  over: { type: final }
";

/// Starts an execution for somebody who waits until it is closed.
fn start_awaited(rig: &mut Rig) -> (ExecutionView, oneshot::Receiver<ExecutionView>) {
    let (closed, closing) = oneshot::channel();
    let start = Start {
        machine: "m".to_owned(),
        ..Start::default()
    };
    let (call, mut answer) = Call::asked(start);
    rig.tick(vec![Command::Start(call.closing(Some(closed)))]);
    let started = answer.try_recv().expect("an answer follows the commit").answer;
    (*started.unwrap(), closing)
}

#[test]
fn whoever_waits_gets_the_execution_as_it_closed() {
    let mut rig = Rig::new(WAITS);
    let (started, mut closing) = start_awaited(&mut rig);
    assert_eq!(started.status, ExecutionStatus::Running);
    closing.try_recv().expect_err("it is open");
    rig.send(started.id, "go").unwrap();
    let closed = closing.try_recv().expect("it is closed, and that is durable");
    assert_eq!((closed.id, &closed.status), (started.id, &ExecutionStatus::Completed));
    assert_eq!(closed.configuration, ["over"]);
    assert!(!closed.is_open());
}

#[test]
fn whoever_waits_hears_of_a_cancellation_too() {
    let mut rig = Rig::new(WAITS);
    let (started, mut closing) = start_awaited(&mut rig);
    rig.ask(Cancel(started.id)).unwrap();
    assert_eq!(closing.try_recv().unwrap().status, ExecutionStatus::Cancelled);
}

#[test]
fn whoever_waits_is_told_where_start_and_end_are_one_commit() {
    let mut rig = Rig::new("{ id: m, initial: over, states: { over: { type: final } } }");
    let (started, mut closing) = start_awaited(&mut rig);
    assert!(!started.is_open());
    assert_eq!(closing.try_recv().unwrap(), started);
}
