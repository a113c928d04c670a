//! `email` and `sms` in the real binary: a real mail server, the vendors' own API descriptions, one failure before each
//! success, and a look for secrets wherever something is kept or shown.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Mailbox, Prism, Product, store, wait};

const GUARD: Duration = Duration::from_mins(2);
/// What must be nowhere but in the environment and on the wire.
const CANARY: &str = "canary-4f1d0c6e2b9a-secret";

/// The example of the first design document, letter for letter.
const NOTICE: &str = r#"{
  "actionId": "send_termination_notice",
  "type": "email",
  "triggerState": "notice_received",
  "config": {
    "provider": "sendgrid",
    "template": "termination_notice_template",
    "to": "{{execution.variables.landlordEmail}}",
    "cc": ["legal@company.com"],
    "variables": {
      "tenantName": "{{execution.variables.tenantName}}",
      "terminationDate": "{{message.payload.terminationDate}}",
      "propertyAddress": "{{execution.variables.propertyAddress}}"
    }
  },
  "retryPolicy": {
    "maxAttempts": 3,
    "backoffStrategy": "exponential",
    "retryableErrors": ["rate_limit", "temporary_failure"]
  },
  "timeout": 30000
}"#;

/// The same for a text message.
const ALERT: &str = r#"{
  "actionId": "urgent_sms_alert",
  "type": "sms",
  "triggerState": "payment_overdue",
  "config": {
    "provider": "twilio",
    "to": "{{execution.variables.tenantPhone}}",
    "message": "Payment overdue for {{execution.variables.propertyAddress}}. Please contact us immediately."
  },
  "retryPolicy": {
    "maxAttempts": 2,
    "backoffStrategy": "fixed",
    "backoffDelay": 5000
  }
}"#;

/// A server with a configuration of its own.
struct Rig {
    folder: tempfile::TempDir,
    product: Product,
    client: Client,
}

impl Rig {
    fn start(folder: tempfile::TempDir, config: &str) -> Self {
        let file = folder.path().join("sprag.toml");
        std::fs::write(&file, config).unwrap();
        let environment = [("SPRAG_SECRET_CANARY", CANARY)];
        let product = Product::start_with(&folder.path().join("sprag.db"), &file, &environment).unwrap();
        let client = product.client();
        Self {
            folder,
            product,
            client,
        }
    }

    /// Applies a machine whose one action runs on entry of `state`, reached by the message `GO`; the execution.
    fn run(&mut self, (action, state, event): (&Value, &str, &str), variables: &Value, extra: Value) -> String {
        let mut machine = json!({
            "id": "mail",
            "initial": "idle",
            "states": {
                "idle": { "on": { "GO": state } },
                state: { "on": { event: "over" } },
                "over": { "type": "final", "output": { "event": "{{event.payload}}" } },
            },
            "actions": [action],
        });
        if !extra.is_null() {
            machine["templates"] = extra;
        }
        let applied = self.client.post("/v1/machines", &machine).unwrap();
        assert!(matches!(applied.status, 200 | 201), "{applied:?}");
        let body = json!({ "machine": "mail", "variables": variables });
        let started = self.client.post("/v1/executions", &body).unwrap();
        assert_eq!(started.status, 201, "{started:?}");
        let id = started.body["id"].as_str().unwrap().to_owned();
        let go = json!({ "type": "GO", "payload": { "terminationDate": "2026-12-31" } });
        let sent = self.client.post(&format!("/v1/executions/{id}/messages"), &go).unwrap();
        assert_eq!(sent.status, 200, "{sent:?}");
        id
    }

    /// The output of the execution once it has completed.
    fn output(&mut self, id: &str) -> Value {
        let path = format!("/v1/executions/{id}");
        let client = &mut self.client;
        let done = wait::until("the execution to complete", GUARD, || {
            let answer = client.get(&path).unwrap();
            (answer.body["status"] == "completed").then_some(answer.body)
        });
        done["output"]["event"].clone()
    }

    /// The action of the execution once it has this status.
    fn action(&mut self, id: &str, status: &str) -> Value {
        let client = &mut self.client;
        let found = wait::until("the action", GUARD, || {
            let list = client.get("/v1/actions?limit=100").unwrap();
            let actions = list.body["data"].as_array()?.clone();
            let is_it = |action: &&Value| action["executionId"] == id && action["status"] == status;
            actions.iter().find(is_it).cloned()
        });
        let id = found["id"].as_str().unwrap();
        self.client.get(&format!("/v1/actions/{id}")).unwrap().body
    }

