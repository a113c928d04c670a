//! Secrets: filters and echoing tools never reveal a value.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::neighbour::beside;
use sprag_tests::{Answer, Client, Product, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(1);
const CANARY: &str = "Zebra-Key-90210-q";

fn server(folder: &Path, config: &str) -> Product {
    let file = folder.join("sprag.toml");
    std::fs::write(&file, config).unwrap();
    let environment = [("SPRAG_SECRET_K", CANARY), ("SPRAG_LOG", "debug")];
    Product::start_with(&folder.join("sprag.db"), &file, &environment)
        .unwrap_or_else(|line| panic!("it did not start: {line}"))
}

fn machine(id: &str, kind: &str, config: &Value) -> Value {
    json!({
        "id": id,
        "initial": "acting",
        "states": { "acting": { "on": { "done.act": "over", "failed.act": "over" } }, "over": { "type": "final" } },
        "actions": [{ "actionId": "act", "type": kind, "triggerState": "acting", "config": config,
            "retryPolicy": { "maxAttempts": 1 } }],
    })
}

fn assert_hidden(text: &str) {
    let backwards: String = CANARY.chars().rev().collect();
    for form in [CANARY.to_lowercase(), backwards.to_lowercase()] {
        assert!(!text.to_lowercase().contains(&form), "{text}");
    }
}

fn assert_refused(answer: &Answer, pointer: &str, word: &str) {
    assert_eq!(answer.status, 422, "{:#}", answer.body);
    let errors = answer.body["errors"].as_array().unwrap();
    assert!(
        errors.iter().any(|error| error["pointer"] == pointer),
        "nothing at {pointer}: {:#}",
        answer.body
    );
    assert!(answer.body.to_string().contains(word), "{:#}", answer.body);
    assert_hidden(&answer.body.to_string());
}

/// The action of a new execution, once it is dead.
fn dead(client: &mut Client, machine: &str) -> Value {
    let started = client.post("/v1/executions", &json!({ "machine": machine })).unwrap();
    assert_eq!(started.status, 201, "{:#}", started.body);
    let path = format!("/v1/actions?executionId={}", started.body["id"].as_str().unwrap());
    wait::until("the action to die", GUARD, || {
        let found = client.get(&path).unwrap();
        let action = found.body["data"][0].clone();
        (action["status"] == "dead").then_some(action)
    })
}

#[test]
fn a_definition_that_works_on_a_secret_is_refused_where_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path(), "");
    beside(&product, || {
        let mut client = product.client();
        for expression in [
            "secrets.k | reverse",
            "secrets.k | upper",
            "secrets.k | replace('a', 'b')",
            "secrets.k[1:]",
            "secrets.k ~ '-'",
            "[secrets.k] | join('-')",
            "'yes' if secrets.k > 'm' else 'no'",
            "variables[secrets.k]",
            "secrets.k | base64 | reverse",
        ] {
            let text = format!("x {{{{ {expression} }}}}");
            let config = json!({ "url": "https://example.com", "payload": { "a/b": [text] } });
            let answer = client
                .post("/v1/machines", &machine("misuser", "webhook", &config))
                .unwrap();
            assert_refused(&answer, "/actions/0/config/payload/a~1b/0", "must be used unchanged");
        }
        let config =
            json!({ "url": "https://example.com", "headers": { "authorization": "Basic {{secrets.k | base64}}" } });
        let answer = client
            .post("/v1/machines", &machine("user", "webhook", &config))
            .unwrap();
        assert_eq!(answer.status, 201, "{:#}", answer.body);
    });
}

#[test]
fn tools_that_only_repeat_what_they_are_given_take_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path(), "[exec]\nallow = [\"/bin/cat\"]\n");
    beside(&product, || {
        let mut client = product.client();
        let secret = "{{secrets.k}}";
        for (kind, config, pointer) in [
            ("fail", json!({ "message": secret }), "/message"),
            ("fail", json!({ "type": secret }), "/type"),
            ("fail", json!({ "retryAfter": secret }), "/retryAfter"),
            ("log_message", json!({ "message": secret }), "/message"),
            ("wait", json!({ "seconds": secret }), "/seconds"),
            ("tcp_check", json!({ "host": secret, "port": 1 }), "/host"),
            (
                "http_check",
                json!({ "url": format!("https://{secret}.example.com") }),
                "/url",
            ),
            ("exec", json!({ "command": [format!("/bin/{secret}")] }), "/command/0"),
            (
                "exec",
                json!({ "command": ["/bin/cat"], "cwd": format!("/{secret}") }),
                "/cwd",
            ),
            (
                "webhook",
                json!({ "url": "https://example.com", "lookup": { "url": "https://example.com",
                    "happened": { "pointer": "/a", "equals": secret } } }),
                "/lookup/happened/equals",
            ),
        ] {
            let answer = client.post("/v1/machines", &machine("echoer", kind, &config)).unwrap();
            assert_refused(
                &answer,
                &format!("/actions/0/config{pointer}"),
                "accepts no secret here",
            );
        }
    });
}

