//! What is refused before anything is sent, and where the blame is laid.

use serde_json::{Value, json};
use sprag_core::action::runner::Runner;

use super::super::{ApiCall, services};
use super::{case, runner, service};
use crate::testing::{Server, error, reply};

fn crm() -> ApiCall {
    runner(&json!({
        "baseUrl": "https://crm.example/api",
        "authentication": {"type": "bearer", "token": "{{secrets.crm_secret}}"},
    }))
}

/// The pointers and remedies of everything that is wrong.
fn problems(config: &Value) -> Vec<(String, String)> {
    let problems = crm().validate("api_call", config);
    problems
        .into_iter()
        .map(|problem| (problem.pointer, format!("{}; {}", problem.detail, problem.remedy)))
        .collect()
}

#[test]
fn the_example_of_the_first_seed_is_right_as_it_is() {
    let config = json!({
        "service": "crm",
        "endpoint": "/api/v1/records/{{execution.variables.recordId}}",
        "method": "PUT",
        "authentication": {
            "type": "oauth2",
            "tokenEndpoint": "{{secrets.external_db_token_url}}",
            "clientId": "{{secrets.external_db_client_id}}",
            "clientSecret": "{{secrets.external_db_client_secret}}",
        },
        "payload": {"status": "validated", "validatedAt": "{{now}}", "validationDetails": "{{message.payload}}"},
    });
    assert_eq!(problems(&config), []);
}

#[test]
fn every_mistake_is_found_where_it_stands() {
    for (more, pointer, text) in [
        (json!({"service": "crn"}), "/service", "did you mean `crm`?"),
        (json!({"service": null}), "/service", "`service` is missing"),
        (json!({"service": 7}), "/service", "text"),
        (
            json!({"service": "warehouse"}),
            "/service",
            "add `[services.warehouse]`",
        ),
        (json!({"endpont": "/x"}), "/endpont", "did you mean `endpoint`?"),
        (json!({"url": "https://x"}), "/url", "unknown key `url`"),
        (json!({"endpoint": 7}), "/endpoint", "text"),
        (
            json!({"endpoint": "https://evil.example/x"}),
            "/endpoint",
            "names a host",
        ),
        (
            json!({"endpoint": "//evil.example/{{execution.id}}"}),
            "/endpoint",
            "names a host",
        ),
        (json!({"endpoint": "/a/../{{execution.id}}"}), "/endpoint", "`..`"),
        (json!({"endpoint": "/a/%2e%2e/b"}), "/endpoint", "`..`"),
        (json!({"endpoint": "/a\\b"}), "/endpoint", "`\\`"),
        (json!({"method": "FETCH"}), "/method", "not a method"),
        (json!({"headers": []}), "/headers", "a map"),
        (json!({"headers": {"Host": "x"}}), "/headers", "`Host`"),
        (
            json!({"headers": {"Authorization": "x"}}),
            "/headers",
            "set by the authentication",
        ),
        (json!({"query": {"a": {}}}), "/query/a", "text"),
        (json!({"body": "text"}), "/body", "both given"),
        (json!({"expectedStatusCodes": [2000]}), "/expectedStatusCodes/0", "2000"),
        (json!({"lookup": {"url": "https://x"}}), "/lookup/url", "unknown key"),
        (
            json!({"lookup": {"endpoint": "//x"}}),
            "/lookup/endpoint",
            "names a host",
        ),
    ] {
        assert_found(&more, pointer, text);
    }
}

#[test]
fn every_mistake_in_an_authentication_is_found_where_it_stands() {
    for (more, pointer, text) in [
        (json!({"authentication": {}}), "/authentication/type", "missing"),
        (
            json!({"authentication": {"type": "oauth"}}),
            "/authentication/type",
            "did you mean `oauth2`?",
        ),
        (json!({"authentication": "none"}), "/authentication", "a map"),
        (
            json!({"authentication": {"type": "none", "token": "x"}}),
            "/authentication/token",
            "unknown key",
        ),
        (
            json!({"authentication": {"type": "basic", "username": "u"}}),
            "/authentication/password",
            "missing",
        ),
        (
            json!({"authentication": {"type": "basic", "username": "u:v", "password": "p"}}),
            "/authentication/username",
            "holds `:`",
        ),
        (
            json!({"authentication": {"type": "bearer", "token": "a\nb"}}),
            "/authentication/token",
            "line break",
        ),
        (
            json!({"authentication": {"type": "apiKey", "value": "v", "in": "cookie"}}),
            "/authentication/in",
            "`header` or `query`",
        ),
        (
            json!({"authentication": {"type": "apiKey", "value": "v", "name": "a b"}}),
            "/authentication/name",
            "not the name of a header",
        ),
        (
            json!({"authentication": {"type": "oauth2", "tokenEndpoint": "ftp://x", "clientId": "i", "clientSecret": "s"}}),
            "/authentication/tokenEndpoint",
            "neither `http` nor `https`",
        ),
        (
            json!({"authentication": {"type": "oauth2", "tokenEndpoint": "https://x", "clientId": "i"}}),
            "/authentication/clientSecret",
            "missing",
        ),
    ] {
        assert_found(&more, pointer, text);
    }
}