    /// Looks for the secret in files, log and answers.
    fn leaks_nothing(mut self, id: &str) {
        let paths = ["history", "explain"].map(|part| format!("/v1/executions/{id}/{part}"));
        for path in paths
            .iter()
            .map(String::as_str)
            .chain(["/v1/actions", "/v1/dead-letters", "/metrics"])
        {
            let answer = self.client.get(path).unwrap();
            assert!(!answer.body.to_string().contains(CANARY), "{path} shows it");
        }
        assert!(!self.product.log().contains(CANARY), "the log shows it");
        drop(self.client);
        assert!(self.product.terminate(GUARD).success());
        for (name, bytes) in store::kept(self.folder.path()) {
            let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!found, "{name} holds it");
        }
    }
}

fn verdicts(action: &Value) -> Vec<&str> {
    let attempts = action["attempts"].as_array().unwrap();
    attempts
        .iter()
        .map(|attempt| attempt["outcome"].as_str().unwrap_or("none"))
        .collect()
}

#[test]
fn the_first_designs_text_message_is_sent_as_the_vendor_describes_it_after_one_refusal() {
    let Some(prism) = Prism::start("twilio.json", &[429]) else {
        return;
    };
    let config = format!(
        "[providers.twilio]\naccount = \"AC00000000000000000000000000000000\"\ntoken = \"{{{{secrets.canary}}}}\"\n\
         from = \"+15557122661\"\nurl = \"{}\"\n",
        prism.url()
    );
    let mut rig = Rig::start(tempfile::tempdir().unwrap(), &config);
    let action: Value = serde_json::from_str(ALERT).unwrap();
    let variables = json!({ "tenantPhone": "+15558675310", "propertyAddress": "1 Main St" });
    let id = rig.run((&action, "payment_overdue", "sms_sent"), &variables, Value::Null);
    let event = rig.output(&id);
    assert_eq!(event["to"], "+15558675310", "{event}");
    assert!(event["sid"].as_str().is_some_and(|sid| !sid.is_empty()), "{event}");
    let action = rig.action(&id, "succeeded");
    assert_eq!(verdicts(&action), ["notDone", "done"]);
    assert_eq!(action["attempts"][0]["error"]["type"], "rate_limit");
    assert!(prism.answers()[1].contains("201"), "{:?}", prism.answers());
    rig.leaks_nothing(&id);
}

#[test]
fn the_first_designs_notice_is_mailed_as_the_vendor_describes_it_after_one_refusal() {
    let Some(prism) = Prism::start("sendgrid.json", &[429]) else {
        return;
    };
    let config = format!(
        "[providers.sendgrid]\nkey = \"{{{{secrets.canary}}}}\"\nfrom = \"Sprag <sprag@company.com>\"\nurl = \"{}\"\n\
         templates = [\"termination_notice_template=d-0123456789abcdef\"]\n",
        prism.url()
    );
    let mut rig = Rig::start(tempfile::tempdir().unwrap(), &config);
    let action: Value = serde_json::from_str(NOTICE).unwrap();
    let variables = json!({ "landlordEmail": "ann@example.com", "tenantName": "Tom", "propertyAddress": "1 Main St" });
    let id = rig.run((&action, "notice_received", "email_sent"), &variables, Value::Null);
    let event = rig.output(&id);
    assert_eq!(
        event["recipients"],
        json!(["ann@example.com", "legal@company.com"]),
        "{event}"
    );
    assert_eq!(event["template"], "termination_notice_template");
    let action = rig.action(&id, "succeeded");
    assert_eq!(verdicts(&action), ["notDone", "done"]);
    assert!(prism.answers()[1].contains("202"), "{:?}", prism.answers());
    rig.leaks_nothing(&id);
}

/// A mail by the machine's own template, to an address that says what the server does.
fn mail(to: &str) -> Value {
    json!({
        "actionId": "mail",
        "type": "email",
        "triggerState": "mailing",
        "config": { "provider": "smtp", "to": to, "template": "notice", "variables": { "name": "{{variables.name}}" } },
        "retryPolicy": { "maxAttempts": 2, "baseDelay": 50 },
    })
}

fn templates() -> Value {
    json!({ "notice": { "subject": "For {{name}}", "text": "Dear {{name}}", "html": "<p>{{name}}</p>" } })
}

fn smtp(mailbox: &Mailbox, security: &str) -> String {
    format!(
        "[providers.smtp]\nhost = \"localhost\"\nport = {}\nsecurity = \"{security}\"\nusername = \"sprag\"\n\
         password = \"{{{{secrets.canary}}}}\"\nfrom = \"sprag@example.com\"\nca = \"{}\"\n",
        mailbox.port(),
        mailbox.ca().display()
    )
}

