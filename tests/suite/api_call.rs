//! `api_call` in the real binary against a real OAuth2 server: one token for everybody, and nobody sees it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::oauth::{CLIENT_ID, CLIENT_SECRET, OAuth};
use sprag_tests::{Client, Product, store, wait};

const GUARD: Duration = Duration::from_mins(2);
const CALLS: usize = 200;
/// Clients that start executions at the same time.
const STARTERS: usize = 8;

/// The example of the first design document, letter for letter.
const EXAMPLE: &str = r#"{
  "actionId": "update_external_database",
  "type": "api_call",
  "triggerState": "data_validated",
  "config": {
    "service": "external_db",
    "endpoint": "/api/v1/records/{{execution.variables.recordId}}",
    "method": "PUT",
    "authentication": {
      "type": "oauth2",
      "tokenEndpoint": "{{secrets.external_db_token_url}}",
      "clientId": "{{secrets.external_db_client_id}}",
      "clientSecret": "{{secrets.external_db_client_secret}}"
    },
    "payload": {
      "status": "validated",
      "validatedAt": "{{now}}",
      "validationDetails": "{{message.payload}}"
    }
  }
}"#;

/// A folder with a configuration for servers.
struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    /// `[services.records]` has its own credentials, `[services.external_db]` has none.
    fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[services.external_db]\nbaseUrl = \"{url}\"\n\
             [services.records]\nbaseUrl = \"{url}/api\"\nheaders = {{ X-Tenant = \"acme\" }}\n\
             [services.records.authentication]\ntype = \"oauth2\"\ntokenEndpoint = \"{url}/oauth/token\"\n\
             clientId = \"{CLIENT_ID}\"\nclientSecret = \"{{{{secrets.records_secret}}}}\"\nscope = [\"records.write\"]\n"
        );
        std::fs::write(folder.path().join("sprag.toml"), text).unwrap();
        Self { folder }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store").join("sprag.db")
    }

    fn server(&self, environment: &[(&str, &str)]) -> Product {
        std::fs::create_dir_all(self.folder.path().join("store")).unwrap();
        let config = self.folder.path().join("sprag.toml");
        Product::start_with(&self.store(), &config, environment)
            .unwrap_or_else(|line| panic!("the server did not start: {line}"))
    }
}

/// One call between two states.
fn machine() -> Value {
    json!({
        "id": "records",
        "initial": "calling",
        "states": {
            "calling": { "on": { "api_called": "called", "failed.call": "failed" } },
            "called": { "type": "final" },
            "failed": { "type": "final" },
        },
        "actions": [{
            "actionId": "call",
            "type": "api_call",
            "triggerState": "calling",
            "config": { "service": "records", "endpoint": "/v1/records/{{execution.key}}", "payload": { "n": 1 } },
            "retryPolicy": { "maxAttempts": 100, "baseDelay": 50, "maxDelay": 200 },
        }],
    })
}

/// The example in a machine.
fn example() -> Value {
    let action: Value = serde_json::from_str(EXAMPLE).unwrap();
    json!({
        "id": "validation",
        "initial": "validating",
        "variables": { "recordId": "r-42" },
        "states": {
            "validating": { "on": { "VALIDATED": "data_validated" } },
            "data_validated": { "on": { "api_called": { "target": "stored", "assign": {
                "url": "{{event.payload.url}}", "status": "{{event.payload.statusCode}}",
                "by": "{{event.payload.actionId}}",
            } } } },
            "stored": { "type": "final" },
        },
        "actions": [action],
    })
}

fn apply(client: &mut Client, machine: &Value) {
    let applied = client.post("/v1/machines", machine).unwrap();
    assert_eq!(applied.status, 201, "{:#}", applied.body);
}

fn start(client: &mut Client, key: &str) -> String {
    let started = client
        .post("/v1/executions", &json!({ "machine": "records", "key": key }))
        .unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    started.body["id"].as_str().unwrap().to_owned()
}

/// Starts `number` executions from several clients at once and waits until as many have completed in all.
fn start_many(product: &Product, name: &str, number: usize, completed: usize) {
    std::thread::scope(|scope| {
        for starter in 0..STARTERS {
            let mut client = product.client();
            scope.spawn(move || {
                for index in (starter..number).step_by(STARTERS) {
                    start(&mut client, &format!("{name}-{index}"));
                }
            });
        }
    });
    let path = "/v1/executions?limit=500&filter=status%20%3D%20%22completed%22";
    let mut client = product.client();
    wait::until("the executions to complete", GUARD, || {
        let list = client.get(path).unwrap();
        (list.body["data"].as_array()?.len() >= completed).then_some(())
    });
}

