//! `webhook` in the real binary: the first design's example, and receivers that leave it in doubt what they did.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Product, Reply, Site, wait};

const GUARD: Duration = Duration::from_mins(2);
const TOKEN: &str = "crm-token-of-the-webhook-test";

/// The example of the first design document, letter for letter.
const NOTIFY: &str = r#"{
  "actionId": "notify_crm_system",
  "type": "webhook",
  "triggerState": "application_approved",
  "config": {
    "url": "{{execution.variables.crmWebhookUrl}}",
    "method": "POST",
    "headers": {
      "Authorization": "Bearer {{secrets.crm_api_token}}",
      "Content-Type": "application/json"
    },
    "payload": {
      "event": "application_approved",
      "applicantId": "{{execution.variables.applicantId}}",
      "approvalDate": "{{now}}",
      "executionId": "{{execution.id}}"
    },
    "expectedStatusCodes": [200, 201, 202]
  },
  "retryPolicy": {
    "maxAttempts": 5,
    "backoffStrategy": "exponential",
    "baseDelay": 1000,
    "maxDelay": 30000,
    "jitter": true
  }
}"#;

fn machine(action: &Value) -> Value {
    json!({
        "id": "application",
        "initial": "application_approved",
        "states": {
            "application_approved": { "on": { "webhook_called": "told", "failed.notify_crm_system": "untold" } },
            "told": { "type": "final", "output": "{{event.payload}}" },
            "untold": { "type": "final" },
        },
        "actions": [action],
    })
}

fn server(folder: &Path) -> Product {
    Product::start(&folder.join("sprag.db"), &[("SPRAG_SECRET_CRM_API_TOKEN", TOKEN)])
}

/// Applies the machine, starts an execution whose call goes to `url`, and gives it once it is completed.
fn completed(client: &mut Client, action: &Value, url: &str) -> Value {
    let applied = client.post("/v1/machines", &machine(action)).unwrap();
    assert_eq!(applied.status, 201, "{:#}", applied.body);
    let variables = json!({ "crmWebhookUrl": url, "applicantId": "A-7" });
    let start = json!({ "machine": "application", "variables": variables });
    let started = client.post("/v1/executions", &start).unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    let id = started.body["id"].as_str().unwrap().to_owned();
    wait::until("the execution to complete", GUARD, || {
        let found = client.get(&format!("/v1/executions/{id}?wait=10s")).unwrap().body;
        (found["status"] == "completed").then_some(found)
    })
}

fn action_of(client: &mut Client, execution: &Value) -> Value {
    let id = execution["id"].as_str().unwrap();
    let found = client.get(&format!("/v1/actions?executionId={id}")).unwrap();
    found.body["data"][0].clone()
}

fn outcomes(action: &Value) -> Vec<&str> {
    let attempts = action["attempts"].as_array().unwrap();
    attempts
        .iter()
        .filter_map(|attempt| attempt["outcome"].as_str())
        .collect()
}

#[test]
fn the_first_designs_notification_arrives_after_one_refusal_the_same_both_times() {
    let asked = AtomicUsize::new(0);
    let crm = Site::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::json(503, &json!({ "error": "later" })),
        _ => Reply::json(201, &json!({ "taken": true })),
    });
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path());
    let mut client = product.client();
    let notify: Value = serde_json::from_str(NOTIFY).unwrap();
    let execution = completed(&mut client, &notify, &crm.url("/hooks/crm"));
    assert_eq!(execution["configuration"], json!(["told"]));
    let event = &execution["output"];
    assert_eq!(
        (&event["statusCode"], &event["method"], &event["actionId"]),
        (&json!(201), &json!("POST"), &json!("notify_crm_system"))
    );
    let action = action_of(&mut client, &execution);
    assert_eq!(outcomes(&action), ["notDone", "done"]);
    assert_eq!(action["attempts"][0]["error"]["type"], "service_unavailable");
    let [first, second] = crm.visits().try_into().unwrap();
    assert_eq!(first.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert!(first.header("idempotency-key").is_some());
    assert_eq!(first.header("idempotency-key"), second.header("idempotency-key"));
    assert_eq!(first.body, second.body, "facts freeze when the action is triggered");
    let sent: Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!(
        (&sent["event"], &sent["applicantId"], &sent["executionId"]),
        (&json!("application_approved"), &json!("A-7"), &execution["id"])
    );
}

