//! `POST /v1/hooks/{machine}/{name}`: inbound webhooks, each a message to the execution that it names.
//!
//! A hook needs no token: its signature says who calls. Nothing of the call is looked at before the signature is right,
//! and a call that is repeated is taken once.

use axum::extract::{FromRequest, Query, State};
use axum::http::{HeaderMap, Uri, header};
use serde_json::{Map, Value, json};
use sprag_core::document::json::hex;
use sprag_core::integrity::signature::{self, Call, Refused, SIGNATURES_MAX, Secret};
use sprag_core::machine::{Hook, HookMessage, Verify};
use sprag_engine::requests::idempotency::HookCall;
use sprag_engine::requests::{self, Refusal, Replied, SendMessage, Sent, Target};
use sprag_engine::{Asker, InboundHook};

use super::messages;
use crate::access::rule::Rule;
use crate::app::App;
use crate::handlers::reply::Answer;
use crate::openapi::{Operation, Route, at, text};
use crate::problem::{Code, FieldError, Problem};
use crate::request::body::Raw;
use crate::request::once::{self, answered};
use crate::request::path::Path;

/// The route of inbound webhooks, which are not asked for their origin.
pub(crate) const PATH: &str = "/v1/hooks/{machine}/{name}";

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![at(PATH).post(Rule::Signed, receive).is(hook_operation())]
}

fn hook_operation() -> Operation {
    let operation = Operation::lenient(
        messages::RESOURCE,
        "receiveHook",
        "Receive a webhook call and send it to an execution as a message",
    );
    let called = operation
        .path("machine", text(), "The name of the machine.")
        .path("name", text(), "The name of the hook in the machine file.")
        .raw_body();
    messages::sends(called)
        .once()
        .refuses([
            requests::Code::HookUnknown,
            requests::Code::MachineUnknown,
            requests::Code::SecretUnavailable,
        ])
        .refuses([Code::HookUnmapped, Code::HookUnverified, Code::SignatureInvalid])
}

/// What `DocuSign`'s signatures are called, before their number.
const DOCUSIGN: &str = "x-docusign-signature-";
const WEBHOOK_ID: &str = "webhook-id";

/// A call of a hook as it arrived.
struct Inbound {
    uri: Uri,
    headers: HeaderMap,
    raw: Raw,
}

/// `POST /v1/hooks/{machine}/{name}`
pub(crate) async fn receive(
    State(app): State<App>,
    Path((machine, name)): Path<(String, String)>,
    request: axum::extract::Request,
) -> Answer {
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    let raw = Raw::from_request(request, &app).await?;
    let inbound = Inbound { uri, headers, raw };
    let InboundHook { hook, secrets } = app.engine.hook(machine.clone(), name).await?;
    let id = inbound.verify(&app, &hook, &secrets)?;
    let message = hook.message(&inbound.scope(&app)?).map_err(|error| {
        let errors = vec![FieldError {
            pointer: error.pointer,
            detail: error.detail.clone(),
        }];
        let detail = format!(
            "hook `{}` cannot turn the call into a message: {}",
            hook.name, error.detail
        );
        Problem::new(Code::HookUnmapped, detail).with_errors(errors)
    })?;
    let asked = inbound.send(&app, (&machine, &hook), message, id).await?;
    Ok(answered(asked, messages::sent))
}

impl Inbound {
    /// Sends the message that the call became. A signed call counts once for its hook and its id: its body says where it leads,
    /// but templates may also read headers and the query, which are not signed.
    async fn send(
        &self,
        app: &App,
        (machine, hook): (&str, &Hook),
        message: HookMessage,
        id: Option<String>,
    ) -> Result<Replied<Sent>, Problem> {
        let HookMessage { key, kind, payload } = message;
        let to = Target::Key {
            machine: machine.to_owned(),
            key,
        };
        let message = SendMessage {
            to,
            kind,
            payload,
            id: id.clone(),
        };
        if let (Some(id), true) = (&id, hook.verify != Verify::Nothing) {
            let hook = &hook.name;
            return Ok(app.engine.take_call(&HookCall { machine, hook, id }, message).await);
        }
        // The caller of a hook is known by its name alone, so its keys never meet those of people or of other hooks.
        let key = once::key(&self.headers, &format!("hook {}", hook.name))?;
        Ok(app.engine.ask_once(message, &Asker::from(key)).await)
    }

