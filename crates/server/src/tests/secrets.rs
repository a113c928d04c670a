//! Secrets that a definition or an edit works on: refused wherever they come from, and never shown.

use serde_json::{Value, json};
use sprag_core::machine::load_stored;

use super::world::{DOOMED, SECRETS, World};

/// A machine with one action, as an earlier version of Sprag might have stored it.
fn stored(kind: &str, config: &Value) -> Value {
    json!({
        "id": format!("old_{kind}"),
        "initial": "trying",
        "states": { "trying": { "on": { "done.act": "over" } }, "over": { "type": "final" } },
        "actions": [{ "actionId": "act", "type": kind, "triggerState": "trying", "config": config }],
    })
}

fn assert_hidden(shown: &Value) {
    let text = shown.to_string().to_lowercase();
    for (_, secret) in SECRETS {
        let secret = secret.to_lowercase();
        let backwards: String = secret.chars().rev().collect();
        assert!(!text.contains(&secret) && !text.contains(&backwards), "{shown:#}");
    }
}

#[tokio::test]
async fn a_stored_definition_that_breaks_the_rules_dies_with_what_to_change_and_shows_nothing() {
    for (kind, config, word) in [
        (
            "fail",
            json!({"message": "{{secrets.hook | reverse}}"}),
            "must be used unchanged",
        ),
        ("fail", json!({"message": "{{secrets.hook}}"}), "accepts no secret here"),
        ("fail", json!({"type": "{{secrets.hook}}"}), "accepts no secret here"),
        (
            "relay",
            json!({"message": "{{secrets.hook | upper}}"}),
            "must be used unchanged",
        ),
        (
            "relay",
            json!({"message": "{{[secrets.hook, 1] | join('-')}}"}),
            "must be used unchanged",
        ),
        (
            "relay",
            json!({"message": "{{'yes' if secrets.hook > 'w' else 'no'}}"}),
            "must be used unchanged",
        ),
        (
            "relay",
            json!({"message": "x", "costEstimate": "{{secrets.hook}}"}),
            "accepts no secret here",
        ),
    ] {
        let world = World::start().await;
        let machine = load_stored(&stored(kind, &config)).unwrap();
        world.handle.apply(machine).await.unwrap();
        let execution = world.begin(&format!("old_{kind}")).await;
        let action = world.action(&execution, |action| action["status"] == "dead").await;
        assert_eq!(
            action["lastError"]["type"], "invalid_configuration",
            "{config} {action:#}"
        );
        let message = action["lastError"]["message"].as_str().unwrap();
        assert!(
            message.contains(word) && message.contains("retry the dead letter"),
            "{message}"
        );
        assert_hidden(&action);
        let id = action["id"].as_str().unwrap();
        assert_hidden(&world.get(&format!("/v1/dead-letters/{id}")).await.expect(200));
    }
}

#[tokio::test]
async fn what_a_runner_repeats_is_masked_in_any_letter_case() {
    let world = World::start().await;
    let machine = stored(
        "relay",
        &json!({"message": "call {{secrets.hook}} failed", "type": "{{secrets.docusign}}"}),
    );
    world.handle.apply(load_stored(&machine).unwrap()).await.unwrap();
    let execution = world.begin("old_relay").await;
    let action = world.action(&execution, |action| action["lastError"].is_object()).await;
    assert_eq!(action["lastError"]["message"], "call [secret hook] failed");
    assert_eq!(action["lastError"]["type"], "[secret docusign]");
    assert_hidden(&action);
}

#[tokio::test]
async fn an_edit_is_judged_as_a_definition_is_and_the_letter_stays() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    let execution = world.begin("doomed").await;
    let action = world.action(&execution, |action| action["status"] == "dead").await;
    let id = action["id"].as_str().unwrap();
    let path = format!("/v1/dead-letters/{id}/retry");
    for (edit, pointer) in [
        (json!({"config": {"message": "{{secrets.hook}}"}}), "/config/message"),
        (
            json!({"config": {"message": "{{secrets.hook | reverse}}"}}),
            "/config/message",
        ),
        (json!({"config": {"mesage": "x"}}), "/config/mesage"),
        (json!({"config": {"times": "often"}}), "/config/times"),
        (json!({"config": {"costEstimate": "much"}}), "/config/costEstimate"),
        (
            json!({"patch": [{"op": "replace", "path": "/config/message", "value": "{{secrets.hook ~ ''}}"}]}),
            "/patch/config/message",
        ),
        (
            json!({"patch": [{"op": "add", "path": "/config/outcome", "value": "maybe"}]}),
            "/patch/config/outcome",
        ),
    ] {
        let problem = world.post(&path, &edit).await.problem("edit-invalid");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{edit} {problem:#}");
    }
    let case = world.get(&format!("/v1/dead-letters/{id}")).await.expect(200);
    assert_eq!(
        (&case["status"], &case["totalAttempts"]),
        (&json!("dead"), &json!(1)),
        "{case:#}"
    );
    world.post(&path, &json!({"config": {"times": 0}})).await.expect(200);
    world.action(&execution, |action| action["status"] == "succeeded").await;
}
