//! Secrets in a Vault: the keys of one path of its key-value engine, version 2.
//!
//! The whole path is read at once and kept in memory for a moment, so that a thousand attempts ask once; those who come
//! while it is being read wait for that one answer. A failure is kept for a shorter moment, so that no caller waits in line
//! behind a Vault that does not answer. Nothing that it says is shown: its answers hold secrets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::{OptionsError, Provider, SecretError, VALUE_BYTES_MAX, check_name};
use crate::http::{self, Client, Reply, Request};
use crate::registry::providers::below;
use sprag_core::document::source::shown;

const MOUNT: &str = "secret";
/// Where the token is, unless the configuration has it. The vendor's own tools read it there too.
const TOKEN_VARIABLE: &str = "VAULT_TOKEN";
/// How long things last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long the Vault may take.
    pub(super) answer: Duration,
    /// How long what it said is used: a changed secret is seen after that.
    pub(super) fresh: Duration,
    /// The same for a failure.
    pub(super) fresh_failure: Duration,
}

const PATIENCE: Patience = Patience {
    answer: Duration::from_secs(5),
    fresh: Duration::from_secs(10),
    fresh_failure: Duration::from_secs(1),
};

/// `[secrets.vault]` as it is written.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VaultOptions {
    /// Where it is.
    pub address: Option<String>,
    /// Where its key-value engine is mounted.
    pub mount: Option<String>,
    /// The path of the keys below that.
    pub path: Option<String>,
    /// Who asks; otherwise `VAULT_TOKEN` of the environment.
    pub token: Option<String>,
    /// The namespace, where there are any.
    pub namespace: Option<String>,
}

impl std::fmt::Debug for VaultOptions {
    /// Without the token, which must not end in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            address,
            mount,
            path,
            token,
            namespace,
        } = self;
        f.debug_struct("VaultOptions")
            .field("address", address)
            .field("mount", mount)
            .field("path", path)
            .field("token", &token.as_ref().map(|_| ".."))
            .field("namespace", namespace)
            .finish()
    }
}

/// The options, checked.
pub(super) struct Checked {
    url: Url,
    headers: reqwest::header::HeaderMap,
    place: String,
}

impl VaultOptions {
    pub(super) fn check(&self) -> Result<Checked, OptionsError> {
        let Self {
            address,
            mount,
            path,
            token,
            namespace,
        } = self;
        let address = address.as_deref().unwrap_or_default();
        let remedy = "write it as in `address = \"https://vault.example.com:8200\"`";
        let base = http::url(address).map_err(|error| wrong("address", error.to_string(), remedy))?;
        let is_bare = base.username().is_empty() && base.password().is_none();
        if !is_bare || base.query().is_some() || base.fragment().is_some() {
            return Err(wrong("address", "it has a user, a query or a fragment", remedy));
        }
        let mount = segments("mount", mount.as_deref().unwrap_or(MOUNT))?;
        let path = segments("path", path.as_deref().unwrap_or_default())?;
        let mut parts = vec!["v1"];
        parts.extend(&mount);
        parts.push("data");
        parts.extend(&path);
        let token = token.clone().or_else(|| std::env::var(TOKEN_VARIABLE).ok());
        let token = token.filter(|token| !token.is_empty());
        let remedy = "set `VAULT_TOKEN` in the environment, or `token` here";
        let token = token.ok_or_else(|| wrong("token", "no token is configured", remedy))?;
        let mut pairs = vec![("x-vault-request", "true"), ("x-vault-token", token.as_str())];
        pairs.extend(namespace.as_deref().map(|namespace| ("x-vault-namespace", namespace)));
        let mut headers = http::headers(pairs)
            .map_err(|_| wrong("token", "it, or the namespace, does not fit into a header", remedy))?;
        headers.values_mut().for_each(|value| value.set_sensitive(true));
        Ok(Checked {
            place: format!("`{}/{}` of the Vault at `{base}`", mount.join("/"), path.join("/")),
            url: below(&base, &parts),
            headers,
        })
    }
}

/// The names of a path; nothing that could lead elsewhere.
fn segments<'t>(key: &'static str, text: &'t str) -> Result<Vec<&'t str>, OptionsError> {
    let segments: Vec<&str> = text.trim_matches('/').split('/').collect();
    let is_odd = |segment: &&str| matches!(*segment, "" | "." | "..") || segment.chars().any(char::is_control);
    if segments.iter().any(is_odd) {
        let detail = format!("`{}` is not a path", shown(text));
        return Err(wrong(key, detail, "write names with `/` between, as in `apps/sprag`"));
    }
    Ok(segments)
}