/// The only action there is.
fn only_action(client: &mut Client) -> Value {
    let actions = client.get("/v1/actions?limit=10").unwrap();
    assert_eq!(
        actions.body["data"].as_array().map(Vec::len),
        Some(1),
        "{:#}",
        actions.body
    );
    let id = actions.body["data"][0]["id"].as_str().unwrap();
    client.get(&format!("/v1/actions/{id}")).unwrap().body
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// No store in the folder holds any of the secrets.
fn assert_not_stored(folder: &Path, secrets: &[&str]) {
    for (name, bytes) in store::kept(folder) {
        for secret in secrets {
            assert!(!holds(&bytes, secret), "{name} holds {secret}");
        }
    }
}

#[test]
fn the_example_makes_the_call_as_it_stands_after_a_failure_and_its_credentials_are_nowhere() {
    let Some(server) = OAuth::start() else {
        return;
    };
    let rig = Rig::new(&server.url(""));
    let token_url = server.url("/oauth/token");
    let product = rig.server(&[
        ("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8"),
        ("SPRAG_SECRET_EXTERNAL_DB_TOKEN_URL", &token_url),
        ("SPRAG_SECRET_EXTERNAL_DB_CLIENT_ID", CLIENT_ID),
        ("SPRAG_SECRET_EXTERNAL_DB_CLIENT_SECRET", CLIENT_SECRET),
        ("SPRAG_LOG", "trace"),
    ]);
    let mut client = product.client();
    apply(&mut client, &example());
    server.ask("/rig/fail?n=1&status=503");
    let started = client
        .post("/v1/executions", &json!({ "machine": "validation" }))
        .unwrap();
    let id = started.body["id"].as_str().unwrap().to_owned();
    let message = json!({ "type": "VALIDATED", "payload": { "score": 0.97 } });
    client.post(&format!("/v1/executions/{id}/messages"), &message).unwrap();
    let ended = client.get(&format!("/v1/executions/{id}?wait=30s")).unwrap().body;
    assert_eq!(ended["configuration"], json!(["stored"]), "{ended:#}");
    assert_eq!(ended["variables"]["url"], server.url("/api/v1/records/r-42"));
    assert_eq!(ended["variables"]["status"], 200);
    assert_eq!(ended["variables"]["by"], "update_external_database");
    let calls = server.calls();
    assert_eq!(calls.iter().map(|call| &call["status"]).collect::<Vec<_>>(), [503, 200]);
    assert_eq!(calls[0]["key"], calls[1]["key"], "the same wish");
    assert_eq!(calls[0]["body"], calls[1]["body"], "the same words");
    let sent: Value = serde_json::from_str(calls[1]["body"].as_str().unwrap()).unwrap();
    assert_eq!(sent["validationDetails"], json!({ "score": 0.97 }));
    assert_eq!(server.tokens(), 1);
    let action = only_action(&mut client);
    assert_eq!(action["attempts"].as_array().map(Vec::len), Some(2), "{action:#}");
    // The API sent back what it got, so the token came by here; it is masked, not missing.
    let shown = action.to_string();
    assert!(shown.contains("Bearer [secret accessToken]"), "{action:#}");
    let token = calls[1]["token"].as_str().unwrap();
    assert_nowhere(&rig, product, &id, &[CLIENT_SECRET, token]);
}

/// Neither the API nor the log nor the store, running or not, holds any of the secrets.
fn assert_nowhere(rig: &Rig, product: Product, id: &str, secrets: &[&str]) {
    let mut client = product.client();
    for path in [
        format!("/v1/executions/{id}"),
        format!("/v1/executions/{id}/history"),
        "/v1/actions".to_owned(),
        "/v1/machines/validation".to_owned(),
        "/metrics".to_owned(),
    ] {
        let answer = client.get(&path).unwrap();
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.body.to_string();
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "{path}: {text}");
    }
    let log = product.log();
    assert!(
        secrets.iter().all(|secret| !log.contains(secret)) && !log.is_empty(),
        "{log}"
    );
    assert_not_stored(rig.store().parent().unwrap(), secrets);
    product.terminate(GUARD);
    assert_not_stored(rig.store().parent().unwrap(), secrets);
}