    /// Whether the call is its sender's, and the id that makes a repeat of it known.
    fn verify(&self, app: &App, hook: &Hook, secrets: &[String]) -> Result<Option<String>, Problem> {
        match hook.verify {
            Verify::StandardWebhooks => {
                let now = app.engine.wall().as_millis().div_euclid(1_000);
                let call = self.call().ok_or_else(|| refused(Refused::Unsigned))?;
                let secrets = keys(secrets, Secret::parse)?;
                call.verify(&secrets, now).map_err(refused)?;
                Ok(Some(call.id.to_owned()))
            }
            Verify::DocusignHmac => {
                let secrets = keys(secrets, Secret::verbatim)?;
                let signatures: Vec<&str> = (1..=SIGNATURES_MAX)
                    .filter_map(|number| self.only(&format!("{DOCUSIGN}{number}")))
                    .collect();
                signature::verify_docusign(&self.raw.bytes, &signatures, &secrets).map_err(refused)?;
                // Neither id nor time is signed, so the body itself says what was seen before.
                let digest = sprag_core::document::json::digest(&self.raw.bytes);
                Ok(Some(format!("docusign-{}", hex(&digest))))
            }
            Verify::Nothing => {
                allow_unverified(app.settings.is_loopback, &self.headers)?;
                Ok(self.only(WEBHOOK_ID).map(str::to_owned))
            }
        }
    }

    fn call(&self) -> Option<Call<'_>> {
        Some(Call {
            id: self.only(WEBHOOK_ID)?,
            timestamp: self.only("webhook-timestamp")?,
            signatures: self.only("webhook-signature")?,
            body: &self.raw.bytes,
        })
    }

    /// The value of a header that must be given once.
    fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    }

    /// What the hook's templates see.
    fn scope(&self, app: &App) -> Result<Value, Problem> {
        let mut headers = Map::new();
        for name in self.headers.keys() {
            let values: Vec<&str> = self
                .headers
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .collect();
            headers.insert(name.as_str().to_owned(), Value::String(values.join(", ")));
        }
        Ok(json!({
            "body": self.raw.json(app)?,
            "headers": headers,
            "query": query(&self.uri)?,
        }))
    }
}

/// No signature vouches for the caller, so it must be on this machine, and no web page.
fn allow_unverified(is_loopback: bool, headers: &HeaderMap) -> Result<(), Problem> {
    if !is_loopback {
        let detail = "a hook with `verify: none` accepts calls on a loopback address only; set `verify` and a `secret`";
        return Err(Problem::new(Code::HookUnverified, detail));
    }
    if headers.contains_key(header::ORIGIN) {
        let detail = "a hook with `verify: none` accepts no calls from web pages; set `verify` and a `secret`";
        return Err(Problem::new(Code::OriginRefused, detail));
    }
    Ok(())
}

/// The parameters of the address; of several with one name, the last.
fn query(uri: &Uri) -> Result<Map<String, Value>, Problem> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|rejection| Problem::new(Code::QueryInvalid, rejection.body_text()))?;
    let member = |(name, value)| (name, Value::String(value));
    Ok(pairs.0.into_iter().map(member).collect())
}

/// The keys in the secrets that can be read as one. A secret that cannot is the operator's mistake, not the sender's.
fn keys(
    secrets: &[String],
    read: impl Fn(&str) -> Result<Secret, signature::SecretError>,
) -> Result<Vec<Secret>, Problem> {
    let mut wrong = None;
    let mut keys = Vec::with_capacity(secrets.len());
    for secret in secrets {
        match read(secret) {
            Ok(key) => keys.push(key),
            Err(error) => wrong = Some(error),
        }
    }
    match wrong {
        Some(error) if keys.is_empty() => {
            let code = requests::Code::SecretUnavailable;
            Err(Refusal::new(code, error.to_string()).into())
        }
        _ => Ok(keys),
    }
}

fn refused(why: Refused) -> Problem {
    Problem::new(Code::SignatureInvalid, why.to_string())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, StatusCode};
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn without_verification_a_hook_is_for_this_machine_only() {
        let status = |is_loopback, headers: &HeaderMap| {
            allow_unverified(is_loopback, headers).map_err(|problem| problem.into_response().status())
        };
        let mut headers = HeaderMap::new();
        assert_eq!(status(true, &headers), Ok(()));
        assert_eq!(status(false, &headers), Err(StatusCode::FORBIDDEN));
        headers.insert(header::ORIGIN, HeaderValue::from_static("http://localhost"));
        assert_eq!(status(true, &headers), Err(StatusCode::FORBIDDEN));
    }
}
