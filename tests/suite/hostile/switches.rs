//! Kill switches whose scope names nothing.

use serde_json::{Value, json};
use sprag_tests::neighbour::beside;
use sprag_tests::{Client, Product};
use tempfile::tempdir;

/// A machine whose action is for a runner outside the server, so that only the definition knows its type.
fn machine() -> Value {
    json!({
        "id": "order",
        "initial": "paying",
        "states": { "paying": { "on": { "done.charge": "paid" } }, "paid": { "type": "final" } },
        "actions": [{ "actionId": "charge", "type": "bank-transfer", "runner": "bank", "triggerState": "paying" }],
    })
}

fn put_on(client: &mut Client, scope: &str, more: &Value) -> (u16, Value) {
    let mut body = json!({ "scope": scope, "reason": "hostile", "expiresIn": "10m" });
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let answer = client.post("/v1/kill-switches", &body).unwrap();
    (answer.status, answer.body)
}

#[test]
fn a_scope_that_names_nothing_is_refused_with_the_nearest_name() {
    let folder = tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut client = product.client();
        let applied = client.post("/v1/machines", &machine()).unwrap();
        assert_eq!(applied.status, 201, "{}", applied.body);
        for (scope, status, near) in [
            ("type:webhok", 422, "webhook"),
            ("type:bank-trasfer", 422, "bank-transfer"),
            ("machine:ordre", 404, "order"),
            ("actionId:ordre/charge", 404, "order"),
            ("actionId:order/chrage", 422, "charge"),
        ] {
            let (found, problem) = put_on(&mut client, scope, &json!({}));
            assert_eq!(found, status, "{scope}: {problem}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(&format!("did you mean `{near}`?")), "{scope}: {detail}");
            assert_eq!(problem["errors"][0]["pointer"], "/scope", "{problem}");
        }
        let listed = client.get("/v1/kill-switches").unwrap();
        assert_eq!(listed.body["data"], json!([]), "a refused switch is not on");
    });
}

#[test]
fn a_scope_that_names_something_is_effective() {
    let folder = tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut client = product.client();
        client.post("/v1/machines", &machine()).unwrap();
        for scope in [
            "machine:order",
            "type:bank-transfer",
            "type:webhook",
            "actionId:order/charge",
        ] {
            let (status, switch) = put_on(&mut client, scope, &json!({}));
            assert_eq!(
                (status, &switch["status"]),
                (201, &json!("effective")),
                "{scope}: {switch}"
            );
        }
    });
}

#[test]
fn an_allowed_unknown_scope_never_says_that_it_is_effective() {
    let folder = tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut client = product.client();
        let allowed = json!({ "allowUnknown": true });
        for scope in ["type:bank-transfer", "machine:order", "actionId:order/charge"] {
            let (status, switch) = put_on(&mut client, scope, &allowed);
            assert_eq!(
                (status, &switch["status"]),
                (201, &json!("unmatched")),
                "{scope}: {switch}"
            );
        }
        assert_eq!(statuses(&mut client), ["unmatched"; 3]);
        // Once the names exist, the switches hold.
        client.post("/v1/machines", &machine()).unwrap();
        assert_eq!(statuses(&mut client), ["effective"; 3]);
    });
}

fn statuses(client: &mut Client) -> Vec<String> {
    let listed = client.get("/v1/kill-switches").unwrap();
    let switches = listed.body["data"].as_array().unwrap().clone();
    let status = |switch: &Value| switch["status"].as_str().unwrap().to_owned();
    switches.iter().map(status).collect()
}
