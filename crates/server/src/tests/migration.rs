//! Moves to another version: checked without doing them, and shown by the names of states.

use serde_json::{Value, json};

use super::world::World;

const FIRST: &str = "
id: desk
initial: room
states:
  room:
    initial: open
    after: { 1h: closed }
    states:
      open: { on: { GO: busy }, after: { 2h: busy, 3h: busy } }
      busy: {}
  closed: { type: final }
";

/// `open` is called `free` and lies deeper; one of its timers is gone, another is new.
const SECOND: &str = "
id: desk
initial: house
states:
  house:
    initial: room
    states:
      room:
        initial: free
        after: { 1h: '#desk.closed' }
        states:
          free: { on: { GO: busy }, after: { 2h: busy, 4h: busy } }
          busy: {}
  closed: { type: final }
";

async fn desk() -> (World, String) {
    let world = World::start().await;
    world.apply(FIRST).await.expect(201);
    let id = world.begin("desk").await;
    world.apply(SECOND).await.expect(201);
    (world, id)
}

async fn migrate(world: &World, id: &str, body: Value) -> super::client::Reply {
    world.post(&format!("/v1/executions/{id}/migrate"), &body).await
}

fn renamed() -> Value {
    json!({"room": "house.room", "room.open": "house.room.free"})
}

fn changes(check: &Value) -> Vec<(String, u64, String)> {
    let mut all: Vec<_> = check["timers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|timer| {
            let text = |name: &str| timer[name].as_str().unwrap().to_owned();
            (
                text("change"),
                timer["after"].as_u64().unwrap() / 3_600_000,
                text("state"),
            )
        })
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn a_check_says_what_would_happen_and_changes_nothing() {
    let (world, id) = desk().await;
    let before = world.get(&format!("/v1/executions/{id}")).await.expect(200);
    let check = migrate(&world, &id, json!({"check": true, "states": renamed()}))
        .await
        .expect(200);
    assert_eq!(
        (&check["possible"], &check["from"], &check["to"], &check["problems"]),
        (&json!(true), &json!(1), &json!(2), &json!([]))
    );
    assert_eq!(
        check["states"],
        json!([
            {"from": "room", "to": "house.room"},
            {"from": "room.open", "to": "house.room.free"},
            {"from": null, "to": "house"},
        ])
    );
    let expected = [
        ("added", 4, "house.room.free"),
        ("dropped", 3, "room.open"),
        ("kept", 1, "house.room"),
        ("kept", 2, "house.room.free"),
    ];
    assert_eq!(
        changes(&check),
        expected.map(|(change, hours, state)| (change.to_owned(), hours, state.to_owned()))
    );
    assert_eq!(world.get(&format!("/v1/executions/{id}")).await.expect(200), before);

    let moved = migrate(&world, &id, json!({"states": renamed()})).await.expect(200);
    assert_eq!(moved["configuration"], json!(["house.room.free"]));
}

#[tokio::test]
async fn what_is_impossible_is_named_whole_with_pointers() {
    let (world, id) = desk().await;
    let check = migrate(&world, &id, json!({"check": true, "states": {"room.open": "nowhere"}}))
        .await
        .expect(200);
    assert_eq!(check["possible"], false);
    let pointers: Vec<&str> = check["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/states/room", "/states/room.open"]);
    assert!(check["problems"][1]["detail"].as_str().unwrap().contains("`nowhere`"));
    let refused = migrate(&world, &id, json!({})).await;
    let problem = refused.problem("migration-impossible");
    assert_eq!(problem["errors"][0]["pointer"], "/states/room");
}

#[tokio::test]
async fn a_check_of_what_is_not_there_is_refused_and_of_a_closed_execution_impossible() {
    let (world, id) = desk().await;
    migrate(&world, &id, json!({"check": true, "version": 9}))
        .await
        .problem("version-unknown");
    migrate(&world, "exe_00000000000000000000000000", json!({"check": true}))
        .await
        .problem("execution-unknown");
    world.command(&format!("/v1/executions/{id}/cancel")).await.expect(200);
    let check = migrate(&world, &id, json!({"check": true, "states": renamed()}))
        .await
        .expect(200);
    assert_eq!(check["possible"], false);
    assert!(check["problems"][0]["detail"].as_str().unwrap().contains("cancelled"));
}

#[tokio::test]
async fn history_names_states_in_the_words_of_the_version_that_decided() {
    let (world, id) = desk().await;
    migrate(&world, &id, json!({"states": renamed()})).await.expect(200);
    world
        .post(&format!("/v1/executions/{id}/messages"), &json!({"type": "GO"}))
        .await
        .expect(200);
    let history = world.get(&format!("/v1/executions/{id}/history")).await.expect(200);
    let [started, moved, went] = history["data"].as_array().unwrap().as_slice() else {
        panic!("{history:#}")
    };
    assert_eq!(
        started["microsteps"][0]["entered"],
        json!(["desk", "room", "room.open"]),
        "{started:#}"
    );
    assert_eq!(
        moved["moved"]["active"],
        json!(["desk", "house", "house.room", "house.room.free"])
    );
    assert_eq!(moved["moved"]["visits"][2]["state"], "house.room");
    assert!(moved["moved"]["visits"][2]["enteredAt"].is_string(), "{moved:#}");
    assert_eq!(went["microsteps"][0]["exited"], json!(["house.room.free"]));
    // A page that ends before the move still knows which version decided.
    let first = world
        .get(&format!("/v1/executions/{id}/history?limit=1"))
        .await
        .expect(200);
    assert_eq!(first["data"][0], *started);
}

#[tokio::test]
async fn a_machine_whose_name_is_a_verb_can_be_read() {
    let world = World::start().await;
    for name in ["lint", "simulate", "diff"] {
        world
            .get(&format!("/v1/machines/{name}"))
            .await
            .problem("machine-unknown");
        let definition = json!({"id": name, "initial": "a", "states": {"a": {}}});
        world.post("/v1/machines", &definition).await.expect(201);
        let shown = world.get(&format!("/v1/machines/{name}")).await.expect(200);
        assert_eq!(shown["id"], name);
        assert_eq!(shown["definition"], definition);
        world.get(&format!("/v1/machines/{name}/versions/1")).await.expect(200);
        assert_eq!(world.get(&format!("/v1/machines/{name}/diagram")).await.status, 200);
    }
}
