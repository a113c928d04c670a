//! An envelope that is sent, refused, or has no token.

use serde_json::{Value, json};
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::Runner;

use super::{ENVELOPE, JSON, KEY, TOKEN, Vendor, assert_masked, body_of, case, secrets, taken, token, verified};
use crate::docusign::DocusignEnvelope;
use crate::testing::{NOW, Server, client, error, reply, result};

#[tokio::test]
async fn the_first_designs_contract_becomes_the_vendors_envelope_under_a_signed_grant() {
    let vendor = Vendor::start([taken()]).await;
    let runner = vendor.runner();
    let outcome = case(1).run(&runner).await;
    assert_eq!(result(&outcome)["envelopeId"], ENVELOPE);
    let Outcome::Done(done) = &outcome else {
        panic!("{outcome:?}")
    };
    let event = done.event.as_ref().unwrap();
    assert_eq!(event.kind, "envelope_sent");
    assert_eq!(event.payload, json!({"envelopeId": ENVELOPE, "actionId": "notify_crm"}));
    let claims = verified(&vendor.auth.requests()[0]);
    let issued = NOW.as_millis() / 1_000;
    let audience = vendor.auth.address.to_string();
    assert_eq!(
        claims,
        json!({"iss": "integration-key", "sub": "user-id", "aud": audience, "iat": issued, "exp": issued + 3_600,
            "scope": "signature impersonation"})
    );
    let requests = vendor.api.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    assert_eq!(request.line, "POST /restapi/v2.1/accounts/12345/envelopes HTTP/1.1");
    assert_eq!(
        request.header("authorization"),
        Some(format!("Bearer {TOKEN}").as_str())
    );
    assert_eq!(
        body_of(request),
        json!({
            "templateId": "template-7",
            "recipients": {"signers": [{"email": "sam@example.com", "name": "Sam Signer", "recipientId": "1"}]},
            "templateRoles": [{"roleName": "Tenant", "name": "Tom Tenant", "email": "tom@example.com"}],
            "customFields": {"textCustomFields": [
                {"name": "executionId", "value": "exe_1"},
                {"name": "propertyId", "value": "prop-9"},
                {"name": "spragIdempotencyKey", "value": KEY, "show": "false", "required": "false"},
            ]},
            "transactionId": KEY,
            "status": "sent",
        })
    );
    assert_eq!(case(1).run(&runner).await, outcome);
    assert_eq!(vendor.auth.requests().len(), 1, "one token for all");
}

