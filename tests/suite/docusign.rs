//! `docusign_envelope` in the real binary: a token server that checks the signed grant, the vendor's own API
//! description, one failure before the success, and the signature that comes back as a call of a hook.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use sprag_tests::accounts::{INTEGRATION_KEY, PRIVATE_KEY, USER};
use sprag_tests::{Accounts, Client, Prism, Product, Reply, Site, Visit, wait};

const GUARD: Duration = Duration::from_mins(2);
const OLD_SECRET: &str = "connect-secret-that-is-going";
const NEW_SECRET: &str = "connect-secret-that-is-coming";

/// The example of the first design document, letter for letter.
const CONTRACT: &str = r#"{
  "actionId": "send_contract_for_signature",
  "type": "docusign_envelope",
  "triggerState": "contract_ready",
  "config": {
    "templateId": "{{execution.variables.contractTemplateId}}",
    "recipients": [
      {
        "email": "{{execution.variables.signerEmail}}",
        "name": "{{execution.variables.signerName}}",
        "role": "signer"
      }
    ],
    "templateRoles": [
      {
        "roleName": "Tenant",
        "name": "{{execution.variables.tenantName}}",
        "email": "{{execution.variables.tenantEmail}}"
      }
    ],
    "customFields": {
      "executionId": "{{execution.id}}",
      "propertyId": "{{execution.variables.propertyId}}"
    }
  },
  "retryPolicy": {
    "maxAttempts": 3,
    "backoffStrategy": "exponential"
  }
}"#;

/// The example in a machine that waits for the signature.
fn machine(action: &Value) -> Value {
    json!({
        "id": "lease",
        "initial": "drafting",
        "states": {
            "drafting": { "on": { "READY": "contract_ready" } },
            "contract_ready": { "on": {
                "envelope_sent": { "target": "out", "assign": { "envelopeId": "{{event.payload.envelopeId}}" } },
                "failed.send_contract_for_signature": "failed",
            } },
            "out": { "on": { "envelope-completed": "signed", "envelope-declined": "declined" } },
            "signed": { "type": "final", "output": { "envelope": "{{event.payload.envelope}}" } },
            "declined": { "type": "final" },
            "failed": { "type": "final" },
        },
        "hooks": { "docusign": {
            "verify": "docusign-hmac",
            "secret": ["{{secrets.connect_new}}", "{{secrets.connect_old}}"],
            "key": "{{request.body.data.envelopeSummary.customFields.textCustomFields \
                | selectattr('name', 'eq', 'propertyId') | map(attribute='value') | first}}",
            "type": "{{request.body.event}}",
            "payload": { "envelope": "{{request.body.data.envelopeId}}" },
        } },
        "actions": [action],
    })
}

/// A server that sends envelopes to `url`.
struct Rig {
    folder: tempfile::TempDir,
    accounts: Accounts,
}

impl Rig {
    fn new(url: &str) -> Self {
        let (folder, accounts) = (tempfile::tempdir().unwrap(), Accounts::start());
        let secrets = folder.path().join("secrets");
        std::fs::create_dir(&secrets).unwrap();
        std::fs::write(secrets.join("docusign_key"), PRIVATE_KEY).unwrap();
        std::fs::write(secrets.join("connect_old"), OLD_SECRET).unwrap();
        std::fs::write(secrets.join("connect_new"), NEW_SECRET).unwrap();
        let config = format!(
            "[secrets]\nproviders = [\"file\"]\ndir = \"{}\"\n[providers.docusign]\naccount = \"12345\"\n\
             integrationKey = \"{INTEGRATION_KEY}\"\nuser = \"{USER}\"\nprivateKey = \"{{{{secrets.docusign_key}}}}\"\n\
             url = \"{url}\"\nauthUrl = \"{}\"\n",
            secrets.display(),
            accounts.site().url("")
        );
        std::fs::write(folder.path().join("sprag.toml"), config).unwrap();
        Self { folder, accounts }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("sprag.db")
    }

    fn server(&self) -> Product {
        let config = self.folder.path().join("sprag.toml");
        Product::start_with(&self.store(), &config, &[]).unwrap_or_else(|line| panic!("it did not start: {line}"))
    }
}

