//! One mail through the vendor's HTTP API.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::message::Mailbox;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::time::Timestamp;

use super::config::{Config, Content};
use super::options::Sendgrid;
use crate::http::{Reply, Request};
use crate::registry::providers::below;

const JSON: &str = "application/json";

/// The request that sends the mail.
pub(super) fn request(
    sendgrid: &Sendgrid,
    config: &Config,
    (key, idempotency_key): (&str, &str),
    timeout: Duration,
) -> Result<Request, Box<Outcome>> {
    let mut authorization = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
        let message = "`[providers.sendgrid] key` holds what no header can";
        Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
    })?;
    authorization.set_sensitive(true);
    Ok(Request {
        method: Method::POST,
        url: below(&sendgrid.url, &["v3", "mail", "send"]),
        headers: HeaderMap::from_iter([
            (AUTHORIZATION, authorization),
            (CONTENT_TYPE, HeaderValue::from_static(JSON)),
        ]),
        body: Some(body(sendgrid, config, idempotency_key).to_string().into_bytes()),
        timeout,
    })
}

fn body(sendgrid: &Sendgrid, config: &Config, idempotency_key: &str) -> Value {
    let mut seen = Vec::new();
    // The vendor refuses an address that is there twice.
    let mut list = |mailboxes: &[Mailbox]| -> Vec<Value> {
        let mut fresh = Vec::new();
        for mailbox in mailboxes {
            let address = mailbox.email.to_string().to_lowercase();
            if !seen.contains(&address) {
                seen.push(address);
                fresh.push(person(mailbox));
            }
        }
        fresh
    };
    let mut to = Map::from_iter([("to".to_owned(), Value::from(list(&config.to)))]);
    for (name, mailboxes) in [("cc", list(&config.cc)), ("bcc", list(&config.bcc))] {
        if !mailboxes.is_empty() {
            to.insert(name.to_owned(), Value::from(mailboxes));
        }
    }
    let arguments = json!({"sprag_idempotency_key": idempotency_key});
    to.insert("custom_args".to_owned(), arguments);
    let mut body = json!({"from": person(&config.from)});
    if let Some(subject) = &config.subject {
        body["subject"] = json!(subject);
    }
    if let Some(mailbox) = &config.reply_to {
        body["reply_to"] = person(mailbox);
    }
    match &config.content {
        Content::Template { name, variables } => {
            body["template_id"] = json!(sendgrid.templates.get(name).unwrap_or(name));
            to.insert("dynamic_template_data".to_owned(), Value::Object(variables.clone()));
        }
        Content::Words { text, html } => {
            // In this order: the vendor wants the plain text first.
            let parts = [("text/plain", text), ("text/html", html)];
            let parts = parts
                .into_iter()
                .filter_map(|(kind, words)| Some(json!({"type": kind, "value": words.as_ref()?})));
            body["content"] = parts.collect();
        }
    }
    if !config.attachments.is_empty() {
        let files = config.attachments.iter().map(|file| {
            let content = STANDARD.encode(&file.bytes);
            json!({"filename": file.filename, "type": file.content_type, "content": content, "disposition": "attachment"})
        });
        body["attachments"] = files.collect();
    }
    body["personalizations"] = json!([to]);
    body
}

fn person(mailbox: &Mailbox) -> Value {
    let mut person = json!({"email": mailbox.email.to_string()});
    if let Some(name) = &mailbox.name {
        person["name"] = json!(name);
    }
    person
}

/// The reply if the vendor took the mail, otherwise the outcome in the vendor's own words.
pub(super) fn judge(reply: Reply, now: Timestamp) -> Result<Reply, Box<Outcome>> {
    let reset = reply
        .header("x-ratelimit-reset")
        .and_then(|text| text.parse::<i64>().ok());
    reply.judge(None).map_err(|outcome| {
        Box::new(match *outcome {
            Outcome::Done(done) => Outcome::Done(done),
            Outcome::NotDone(failure) => Outcome::NotDone(explained(failure, reset, now)),
            Outcome::Unknown(failure) => Outcome::Unknown(explained(failure, reset, now)),
        })
    })
}

fn explained(mut failure: Failure, reset: Option<i64>, now: Timestamp) -> Failure {
    let details = failure.error.details.as_ref();
    let first = details.and_then(|details| details.pointer("/data/errors/0"));
    if let Some(message) = first.and_then(|first| first.get("message")).and_then(Value::as_str) {
        let field = first.and_then(|first| first.get("field")).and_then(Value::as_str);
        let field = field.map(|field| format!("`{field}`: ")).unwrap_or_default();
        failure.error.message = format!("sendgrid: {field}{message}");
    }
    if failure.error.kind == kind::AUTHENTICATION_FAILED {
        failure.error = failure.error.with_fix("check `key` of `[providers.sendgrid]`");
    }
    if failure.error.kind == kind::RATE_LIMIT && failure.retry_after.is_none() {
        // The vendor names the second at which its window ends.
        let wait = reset.map(|seconds| seconds.saturating_mul(1_000).saturating_sub(now.as_millis()));
        failure.retry_after = wait.and_then(|wait| u64::try_from(wait).ok());
    }
    failure
}