#[test]
fn mail_reaches_a_real_server_over_starttls_and_tls_after_one_refusal() {
    for security in ["starttls", "tls"] {
        let taken = tempfile::tempdir().unwrap();
        let arguments = ["--security", security, "--user", "sprag", "--password", CANARY];
        let Some(mailbox) = Mailbox::start(taken.path(), &arguments) else {
            return;
        };
        let mut rig = Rig::start(tempfile::tempdir().unwrap(), &smtp(&mailbox, security));
        let variables = json!({ "name": "Tom & <Jerry>" });
        let id = rig.run(
            (&mail("defer1@example.com"), "mailing", "email_sent"),
            &variables,
            templates(),
        );
        let event = rig.output(&id);
        let action = rig.action(&id, "succeeded");
        assert_eq!(verdicts(&action), ["notDone", "done"], "{security}: {action}");
        assert_eq!(action["attempts"][0]["error"]["type"], "temporary_failure");
        let mail = mailbox.mail();
        let [mail] = mail.as_slice() else {
            panic!("one mail: {mail:?}")
        };
        assert_eq!(mail.envelope["tls"], true, "{security}");
        assert_eq!(mail.envelope["to"], json!(["defer1@example.com"]));
        let message_id = event["messageId"].as_str().unwrap();
        assert!(
            mail.message.contains(&format!("Message-ID: {message_id}")),
            "{}",
            mail.message
        );
        assert!(mail.message.contains("&lt;Jerry&gt;"), "{}", mail.message);
        rig.leaks_nothing(&id);
    }
}

#[test]
fn a_server_that_goes_away_with_the_mail_leaves_it_unknown_and_a_wrong_password_is_not_tried_twice() {
    let taken = tempfile::tempdir().unwrap();
    let arguments = ["--security", "starttls", "--user", "sprag", "--password", CANARY];
    let Some(mailbox) = Mailbox::start(taken.path(), &arguments) else {
        return;
    };
    let mut rig = Rig::start(tempfile::tempdir().unwrap(), &smtp(&mailbox, "starttls"));
    let mut cut = mail("cut@example.com");
    cut["onUnknown"] = json!("review");
    let id = rig.run((&cut, "mailing", "email_sent"), &json!({ "name": "x" }), templates());
    let action = rig.action(&id, "dead");
    assert_eq!(verdicts(&action), ["unknown"]);
    let id = rig.run(
        (&mail("reject@example.com"), "mailing", "email_sent"),
        &json!({ "name": "x" }),
        templates(),
    );
    let action = rig.action(&id, "dead");
    assert_eq!(
        verdicts(&action),
        ["notDone"],
        "an address that is not there is not tried again"
    );
    assert_eq!(action["attempts"][0]["error"]["type"], "not_found");
    let wrong = smtp(&mailbox, "starttls").replace("\"sprag\"", "\"somebody\"");
    let mut rig = Rig::start(tempfile::tempdir().unwrap(), &wrong);
    let id = rig.run(
        (&mail("ann@example.com"), "mailing", "email_sent"),
        &json!({ "name": "x" }),
        templates(),
    );
    let action = rig.action(&id, "dead");
    assert_eq!(
        action["attempts"][0]["error"]["type"], "authentication_failed",
        "{action}"
    );
    assert_eq!(verdicts(&action), ["notDone"]);
    rig.leaks_nothing(&id);
}

#[test]
fn everything_wrong_is_found_when_the_machine_is_applied() {
    let config = "[providers.smtp]\nhost = \"localhost\"\n";
    let mut rig = Rig::start(tempfile::tempdir().unwrap(), config);
    let machine = json!({
        "id": "wrong",
        "initial": "a",
        "states": { "a": {} },
        "templates": templates(),
        "actions": [
            { "actionId": "one", "type": "email", "triggerState": "a",
              "config": { "provider": "smtp", "to": "ann", "template": "notcie" } },
            { "actionId": "two", "type": "sms", "triggerState": "a",
              "config": { "provider": "twillio", "to": "555", "message": "x" } },
        ],
    });
    let refused = rig.client.post("/v1/machines", &machine).unwrap();
    assert_eq!(refused.status, 422, "{refused:?}");
    let errors = refused.body["errors"].to_string();
    for pointer in [
        "config/to",
        "config/template",
        "the sender is missing",
        "config/provider",
        "did you mean",
    ] {
        assert!(
            refused.body.to_string().contains(pointer),
            "{pointer} is not in {errors}"
        );
    }
}
