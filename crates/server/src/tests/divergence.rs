//! The check of a migration takes the history again with the other version: for every way in which it can lead elsewhere,
//! an execution that shows it.

use serde_json::{Value, json};

use super::world::World;

/// A machine with a bit of everything that a replay goes through.
const FIRST: &str = "
id: desk
variables: { visits: 0 }
initial: closed
states:
  closed: { on: { OPEN: open } }
  open:
    on:
      ASK: { target: busy, assign: { visits: '{{variables.visits + 1}}' } }
      CLOSE: closed
      KNOCK: { guard: { '==': [1, 2] }, target: closed }
    after: { 1h: closed }
  busy: { on: { done.look: open } }
actions:
  - { actionId: look, type: noop, triggerState: busy }
";

/// An execution that was opened, asked and knocked at, and is open again.
async fn desk() -> (World, String) {
    let world = World::start().await;
    world.apply(FIRST).await.expect(201);
    let id = world.begin("desk").await;
    for kind in ["OPEN", "ASK"] {
        send(&world, &id, kind).await;
    }
    world.action(&id, |action| action["status"] == "succeeded").await;
    send(&world, &id, "KNOCK").await;
    (world, id)
}

async fn send(world: &World, id: &str, kind: &str) {
    let path = format!("/v1/executions/{id}/messages");
    world.post(&path, &json!({"type": kind})).await.expect(200);
}

async fn check(world: &World, id: &str, states: Value) -> Value {
    let body = json!({"check": true, "states": states});
    let checked = world.post(&format!("/v1/executions/{id}/migrate"), &body).await;
    checked.expect(200)
}

/// What a check says of a version in which `old` became `new`.
async fn changed(old: &str, new: &str) -> Value {
    let (world, id) = desk().await;
    assert!(FIRST.contains(old), "{old}");
    world.apply(&FIRST.replace(old, new)).await.expect(201);
    let before = world.get(&format!("/v1/executions/{id}")).await.expect(200);
    let check = check(&world, &id, json!({})).await;
    let after = world.get(&format!("/v1/executions/{id}")).await.expect(200);
    assert_eq!(before, after, "a check changes nothing");
    check
}

/// Each entry of the history: 1 start, 2 OPEN, 3 ASK, 4 done.look, 5 KNOCK.
#[tokio::test]
async fn a_version_that_would_have_led_elsewhere_is_reported_with_the_entry_and_what_differs() {
    for (what, old, new, sequence, detail) in [
        (
            "other states",
            "OPEN: open",
            "OPEN: busy",
            2,
            "after message `OPEN` it was in `open`; that version would be in `busy`",
        ),
        (
            "another initial state",
            "initial: closed",
            "initial: open",
            1,
            "after the start it was in `closed`; that version would be in `open`",
        ),
        (
            "an outcome that nobody hears",
            "done.look: open",
            "LOOKED: open",
            4,
            "after `done.look` it was in `open`; that version would be in `busy`",
        ),
        (
            "a message that is answered",
            "KNOCK: { guard: { '==': [1, 2] }, target: closed }",
            "KNOCK: { actions: [] }",
            5,
            "message `KNOCK` was not answered; that version would answer it",
        ),
        (
            "other actions",
            "  - { actionId: look, type: noop, triggerState: busy }",
            "  - { actionId: look, type: noop, triggerState: busy }\n  - { actionId: bill, type: noop, triggerState: busy }",
            3,
            "message `ASK` triggered `look`; that version would trigger `bill`, `look`",
        ),
        (
            "other values",
            "{{variables.visits + 1}}",
            "{{variables.visits + 2}}",
            3,
            "after message `ASK`, that version would have other values of `visits`",
        ),
        (
            "a variable that this one would lack",
            "variables: { visits: 0 }",
            "variables: { visits: 0, limit: 3 }",
            1,
            "after the start, that version would have other values of `limit`",
        ),
        (
            "a decision that fails",
            "{{variables.visits + 1}}",
            "{{variables.nothing + 1}}",
            3,
            "that version could not decide on message `ASK`: ",
        ),
    ] {
        let check = changed(old, new).await;
        assert_eq!(check["possible"], true, "{what}: {check}");
        assert_eq!(check["divergence"]["sequence"], sequence, "{what}: {check}");
        let said = check["divergence"]["detail"].as_str().unwrap();
        assert!(said.starts_with(detail), "{what}: {said}");
        assert!(check["replayed"].as_u64().unwrap() <= sequence, "{what}: {check}");
    }
}