/// Applies the machine and brings an execution to where the contract is sent.
fn begin(client: &mut Client, action: &Value) -> String {
    let applied = client.post("/v1/machines", &machine(action)).unwrap();
    assert_eq!(applied.status, 201, "{:#}", applied.body);
    let variables = json!({
        "contractTemplateId": "8a3a21af-4348-45e1-85b9-72a331c9c67a",
        "signerEmail": "sam@example.com", "signerName": "Sam Signer",
        "tenantEmail": "tom@example.com", "tenantName": "Tom Tenant", "propertyId": "prop-9",
    });
    let start = json!({ "machine": "lease", "key": "prop-9", "variables": variables });
    let started = client.post("/v1/executions", &start).unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    let id = started.body["id"].as_str().unwrap().to_owned();
    let ready = client
        .post(&format!("/v1/executions/{id}/messages"), &json!({ "type": "READY" }))
        .unwrap();
    assert_eq!(ready.status, 200, "{ready:?}");
    id
}

/// The execution once it is in that state.
fn reached(client: &mut Client, id: &str, state: &str) -> Value {
    wait::until(&format!("state {state}"), GUARD, || {
        let found = client.get(&format!("/v1/executions/{id}")).unwrap().body;
        (found["configuration"] == json!([state])).then_some(found)
    })
}

