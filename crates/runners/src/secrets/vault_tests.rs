//! A Vault as it answers, as it refuses, and as it fails.

use std::time::Duration;

use serde_json::{Value, json};

use super::vault::Patience;
use super::*;
use crate::testing::{Act, Server, bounded, client, is_child, reply};

const TOKEN: &str = "hvs.a-token-that-nobody-may-see";
const JSON: &str = "content-type: application/json\r\n";

fn options(server: &Server) -> VaultOptions {
    VaultOptions {
        address: Some(server.url("")),
        path: Some("apps/sprag".to_owned()),
        token: Some(TOKEN.to_owned()),
        ..VaultOptions::default()
    }
}

/// The engine's answer to a read.
fn holds(keys: &Value) -> Act {
    let metadata =
        json!({"version": 3, "created_time": "2026-01-01T00:00:00Z", "deletion_time": "", "destroyed": false});
    let body = json!({"request_id": "1", "lease_duration": 0, "data": {"data": keys, "metadata": metadata}});
    reply(200, JSON, &body.to_string())
}

fn refuses(status: u16) -> Act {
    reply(status, JSON, &json!({"errors": [format!("no: {TOKEN}")]}).to_string())
}

async fn get(vault: Vault, name: &str) -> Result<String, SecretError> {
    bounded(Secrets::new(vec![Box::new(vault)]).get(name)).await
}

#[tokio::test]
async fn a_secret_is_a_key_at_the_configured_path() {
    let server = Server::start([holds(&json!({"crm_token": "t0ken", "other": "x"}))]).await;
    let vault = Vault::new(&options(&server), client()).unwrap();
    assert_eq!(get(vault, "crm_token").await.unwrap(), "t0ken");
    let asked = server.requests().remove(0);
    assert_eq!(asked.line, "GET /v1/secret/data/apps/sprag HTTP/1.1");
    assert_eq!(asked.header("x-vault-token"), Some(TOKEN));
    assert_eq!(asked.header("x-vault-namespace"), None);
    let more = VaultOptions {
        address: Some(server.url("/gateway/")),
        mount: Some("kv/team".to_owned()),
        namespace: Some("acme".to_owned()),
        ..options(&server)
    };
    get(Vault::new(&more, client()).unwrap(), "other").await.unwrap();
    let asked = server.requests().remove(1);
    assert_eq!(asked.line, "GET /gateway/v1/kv/team/data/apps/sprag HTTP/1.1");
    assert_eq!(asked.header("x-vault-namespace"), Some("acme"));
}