fn assert_found(more: &Value, pointer: &str, text: &str) {
    let found = problems(&case(more).config);
    let is_there = found.iter().any(|(at, said)| at == pointer && said.contains(text));
    assert!(is_there && found.len() == 1, "{more}: {found:?}");
}

#[tokio::test]
async fn a_value_that_is_rendered_into_an_endpoint_cannot_lead_out_of_the_service() {
    let api = Server::start([reply(200, "", "")]).await;
    let runner = runner(&json!({"baseUrl": api.url("/api")}));
    for trick in [
        "/records/../../admin",
        "//evil.example",
        "/records/%2e%2e/x",
        "https://evil.example",
        "/a\r\nX: y",
    ] {
        let outcome = case(&json!({"endpoint": trick})).run(&runner).await;
        assert_eq!(error(&outcome).kind, "invalid_configuration", "{trick}");
        assert!(error(&outcome).message.starts_with("/endpoint: "), "{outcome:?}");
    }
    assert_eq!(api.connections(), 0);
}

#[test]
fn what_an_action_reaches_is_told_before_it_runs() {
    let config =
        json!({"service": "crm", "authentication": {"type": "oauth2", "tokenEndpoint": "https://login.example/t"}});
    let shown: Vec<_> = crm()
        .permissions("api_call", &config)
        .into_iter()
        .map(|found| found.object)
        .collect();
    assert_eq!(shown, ["crm.example:443", "login.example:443"]);
    assert_eq!(
        crm().destination("api_call", &config).as_deref(),
        Some("crm.example:443")
    );
}

#[test]
fn a_service_that_cannot_be_used_is_refused_with_its_key() {
    for (written, key, text) in [
        (json!({}), "baseUrl", "not a URL"),
        (json!({"baseUrl": "ftp://x"}), "baseUrl", "neither `http`"),
        (json!({"baseUrl": "https://u:p@x"}), "baseUrl", "no password"),
        (json!({"baseUrl": "https://x/#a"}), "baseUrl", "fragment"),
        (
            json!({"baseUrl": "https://x/{{env.HOME}}"}),
            "baseUrl",
            "is not a secret",
        ),
        (
            json!({"baseUrl": "https://x", "headers": {"a b": "c"}}),
            "headers",
            "`a b`",
        ),
        (
            json!({"baseUrl": "https://x", "headers": {"a": "{{b}}"}}),
            "headers",
            "is not a secret",
        ),
        (
            json!({"baseUrl": "https://x", "authentication": {"type": "magic"}}),
            "authentication",
            "`type`",
        ),
        (
            json!({"baseUrl": "https://x", "authentication": {"type": "bearer", "tokn": "x", "token": "y"}}),
            "authentication",
            "`tokn`",
        ),
        (
            json!({"baseUrl": "https://x", "headers": {"X-API-Key": "c"}, "authentication": {"type": "apiKey", "value": "x"}}),
            "headers",
            "set by `authentication`",
        ),
    ] {
        let errors = ApiCall::check(&service(&written));
        assert_eq!(errors.len(), 1, "{written}: {errors:?}");
        assert_eq!(errors[0].key, key, "{written}");
        assert!(errors[0].to_string().contains(text), "{}", errors[0]);
    }
    assert_eq!(
        services::read(&service(&json!({"baseUrl": "{{secrets.crm_secret}}"}))).1,
        []
    );
}

#[tokio::test]
async fn a_secret_that_nobody_has_is_named() {
    let runner =
        runner(&json!({"baseUrl": "https://x", "authentication": {"type": "bearer", "token": "{{secrets.nope}}"}}));
    let outcome = case(&json!({})).run(&runner).await;
    assert_eq!(error(&outcome).kind, "invalid_configuration");
    assert!(error(&outcome).message.contains("`nope`"), "{outcome:?}");
}
