//! `email`: mail over SMTP or through a vendor.
//!
//! Every attempt of an action sends the same `Message-ID`, so a receiver can tell a repeat from a second mail. For
//! `smtp` the words come from the machine's templates; a vendor has templates of its own. A server that a definition
//! names is looked at by the outbound guard; those of `sprag.toml` are the operator's word.

mod address;
mod config;
mod letter;
mod options;
mod sendgrid;
mod smtp;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Done, Outcome, ResultEvent};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};
use tokio::time::Instant;

use crate::http::Client;
use crate::http::outbound::Guard;
use crate::registry::config::{is_within, refused};
use crate::registry::providers::{Asked, OptionsError};
use crate::secrets::Secrets;
use crate::webhook::destination;
use config::{Config, Content, SmtpServer};
use options::{SENDGRID, SMTP, Security, Sendgrid, Smtp};
use smtp::Route;
use sprag_core::document::Stage;

pub(crate) use address::check as check_address;
pub use options::{SendgridOptions, SmtpOptions};

/// Where no secret may appear. What a mail template makes of its variables is not masked.
const NO_SECRETS: [&str; 3] = ["/provider", "/template", "/variables"];

const TYPE: &str = "email";

/// Who can send, as far as the configuration says.
#[derive(Default)]
pub(crate) struct Providers {
    smtp: Option<Smtp>,
    sendgrid: Option<Sendgrid>,
}

/// Runs `email` actions.
pub struct Email {
    providers: Providers,
    secrets: Arc<Secrets>,
    /// For servers that definitions name.
    guard: Guard,
    /// For servers that the operator names.
    open: Guard,
    client: Client,
}

/// What the configuration says about mail.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// `[providers.smtp]`.
    pub smtp: Option<&'a SmtpOptions>,
    /// `[providers.sendgrid]`.
    pub sendgrid: Option<&'a SendgridOptions>,
}

impl Email {
    /// A runner that sends through the providers of the configuration. `guard` looks at what definitions name;
    /// `client` and `open` reach what the operator names.
    pub fn new(
        options: Options<'_>,
        secrets: Arc<Secrets>,
        (guard, open): (Guard, Guard),
        client: Client,
    ) -> Result<Self, OptionsError> {
        let Options { smtp, sendgrid } = options;
        Ok(Self {
            providers: Providers {
                smtp: smtp.map(SmtpOptions::check).transpose()?,
                sendgrid: sendgrid.map(SendgridOptions::check).transpose()?,
            },
            secrets,
            guard,
            open,
            client,
        })
    }

    /// Everything that is wrong with the options.
    pub fn check(options: Options<'_>) -> Vec<OptionsError> {
        let Options { smtp, sendgrid } = options;
        let smtp = smtp.and_then(|smtp| smtp.check().err());
        let sendgrid = sendgrid.and_then(|sendgrid| sendgrid.check().err());
        smtp.into_iter().chain(sendgrid).collect()
    }

    async fn send(&self, attempt: Attempt<'_>, asked: &mut Asked) -> Result<Done, Box<Outcome>> {
        let config = config::read(attempt.config, Stage::Rendered, &self.providers)
            .map_err(|problems| Box::new(refused(&problems)))?;
        let (id, answer) = if config.provider == SMTP {
            self.deliver(&config, attempt, asked).await?
        } else {
            self.hand_over(&config, attempt, asked).await?
        };
        Ok(done(&config, &id, &answer, attempt.action_id))
    }

    async fn deliver(
        &self,
        config: &Config,
        attempt: Attempt<'_>,
        asked: &mut Asked,
    ) -> Result<(String, Value), Box<Outcome>> {
        let deadline = Instant::now() + attempt.timeout;
        let mail = letter::words(config, attempt.templates)?;
        let id = letter::message_id(config, attempt.idempotency_key);
        let message = letter::message(config, mail, id.clone(), self.client.now())?;
        let route = match &config.server {
            Some(server) => self.named_by_definition(server).await?,
            None => self.named_by_operator(asked).await?,
        };
        let answer = route.deliver(&message, deadline).await?;
        Ok((id, Value::from(answer)))
    }