#[tokio::test]
async fn what_the_vault_does_not_have_the_next_provider_may_have() {
    let deleted = json!({"data": {"data": null, "metadata": {"deletion_time": "2026-01-01T00:00:00Z"}}}).to_string();
    for act in [
        holds(&json!({"other": "x"})),
        reply(404, JSON, r#"{"errors":[]}"#),
        reply(404, JSON, &deleted),
        holds(&json!({"crm_token": null})),
    ] {
        let server = Server::start([act]).await;
        let vault = Vault::new(&options(&server), client()).unwrap();
        let missing = get(vault, "crm_token").await.unwrap_err();
        assert!(matches!(missing, SecretError::Missing { .. }), "{missing}");
        assert!(
            missing.to_string().contains("key `crm_token` at `secret/apps/sprag`"),
            "{missing}"
        );
        let vault = Vault::new(&options(&server), client()).unwrap();
        let env = Env::from_fn(|name| (name == "SPRAG_SECRET_CRM_TOKEN").then(|| "from env".into()));
        let both = Secrets::new(vec![Box::new(vault), Box::new(env)]);
        assert_eq!(bounded(both.get("crm_token")).await.unwrap(), "from env");
    }
}

#[tokio::test]
async fn what_the_vault_refuses_is_said_in_plain_words_and_shows_nothing() {
    let table = [
        (refuses(403), "refuses the token"),
        (refuses(400), "check `namespace`, `mount` and `path`"),
        (refuses(503), "sealed"),
        (refuses(500), "status 500"),
        (refuses(307), "status 307"),
        (Act::HangUp, "the connection to `127.0.0.1` broke"),
        (
            Act::Cut(format!("HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{TOKEN}").into_bytes()),
            "broke off",
        ),
        (reply(200, JSON, &format!("garbage {TOKEN}")), "version 2"),
        (
            reply(200, JSON, &json!({"data": {"crm_token": TOKEN}}).to_string()),
            "version 2",
        ),
        (holds(&json!({"crm_token": {"nested": TOKEN}})), "is not a text"),
        (
            holds(&json!({"crm_token": "x", "more": "y".repeat(70_000)})),
            "too long",
        ),
        (Act::Endless, "version 2"),
    ];
    for (act, reason) in table {
        let server = Server::start([act]).await;
        let vault = Vault::new(&options(&server), client()).unwrap();
        let error = get(vault, "crm_token").await.unwrap_err();
        assert!(matches!(error, SecretError::Unavailable { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        assert!(!format!("{error:?}").contains(TOKEN), "{error:?}");
    }
}

/// Patience for tests: an answer is waited for shortly, and what was said is used for ever or not at all.
fn patience(answer: u64, fresh: Duration) -> Patience {
    Patience {
        answer: Duration::from_millis(answer),
        fresh,
        fresh_failure: fresh,
    }
}

#[tokio::test]
async fn a_vault_that_does_not_answer_is_waited_for_once() {
    let server = Server::start([Act::Silence]).await;
    let vault = Vault::with_patience(&options(&server), client(), patience(200, Duration::from_hours(1))).unwrap();
    let (first, second) = bounded(async { tokio::join!(vault.get("crm_token"), vault.get("other")) }).await;
    for asked in [first, second] {
        let error = asked.unwrap_err().to_string();
        assert!(error.contains("did not answer within 200 ms"), "{error}");
    }
    assert_eq!(server.requests().len(), 1, "the second did not wait anew");
}

#[tokio::test]
async fn many_ask_once_while_the_answer_is_fresh() {
    let server = Server::start([holds(&json!({"crm_token": "t0ken", "other": "x"}))]).await;
    let vault = Vault::with_patience(&options(&server), client(), patience(30_000, Duration::from_hours(1))).unwrap();
    let ask = async || vault.get("crm_token").await.unwrap();
    let asked = bounded(async { tokio::join!(ask(), ask(), vault.get("other"), ask()) }).await;
    assert_eq!((asked.0.as_deref(), asked.3.as_deref()), (Some("t0ken"), Some("t0ken")));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_is_not_fresh_is_asked_for_again_and_nothing_old_is_given() {
    let server = Server::start([
        holds(&json!({"crm_token": "old"})),
        refuses(503),
        holds(&json!({"crm_token": "new"})),
    ])
    .await;
    let vault = Vault::with_patience(&options(&server), client(), patience(30_000, Duration::ZERO)).unwrap();
    let ask = async || bounded(vault.get("crm_token")).await.ok().flatten();
    assert_eq!(ask().await.as_deref(), Some("old"));
    assert_eq!(ask().await, None, "a Vault that is sealed gives nothing");
    assert_eq!(ask().await.as_deref(), Some("new"));
}

#[test]
fn options_that_cannot_work_are_refused_with_their_key() {
    let good = VaultOptions {
        address: Some("https://vault.example:8200".to_owned()),
        path: Some("/apps/sprag/".to_owned()),
        token: Some(TOKEN.to_owned()),
        ..VaultOptions::default()
    };
    assert!(good.check().is_ok());
    assert!(!format!("{good:?}").contains(TOKEN));
    let break_it = |change: fn(&mut VaultOptions)| {
        let mut options = good.clone();
        change(&mut options);
        options.check().err().unwrap()
    };
    for (error, wrong) in [
        (break_it(|options| options.address = None), "address"),
        (
            break_it(|options| options.address = Some("vault:8200".to_owned())),
            "address",
        ),
        (
            break_it(|options| options.address = Some("https://me:pw@vault".to_owned())),
            "address",
        ),
        (break_it(|options| options.path = None), "path"),
        (
            break_it(|options| options.path = Some("apps/../sys".to_owned())),
            "path",
        ),
        (break_it(|options| options.mount = Some("a//b".to_owned())), "mount"),
        (break_it(|options| options.token = Some("a\nb".to_owned())), "token"),
        (break_it(|options| options.token = Some(String::new())), "token"),
    ] {
        assert!(
            matches!(error, OptionsError::Vault { key, .. } if key == wrong),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn the_token_may_be_where_the_vendors_tools_have_it() {
    let test = "secrets::vault_tests::the_token_may_be_where_the_vendors_tools_have_it";
    if is_child(test, &[("VAULT_TOKEN", TOKEN.to_owned())]) {
        let options = VaultOptions {
            address: Some("https://vault.example".to_owned()),
            path: Some("sprag".to_owned()),
            ..VaultOptions::default()
        };
        assert!(options.check().is_ok());
    }
}
