//! How calls say who they are: read alike from a service of `sprag.toml` and from an action's own `authentication`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::AUTHORIZATION;
use serde_json::Value;
use url::Url;

use crate::http::oauth::{ClientCredentials, ClientProof, sensitive};
use crate::http::{self, Request, RequestError};
use sprag_core::document::Reader;
use sprag_core::document::source::{Spot, shown};

/// The key that holds it, in a service and in an action.
pub(super) const KEY: &str = "authentication";
const TYPES: [&str; 5] = ["none", "basic", "bearer", "apiKey", "oauth2"];
const HEADER_DEFAULT: &str = "X-API-Key";
const QUERY_DEFAULT: &str = "api_key";

/// How a call says who it is. Holds secrets, so it has no `Debug`.
#[derive(Clone)]
pub(super) enum Authentication {
    /// It does not.
    None,
    /// A name and a password (RFC 7617).
    Basic { username: String, password: String },
    /// A fixed token (RFC 6750).
    Bearer { token: String },
    /// A value under a name, in the headers or in the query.
    ApiKey { at: KeyPlace, name: String, value: String },
    /// A token that is fetched (RFC 6749, 4.4).
    OAuth2(ClientCredentials),
}

/// Where an API key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPlace {
    Header,
    Query,
}

/// Reads `authentication` of `parent`, if it is there.
pub(super) fn read(reader: &mut Reader, parent: &Spot<'_>) -> Option<Authentication> {
    let kind = parent.value_of(KEY)?.get("type").and_then(Value::as_str);
    let object = reader.map(parent, KEY, keys_of(kind))?;
    reader.require(&object, "type", "`oauth2`")?;
    match reader.word(&object, "type", &TYPES)? {
        "basic" => read_basic(reader, &object),
        "bearer" => read_bearer(reader, &object),
        "apiKey" => read_api_key(reader, &object),
        "oauth2" => read_oauth2(reader, &object),
        _ => Some(Authentication::None),
    }
}

fn keys_of(kind: Option<&str>) -> &'static [&'static str] {
    match kind {
        Some("none") => &["type"],
        Some("basic") => &["type", "username", "password"],
        Some("bearer") => &["type", "token"],
        Some("apiKey") => &["type", "in", "name", "value"],
        Some("oauth2") => &[
            "type",
            "tokenEndpoint",
            "clientId",
            "clientSecret",
            "scope",
            "audience",
            "clientAuthentication",
        ],
        // The type itself is wrong or not known yet: what belongs to any of them may stand here.
        _ => &[
            "type",
            "username",
            "password",
            "token",
            "in",
            "name",
            "value",
            "tokenEndpoint",
            "clientId",
            "clientSecret",
            "scope",
            "audience",
            "clientAuthentication",
        ],
    }
}

fn read_basic(reader: &mut Reader, object: &Spot<'_>) -> Option<Authentication> {
    let username = reader.required_text(object, "username", "`{{secrets.crm_user}}`");
    let password = reader.required_text(object, "password", "`{{secrets.crm_password}}`");
    let (username, password) = (username?, password?);
    if username.contains(':') && !reader.is_open(username) {
        let remedy = "write a name without `:`; the first one ends it";
        reader.refuse_member(object, "username", "the name holds `:`", remedy);
    }
    Some(Authentication::Basic {
        username: username.to_owned(),
        password: password.to_owned(),
    })
}

fn read_bearer(reader: &mut Reader, object: &Spot<'_>) -> Option<Authentication> {
    let token = reader.required_text(object, "token", "`{{secrets.crm_token}}`")?;
    check_header(reader, object, ("token", "authorization", token));
    Some(Authentication::Bearer {
        token: token.to_owned(),
    })
}