#[test]
fn two_hundred_calls_fetch_one_token_and_one_more_when_it_was_revoked() {
    let Some(server) = OAuth::start() else {
        return;
    };
    let rig = Rig::new(&server.url(""));
    // Nothing is allowed: the services are the operator's own word.
    let product = rig.server(&[("SPRAG_SECRET_RECORDS_SECRET", CLIENT_SECRET)]);
    apply(&mut product.client(), &machine());
    start_many(&product, "first", CALLS, CALLS);
    assert_eq!(server.tokens(), 1);
    let calls = server.calls();
    assert_eq!(calls.len(), CALLS);
    assert!(calls.iter().all(|call| call["status"] == 200));
    server.ask("/rig/revoke");
    start_many(&product, "second", CALLS, 2 * CALLS);
    assert_eq!(server.tokens(), 2);
    let calls = server.calls();
    let succeeded = calls.iter().filter(|call| call["status"] == 200).count();
    assert_eq!(succeeded, 2 * CALLS);
    assert!(calls.len() > succeeded, "the revoked token was refused at least once");
    let mut client = product.client();
    let repeated = client.get("/v1/actions?limit=500").unwrap();
    let actions = repeated.body["data"].as_array().unwrap();
    let once = |action: &Value| action["attempts"].as_array().is_none_or(|attempts| attempts.len() == 1);
    assert!(actions.iter().all(once), "a new token is no new attempt");
}

#[test]
fn a_wrong_secret_is_not_tried_again() {
    let Some(server) = OAuth::start() else {
        return;
    };
    let rig = Rig::new(&server.url(""));
    let product = rig.server(&[("SPRAG_SECRET_RECORDS_SECRET", "not-the-client-secret")]);
    let mut client = product.client();
    apply(&mut client, &machine());
    let id = start(&mut client, "wrong");
    let ended = client.get(&format!("/v1/executions/{id}?wait=30s")).unwrap().body;
    assert_eq!(ended["configuration"], json!(["failed"]), "{ended:#}");
    let action = only_action(&mut client);
    assert_eq!(action["lastError"]["type"], "authentication_failed", "{action:#}");
    assert_eq!(action["attempts"].as_array().map(Vec::len), Some(1), "{action:#}");
    assert_eq!(server.ask("/rig/log")["refused"], 1);
    assert_eq!(server.calls().len(), 0);
    assert!(!action.to_string().contains("not-the-client-secret"), "{action:#}");
}

#[test]
fn a_token_endpoint_that_is_down_at_first_is_tried_again() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let rig = Rig::new(&format!("http://{free}"));
    let product = rig.server(&[("SPRAG_SECRET_RECORDS_SECRET", CLIENT_SECRET)]);
    let mut client = product.client();
    apply(&mut client, &machine());
    let id = start(&mut client, "patient");
    wait::until("two failed attempts", GUARD, || {
        let action = only_action(&mut client);
        let attempts = action["attempts"].as_array()?.clone();
        let is_down = |attempt: &&Value| attempt["error"]["type"] == "network_error";
        (attempts.iter().filter(is_down).count() >= 2).then_some(())
    });
    let message = only_action(&mut client)["lastError"]["message"].to_string();
    assert!(message.contains("no access token from `127.0.0.1`"), "{message}");
    let Some(server) = OAuth::start_at(free.port()) else {
        return;
    };
    let ended = client.get(&format!("/v1/executions/{id}?wait=60s")).unwrap().body;
    assert_eq!(ended["configuration"], json!(["called"]), "{ended:#}");
    assert_eq!(server.calls().len(), 1);
}

#[test]
fn what_cannot_work_is_refused_when_the_machine_is_applied() {
    let rig = Rig::new("https://records.example");
    let product = rig.server(&[]);
    let mut client = product.client();
    for (pointer, key, value) in [
        (
            "/actions/0/config/endpoint",
            "endpoint",
            json!("https://evil.example/x"),
        ),
        (
            "/actions/0/config/endpoint",
            "endpoint",
            json!("//evil.example/{{execution.id}}"),
        ),
        ("/actions/0/config/endpoint", "endpoint", json!("/records/../admin")),
        ("/actions/0/config/service", "service", json!("recors")),
        ("/actions/0/config/methd", "methd", json!("PUT")),
        (
            "/actions/0/config/expectedStatusCodes",
            "expectedStatusCodes",
            json!("200"),
        ),
        (
            "/actions/0/config/authentication/type",
            "authentication",
            json!({ "type": "oauth" }),
        ),
    ] {
        let mut machine = machine();
        machine["actions"][0]["config"][key] = value;
        let refused = client.post("/v1/machines", &machine).unwrap();
        assert_eq!(refused.status, 422, "{key}: {:#}", refused.body);
        let errors = refused.body["errors"].as_array().unwrap();
        assert!(
            errors.iter().any(|error| error["pointer"] == pointer),
            "{pointer}: {errors:#?}"
        );
    }
    let nearest = client.post("/v1/machines", &{
        let mut machine = machine();
        machine["actions"][0]["config"]["service"] = json!("recors");
        machine
    });
    assert!(nearest.unwrap().body.to_string().contains("did you mean `records`?"));
}
