//! Callers with tokens of an OpenID provider: its keys, and the check of what they signed.
//!
//! Keys are fetched when the server starts, every few minutes, and when a token names an unknown one, which no number of
//! such tokens makes happen more often than every few seconds. Requests wait for the provider only then. While it cannot
//! be reached, the keys that are known continue to count for a day.

mod claims;
mod jwt;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;
use sprag_core::access::{Caller, Role};
use sprag_core::time::Timestamp;
use sprag_engine::Handle;
use tokio::sync::Mutex;

use self::jwt::{Jwt, Keys, Signature};
use crate::listen::{TlsError, Trust, client_config, is_readable};
use crate::problem::shown::cause;
use crate::problem::{Code, Problem};

/// How often keys are fetched.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
/// The same after a failure.
const RETRY_EVERY: Duration = Duration::from_secs(30);
/// How long after one fetch the next may begin, in microseconds.
const PAUSE_MICROS: u64 = 5_000_000;
/// How long keys count after they were fetched, in microseconds.
const KEYS_MICROS: u64 = 24 * 60 * 60 * 1_000_000;
/// How long a fetch may take.
const FETCH_MAX: Duration = Duration::from_secs(5);
/// The largest document of a provider, in bytes.
const DOCUMENT_BYTES_MAX: usize = 1 << 20;
/// Where a provider describes itself.
const DISCOVERY: &str = ".well-known/openid-configuration";

/// An OpenID provider, and what its tokens mean here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its address, as its tokens name it.
    pub issuer: String,
    /// What tokens for this server name as their audience.
    pub audience: String,
    /// The claim with the roles.
    pub role_claim: String,
    /// The claim with the principal.
    pub principal_claim: String,
    /// Which role each value of the claim gives; if empty, the values are roles.
    pub roles: Vec<(String, Role)>,
    /// The file of the authorities that sign the provider's certificate; none for those that the machine trusts.
    pub ca: Option<PathBuf>,
}

/// The keys as they were fetched.
struct Fetched {
    keys: Arc<Keys>,
    at_micros: u64,
}

/// A provider whose tokens count.
pub(crate) struct Oidc {
    pub(crate) options: Options,
    http: reqwest::Client,
    fetched: RwLock<Option<Fetched>>,
    /// The last fetch. Whoever wants another one waits for it.
    tried: Mutex<Option<Tried>>,
}

/// When a fetch began, and what came of it.
struct Tried {
    at_micros: u64,
    result: Result<(), String>,
}

impl Oidc {
    /// Nothing is fetched yet.
    pub(crate) fn new(options: Options) -> Result<Self, TlsError> {
        let trust = Trust {
            ca: options.ca.clone(),
            identity: None,
        };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(client_config(&trust)?)
            .timeout(FETCH_MAX)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| TlsError::Setup(error.to_string()))?;
        Ok(Self {
            options,
            http,
            fetched: RwLock::default(),
            tried: Mutex::default(),
        })
    }

    /// Fetches the keys again and again, until it is dropped.
    pub(crate) async fn keep(&self, engine: &Handle) {
        loop {
            let fetched = self.fetch_at(engine.micros()).await;
            let pause = if fetched.is_ok() { REFRESH_EVERY } else { RETRY_EVERY };
            tokio::time::sleep(pause).await;
        }
    }

    /// Who shows a token.
    pub(crate) async fn caller(&self, text: &str, now: Timestamp, micros: u64) -> Result<Caller, Problem> {
        let refused = |why: String| Problem::new(Code::TokenInvalid, format!("{why}; sign in again"));
        let token = Jwt::parse(text).map_err(refused)?;
        // First, because the keys of another issuer are always unknown.
        claims::check_issuer(&token.claims, &self.options).map_err(refused)?;
        let mut signature = self.current(micros).map(|keys| keys.verify(&token));
        if matches!(signature, None | Some(Signature::UnknownKey)) {
            let fetched = self.fetch_at(micros).await;
            signature = self.current(micros).map(|keys| keys.verify(&token));
            if signature.is_none() {
                return Err(self.unreachable(&fetched.err().unwrap_or_default()));
            }
        }
        match signature {
            Some(Signature::Right) => claims::caller(&token.claims, &self.options, now).map_err(refused),
            Some(Signature::UnknownKey) => Err(refused(
                "the token names a key that its issuer does not publish".to_owned(),
            )),
            Some(Signature::Wrong) | None => Err(refused("the signature of the token is wrong".to_owned())),
        }
    }

    /// The keys, as long as they count.
    fn current(&self, micros: u64) -> Option<Arc<Keys>> {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        let counts = |fetched: &&Fetched| micros.saturating_sub(fetched.at_micros) < KEYS_MICROS;
        fetched.as_ref().filter(counts).map(|fetched| Arc::clone(&fetched.keys))
    }

    /// Fetches the keys, unless that was tried a moment ago; says why they could not be fetched.
    async fn fetch_at(&self, micros: u64) -> Result<(), String> {
        let mut tried = self.tried.lock().await;
        if let Some(Tried { at_micros, result }) = &*tried
            && micros < at_micros.saturating_add(PAUSE_MICROS)
        {
            return result.clone();
        }
        let fetched = tokio::time::timeout(FETCH_MAX, self.fetch()).await;
        let fetched = fetched.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
        let result = fetched.map(|keys| {
            let keys = Arc::new(keys);
            let fetched = Fetched {
                keys,
                at_micros: micros,
            };
            *self.fetched.write().unwrap_or_else(PoisonError::into_inner) = Some(fetched);
        });
        if let Err(reason) = &result {
            let issuer = &self.options.issuer;
            tracing::warn!(issuer, reason, "keys of the OpenID provider not fetched, trying again");
        }
        *tried = Some(Tried {
            at_micros: micros,
            result: result.clone(),
        });
        result
    }

    async fn fetch(&self) -> Result<Keys, String> {
        let issuer = self.options.issuer.trim_end_matches('/');
        let described = self.document(&format!("{issuer}/{DISCOVERY}")).await?;
        let named = described["issuer"].as_str().unwrap_or_default();
        if named != self.options.issuer {
            return Err(format!(
                "the provider calls itself `{named}`; write exactly that as `issuer`"
            ));
        }
        let Some(address) = described["jwks_uri"].as_str() else {
            return Err("its description has no `jwks_uri`".to_owned());
        };
        if is_readable(address) {
            return Err(format!(
                "others could change its keys on their way from `{address}`: it needs https"
            ));
        }
        let keys = Keys::parse(&self.document(address).await?).filter(|keys| !keys.is_empty());
        keys.ok_or_else(|| format!("`{address}` has no key that this server can use"))
    }

    async fn document(&self, address: &str) -> Result<Value, String> {
        let failed = |error: &reqwest::Error| format!("`{address}`: {}", cause(error));
        let mut answer = self.http.get(address).send().await.map_err(|error| failed(&error))?;
        if !answer.status().is_success() {
            return Err(format!("`{address}` answered {}", answer.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > DOCUMENT_BYTES_MAX {
                return Err(format!("`{address}` is larger than {DOCUMENT_BYTES_MAX} bytes"));
            }
        }
        serde_json::from_slice(&body).map_err(|error| format!("`{address}`: {error}"))
    }

    fn unreachable(&self, reason: &str) -> Problem {
        let detail = format!(
            "the keys of the OpenID provider `{}` are not known: {reason}; try again in a moment",
            self.options.issuer
        );
        Problem::new(Code::IssuerUnreachable, detail)
    }
}