#[tokio::test]
async fn a_version_that_would_have_led_to_the_same_is_not_reported() {
    for (what, old, new) in [
        ("another description", "id: desk", "id: desk\ndescription: A desk."),
        (
            "a state that was never entered",
            "  closed:",
            "  lost: { on: { FOUND: closed } }\n  closed:",
        ),
        (
            "another configuration of an action",
            "type: noop,",
            "type: noop, timeout: 7000,",
        ),
        (
            "a timer that is not due yet",
            "after: { 1h: closed }",
            "after: { 2h: closed }",
        ),
    ] {
        let check = changed(old, new).await;
        assert_eq!(
            (&check["possible"], &check["divergence"], &check["replayed"]),
            (&json!(true), &Value::Null, &json!(5)),
            "{what}: {check}"
        );
    }
}

const TIMED: &str = "
id: timed
initial: first
states:
  first: { after: { 5ms: second } }
  second: { on: { GO: third } }
  third: {}
";

/// Waits a little, on the server's clock, for an execution that does not close.
async fn pass(world: &World, id: &str) -> Value {
    world.get(&format!("/v1/executions/{id}?wait=20ms")).await.expect(200)
}

#[tokio::test]
async fn a_timer_that_fired_must_be_there_and_one_that_is_there_must_have_fired() {
    let world = World::start().await;
    world.apply(TIMED).await.expect(201);
    let id = world.begin("timed").await;
    while pass(&world, &id).await["configuration"] != json!(["second"]) {}
    pass(&world, &id).await;
    send(&world, &id, "GO").await;
    for (old, new, detail) in [
        (
            "5ms: second",
            "6ms: second",
            "the timer `after 5 ms` of `first` fired, which that version does not have",
        ),
        (
            "5ms: second",
            "1ms: third, 5ms: second",
            "before it, the timer `after 1 ms` of `first` would have fired in that version",
        ),
        (
            "on: { GO: third }",
            "on: { GO: third }, after: { 1ms: first }",
            "before it, the timer `after 1 ms` of `second` would have fired in that version",
        ),
    ] {
        world.apply(&TIMED.replace(old, new)).await.expect(201);
        let check = check(&world, &id, json!({})).await;
        assert_eq!(check["divergence"]["detail"], detail, "{check}");
    }
    world
        .apply(&TIMED.replace("5ms: second", "5ms: second, 1h: third"))
        .await
        .expect(201);
    let same = check(&world, &id, json!({})).await;
    assert_eq!(
        (&same["divergence"], &same["replayed"]),
        (&Value::Null, &json!(3)),
        "{same}"
    );
}

#[tokio::test]
async fn states_of_the_past_are_mapped_too() {
    let (world, id) = desk().await;
    world.apply(&FIRST.replace("closed", "shut")).await.expect(201);
    let unmapped = check(&world, &id, json!({})).await;
    assert_eq!(unmapped["possible"], true, "{unmapped}");
    let divergence = &unmapped["divergence"];
    assert_eq!(divergence["sequence"], 1);
    assert_eq!(
        divergence["detail"],
        "after the start it was in `closed`, which does not exist in that version; map it with `states` (`--state OLD=NEW`)"
    );
    let mapped = check(&world, &id, json!({"closed": "shut"})).await;
    assert_eq!((&mapped["divergence"], &mapped["replayed"]), (&Value::Null, &json!(5)));
}

#[tokio::test]
async fn only_what_the_present_version_decided_is_compared() {
    let (world, id) = desk().await;
    let second = FIRST.replace("OPEN: open", "OPEN: busy");
    world.apply(&second).await.expect(201);
    let path = format!("/v1/executions/{id}/migrate");
    world.post(&path, &json!({})).await.expect(200);
    send(&world, &id, "CLOSE").await;
    // The third version agrees with the second, not with the first.
    world
        .apply(&second.replace("id: desk", "id: desk\ndescription: x"))
        .await
        .expect(201);
    let same = check(&world, &id, json!({})).await;
    assert_eq!(
        (&same["divergence"], &same["replayed"]),
        (&Value::Null, &json!(1)),
        "{same}"
    );
    let fourth = second.replace("CLOSE: closed", "CLOSE: busy");
    world.apply(&fourth).await.expect(201);
    let other = check(&world, &id, json!({})).await;
    assert_eq!(other["divergence"]["sequence"], 7, "{other}");
}

#[tokio::test]
async fn a_move_that_cannot_be_is_not_replayed() {
    let (world, id) = desk().await;
    world.apply(&FIRST.replace("open", "free")).await.expect(201);
    let check = check(&world, &id, json!({})).await;
    assert_eq!(
        (&check["possible"], &check["divergence"], &check["replayed"]),
        (&json!(false), &Value::Null, &json!(0)),
        "{check}"
    );
}
