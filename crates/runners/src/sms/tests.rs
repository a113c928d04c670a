//! `sms` against a server that answers as the vendor would, and as a network does.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::outcome::{Outcome, Probe};
use sprag_core::action::runner::Runner;

use super::{Sms, TwilioOptions};
use crate::secrets::{Env, Secrets};
use crate::testing::{Act, Case, Server, client, error, reply, result};

const ACCOUNT: &str = "AC00000000000000000000000000000000";
const TOKEN: &str = "the-token-that-nobody-may-see";
const SID: &str = "SM00000000000000000000000000000001";

fn options(server: &Server) -> TwilioOptions {
    TwilioOptions {
        account: ACCOUNT.to_owned(),
        token: "{{secrets.twilio_token}}".to_owned(),
        from: Some("+15557122661".to_owned()),
        url: Some(server.url("")),
        ..TwilioOptions::default()
    }
}

fn runner(server: &Server) -> Sms {
    let env = Env::from_fn(|name| (name == "SPRAG_SECRET_TWILIO_TOKEN").then(|| TOKEN.into()));
    Sms::new(
        Some(&options(server)),
        Arc::new(Secrets::new(vec![Box::new(env)])),
        client(),
    )
    .unwrap()
}

/// The configuration of the seed's `urgent_sms_alert`, rendered.
fn alert() -> Value {
    json!({"provider": "twilio", "to": "+15558675310", "message": "Payment overdue for 1 Main St & Co. Please contact us immediately."})
}

fn message(status: &str) -> Act {
    let body = json!({"sid": SID, "status": status, "from": "+15557122661", "num_segments": "1", "price": "-0.0075",
        "error_code": if status == "undelivered" { json!(30005) } else { Value::Null }, "error_message": null});
    reply(201, "content-type: application/json\r\n", &body.to_string())
}

fn refusal(status: u16, headers: &str, code: u32) -> Act {
    let body = json!({"code": code, "message": format!("refused for {TOKEN}"), "status": status});
    reply(
        status,
        &format!("content-type: application/json\r\n{headers}"),
        &body.to_string(),
    )
}