#[tokio::test]
async fn a_key_in_any_common_spelling_signs() {
    let vendor = Vendor::start([taken()]).await;
    let one_line: &'static str = super::PRIVATE.replace('\n', "\\n").leak();
    let pkcs8 = include_str!("../../../fixtures/jwt/key-pkcs8.pem");
    for key in [pkcs8, one_line] {
        let runner = DocusignEnvelope::new(Some(&vendor.options()), secrets(key), client()).unwrap();
        result(&case(1).run(&runner).await);
    }
    for request in vendor.auth.requests() {
        verified(&request);
    }
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_replaced_once() {
    let refusal = json!({"errorCode": "USER_AUTHENTICATION_FAILED", "message": format!("no: {TOKEN}")}).to_string();
    let vendor = Vendor {
        api: Server::start([reply(401, JSON, &refusal), taken(), reply(401, JSON, &refusal)]).await,
        auth: Server::start([token("the-first-token"), token(TOKEN)]).await,
    };
    let runner = vendor.runner();
    result(&case(1).run(&runner).await);
    assert_eq!((vendor.api.requests().len(), vendor.auth.requests().len()), (2, 2));
    let outcome = case(1).run(&runner).await;
    assert_eq!(vendor.api.requests().len(), 4, "once, not for ever");
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    let error = error(&outcome);
    assert_eq!(error.kind, "authentication_failed");
    assert!(
        error.details.as_ref().unwrap()["suggestedFix"]
            .to_string()
            .contains("integrationKey")
    );
    assert_masked(&format!("{outcome:?}"));
}

#[tokio::test]
async fn refusals_have_the_types_of_their_codes_and_say_what_would_mend_them() {
    let table = [
        (400, "HOURLY_APIINVOCATION_LIMIT_EXCEEDED", "rate_limit", "`limits`"),
        (429, "BURST_APIINVOCATION_LIMIT_EXCEEDED", "rate_limit", "`limits`"),
        (400, "USER_LACKS_PERMISSIONS", "authorization_failed", "`account`"),
        (400, "ENVELOPE_ALLOWANCE_EXCEEDED", "authorization_failed", "used up"),
        (400, "INVALID_TEMPLATE_ID", "invalid_configuration", "`templateId`"),
        (404, "RESOURCE_NOT_FOUND", "not_found", "`account`"),
        (
            400,
            "INVALID_EMAIL_ADDRESS_FOR_RECIPIENT",
            "malformed_request",
            "`recipients`",
        ),
        (400, "INVALID_REQUEST_BODY", "malformed_request", ""),
        (503, "UNSPECIFIED_ERROR", "service_unavailable", ""),
    ];
    for (status, code, kind, fix) in table {
        let body = json!({"errorCode": code, "message": format!("not with {TOKEN}")}).to_string();
        let vendor = Vendor::start([reply(status, JSON, &body)]).await;
        let outcome = case(1).run(&vendor.runner()).await;
        assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
        let error = error(&outcome);
        assert_eq!((error.kind.as_str(), error.code.as_deref()), (kind, Some(code)));
        assert!(error.message.contains(code), "{error:?}");
        let said = error.details.as_ref().unwrap()["suggestedFix"]
            .as_str()
            .unwrap_or_default();
        assert!(said.contains(fix), "{code}: {said}");
        assert_masked(&format!("{outcome:?}"));
    }
}

#[tokio::test]
async fn the_vendors_own_word_about_its_hour_is_heard() {
    let body = json!({"errorCode": "HOURLY_APIINVOCATION_LIMIT_EXCEEDED", "message": "no"}).to_string();
    let reset = NOW.as_millis() / 1_000 + 90;
    let headers = format!("{JSON}x-ratelimit-reset: {reset}\r\n");
    let vendor = Vendor::start([reply(400, &headers, &body)]).await;
    let outcome = case(1).run(&vendor.runner()).await;
    let Outcome::NotDone(failure) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.retry_after, Some(90_000));
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_the_reason_is_said() {
    let refusal = |word: &str, description: &str| {
        let mut body = json!({"error": word});
        if !description.is_empty() {
            body["error_description"] = json!(description);
        }
        reply(400, JSON, &body.to_string())
    };
    let table = [
        (refusal("consent_required", ""), "authorization_failed", "oauth/auth"),
        (
            refusal("invalid_grant", "no_valid_keys_or_signatures"),
            "authentication_failed",
            "`privateKey`",
        ),
        (
            refusal("invalid_grant", "user_not_found"),
            "authentication_failed",
            "`user`",
        ),
        (
            refusal("invalid_grant", "issuer_not_found"),
            "authentication_failed",
            "`integrationKey`",
        ),
        (refusal("invalid_grant", "expired"), "authentication_failed", "clock"),
        (reply(200, JSON, "{}"), "invalid_configuration", "`authUrl`"),
        (reply(503, "", "later"), "service_unavailable", ""),
        (reply(429, "", "later"), "rate_limit", ""),
    ];
    for (act, kind, fix) in table {
        let vendor = Vendor {
            api: Server::start([taken()]).await,
            auth: Server::start([act]).await,
        };
        let outcome = case(1).run(&vendor.runner()).await;
        assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
        let error = error(&outcome);
        assert_eq!(error.kind, kind, "{error:?}");
        let said = error.details.as_ref().unwrap()["suggestedFix"]
            .as_str()
            .unwrap_or_default();
        assert!(said.contains(fix), "{kind}: {said}");
        assert_eq!(vendor.api.requests().len(), 0);
    }
}

#[tokio::test]
async fn an_unusable_key_is_said_before_anybody_is_asked() {
    let vendor = Vendor::start([taken()]).await;
    for key in [
        "hunter2-hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    ] {
        let runner = DocusignEnvelope::new(Some(&vendor.options()), secrets(key), client()).unwrap();
        let outcome = case(1).run(&runner).await;
        let error = error(&outcome);
        assert_eq!(error.kind, "invalid_configuration");
        assert!(
            error.message.starts_with("`[providers.docusign] privateKey`"),
            "{error:?}"
        );
        assert!(!format!("{outcome:?}").contains("hunter2"), "{outcome:?}");
    }
    assert_eq!(vendor.auth.requests().len(), 0);
}

#[tokio::test]
async fn both_servers_are_what_an_approver_sees() {
    let vendor = Vendor::start([taken()]).await;
    let runner = vendor.runner();
    let objects: Vec<String> = runner
        .permissions("docusign_envelope", &Value::Null)
        .into_iter()
        .map(|permission| permission.object)
        .collect();
    assert_eq!(
        objects,
        [vendor.api.address.to_string(), vendor.auth.address.to_string()]
    );
    assert_eq!(
        runner.destination("docusign_envelope", &Value::Null),
        Some(vendor.api.address.to_string())
    );
}