    async fn named_by_definition(&self, server: &SmtpServer) -> Result<Route, Box<Outcome>> {
        let SmtpServer {
            host,
            port,
            security,
            login,
        } = server;
        let addresses = self.guard.check_tcp(host, *port).await;
        Ok(Route {
            host: host.clone(),
            addresses: addresses.map_err(|error| Box::new(error.outcome()))?,
            security: *security,
            login: login.clone(),
            ca: None,
        })
    }

    async fn named_by_operator(&self, asked: &mut Asked) -> Result<Route, Box<Outcome>> {
        let Smtp {
            host,
            port,
            security,
            login,
            from: _,
            ca,
        } = self.providers.smtp.as_ref().ok_or_else(|| not_configured(SMTP))?;
        let login = match login {
            Some((username, password)) => Some((
                asked.fill(&self.secrets, (SMTP, "username"), username).await?,
                asked.fill(&self.secrets, (SMTP, "password"), password).await?,
            )),
            None => None,
        };
        let addresses = self.open.check_tcp(host, *port).await;
        Ok(Route {
            host: host.clone(),
            addresses: addresses.map_err(|error| Box::new(error.outcome()))?,
            security: *security,
            login,
            ca: ca.clone(),
        })
    }

    async fn hand_over(
        &self,
        config: &Config,
        attempt: Attempt<'_>,
        asked: &mut Asked,
    ) -> Result<(String, Value), Box<Outcome>> {
        let vendor = self
            .providers
            .sendgrid
            .as_ref()
            .ok_or_else(|| not_configured(SENDGRID))?;
        let key = asked.fill(&self.secrets, (SENDGRID, "key"), &vendor.key).await?;
        let request = sendgrid::request(vendor, config, (&key, attempt.idempotency_key), attempt.timeout)?;
        let reply = self.client.send(request).await?;
        let reply = sendgrid::judge(reply, self.client.now())?;
        let id = reply.header("x-message-id").unwrap_or_default().to_owned();
        Ok((id, json!(reply.status())))
    }
}

impl Runner for Email {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::check(config, &self.providers)
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        !is_within(pointer, &NO_SECRETS)
    }

    fn warnings(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        self.guard.warning(config, "/server/host").into_iter().collect()
    }

    fn permissions(&self, kind: &str, config: &Value) -> Vec<Permission> {
        let object = self.destination(kind, config);
        let permission = object.map(|object| Permission {
            scope: "network".to_owned(),
            object,
        });
        permission.into_iter().collect()
    }

    fn destination(&self, _kind: &str, config: &Value) -> Option<String> {
        match config.get("provider")?.as_str()? {
            SMTP => match config.get("server").filter(|server| !server.is_null()) {
                Some(server) => {
                    let security = server
                        .get("security")
                        .and_then(Value::as_str)
                        .map_or(Security::Starttls, Security::of);
                    let port = server
                        .get("port")
                        .and_then(Value::as_u64)
                        .unwrap_or_else(|| security.port().into());
                    Some(format!("{}:{port}", server.get("host")?.as_str()?))
                }
                None => self
                    .providers
                    .smtp
                    .as_ref()
                    .map(|smtp| format!("{}:{}", smtp.host, smtp.port)),
            },
            SENDGRID => destination(self.providers.sendgrid.as_ref()?.url.as_str()),
            _ => None,
        }
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let mut asked = Asked::default();
            let sent = self.send(attempt, &mut asked).await;
            asked.masked(sent.map_or_else(|failed| *failed, Outcome::Done))
        })
    }
}

fn not_configured(provider: &str) -> Box<Outcome> {
    let message = format!("`[providers.{provider}]` is not configured");
    Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
}

fn done(config: &Config, id: &str, answer: &Value, action_id: &str) -> Done {
    let template = match &config.content {
        Content::Template { name, .. } => Some(name.as_str()),
        Content::Words { .. } => None,
    };
    let recipients = config.recipients();
    let result = json!({
        "messageId": id,
        "recipients": recipients,
        "template": template,
        "provider": config.provider,
        "answer": answer,
    });
    let payload = json!({
        "messageId": id,
        "recipients": recipients,
        "template": template,
        "actionId": action_id,
    });
    Done {
        result,
        event: Some(ResultEvent {
            kind: "email_sent".to_owned(),
            payload,
        }),
        cost: None,
        metadata: Map::new(),
    }
}