fn read_api_key(reader: &mut Reader, object: &Spot<'_>) -> Option<Authentication> {
    let at = match object.value_of("in") {
        None => Some(KeyPlace::Header),
        Some(_) => reader
            .word(object, "in", &["header", "query"])
            .map(|place| match place {
                "query" => KeyPlace::Query,
                _ => KeyPlace::Header,
            }),
    };
    let value = reader.required_text(object, "value", "`{{secrets.crm_key}}`");
    let name = match object.value_of("name") {
        None => Some(None),
        Some(_) => reader.required_text(object, "name", "`X-API-Key`").map(Some),
    };
    let (at, value, name) = (at?, value?, name?);
    let name = name.unwrap_or(match at {
        KeyPlace::Header => HEADER_DEFAULT,
        KeyPlace::Query => QUERY_DEFAULT,
    });
    if at == KeyPlace::Header && !reader.is_open(name) {
        check_header(reader, object, ("name", name, "x"));
        check_header(reader, object, ("value", name, value));
    }
    Some(Authentication::ApiKey {
        at,
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

/// Notes that a header cannot be made of these words; which of them is to blame is under `key`.
fn check_header(reader: &mut Reader, object: &Spot<'_>, (key, name, value): (&str, &str, &str)) {
    if reader.is_open(value) {
        return;
    }
    match http::header(name, value) {
        Err(error) if key == "name" || !matches!(error, RequestError::HeaderName(_) | RequestError::Reserved(_)) => {
            let remedy = "write what a header of HTTP can hold";
            reader.refuse_member(object, key, error.to_string(), remedy);
        }
        _ => {}
    }
}

fn read_oauth2(reader: &mut Reader, object: &Spot<'_>) -> Option<Authentication> {
    let endpoint = read_token_endpoint(reader, object);
    let client_id = reader.required_text(object, "clientId", "`{{secrets.crm_client_id}}`");
    let client_secret = reader.required_text(object, "clientSecret", "`{{secrets.crm_client_secret}}`");
    let scope = reader.text_or_texts(object, "scope").join(" ");
    let audience = reader.text(object, "audience").map(str::to_owned);
    let proof = match object.value_of("clientAuthentication") {
        None => Some(ClientProof::Basic),
        Some(_) => reader
            .word(object, "clientAuthentication", &["basic", "post"])
            .map(|proof| match proof {
                "post" => ClientProof::Post,
                _ => ClientProof::Basic,
            }),
    };
    Some(Authentication::OAuth2(ClientCredentials {
        endpoint: endpoint?,
        client_id: client_id?.to_owned(),
        client_secret: client_secret?.to_owned(),
        scope: Some(scope).filter(|scope| !scope.is_empty()),
        audience: audience.filter(|audience| !audience.is_empty()),
        proof: proof?,
    }))
}

fn read_token_endpoint(reader: &mut Reader, object: &Spot<'_>) -> Option<Url> {
    let text = reader.required_text(object, "tokenEndpoint", "`https://login.example.com/oauth/token`")?;
    if reader.is_open(text) {
        return None;
    }
    match http::url(text) {
        Ok(url) => Some(url),
        Err(error) => {
            let remedy = "write an absolute URL such as `https://login.example.com/oauth/token`";
            reader.refuse_member(object, "tokenEndpoint", format!("`{}`: {error}", shown(text)), remedy);
            None
        }
    }
}

/// The header that an `authentication` sets, as far as its text says.
pub(super) fn header_of(authentication: &Value) -> Option<String> {
    let text = |key: &str| authentication.get(key).and_then(Value::as_str);
    match text("type")? {
        "basic" | "bearer" | "oauth2" => Some(AUTHORIZATION.to_string()),
        "apiKey" if text("in") != Some("query") => Some(text("name").unwrap_or(HEADER_DEFAULT).to_ascii_lowercase()),
        _ => None,
    }
}

impl Authentication {
    /// Adds to a request what says who sends it, as far as that needs no fetched token.
    pub(super) fn sign(&self, request: &mut Request) -> Result<(), RequestError> {
        let (name, value) = match self {
            Self::None | Self::OAuth2(_) => return Ok(()),
            Self::Basic { username, password } => {
                let pair = STANDARD.encode(format!("{username}:{password}"));
                (AUTHORIZATION.as_str(), format!("Basic {pair}"))
            }
            Self::Bearer { token } => (AUTHORIZATION.as_str(), format!("Bearer {token}")),
            Self::ApiKey { at, name, value } => match at {
                KeyPlace::Header => (name.as_str(), value.clone()),
                KeyPlace::Query => {
                    request.url.query_pairs_mut().append_pair(name, value);
                    return Ok(());
                }
            },
        };
        let (name, value) = http::header(name, &value)?;
        request.headers.insert(name, sensitive(value));
        Ok(())
    }

    /// What must not be seen, with a word for each.
    pub(super) fn secret(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::None => None,
            Self::Basic { password, .. } => Some(("password", password)),
            Self::Bearer { token } => Some(("token", token)),
            Self::ApiKey { value, .. } => Some(("value", value)),
            Self::OAuth2(grant) => Some(("clientSecret", &grant.client_secret)),
        }
    }
}