fn wrong(key: &'static str, detail: impl Into<String>, remedy: &str) -> OptionsError {
    OptionsError::Vault {
        key,
        detail: detail.into(),
        remedy: remedy.to_owned(),
    }
}

/// The provider `vault`.
pub struct Vault {
    client: Client,
    url: Url,
    headers: reqwest::header::HeaderMap,
    place: String,
    patience: Patience,
    kept: Mutex<Option<Kept>>,
}

/// What the path holds; none where there is no such path.
type Keys = Option<Arc<BTreeMap<String, Value>>>;

/// What the Vault said last.
struct Kept {
    until: Instant,
    said: Result<Keys, String>,
}

impl Vault {
    /// Asks with `client`, which must reach what the operator names.
    pub fn new(options: &VaultOptions, client: Client) -> Result<Self, OptionsError> {
        Self::with_patience(options, client, PATIENCE)
    }

    pub(super) fn with_patience(
        options: &VaultOptions,
        client: Client,
        patience: Patience,
    ) -> Result<Self, OptionsError> {
        let Checked { url, headers, place } = options.check()?;
        Ok(Self {
            client,
            url,
            headers,
            place,
            patience,
            kept: Mutex::new(None),
        })
    }

    async fn find(&self, name: &str) -> Result<Option<String>, SecretError> {
        check_name(name)?;
        let unavailable = |reason: String| SecretError::Unavailable {
            name: name.to_owned(),
            place: self.place.clone(),
            reason,
        };
        let keys = self.keys().await.map_err(unavailable)?;
        match keys.as_ref().and_then(|keys| keys.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() > VALUE_BYTES_MAX => Err(SecretError::TooLarge {
                name: name.to_owned(),
                place: self.place(name),
            }),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(unavailable("its value is not a text".to_owned())),
        }
    }

    /// What the path holds. A caller that comes while it is being read waits, and gets the same answer.
    async fn keys(&self) -> Result<Keys, String> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| Instant::now() < kept.until) {
            return kept.said.clone();
        }
        let said = self.read().await;
        let fresh = match said {
            Ok(_) => self.patience.fresh,
            Err(_) => self.patience.fresh_failure,
        };
        *kept = Some(Kept {
            until: Instant::now() + fresh,
            said: said.clone(),
        });
        said
    }

    async fn read(&self) -> Result<Keys, String> {
        let request = Request {
            method: Method::GET,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: None,
            timeout: self.patience.answer,
        };
        match self.client.send(request).await {
            Ok(reply) => keys_of(reply),
            Err(outcome) => Err(reason(*outcome)),
        }
    }
}

impl Provider for Vault {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        Box::pin(self.find(name))
    }

    fn place(&self, name: &str) -> String {
        format!("key `{name}` at {}", self.place)
    }
}

/// Why there was no reply: the client's own words, which hold nothing of the request but its host.
fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::NotDone(failure) | Outcome::Unknown(failure) => failure.error.message,
        Outcome::Done(_) => "it answered oddly".to_owned(),
    }
}

fn keys_of(reply: Reply) -> Result<Keys, String> {
    let status = reply.status();
    match status {
        // Also what is said of a version that was deleted.
        404 => return Ok(None),
        400 => return Err("it does not take the request: check `namespace`, `mount` and `path`".to_owned()),
        403 => return Err("it refuses the token: it may be over, or may not read this path".to_owned()),
        503 => return Err("it is sealed, or down for maintenance".to_owned()),
        200..=299 => {}
        _ => return Err(format!("it answered with status {status}")),
    }
    // An answer that broke off shows nothing of what it held.
    let reply = reply.judge(None).map_err(|outcome| reason(*outcome))?;
    let unreadable = || "its answer is not one of the key-value engine, version 2, or too long".to_owned();
    if !reply.is_whole_json() {
        return Err(unreadable());
    }
    match reply.data().pointer_mut("/data/data").map(Value::take) {
        Some(Value::Object(keys)) => Ok(Some(Arc::new(keys.into_iter().collect()))),
        Some(Value::Null) => Ok(None),
        _ => Err(unreadable()),
    }
}