#[test]
fn an_error_does_not_name_a_host_that_a_secret_is_part_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sprag.toml");
    std::fs::write(&file, "").unwrap();
    // What the resolver is asked for is neither secret as it is written here.
    let environment = [
        ("SPRAG_SECRET_TENANT", "Zebra-Tenant-90210.invalid/Zebra-Rest"),
        ("SPRAG_SECRET_NAME", "zebra-bücher"),
        ("SPRAG_LOG", "debug"),
    ];
    let product = Product::start_with(&folder.path().join("sprag.db"), &file, &environment)
        .unwrap_or_else(|line| panic!("it did not start: {line}"));
    beside(&product, || {
        let mut client = product.client();
        for (id, url) in [
            ("whole", "https://{{secrets.tenant}}"),
            ("label", "https://{{secrets.name}}.invalid/x"),
        ] {
            let applied = client
                .post(
                    "/v1/machines",
                    &machine(id, "webhook", &json!({ "url": url, "payload": {} })),
                )
                .unwrap();
            assert_eq!(applied.status, 201, "{:#}", applied.body);
            let action = dead(&mut client, id);
            let message = action["lastError"]["message"].as_str().unwrap();
            assert!(message.contains("[secret host]"), "{message}");
            // Where the host alone is the beginning of a secret, it is known by the secret's own name.
            let host = action["lastError"]["details"]["host"].as_str().unwrap();
            assert!(["[secret host]", "[secret tenant]"].contains(&host), "{host}");
            let text = action.to_string().to_lowercase();
            assert!(!text.contains("zebra") && !text.contains("xn--"), "{text}");
        }
    });
    let log = product.log().to_lowercase();
    assert!(!log.contains("zebra") && !log.contains("xn--"), "{log}");
}

#[test]
fn an_edited_dead_letter_cannot_show_a_secret_either() {
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path(), "");
    beside(&product, || {
        let mut client = product.client();
        let config = json!({ "message": "as planned", "type": "conflict" });
        let applied = client
            .post("/v1/machines", &machine("planned", "fail", &config))
            .unwrap();
        assert_eq!(applied.status, 201, "{:#}", applied.body);
        let id = dead(&mut client, "planned")["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/dead-letters/{id}/retry");
        for (config, pointer, word) in [
            (
                json!({ "message": "{{secrets.k}}" }),
                "/config/message",
                "accepts no secret here",
            ),
            (
                json!({ "message": "{{secrets.k | reverse}}" }),
                "/config/message",
                "must be used unchanged",
            ),
            (json!({ "massage": "x" }), "/config/massage", "message"),
        ] {
            let answer = client.post(&path, &json!({ "config": config })).unwrap();
            assert_refused(&answer, pointer, word);
        }
        let letter = client.get(&format!("/v1/dead-letters/{id}")).unwrap();
        assert_eq!(
            (&letter.body["status"], &letter.body["totalAttempts"]),
            (&json!("dead"), &json!(1))
        );
    });
    assert_hidden(&product.log());
}

/// A machine whose hook is signed with the secret.
fn hooked(id: &str) -> Value {
    json!({
        "id": id,
        "initial": "open",
        "states": { "open": { "on": { "IN": "over" } }, "over": { "type": "final" } },
        "hooks": { "in": {
            "verify": "standard-webhooks",
            "secret": "{{secrets.k}}",
            "key": "{{request.body.key}}",
            "type": "IN",
        } },
    })
}

#[test]
fn a_hook_is_signed_only_with_secrets_that_the_operator_allows_its_machine() {
    let folder = tempfile::tempdir().unwrap();
    let open = server(folder.path(), "");
    let applied = open.client().post("/v1/machines", &hooked("early")).unwrap();
    assert_eq!(applied.status, 201, "{:#}", applied.body);
    assert!(open.terminate(GUARD).success());

    let product = server(folder.path(), "[secrets]\nallow = [\"billing=k\"]\n");
    beside(&product, || {
        let mut client = product.client();
        assert_eq!(client.post("/v1/machines", &hooked("billing")).unwrap().status, 201);
        let refused = client.post("/v1/machines", &hooked("shop")).unwrap();
        assert_refused(&refused, "/hooks/in/secret", "[secrets] allow");
        // The machine was applied before the operator made the rule.
        let call = client.post("/v1/hooks/early/in", &json!({ "key": "a" })).unwrap();
        assert_eq!(call.body["code"], "secret-unavailable", "{:#}", call.body);
        assert!(call.body.to_string().contains("[secrets] allow"), "{:#}", call.body);
    });
}

#[test]
fn a_machine_names_only_secrets_that_the_operator_allows_it_also_after_it_was_applied() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({ "url": "http://127.0.0.1:9", "payload": { "k": "{{secrets.k}}" } });
    let open = server(folder.path(), "");
    let applied = open
        .client()
        .post("/v1/machines", &machine("early", "webhook", &config))
        .unwrap();
    assert_eq!(applied.status, 201, "{:#}", applied.body);
    assert!(open.terminate(GUARD).success());

    let product = server(folder.path(), "[secrets]\nallow = [\"billing=*\", \"shop_*=k\"]\n");
    beside(&product, || {
        let mut client = product.client();
        for (id, is_allowed) in [("billing", true), ("shop_eu", true), ("shop", false)] {
            let answer = client.post("/v1/machines", &machine(id, "webhook", &config)).unwrap();
            if is_allowed {
                assert_eq!(answer.status, 201, "{id}: {:#}", answer.body);
            } else {
                assert_refused(&answer, "/actions/0/config/payload/k", "[secrets] allow");
            }
        }
        let action = dead(&mut client, "early");
        assert_eq!(action["lastError"]["type"], "invalid_configuration", "{action:#}");
        assert!(
            action["lastError"]["message"]
                .as_str()
                .unwrap()
                .contains("may not use the secret `k`"),
            "{action:#}"
        );
        assert_hidden(&action.to_string());
    });
}