fn only_action(client: &mut Client) -> Value {
    let list = client.get("/v1/actions?limit=10").unwrap().body;
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{list:#}");
    let id = list["data"][0]["id"].as_str().unwrap().to_owned();
    client.get(&format!("/v1/actions/{id}")).unwrap().body
}

fn verdicts(action: &Value) -> Vec<&str> {
    let attempts = action["attempts"].as_array().unwrap().iter();
    attempts
        .map(|attempt| attempt["outcome"].as_str().unwrap_or("none"))
        .collect()
}

/// The vendor's own message about an envelope.
fn completed(execution: &str, envelope: &str) -> String {
    let fields = json!([
        { "fieldId": "1", "name": "executionId", "value": execution, "show": "true", "required": "false" },
        { "fieldId": "2", "name": "propertyId", "value": "prop-9", "show": "true", "required": "false" },
    ]);
    json!({
        "event": "envelope-completed", "apiVersion": "v2.1", "retryCount": 0,
        "generatedDateTime": "2026-05-29T17:12:31.0000000Z",
        "data": { "accountId": "12345", "envelopeId": envelope, "envelopeSummary": {
            "status": "completed", "customFields": { "textCustomFields": fields, "listCustomFields": [] },
        } },
    })
    .to_string()
}

fn signature(body: &str, secret: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

/// Calls the hook as the vendor does, with a signature for each of its secrets.
fn call(client: &mut Client, body: &str, secrets: &[&str]) -> (u16, Value) {
    let headers: Vec<(String, String)> = secrets
        .iter()
        .enumerate()
        .map(|(index, secret)| (format!("X-DocuSign-Signature-{}", index + 1), signature(body, secret)))
        .collect();
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let answer = client.post_with("/v1/hooks/lease/docusign", body, &headers).unwrap();
    (answer.status, answer.body)
}

#[test]
fn the_first_designs_contract_is_sent_as_the_vendor_describes_it_and_its_signature_comes_back() {
    let Some(prism) = Prism::start_strict("docusign.json", &[429]) else {
        return;
    };
    let rig = Rig::new(&prism.url());
    let product = rig.server();
    let mut client = product.client();
    let action: Value = serde_json::from_str(CONTRACT).unwrap();
    let id = begin(&mut client, &action);
    let out = reached(&mut client, &id, "out");
    let envelope = out["variables"]["envelopeId"].as_str().unwrap().to_owned();
    assert!(!envelope.is_empty());
    let action = only_action(&mut client);
    assert_eq!(verdicts(&action), ["notDone", "done"], "{action:#}");
    assert_eq!(action["attempts"][0]["error"]["type"], "rate_limit");
    let statuses = prism.statuses();
    assert_eq!((statuses[0], *statuses.last().unwrap()), (429, 201), "{statuses:?}");
    assert_eq!(rig.accounts.granted(), 1, "one token for both attempts");
    let body = completed(&id, &envelope);
    for secrets in [&[][..], &["somebody-else"], &["a", "b", "c"]] {
        let (status, answer) = call(&mut client, &body, secrets);
        assert_eq!(status, 401, "{answer:#}");
    }
    let forged = body.replace("prop-9", "prop-8");
    let right = signature(&body, NEW_SECRET);
    let answer = client
        .post_with(
            "/v1/hooks/lease/docusign",
            &forged,
            &[("X-DocuSign-Signature-1", &right)],
        )
        .unwrap();
    assert_eq!(answer.status, 401, "a signature of another body: {answer:?}");
    reached(&mut client, &id, "out");
    // During a change the vendor signs with both; the one that stays is enough.
    let (status, answer) = call(&mut client, &body, &["a-third-one", OLD_SECRET]);
    assert_eq!(status, 200, "{answer:#}");
    let signed = reached(&mut client, &id, "signed");
    assert_eq!(signed["output"]["envelope"], envelope.as_str());
}

#[test]
fn the_strict_description_refuses_what_the_vendor_does_not_know() {
    let Some(prism) = Prism::start_strict("docusign.json", &[]) else {
        return;
    };
    let address = prism.url().trim_start_matches("http://").parse().unwrap();
    let path = "/restapi/v2.1/accounts/12345/envelopes";
    let authorization = [("authorization", "Bearer x")];
    let plain = json!({ "templateId": "t", "customFields": { "executionId": "e" }, "status": "sent" }).to_string();
    let refused = Client::new(address).post_with(path, &plain, &authorization).unwrap();
    assert_eq!(refused.status, 400, "{refused:?}");
    let right = json!({ "templateId": "t", "status": "sent" }).to_string();
    let taken = Client::new(address).post_with(path, &right, &authorization).unwrap();
    assert_eq!(taken.status, 201, "{taken:?}");
}

/// A vendor that keeps envelopes, and may lose its answers.
struct Vendor {
    site: Site,
    envelopes: Arc<Mutex<Vec<Value>>>,
}

impl Vendor {
    /// Keeps every envelope and does `lost` in place of the first answers.
    fn start(lost: Reply, times: usize) -> Self {
        let envelopes: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (kept, asked) = (Arc::clone(&envelopes), AtomicUsize::new(0));
        let site = Site::start(move |visit: &Visit| {
            let mut kept = kept.lock().unwrap();
            if visit.method == "GET" {
                let found: Vec<Value> = kept
                    .iter()
                    .filter(|envelope| visit.path.contains(envelope["transactionId"].as_str().unwrap()))
                    .cloned()
                    .collect();
                return Reply::json(200, &json!({ "envelopes": found }));
            }
            let mut envelope: Value = serde_json::from_slice(&visit.body).unwrap();
            envelope["envelopeId"] = json!(format!("envelope-{}", kept.len() + 1));
            kept.push(envelope.clone());
            if asked.fetch_add(1, Ordering::SeqCst) < times {
                return lost.clone();
            }
            Reply::json(201, &json!({ "envelopeId": envelope["envelopeId"], "status": "sent" }))
        });
        Self { site, envelopes }
    }

    fn count(&self) -> usize {
        self.envelopes.lock().unwrap().len()
    }
}

#[test]
fn an_envelope_whose_answer_was_lost_is_found_and_not_sent_again() {
    let vendor = Vendor::start(Reply::HangUp, 1);
    let rig = Rig::new(&vendor.site.url(""));
    let product = rig.server();
    let mut client = product.client();
    let action: Value = serde_json::from_str(CONTRACT).unwrap();
    let id = begin(&mut client, &action);
    let out = reached(&mut client, &id, "out");
    assert_eq!(out["variables"]["envelopeId"], "envelope-1");
    assert_eq!(vendor.count(), 1);
    assert_eq!(verdicts(&only_action(&mut client)), ["done"]);
}

#[test]
fn an_envelope_that_was_out_when_the_server_died_is_found_by_the_next_one() {
    let vendor = Vendor::start(Reply::Silence, 1);
    let rig = Rig::new(&vendor.site.url(""));
    let product = rig.server();
    let action: Value = serde_json::from_str(CONTRACT).unwrap();
    let id = begin(&mut product.client(), &action);
    wait::until("the envelope to arrive", GUARD, || (vendor.count() == 1).then_some(()));
    product.kill();
    let product = rig.server();
    let out = reached(&mut product.client(), &id, "out");
    assert_eq!(out["variables"]["envelopeId"], "envelope-1");
    assert_eq!(vendor.count(), 1);
}

#[test]
fn a_refused_grant_is_a_dead_letter_that_says_what_would_mend_it() {
    let vendor = Vendor::start(Reply::HangUp, 0);
    let rig = Rig::new(&vendor.site.url(""));
    let config = rig.folder.path().join("sprag.toml");
    let wrong = std::fs::read_to_string(&config)
        .unwrap()
        .replace(USER, "sam@example.com");
    std::fs::write(&config, wrong).unwrap();
    let product = rig.server();
    let mut client = product.client();
    let action: Value = serde_json::from_str(CONTRACT).unwrap();
    let id = begin(&mut client, &action);
    reached(&mut client, &id, "failed");
    let letters = client.get("/v1/dead-letters").unwrap().body;
    let shown = letters.to_string();
    assert!(
        shown.contains("authentication_failed") && shown.contains("user_not_found"),
        "{letters:#}"
    );
    assert!(shown.contains("check `user` of `[providers.docusign]`"), "{letters:#}");
    assert_eq!((vendor.count(), rig.accounts.granted()), (0, 0));
}
