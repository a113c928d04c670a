//! What the vendor answers, and what it means.

use serde_json::{Map, Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Done, Failure, Outcome, ResultEvent};

use super::config::KEY_FIELD;

const EVENT: &str = "envelope_sent";

/// An envelope at the vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    id: String,
    status: String,
    at: Option<String>,
}

impl Envelope {
    /// The envelope that an object is about. None where it is about none.
    pub(super) fn of(data: &Value) -> Option<Self> {
        let text = |name: &str| data.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some(Self {
            id: text("envelopeId")?.to_owned(),
            status: text("status").unwrap_or("sent").to_owned(),
            at: text("statusDateTime")
                .or_else(|| text("sentDateTime"))
                .map(str::to_owned),
        })
    }

    /// The envelope of a list that carries the key. A list that was not filtered by it is no harm: nothing but the key
    /// itself counts.
    pub(super) fn in_list(data: &Value, key: &str) -> Option<Self> {
        let lists = ["envelopeTransactionStatuses", "envelopes"].map(|name| data.get(name).and_then(Value::as_array));
        let mut entries = lists.into_iter().flatten().flatten();
        entries.find_map(|entry| carries(entry, key).then(|| Self::of(entry)).flatten())
    }

    /// The attempt's result.
    pub(super) fn done(&self, action_id: &str) -> Done {
        Done {
            result: json!({"envelopeId": self.id, "status": self.status, "statusDateTime": self.at}),
            event: Some(ResultEvent {
                kind: EVENT.to_owned(),
                payload: json!({"envelopeId": self.id, "actionId": action_id}),
            }),
            cost: None,
            metadata: Map::new(),
        }
    }
}

fn carries(entry: &Value, key: &str) -> bool {
    let is_key = |value: &Value| value.as_str() == Some(key);
    let fields = entry
        .pointer("/customFields/textCustomFields")
        .and_then(Value::as_array);
    entry.get("transactionId").is_some_and(is_key)
        || fields.into_iter().flatten().any(|field| {
            field.get("name").and_then(Value::as_str) == Some(KEY_FIELD) && field.get("value").is_some_and(is_key)
        })
}

/// Puts the vendor's own words into the outcome of a request that it refused.
pub(super) fn explain(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Done(done) => Outcome::Done(done),
        Outcome::NotDone(failure) => Outcome::NotDone(explained(failure)),
        Outcome::Unknown(failure) => Outcome::Unknown(explained(failure)),
    }
}

fn explained(mut failure: Failure) -> Failure {
    let details = failure.error.details.clone().unwrap_or_default();
    if details.get("tokenEndpoint").is_some() {
        let word = |name: &str| details.get(name).and_then(Value::as_str).unwrap_or_default();
        failure.error = failure.error.with_fix(token_fix(word("error"), word("description")));
        return failure;
    }
    let said = details.get("data").cloned().unwrap_or_default();
    let Some(code) = said.get("errorCode").and_then(Value::as_str) else {
        return failure;
    };
    let error = &mut failure.error;
    if let Some(kind) = of_code(code) {
        kind.clone_into(&mut error.kind);
    }
    if let Some(message) = said.get("message").and_then(Value::as_str) {
        error.message = format!("docusign: {message} (code {code})");
    }
    error.code = Some(code.to_owned());
    if let Some(fix) = fix(&failure.error.kind, code) {
        failure.error = failure.error.with_fix(fix);
    }
    failure
}

/// The error type of one of the vendor's codes; none where the status of its reply says enough.
fn of_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "USER_AUTHENTICATION_FAILED"
        | "PARTNER_AUTHENTICATION_FAILED"
        | "AUTHORIZATION_INVALID_TOKEN"
        | "INTEGRATOR_KEY_NOT_SPECIFIED" => kind::AUTHENTICATION_FAILED,
        "HOURLY_APIINVOCATION_LIMIT_EXCEEDED" | "BURST_APIINVOCATION_LIMIT_EXCEEDED" => kind::RATE_LIMIT,
        "ACCOUNT_LACKS_PERMISSIONS"
        | "USER_LACKS_PERMISSIONS"
        | "USER_DOES_NOT_BELONG_TO_SPECIFIED_ACCOUNT"
        | "ACCOUNT_NOT_AUTHORIZED_FOR_ENVELOPE"
        | "ACCOUNT_HAS_BEEN_SUSPENDED"
        | "ENVELOPE_ALLOWANCE_EXCEEDED" => kind::AUTHORIZATION_FAILED,
        "INVALID_TEMPLATE_ID" | "TEMPLATE_ID_INVALID" | "INVALID_TEMPLATEID" => kind::INVALID_CONFIGURATION,
        _ => return None,
    })
}

fn fix(kind: &str, code: &str) -> Option<&'static str> {
    Some(match code {
        "ENVELOPE_ALLOWANCE_EXCEEDED" => "the account's envelopes are used up: ask the vendor for more",
        "INVALID_TEMPLATE_ID" | "TEMPLATE_ID_INVALID" | "INVALID_TEMPLATEID" => {
            "check `templateId`, and that the user of `[providers.docusign]` may use the template"
        }
        "INVALID_EMAIL_ADDRESS_FOR_RECIPIENT" => "check the addresses in `recipients` and `templateRoles`",
        _ => match kind {
            kind::AUTHENTICATION_FAILED => "check `integrationKey`, `user` and `url` of `[providers.docusign]`",
            kind::AUTHORIZATION_FAILED => {
                "let the user of `[providers.docusign]` send envelopes, and check `account` and `url`"
            }
            kind::RATE_LIMIT => "wait until the hour of the limit ends, or limit the action's rate with `limits`",
            kind::NOT_FOUND => "check `account` and `url` of `[providers.docusign]`, and `templateId`",
            _ => return None,
        },
    })
}

/// What would fix a refusal of the token server, by its word and its description.
fn token_fix(word: &str, description: &str) -> &'static str {
    match (word, description) {
        ("consent_required", _) => {
            "let the user of `[providers.docusign]` allow the integration key once: open `<authUrl>/oauth/auth?response_type=code&scope=signature%20impersonation&client_id=<integrationKey>&redirect_uri=<one of the key's>`"
        }
        (_, "no_valid_keys_or_signatures") => {
            "check `privateKey` of `[providers.docusign]`: its public half must be registered with the integration key"
        }
        (_, "issuer_not_found") => "check `integrationKey` and `authUrl` of `[providers.docusign]`",
        (_, "user_not_found") => "check `user` of `[providers.docusign]`: it is the user's id, not an address",
        (_, "expired") => "check the clock of this machine",
        ("invalid_grant" | "invalid_client" | "unauthorized_client", _) => {
            "check `integrationKey`, `user` and `privateKey` of `[providers.docusign]`"
        }
        _ => "check `authUrl` of `[providers.docusign]`",
    }
}