#[tokio::test]
async fn a_message_is_one_form_under_the_accounts_name() {
    let server = Server::start([message("queued")]).await;
    let outcome = Case::new("sms", alert()).run(&runner(&server)).await;
    assert_eq!(result(&outcome)["sid"], SID);
    let Outcome::Done(done) = &outcome else {
        panic!("{outcome:?}")
    };
    let event = done.event.as_ref().unwrap();
    assert_eq!(event.kind, "sms_sent");
    assert_eq!(
        event.payload,
        json!({"sid": SID, "to": "+15558675310", "actionId": "notify_crm"})
    );
    assert_eq!(done.cost, Some(0.0075));
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    assert_eq!(
        request.line,
        format!("POST /2010-04-01/Accounts/{ACCOUNT}/Messages.json HTTP/1.1")
    );
    assert_eq!(
        request.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert!(request.header("authorization").unwrap().starts_with("Basic "));
    let body = String::from_utf8(request.body.clone()).unwrap();
    assert!(
        body.contains("To=%2B15558675310&From=%2B15557122661&Body=Payment+overdue+for+1+Main+St+%26+Co."),
        "{body}"
    );
}

#[tokio::test]
async fn refusals_have_the_types_of_their_codes_and_show_no_token() {
    let table = [
        (401, 20003, "authentication_failed", None),
        (429, 20429, "rate_limit", Some(7_000)),
        (503, 20503, "service_unavailable", Some(7_000)),
        (400, 21211, "malformed_request", Some(7_000)),
        (400, 21610, "conflict", Some(7_000)),
        (400, 21606, "invalid_configuration", Some(7_000)),
        (400, 99999, "malformed_request", Some(7_000)),
    ];
    for (status, code, kind, retry_after) in table {
        let headers = if retry_after.is_some() {
            "retry-after: 7\r\n"
        } else {
            ""
        };
        let server = Server::start([refusal(status, headers, code)]).await;
        let outcome = Case::new("sms", alert()).run(&runner(&server)).await;
        let Outcome::NotDone(failure) = &outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(failure.error.kind, kind, "{code}");
        assert_eq!(failure.error.code.as_deref(), Some(code.to_string().as_str()));
        assert_eq!(failure.retry_after, retry_after, "{code}");
        assert!(!format!("{outcome:?}").contains(TOKEN), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_cut_connection_leaves_the_message_unknown_and_there_is_nobody_to_ask() {
    let server = Server::start([Act::HangUp]).await;
    let case = Case::new("sms", alert());
    let outcome = case.run(&runner(&server)).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, "network_error");
    assert_eq!(case.probe(&runner(&server)).await, None);
    let server = Server::start([refusal(500, "", 20500)]).await;
    let outcome = case.run(&runner(&server)).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_message_that_is_waited_for_is_noted_and_asked_about_until_it_arrives() {
    let acts = [
        message("queued"),
        message("sending"),
        refusal(503, "", 20503),
        message("delivered"),
    ];
    let server = Server::start(acts).await;
    let mut config = alert();
    config["waitFor"] = json!("delivered");
    let case = Case::new("sms", config);
    let outcome = case.run(&runner(&server)).await;
    assert_eq!(result(&outcome)["status"], "delivered");
    assert_eq!(*case.control.checkpoints.lock().unwrap(), [json!({"sid": SID})]);
    let lines: Vec<String> = server.requests().into_iter().map(|request| request.line).collect();
    assert!(
        lines[1].starts_with(&format!("GET /2010-04-01/Accounts/{ACCOUNT}/Messages/{SID}.json")),
        "{lines:?}"
    );
    assert_eq!(lines.iter().filter(|line| line.starts_with("POST")).count(), 1);
}

#[tokio::test]
async fn a_later_attempt_asks_about_the_message_and_sends_no_second_one() {
    let server = Server::start([message("delivered")]).await;
    let mut config = alert();
    config["waitFor"] = json!("delivered");
    let mut case = Case::new("sms", config);
    case.checkpoint = Some(json!({"sid": SID}));
    let outcome = case.run(&runner(&server)).await;
    assert_eq!(result(&outcome)["status"], "delivered");
    assert!(matches!(case.probe(&runner(&server)).await, Some(Probe::Happened(_))));
    assert!(server.requests().iter().all(|request| request.line.starts_with("GET")));
}

#[tokio::test]
async fn a_message_that_did_not_arrive_is_over_and_the_next_attempt_sends_another() {
    let server = Server::start([
        message("queued"),
        message("undelivered"),
        message("queued"),
        message("delivered"),
    ])
    .await;
    let mut config = alert();
    config["waitFor"] = json!("delivered");
    let mut case = Case::new("sms", config);
    let outcome = case.run(&runner(&server)).await;
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, "not_found");
    let last = case.control.checkpoints.lock().unwrap().last().cloned();
    assert_eq!(last, Some(json!({"ended": SID})));
    case.checkpoint = last;
    let outcome = case.run(&runner(&server)).await;
    assert_eq!(result(&outcome)["status"], "delivered");
}

#[tokio::test]
async fn a_secret_that_is_not_set_is_named_with_the_field_that_needs_it() {
    let server = Server::start([message("queued")]).await;
    let sms = Sms::new(Some(&options(&server)), Arc::default(), client()).unwrap();
    let outcome = Case::new("sms", alert()).run(&sms).await;
    let found = error(&outcome);
    assert_eq!(found.kind, "invalid_configuration");
    assert_eq!(found.details.as_ref().unwrap()["secret"], "twilio_token");
    assert!(
        found.message.contains("`[providers.twilio] token`"),
        "{}",
        found.message
    );
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn everything_wrong_is_found_before_anything_runs() {
    let server = Server::start([message("queued")]).await;
    let runner = runner(&server);
    let found = |config: Value| -> Vec<(String, String)> {
        let problems = runner.validate("sms", &config).into_iter();
        problems
            .map(|problem| (problem.pointer, problem.detail + "; " + &problem.remedy))
            .collect()
    };
    assert_eq!(found(alert()), []);
    assert_eq!(
        found(json!({"provider": "twilio", "to": "{{execution.variables.tenantPhone}}", "message": "x"})),
        []
    );
    let table = [
        (json!({"provider": "twillio"}), "/provider", "did you mean `twilio`?"),
        (json!({"to": "555-1234"}), "/to", "E.164"),
        (json!({"message": ""}), "/message", "empty"),
        (json!({"message": "x".repeat(1_601)}), "/message", "1601 characters"),
        (json!({"from": "a name that is too long"}), "/from", "cannot send"),
        (json!({"messagingService": "MG1"}), "/messagingService", "SID"),
        (json!({"mediaUrl": ["ftp://x"]}), "/mediaUrl", "ftp"),
        (json!({"waitFor": "deliverd"}), "/waitFor", "`delivered`"),
        (json!({"body": "x"}), "/body", "unknown key"),
    ];
    for (change, pointer, part) in table {
        let mut config = alert();
        for (name, value) in change.as_object().unwrap() {
            config[name] = value.clone();
        }
        let problems = found(config);
        assert!(
            problems.iter().any(|(at, text)| at == pointer && text.contains(part)),
            "{change}: {problems:?}"
        );
    }
    let bare = Sms::new(None, Arc::default(), client()).unwrap();
    let problems = bare.validate("sms", &alert());
    assert!(
        problems[0].detail.contains("`[providers.twilio]` is not configured"),
        "{problems:?}"
    );
}

#[test]
fn options_that_cannot_be_used_name_their_key() {
    let right = TwilioOptions {
        account: ACCOUNT.to_owned(),
        token: "{{secrets.x}}".to_owned(),
        ..TwilioOptions::default()
    };
    assert!(Sms::check(&right).is_ok());
    let key = |change: fn(&mut TwilioOptions)| {
        let mut options = right.clone();
        change(&mut options);
        Sms::check(&options).unwrap_err().key
    };
    assert_eq!(key(|options| options.token.clear()), "token");
    assert_eq!(key(|options| options.account = "{{env.HOME}}".to_owned()), "account");
    assert_eq!(key(|options| options.from = Some("no".repeat(9))), "from");
    assert_eq!(key(|options| options.url = Some("ftp://x".to_owned())), "url");
    assert_eq!(
        key(|options| options.messaging_service = Some("x".to_owned())),
        "messagingService"
    );
}
