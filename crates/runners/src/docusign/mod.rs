//! `docusign_envelope`: an envelope made of a template, sent for signature.
//!
//! Every envelope carries the action's idempotency key, as the vendor's transaction id and as a custom field. So where
//! an outcome is unknown the vendor is asked whether the envelope is there, and no repeat is sent before that question
//! is answered. An envelope that is not found is still unknown: the vendor may be about to make it.
//!
//! That the envelope was signed comes back as a call of the machine's hook (`verify: docusign-hmac`).

mod config;
mod options;
mod people;
mod session;
mod vendor;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome, Probe};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};
use tokio::time::Instant;

use crate::http::Client;
use crate::http::oauth::{Bearer, Grant, JwtBearer, Origin, SigningKey, Tokens};
use crate::registry::config::{is_within, refused};
use crate::registry::providers::{Asked, OptionsError, below};
use crate::secrets::{Secrets, Text};
use crate::webhook::{destination, network};
use config::Provider;
use options::{DOCUSIGN, Docusign};
use session::DocusignSession;
use sprag_core::document::Stage;

pub use options::DocusignOptions;

/// Where no secret may appear.
const NO_SECRETS: [&str; 1] = ["/status"];

const TYPE: &str = "docusign_envelope";
const SCOPE: &str = "signature impersonation";

/// How a runner that ends early says so.
type Stop = Box<Outcome>;

/// Runs `docusign_envelope` actions.
pub struct DocusignEnvelope {
    docusign: Option<Docusign>,
    secrets: Arc<Secrets>,
    tokens: Tokens,
    client: Client,
}

impl DocusignEnvelope {
    /// A runner that sends with the account of the configuration. `client` reaches what the operator names.
    pub fn new(options: Option<&DocusignOptions>, secrets: Arc<Secrets>, client: Client) -> Result<Self, OptionsError> {
        Ok(Self {
            docusign: options.map(DocusignOptions::check).transpose()?,
            secrets,
            tokens: Tokens::default(),
            client,
        })
    }

    /// Whether the options can be used.
    pub fn check(options: &DocusignOptions) -> Result<(), OptionsError> {
        options.check().map(drop)
    }

    async fn send(&self, attempt: Attempt<'_>) -> Outcome {
        let mut asked = Asked::default();
        let outcome = match self.session(attempt, &mut asked).await {
            Ok(mut session) => {
                let sent = session.send().await;
                asked.fetched("accessToken", session.bearer.used);
                sent.map_or_else(|stop| *stop, Outcome::Done)
            }
            Err(stop) => *stop,
        };
        outcome.masked(&asked.redactor())
    }

    async fn ask(&self, attempt: Attempt<'_>) -> Probe {
        let mut asked = Asked::default();
        let Ok(mut session) = self.session(attempt, &mut asked).await else {
            return Probe::Unclear;
        };
        let found = session.find().await;
        asked.fetched("accessToken", session.bearer.used);
        match found {
            Ok(Some(envelope)) => Probe::Happened(envelope.done(attempt.action_id)).masked(&asked.redactor()),
            _ => Probe::Unclear,
        }
    }

    async fn session<'a>(&'a self, attempt: Attempt<'a>, asked: &mut Asked) -> Result<DocusignSession<'a>, Stop> {
        let deadline = Instant::now() + attempt.timeout;
        let config = config::read(attempt.config, Stage::Rendered, self.provider())
            .map_err(|problems| Box::new(refused(&problems)))?;
        let Some(docusign) = &self.docusign else {
            let message = "`[providers.docusign]` is not configured";
            return Err(Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message)));
        };
        let account = self.fill(asked, "account", &docusign.account).await?;
        let grant = JwtBearer {
            endpoint: below(&docusign.auth_url, &["oauth", "token"]),
            issuer: self.fill(asked, "integrationKey", &docusign.integration_key).await?,
            subject: self.fill(asked, "user", &docusign.user).await?,
            audience: docusign.audience(),
            scope: SCOPE.to_owned(),
            key: self.fill(asked, "privateKey", &docusign.private_key).await?,
        };
        check_key(&grant.key)?;
        Ok(DocusignSession {
            attempt,
            config,
            envelopes: below(&docusign.url, &["restapi", "v2.1", "accounts", &account, "envelopes"]),
            bearer: Bearer {
                tokens: &self.tokens,
                grant: Grant::Jwt(grant),
                origin: Origin::Configured,
                fetcher: &self.client,
                caller: &self.client,
                deadline,
                used: Vec::new(),
            },
        })
    }

    async fn fill(&self, asked: &mut Asked, key: &str, text: &Text) -> Result<String, Stop> {
        asked.fill(&self.secrets, (DOCUSIGN, key), text).await
    }

    fn provider(&self) -> Provider {
        match self.docusign {
            Some(_) => Provider::There,
            None => Provider::Missing,
        }
    }
}

impl Runner for DocusignEnvelope {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::check(config, self.provider())
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        !is_within(pointer, &NO_SECRETS)
    }

    fn permissions(&self, _kind: &str, _config: &Value) -> Vec<Permission> {
        let urls = self
            .docusign
            .iter()
            .flat_map(|docusign| [&docusign.url, &docusign.auth_url]);
        urls.filter_map(|url| network(url.as_str())).collect()
    }

    fn destination(&self, _kind: &str, _config: &Value) -> Option<String> {
        destination(self.docusign.as_ref()?.url.as_str())
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(self.send(attempt))
    }

    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        Some(Box::pin(self.ask(attempt)))
    }
}

/// A key that signs nothing is reported before the vendor is called.
fn check_key(pem: &str) -> Result<(), Stop> {
    SigningKey::parse(pem).map(drop).map_err(|error| {
        let message = format!("`[providers.docusign] privateKey`: {error}");
        let fix = "give the integration key's RSA private key in PEM, as DocuSign showed it when you created the key";
        let error = ActionError::new(kind::INVALID_CONFIGURATION, message).with_fix(fix);
        Box::new(Outcome::NotDone(Failure::new(error)))
    })
}
