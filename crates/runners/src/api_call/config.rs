//! The configuration of an `api_call` action.

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;
use sprag_core::action::runner::ConfigProblem;
use sprag_core::document::source::nearest;

use super::authentication::{self, Authentication};
use super::endpoint::Endpoint;
use super::services::{Service, Services};
use crate::registry::config;
use crate::webhook::lookup::{self, Lookup};
use crate::webhook::{WebhookBody, read_body, read_headers, read_method, read_query};
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Stage};

const KEYS: [&str; 10] = [
    "service",
    "endpoint",
    "method",
    "headers",
    "query",
    "payload",
    "body",
    "expectedStatusCodes",
    "authentication",
    "lookup",
];
/// Takes the place of what is still a template, where only the rest of a text can be checked.
const STAND_IN: &str = "x";

/// What to call, and how. Holds secrets, so it has no `Debug`.
pub(super) struct Config<'s> {
    pub(super) service: &'s Service,
    pub(super) endpoint: Endpoint,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<WebhookBody>,
    pub(super) expected: Option<Vec<u16>>,
    /// The action's own; the service's counts where there is none.
    pub(super) authentication: Option<Authentication>,
    pub(super) lookup: Option<Lookup<Endpoint>>,
}

/// Everything wrong with the configuration as it is written.
pub(super) fn check(config: &Value, services: &Services) -> Vec<ConfigProblem> {
    read(config, Stage::Written, services).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates leave `Err` with no problems.
pub(super) fn read<'s>(config: &Value, stage: Stage, services: &'s Services) -> Result<Config<'s>, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        read_object(reader, object, services)
    })
}

fn read_object<'s>(reader: &mut Reader, object: &Spot<'_>, services: &'s Services) -> Option<Config<'s>> {
    let service = read_service(reader, object, services);
    let endpoint = read_endpoint(reader, object);
    let query = read_query(reader, object);
    let body = read_body(reader, object);
    let default = if object.has("payload") || object.has("body") {
        Method::POST
    } else {
        Method::GET
    };
    let method = read_method(reader, object, &default);
    let headers = read_headers(reader, object);
    let expected = config::codes(reader, object, "expectedStatusCodes", 100..=599);
    let authentication = authentication::read(reader, object);
    let lookup = lookup::read(reader, object, "endpoint", read_endpoint);
    if let Some(headers) = &headers {
        check_headers(reader, object, headers, service.and_then(Service::signed_header));
    }
    if object.has(authentication::KEY) && authentication.is_none() {
        return None;
    }
    Some(Config {
        service: service?,
        endpoint: endpoint?.with_query(query),
        method: method?,
        headers: headers?,
        body,
        expected,
        authentication,
        lookup,
    })
}

fn read_service<'s>(reader: &mut Reader, object: &Spot<'_>, services: &'s Services) -> Option<&'s Service> {
    let name = reader.required_text(
        object,
        "service",
        "`crm`, for `[services.crm]` of the server's configuration",
    )?;
    if reader.is_open(name) {
        return None;
    }
    if let Some(service) = services.get(name) {
        return Some(service);
    }
    let remedy = match nearest(name, services.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "add `[services.{}]` with its `baseUrl` to the server's configuration",
            shown(name)
        ),
    };
    let detail = format!("`{}` is not a service of this server", shown(name));
    reader.error(&object.place_of("service"), config::NOT_CONFIGURED, detail, remedy);
    None
}

/// The endpoint under `endpoint`. As written, the text around its templates is checked already.
fn read_endpoint(reader: &mut Reader, object: &Spot<'_>) -> Option<Endpoint> {
    if !object.has("endpoint") {
        return Some(Endpoint::default());
    }
    let text = reader.text(object, "endpoint")?;
    let is_open = reader.is_open(text);
    let known = if is_open {
        without_templates(text)
    } else {
        text.to_owned()
    };
    match Endpoint::parse(&known) {
        Ok(endpoint) => Some(endpoint).filter(|_| !is_open),
        Err(error) => {
            let remedy = "write a path below the service's `baseUrl`, such as `/v1/records/7?full=true`";
            reader.refuse_member(object, "endpoint", format!("`{}`: {error}", shown(text)), remedy);
            None
        }
    }
}

fn without_templates(text: &str) -> String {
    let mut known = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        known.push_str(before);
        known.push_str(STAND_IN);
        rest = after.split_once("}}").map_or("", |(_, behind)| behind);
    }
    known.push_str(rest);
    known
}

/// A header that the authentication sets cannot be given too: one of them would be lost without a word.
fn check_headers(reader: &mut Reader, object: &Spot<'_>, headers: &HeaderMap, of_service: Option<String>) {
    let signed = match object.value_of(authentication::KEY) {
        Some(own) => authentication::header_of(own),
        None => of_service,
    };
    if let Some(signed) = signed.filter(|signed| headers.contains_key(signed.as_str())) {
        let detail = format!("header `{signed}` is set by the authentication");
        let remedy = "leave the header out, or write `authentication: {type: none}`";
        reader.refuse_member(object, "headers", detail, remedy);
    }
}
