//! `[services.*]`: the operator's word about where calls go and who makes them.
//!
//! Everything is checked when the server starts. Texts may name secrets; those get their values when an attempt needs
//! them.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::{ConfigProblem, Fault};
use url::Url;

use super::authentication::{self, Authentication};
use crate::http::{self, RequestError};
use crate::registry::config;
use crate::secrets::{Filled, SecretError, Secrets, Text};
use crate::webhook::read_headers;
use sprag_core::document::Stage;

const HEADERS: &str = "headers";
/// What of a service may hold secrets besides its URL.
const SETTINGS: [&str; 2] = [HEADERS, authentication::KEY];

/// What the configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `[services.*]`.
    pub services: BTreeMap<String, ServiceOptions>,
}

/// `[services.crm]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ServiceOptions {
    /// Where it is; an action adds path and query only. It may name secrets.
    pub base_url: String,
    /// Headers of every call, unless an action gives them. They may name secrets.
    pub headers: Map<String, Value>,
    /// Milliseconds that a call may take, where its action allows more.
    pub timeout: Option<u64>,
    /// How calls say who they are, as in an action's own `authentication`. It may name secrets.
    pub authentication: Option<Map<String, Value>>,
}

/// Why the options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`[services.{name}] {key}`: {detail}")]
pub struct OptionsError {
    /// The service.
    pub name: String,
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub detail: String,
    /// What would fix it.
    pub remedy: String,
}

/// A service of the configuration, checked.
pub(super) struct Service {
    name: String,
    base: Text,
    timeout: Option<Duration>,
    /// `headers` and `authentication`, as they are written.
    written: Value,
    /// Which of their texts name secrets, by JSON pointer.
    texts: Vec<(String, Text)>,
}

/// A service with its secrets filled in. Holds secrets, so it has no `Debug`.
pub(super) struct Ready {
    pub(super) base: Url,
    pub(super) headers: HeaderMap,
    pub(super) authentication: Option<Authentication>,
    pub(super) timeout: Option<Duration>,
    pub(super) secrets: BTreeMap<String, String>,
}

/// The services by name.
pub(super) type Services = BTreeMap<String, Service>;

/// What of the options can be used, and everything that is wrong with them.
pub(super) fn read(options: &Options) -> (Services, Vec<OptionsError>) {
    let Options { services } = options;
    let mut ready = Services::new();
    let mut errors = Vec::new();
    for (name, service) in services {
        match Service::new(name, service) {
            Ok(service) => drop(ready.insert(name.clone(), service)),
            Err(wrong) => errors.extend(wrong),
        }
    }
    (ready, errors)
}

impl Service {
    fn new(name: &str, options: &ServiceOptions) -> Result<Self, Vec<OptionsError>> {
        let ServiceOptions {
            base_url,
            headers,
            timeout,
            authentication,
        } = options;
        let mut problems = Vec::new();
        let base = base_of(base_url).map_err(|problem| problems.push(problem)).ok();
        let mut written = Map::from_iter([(HEADERS.to_owned(), Value::Object(headers.clone()))]);
        if let Some(authentication) = authentication {
            written.insert(authentication::KEY.to_owned(), Value::Object(authentication.clone()));
        }
        let written = Value::Object(written);
        let mut texts = Vec::new();
        gather(&written, String::new(), &mut texts, &mut problems);
        problems.extend(checked(&written));
        match base {
            Some(base) if problems.is_empty() => Ok(Self {
                name: name.to_owned(),
                base,
                timeout: timeout.map(Duration::from_millis),
                written,
                texts,
            }),
            _ => Err(problems.into_iter().map(|problem| error_of(name, problem)).collect()),
        }
    }

    /// Where it is, if no secret is part of that.
    pub(super) fn plain_base(&self) -> Option<&str> {
        self.base.plain()
    }

    /// The header that its `authentication` sets.
    pub(super) fn signed_header(&self) -> Option<String> {
        authentication::header_of(self.written.get(authentication::KEY)?)
    }

    /// Fills in the secrets.
    pub(super) async fn fill(&self, from: &Secrets) -> Result<Ready, Box<Outcome>> {
        let base = filled(&self.base, from).await?;
        let mut secrets = base.secrets;
        let mut settings = self.written.clone();
        for (pointer, text) in &self.texts {
            let text = filled(text, from).await?;
            secrets.extend(text.secrets);
            if let Some(place) = settings.pointer_mut(pointer) {
                *place = Value::String(text.text);
            }
        }
        let base = base_url(&base.text).map_err(|(detail, remedy)| {
            let problem = ConfigProblem {
                pointer: "/baseUrl".to_owned(),
                detail,
                remedy: remedy.to_owned(),
                fault: Fault::Definition,
            };
            unusable(&error_of(&self.name, problem))
        })?;
        let read = config::read(&settings, Stage::Rendered, &SETTINGS, |reader, object| {
            let headers = read_headers(reader, object).unwrap_or_default();
            Some((headers, authentication::read(reader, object)))
        });
        let (headers, authentication) = read.map_err(|problems| {
            let problem = problems.into_iter().next().unwrap_or_else(nothing_read);
            unusable(&error_of(&self.name, problem))
        })?;
        Ok(Ready {
            base,
            headers,
            authentication,
            timeout: self.timeout,
            secrets,
        })
    }
}

