//! `action show` and `machine show`, line by line: attempts, metadata, what actions may reach.

use std::net::SocketAddr;

use serde_json::{Value, json};
use sprag_tests::{Client, Reply, Site};

use crate::harness::{Place, Server, eventually};

const RENDERING: &str = "\
id: rendering
initial: a
states: { a: { on: { done.render: b, failed.render: c } }, b: { type: final }, c: { on: { done.render: b } } }
actions:
  - actionId: render
    type: render
    runner: farm
    triggerState: a
    config: { scene: '{{variables.scene}}', token: '{{secrets.farm}}' }
    retryPolicy: { maxAttempts: 3, baseDelay: 1, jitter: false }
  - { actionId: tell, type: webhook, triggerState: b, config: { url: 'https://crm.example.com/x', secret: '{{secrets.crm}}' } }
  - { actionId: note, type: noop, triggerState: b }
";

fn client(server: &Server<'_>) -> Client {
    let address: SocketAddr = server.address.trim_start_matches("http://").parse().unwrap();
    Client::new(address)
}

/// Takes the next attempt as the program `farm`.
fn lease(client: &mut Client) -> String {
    let wanted = json!({"runner": "farm", "types": ["render"], "wait": "1s"});
    eventually("an attempt to perform", || {
        let answer = client.post("/v1/runners/lease", &wanted).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["attempts"][0]["id"].as_str().map(str::to_owned)
    })
}

/// The value of a line of `name  value`.
fn value<'a>(shown: &'a str, name: &str) -> &'a str {
    let line = shown
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix("  "));
    line.unwrap_or_else(|| panic!("no line `{name}` in\n{shown}"))
        .trim_start()
}

#[test]
fn an_action_shows_each_attempt_with_its_outcome_and_metadata() {
    let place = Place::new();
    let server = place.up(&[("SPRAG_SECRET_FARM", "hush")]);
    server.apply(RENDERING);
    server.json(&["exec", "start", "rendering", "--key", "film/1", "--var", "scene=dawn"]);
    let mut client = client(&server);
    let first = lease(&mut client);
    let running = server.run(&["action", "show", "rendering/film/1/render"]).ok().stdout;
    assert_eq!(value(&running, "status"), "running");
    assert!(
        value(&running, "waiting").contains("leased to runner `farm` until"),
        "{running}"
    );
    let failure = json!({"error": {"type": "gpu_lost", "message": "the card is gone"}, "outcome": "notDone"});
    let failed = client.post(&format!("/v1/attempts/{first}/fail"), &failure).unwrap();
    assert_eq!(failed.status, 200, "{}", failed.body);
    let second = lease(&mut client);
    let done = json!({"result": {"frames": 24}, "metadata": {"host": "gpu-7", "watts": 250}, "costEstimate": 1.5});
    let completed = client.post(&format!("/v1/attempts/{second}/complete"), &done).unwrap();
    assert_eq!(completed.status, 200, "{}", completed.body);

    let shown = server.run(&["action", "show", "rendering/film/1/render"]).ok().stdout;
    for (name, wanted) in [
        ("action", "render (render)"),
        ("machine", "rendering v1"),
        ("runner", "farm"),
        ("status", "succeeded"),
        ("waiting", "for nothing: it has ended"),
        ("costEstimate", "1.5"),
        ("result", r#"{"frames":24}"#),
        ("metadata of attempt 2", r#"{"host":"gpu-7","watts":250}"#),
    ] {
        assert_eq!(value(&shown, name), wanted, "{name} in\n{shown}");
    }
    assert!(value(&shown, "duration").ends_with(" ms"), "{shown}");
    let attempts: Vec<&str> = shown
        .lines()
        .skip_while(|line| !line.contains("ATTEMPT "))
        .skip(1)
        .collect();
    assert_eq!(attempts.len(), 2, "{shown}");
    for (line, parts) in attempts.iter().zip([
        ["1", first.as_str(), "notDone", "farm", "gpu_lost: the card is gone"],
        ["2", second.as_str(), "done", "farm", "-"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{parts:?} in {line}");
    }
    let same = server.json(&[
        "action",
        "list",
        "--execution",
        "rendering/film/1",
        "--action",
        "render",
    ]);
    assert_eq!(same["data"][0]["attempts"][1]["metadata"]["host"], "gpu-7", "{same}");
}

#[test]
fn an_action_shows_its_events_and_its_last_error() {
    let site = Site::start(|visit| match visit.path.as_str() {
        "/good" => Reply::json(200, &json!({"ok": true})),
        _ => Reply::json(403, &json!({"why": "no"})),
    });
    let place = Place::new();
    let server = place.up(&[("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8")]);
    let action = |name: &str| {
        let url = site.url(&format!("/{name}"));
        format!("  - {{ actionId: {name}, type: webhook, triggerState: a, config: {{ url: '{url}' }} }}\n")
    };
    server.apply(&format!(
        "id: calls\ninitial: a\nstates: {{ a: {{ on: {{ failed.*: a }} }} }}\nactions:\n{}{}",
        action("good"),
        action("bad")
    ));
    server.json(&["exec", "start", "calls", "--key", "1"]);
    let shown = |name: &str, status: &str| {
        eventually(status, || {
            let shown = server.run(&["action", "show", &format!("calls/1/{name}")]).ok().stdout;
            (value(&shown, "status") == status).then_some(shown)
        })
    };
    let good = shown("good", "succeeded");
    assert!(value(&good, "event").starts_with("webhook_called {\"url\":"), "{good}");
    assert!(!good.contains("last error"), "{good}");
    let bad = shown("bad", "dead");
    assert!(value(&bad, "last error").starts_with("authorization_failed: "), "{bad}");
    assert!(value(&bad, "waiting").contains("sprag dlq retry"), "{bad}");
}

#[test]
fn a_machine_shows_what_its_actions_may_reach() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(RENDERING);
    let shown = server.run(&["machine", "show", "rendering"]).ok().stdout;
    assert_eq!(value(&shown, "id"), "rendering");
    assert_eq!(value(&shown, "version"), "1");
    assert_eq!(value(&shown, "render may reach"), "runner farm, secret farm");
    assert_eq!(
        value(&shown, "tell may reach"),
        "network crm.example.com:443, secret crm"
    );
    assert!(!shown.contains("note may reach"), "{shown}");
    let (_, definition) = shown.split_once("\n\n").unwrap();
    let definition: Value = serde_json::from_str(definition).unwrap();
    assert_eq!(definition["actions"][2]["actionId"], "note");
}

#[test]
fn an_action_is_named_by_machine_key_and_name_wherever_an_id_is() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(
        "id: order\ninitial: a\nstates: { a: { on: { failed.pay: b } }, b: { on: { done.pay: a } } }\nactions:\n\
         - { actionId: pay, type: fail, triggerState: a, retryPolicy: { maxAttempts: 1 } }\n",
    );
    server.json(&["exec", "start", "order", "--key", "a/1"]);
    let dead = eventually("a dead letter", || {
        server.json(&["dlq", "list"])["data"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });
    let named = "order/a/1/pay";
    for command in [
        ["action", "show", named],
        ["dlq", "show", named],
        ["dlq", "archive", named],
    ] {
        assert_eq!(server.json(&command)["id"], dead.as_str(), "{command:?}");
    }
    server.run(&["dlq", "retry", named]).fails(1, &dead);
    server
        .run(&["action", "cancel", "order/a/1/pya"])
        .fails(1, "execution `order/a/1` has no action `pya`");
    server
        .run(&["action", "show", "order/pay"])
        .fails(2, "MACHINE/KEY/ACTION");
}