/// How a receiver leaves the sender in doubt.
#[derive(Clone, Copy, Debug)]
enum Doubt {
    /// It takes the request and closes.
    HangsUp,
    /// It answers when nobody waits any more.
    AnswersLate,
    /// Its answer breaks off.
    CutsItsAnswer,
}

/// A receiver that leaves the first request in doubt and answers the others; `over` lets a late answer go.
fn receiver(doubt: Doubt, over: &Arc<AtomicBool>) -> Site {
    let (asked, over) = (AtomicUsize::new(0), Arc::clone(over));
    Site::start(move |_| match (asked.fetch_add(1, Ordering::SeqCst), doubt) {
        (0, Doubt::HangsUp) => Reply::HangUp,
        (0, Doubt::CutsItsAnswer) => Reply::Cut,
        (0, Doubt::AnswersLate) => {
            wait::until("the sender to have given up", GUARD, || {
                over.load(Ordering::SeqCst).then_some(())
            });
            Reply::json(200, &json!({ "taken": "long ago" }))
        }
        _ => Reply::json(200, &json!({ "taken": true })),
    })
}

fn doubtful(on_unknown: &str) -> Value {
    let mut notify: Value = serde_json::from_str(NOTIFY).unwrap();
    notify["timeout"] = json!(700);
    notify["onUnknown"] = json!(on_unknown);
    notify["retryPolicy"] = json!({ "maxAttempts": 3, "baseDelay": 50 });
    notify
}

#[test]
fn a_receiver_that_leaves_it_in_doubt_is_asked_again_and_the_repeat_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path());
    let mut client = product.client();
    for doubt in [Doubt::HangsUp, Doubt::AnswersLate, Doubt::CutsItsAnswer] {
        let over = Arc::new(AtomicBool::new(false));
        let site = receiver(doubt, &over);
        let mut action = doubtful("retry");
        action["description"] = json!(format!("{doubt:?}"));
        let execution = completed(&mut client, &action, &site.url("/"));
        over.store(true, Ordering::SeqCst);
        let action = action_of(&mut client, &execution);
        assert_eq!(outcomes(&action), ["unknown", "done"], "{doubt:?}: {action:#}");
        let keys: Vec<_> = site
            .visits()
            .iter()
            .map(|visit| visit.header("idempotency-key").map(str::to_owned))
            .collect();
        assert!(keys.len() == 2 && keys[0] == keys[1], "{doubt:?}: {keys:?}");
    }
}

#[test]
fn what_a_person_is_to_decide_is_never_sent_twice_whatever_dies() {
    for doubt in [Doubt::HangsUp, Doubt::AnswersLate, Doubt::CutsItsAnswer] {
        let folder = tempfile::tempdir().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let site = receiver(doubt, &over);
        let product = server(folder.path());
        let mut client = product.client();
        let execution = completed(&mut client, &doubtful("review"), &site.url("/"));
        over.store(true, Ordering::SeqCst);
        assert_eq!(execution["configuration"], json!(["untold"]), "{doubt:?}");
        // Dropping it is `kill -9`.
        drop(product);
        let product = server(folder.path());
        let mut client = product.client();
        let action = action_of(&mut client, &execution);
        assert_eq!(
            (&action["status"], outcomes(&action)),
            (&json!("dead"), vec!["unknown"]),
            "{doubt:?}"
        );
        // Whatever came after it has been done by then: the letter is still the only one.
        let letters = client.get("/v1/dead-letters").unwrap().body;
        assert_eq!(
            letters["data"].as_array().map(Vec::len),
            Some(1),
            "{doubt:?}: {letters:#}"
        );
        assert_eq!(site.visits().len(), 1, "{doubt:?}");
    }
}