/// Everything wrong with headers and authentication as they are written.
fn checked(written: &Value) -> Vec<ConfigProblem> {
    let read = config::read(written, Stage::Written, &SETTINGS, |reader, object| {
        let headers = read_headers(reader, object);
        authentication::read(reader, object);
        let signed = written.get(authentication::KEY).and_then(authentication::header_of);
        if let (Some(headers), Some(signed)) = (headers, signed)
            && headers.contains_key(signed.as_str())
        {
            let detail = format!("header `{signed}` is set by `authentication`");
            reader.refuse_member(object, HEADERS, detail, "leave the header out, or the authentication");
        }
        Some(())
    });
    read.err().unwrap_or_default()
}

const BASE_REMEDY: &str = "write the service's URL, as in `https://crm.example.com/api`";

fn base_of(text: &str) -> Result<Text, ConfigProblem> {
    let problem = |detail: String, remedy: &str| ConfigProblem {
        pointer: "/baseUrl".to_owned(),
        detail,
        remedy: remedy.to_owned(),
        fault: Fault::Definition,
    };
    let parsed = Text::parse(text).map_err(|error| problem(error.to_string(), BASE_REMEDY))?;
    // A text that is a secret as a whole can be checked only once it is had.
    if parsed.sole_secret().is_none() {
        base_url(&parsed.with("x")).map_err(|(detail, remedy)| problem(detail, remedy))?;
    }
    Ok(parsed)
}

fn base_url(text: &str) -> Result<Url, (String, &'static str)> {
    let url = http::url(text).map_err(|error: RequestError| (error.to_string(), BASE_REMEDY))?;
    if !url.username().is_empty() || url.password().is_some() {
        let remedy = "write `authentication = { type = \"basic\", … }`";
        return Err(("a URL of a service holds no name and no password".to_owned(), remedy));
    }
    if url.fragment().is_some() {
        return Err(("the URL has a fragment, which is never sent".to_owned(), BASE_REMEDY));
    }
    Ok(url)
}

/// Finds the texts that name secrets.
fn gather(value: &Value, pointer: String, texts: &mut Vec<(String, Text)>, problems: &mut Vec<ConfigProblem>) {
    match value {
        Value::String(text) => match Text::parse(text) {
            Ok(text) if text.plain().is_none() => texts.push((pointer, text)),
            Ok(_) => {}
            Err(error) => problems.push(ConfigProblem {
                pointer,
                detail: error.to_string(),
                remedy: "write a text, or name a secret as in `{{secrets.crm_token}}`".to_owned(),
                fault: Fault::Definition,
            }),
        },
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(item, format!("{pointer}/{index}"), texts, problems);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                let name = name.replace('~', "~0").replace('/', "~1");
                gather(item, format!("{pointer}/{name}"), texts, problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The problem in the words of the configuration file.
fn error_of(name: &str, problem: ConfigProblem) -> OptionsError {
    let ConfigProblem {
        pointer,
        detail,
        remedy,
        fault: _,
    } = problem;
    let mut path = pointer.trim_start_matches('/').splitn(2, '/');
    let key = match path.next() {
        Some("baseUrl") => "baseUrl",
        Some(authentication::KEY) => authentication::KEY,
        _ => HEADERS,
    };
    let detail = match path.next() {
        Some(field) => format!("`{field}`: {detail}"),
        None => detail,
    };
    OptionsError {
        name: name.to_owned(),
        key,
        detail,
        remedy,
    }
}

fn nothing_read() -> ConfigProblem {
    ConfigProblem {
        pointer: format!("/{}", authentication::KEY),
        detail: "it cannot be read".to_owned(),
        remedy: "fix it".to_owned(),
        fault: Fault::Definition,
    }
}

fn unusable(error: &OptionsError) -> Box<Outcome> {
    let message = format!("{error}; {}", error.remedy);
    Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
}

async fn filled(text: &Text, from: &Secrets) -> Result<Filled, Box<Outcome>> {
    text.fill(from).await.map_err(|error| {
        let kind = match error {
            SecretError::Unreadable { .. } | SecretError::Unavailable { .. } => kind::TEMPORARY_FAILURE,
            _ => kind::INVALID_CONFIGURATION,
        };
        Box::new(Outcome::not_done(kind, error.to_string()))
    })
}
