//! The configuration of a `webhook` action.

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;
use sprag_core::action::runner::ConfigProblem;
use sprag_core::integrity::signature::Secret;
use url::Url;

use super::lookup::{self, Lookup};
use crate::http::{self, METHODS};
use crate::registry::config;
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Shape, Stage, quoted, scalar};

const KEYS: [&str; 10] = [
    "url",
    "method",
    "headers",
    "payload",
    "body",
    "query",
    "expectedStatusCodes",
    "secret",
    "signingSecret",
    "lookup",
];
/// Set by the signature alone, when there is one.
const SIGNATURE_HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];
/// More secrets than any rotation needs.
const SECRETS_MAX: usize = 8;

/// What to call, and how.
pub(super) struct Config {
    pub(super) url: Url,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<WebhookBody>,
    pub(super) expected: Option<Vec<u16>>,
    pub(super) secrets: Vec<Secret>,
    pub(super) lookup: Option<Lookup<Url>>,
}

/// A body and what it is, unless a header says otherwise.
pub(crate) struct WebhookBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) content_type: &'static str,
}

/// Everything wrong with the configuration as it is written.
pub(super) fn check(config: &Value) -> Vec<ConfigProblem> {
    read(config, Stage::Written).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates leave `Err` with no problems.
pub(super) fn read(config: &Value, stage: Stage) -> Result<Config, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, read_object)
}

fn read_object(reader: &mut Reader, object: &Spot<'_>) -> Option<Config> {
    let url = read_url(reader, object);
    let method = read_method(reader, object, &Method::POST);
    let headers = read_headers(reader, object);
    let query = read_query(reader, object);
    let body = read_body(reader, object);
    let secrets = read_secrets(reader, object);
    let expected = config::codes(reader, object, "expectedStatusCodes", 100..=599);
    let lookup = lookup::read(reader, object, "url", read_url);
    let headers = headers?;
    if !secrets.is_empty() {
        for name in SIGNATURE_HEADERS.iter().filter(|name| headers.contains_key(**name)) {
            let detail = format!("header `{name}` is set by the signature");
            reader.refuse_member(object, "headers", detail, "leave the header out, or the secret");
        }
    }
    let mut url = url?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Some(Config {
        url,
        method: method?,
        headers,
        body,
        expected,
        secrets,
        lookup,
    })
}

/// The URL under `url`, unless it is still a template.
pub(crate) fn read_url(reader: &mut Reader, object: &Spot<'_>) -> Option<Url> {
    let text = reader.required_text(object, "url", "`https://example.com/hook`")?;
    if reader.is_open(text) {
        return None;
    }
    match http::url(text) {
        Ok(url) => Some(url),
        Err(error) => {
            let remedy = "write an absolute URL such as `https://example.com/hook`";
            reader.refuse_member(object, "url", format!("`{}`: {error}", shown(text)), remedy);
            None
        }
    }
}

/// The method under `method`, unless it is still a template.
pub(crate) fn read_method(reader: &mut Reader, object: &Spot<'_>, default: &Method) -> Option<Method> {
    let Some(text) = reader.text(object, "method") else {
        return Some(default.clone());
    };
    if reader.is_open(text) {
        return None;
    }
    let method = http::method(text).ok();
    if method.is_none() {
        let detail = format!("`{}` is not a method that can be sent", shown(text));
        reader.refuse_member(object, "method", detail, format!("write one of {}", quoted(METHODS)));
    }
    method
}

/// The headers under `headers`; those whose value is still a template are left out.
pub(crate) fn read_headers(reader: &mut Reader, object: &Spot<'_>) -> Option<HeaderMap> {
    let pairs = reader.pairs(object, "headers");
    let known = pairs
        .iter()
        .filter(|(name, value)| !reader.is_open(name) && !reader.is_open(value));
    match http::headers(known.map(|(name, value)| (*name, value.as_str()))) {
        Ok(headers) => Some(headers),
        Err(errors) => {
            for error in errors {
                reader.refuse_member(
                    object,
                    "headers",
                    error.to_string(),
                    "write names and values as HTTP knows them",
                );
            }
            None
        }
    }
}

/// Names and values under `query`, a list as several of one name.
pub(crate) fn read_query(reader: &mut Reader, object: &Spot<'_>) -> Vec<(String, String)> {
    let Some(query) = reader.read(object, "query", &Shape::Open) else {
        return Vec::new();
    };
    let mut pairs = Vec::new();
    for (name, member) in query.members() {
        for item in member.each() {
            match scalar(item.value) {
                Some(text) => pairs.push((name.to_owned(), text)),
                None => reader.wrong(&item, "text, a number, a truth value or a list of them"),
            }
        }
    }
    pairs
}

/// The body: `payload` as JSON, or `body` as it is.
pub(crate) fn read_body(reader: &mut Reader, object: &Spot<'_>) -> Option<WebhookBody> {
    if object.has("payload") && object.has("body") {
        let detail = "`payload` and `body` are both given";
        reader.refuse_member(object, "body", detail, "keep `payload` for JSON or `body` for text");
    }
    if let Some(text) = reader.text(object, "body") {
        return Some(WebhookBody {
            bytes: text.as_bytes().to_vec(),
            content_type: "text/plain; charset=utf-8",
        });
    }
    let payload = object.value_of("payload")?;
    Some(WebhookBody {
        bytes: payload.to_string().into_bytes(),
        content_type: "application/json",
    })
}

fn read_secrets(reader: &mut Reader, object: &Spot<'_>) -> Vec<Secret> {
    let key = match (object.has("secret"), object.has("signingSecret")) {
        (true, true) => {
            let detail = "`secret` and `signingSecret` are both given";
            reader.refuse_member(object, "signingSecret", detail, "keep one; several secrets are a list");
            return Vec::new();
        }
        (true, false) => "secret",
        (false, true) => "signingSecret",
        (false, false) => return Vec::new(),
    };
    let texts = reader.text_or_texts(object, key);
    if texts.len() > SECRETS_MAX {
        let detail = format!("there are more than {SECRETS_MAX} secrets");
        reader.refuse_member(object, key, detail, "keep those that a receiver may still check");
    }
    let mut secrets = Vec::new();
    for text in texts {
        match Secret::parse(text) {
            _ if reader.is_open(text) => {}
            Ok(secret) => secrets.push(secret),
            Err(error) => {
                let remedy = "write `whsec_` and the base64 of 24 to 64 random bytes, better through `{{secrets.…}}`";
                reader.refuse_member(object, key, error.to_string(), remedy);
            }
        }
    }
    secrets
}
