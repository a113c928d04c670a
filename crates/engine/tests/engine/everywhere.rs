//! What operators set counts on every node, and says when it does.

use sprag_core::ids::Slot;
use sprag_engine::Options;
use sprag_engine::lane::member::{LEASE_MILLIS, PATIENCE_MILLIS};
use sprag_engine::queue::control::{Held, Mode, SwitchView};
use sprag_engine::requests::{ListSwitches, Matches, Request, Start, SwitchOff, SwitchOn};
use sprag_wire::SwitchStatus;

use super::crowd::Crowd;

const ORDER: &str = r"
id: order
initial: sending
states: { sending: { on: { done.notify: over } }, over: { type: final } }
actions:
  - actionId: notify
    type: noop
    triggerState: sending
    config: {}
";

/// So many nodes, and which of them decides on switches.
fn crowd(nodes: usize) -> (Crowd, usize) {
    let crowd = Crowd::with(nodes, Options::default(), &[ORDER]);
    let control = crowd.owner(Slot(0));
    (crowd, control)
}

fn on() -> SwitchOn {
    SwitchOn {
        scope: "machine:order".parse().unwrap(),
        mode: Mode::Hold,
        reason: "trouble".to_owned(),
        by: "test".to_owned(),
        lasts: None,
    }
}

fn off(switch: &SwitchView) -> SwitchOff {
    SwitchOff {
        id: switch.id,
        matches: Matches::Any,
        held: Held::Run,
        rate: None,
    }
}

fn switch(crowd: &mut Crowd, node: usize, request: impl Request<Answer = SwitchView>) -> SwitchView {
    crowd.ask(node, request).unwrap()
}

fn statuses(crowd: &mut Crowd, node: usize) -> Vec<SwitchStatus> {
    let views = crowd.ask(node, ListSwitches).unwrap();
    views.into_iter().map(|view| view.status).collect()
}

#[test]
fn a_switch_counts_on_every_node_from_its_next_heartbeat_on() {
    let (mut crowd, control) = crowd(2);
    let other = 1 - control;
    crowd.ask(other, on()).unwrap_err();
    let switch_on = switch(&mut crowd, control, on());
    crowd.beat(other);
    let id = crowd.start_of(other, "order");
    assert!(crowd.jobs(other).is_empty(), "it is held there too");
    switch(&mut crowd, control, off(&switch_on));
    crowd.beat(other);
    crowd.run_all();
    assert!(crowd.job_of(other, id).is_some(), "what was set aside begins");
}

#[test]
fn whoever_asks_which_switches_are_on_is_told_what_is_stored_whichever_node_it_asks() {
    let (mut crowd, control) = crowd(2);
    let other = 1 - control;
    let switch_on = switch(&mut crowd, control, on());
    assert_eq!(statuses(&mut crowd, other), [SwitchStatus::Arming]);
    switch(&mut crowd, control, off(&switch_on));
    assert!(statuses(&mut crowd, other).is_empty());
}

#[test]
fn what_a_switch_set_aside_is_found_by_whoever_takes_over() {
    let (mut crowd, control) = crowd(2);
    let other = 1 - control;
    let switch_on = switch(&mut crowd, control, on());
    crowd.beat(other);
    let id = crowd.start_of(other, "order");
    // The node dies before it hears that the switch is off.
    switch(&mut crowd, control, off(&switch_on));
    crowd.pass(LEASE_MILLIS + 2_000, &[control]);
    assert!(crowd.job_of(control, id).is_some());
}

#[test]
fn a_switch_says_that_it_holds_only_once_no_node_can_begin_anything_without_knowing_of_it() {
    let (mut crowd, control) = crowd(2);
    let other = 1 - control;
    assert_eq!(switch(&mut crowd, control, on()).status, SwitchStatus::Arming);
    // The other node cannot look, and does not know: what it begins now is why the switch does not claim to hold.
    crowd.start_of(other, "order");
    assert_eq!(crowd.jobs(other).len(), 1);
    crowd.pass(PATIENCE_MILLIS - 1_000, &[control]);
    assert_eq!(statuses(&mut crowd, control), [SwitchStatus::Arming]);
    crowd.pass(1_000, &[control]);
    assert_eq!(statuses(&mut crowd, control), [SwitchStatus::Effective]);
    let refused = crowd.start(
        other,
        Start {
            machine: "order".to_owned(),
            ..Default::default()
        },
    );
    assert!(refused.is_err(), "it is out of touch");
    assert_eq!(crowd.jobs(other).len(), 1);
}

#[test]
fn a_switch_holds_at_once_where_one_node_has_everything() {
    let (mut crowd, control) = crowd(1);
    assert_eq!(switch(&mut crowd, control, on()).status, SwitchStatus::Effective);
    let released = statuses(&mut crowd, control);
    assert_eq!(released, [SwitchStatus::Effective]);
}

#[test]
fn whoever_takes_over_does_not_know_since_when_a_switch_is_on_and_says_so() {
    let (mut crowd, control) = crowd(3);
    let others: Vec<usize> = (0..3).filter(|node| *node != control).collect();
    switch(&mut crowd, control, on());
    // The one that put it on dies; the next has known of it for longer than anybody could be without it.
    crowd.pass(LEASE_MILLIS + 3_000, &others);
    let next = others.into_iter().find(|node| !statuses(&mut crowd, *node).is_empty());
    let next = next.expect("somebody knows of it");
    assert_eq!(statuses(&mut crowd, next), [SwitchStatus::Effective]);
}
