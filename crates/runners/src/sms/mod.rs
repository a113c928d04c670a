//! `sms`: text messages through a provider.
//!
//! The provider has no keys that make a repeat harmless, so a request that may have arrived is `Unknown`. Once a
//! message has a SID it is never sent again: an action that waits for its delivery commits the SID first, and every
//! later attempt or probe asks about that message, until it is known to have failed.

mod config;
mod options;
mod phone;
mod twilio;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Done, Outcome, Probe};
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Permission, Runner};
use tokio::time::Instant;
use url::form_urlencoded;

use crate::http::{Client, Reply, Request};
use crate::registry::config::{is_within, refused};
use crate::registry::providers::{Asked, OptionsError, below};
use crate::secrets::Secrets;
use crate::webhook::{destination, network};
use config::{Config, Milestone};
use options::{Sender, TWILIO, Twilio};
use sprag_core::document::Stage;
use twilio::{Message, Progress};

pub use options::TwilioOptions;

/// Where no secret may appear.
const NO_SECRETS: [&str; 2] = ["/provider", "/waitFor"];

const TYPE: &str = "sms";
const API: [&str; 2] = ["2010-04-01", "Accounts"];
/// How long to wait before a message is asked about again, at first and at most.
const POLL_FIRST: Duration = Duration::from_millis(500);
const POLL_LONGEST: Duration = Duration::from_secs(5);
const FORM: &str = "application/x-www-form-urlencoded";

/// Runs `sms` actions.
pub struct Sms {
    twilio: Option<Twilio>,
    secrets: Arc<Secrets>,
    client: Client,
}

/// The provider's address for one attempt, with the account in it.
struct Account {
    messages: Vec<String>,
    headers: HeaderMap,
}

impl Sms {
    /// A runner that sends through the providers of the configuration. `client` reaches what the operator names.
    pub fn new(twilio: Option<&TwilioOptions>, secrets: Arc<Secrets>, client: Client) -> Result<Self, OptionsError> {
        Ok(Self {
            twilio: twilio.map(TwilioOptions::check).transpose()?,
            secrets,
            client,
        })
    }

    /// Whether the options can be used.
    pub fn check(options: &TwilioOptions) -> Result<(), OptionsError> {
        options.check().map(drop)
    }

    async fn send(&self, attempt: Attempt<'_>, asked: &mut Asked) -> Result<Done, Box<Outcome>> {
        let config = self.read(attempt.config)?;
        let twilio = self.twilio()?;
        let account = self.account(twilio, asked).await?;
        let deadline = Instant::now() + attempt.timeout;
        let sid = if let Some(sid) = pending(attempt.checkpoint) {
            sid.to_owned()
        } else {
            let message = self.create(twilio, &account, &config, attempt.timeout).await?;
            match message.progress(config.wait_for) {
                Progress::Reached => return Ok(message.done(&config.to, attempt.action_id)),
                Progress::Failed => return Err(Box::new(message.failed())),
                Progress::Under => {}
            }
            let noted = attempt.control.checkpoint(json!({"sid": message.sid})).await;
            noted.map_err(|superseded| Box::new(Outcome::unknown(kind::UNKNOWN_ERROR, superseded.to_string())))?;
            message.sid
        };
        let message = self.follow(&account, &sid, config.wait_for, deadline).await?;
        if message.progress(config.wait_for) == Progress::Failed {
            // The next attempt must send another one: this one is over.
            let _ = attempt.control.checkpoint(json!({"ended": sid})).await;
            return Err(Box::new(message.failed()));
        }
        Ok(message.done(&config.to, attempt.action_id))
    }

    async fn create(
        &self,
        twilio: &Twilio,
        account: &Account,
        config: &Config,
        timeout: Duration,
    ) -> Result<Message, Box<Outcome>> {
        let mut headers = account.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
        let mut url = below(&twilio.url, &account.segments());
        url.set_path(&format!("{}.json", url.path()));
        let request = Request {
            method: Method::POST,
            url,
            headers,
            body: Some(form(config)),
            timeout,
        };
        let reply = self.ask(request).await?;
        Message::of(&reply).ok_or_else(|| {
            let message = "the provider accepted the message, but its answer has no SID";
            Box::new(Outcome::unknown(kind::UNEXPECTED_STATUS, message))
        })
    }

    async fn ask(&self, request: Request) -> Result<Reply, Box<Outcome>> {
        let reply = self.client.send(request).await?;
        reply.judge(None).map_err(|outcome| Box::new(twilio::explain(*outcome)))
    }

    async fn look(&self, account: &Account, sid: &str, timeout: Duration) -> Result<Message, Box<Outcome>> {
        let twilio = self.twilio()?;
        let file = format!("{sid}.json");
        let mut segments = account.segments();
        segments.push(&file);
        let request = Request {
            method: Method::GET,
            url: below(&twilio.url, &segments),
            headers: account.headers.clone(),
            body: None,
            timeout,
        };
        let reply = self.ask(request).await?;
        let missing = || {
            Box::new(Outcome::unknown(
                kind::UNEXPECTED_STATUS,
                "the reply is about no message",
            ))
        };
        Message::of(&reply).ok_or_else(missing)
    }

    /// Asks about a message until it came as far as it was to come, or failed. It was sent, so whatever else happens
    /// is unknown.
    async fn follow(
        &self,
        account: &Account,
        sid: &str,
        milestone: Option<Milestone>,
        deadline: Instant,
    ) -> Result<Message, Box<Outcome>> {
        let mut pause = POLL_FIRST;
        let mut last = "accepted".to_owned();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format!("message `{sid}` was still `{last}` at the end of the timeout");
                return Err(Box::new(Outcome::unknown(kind::TIMEOUT, message)));
            }
            match self.look(account, sid, left).await {
                Ok(message) if message.progress(milestone) == Progress::Under => last = message.status,
                Ok(message) => return Ok(message),
                Err(outcome) => match *outcome {
                    Outcome::NotDone(failure) | Outcome::Unknown(failure) if !is_passing(&failure.error.kind) => {
                        return Err(Box::new(Outcome::Unknown(failure)));
                    }
                    _ => {}
                },
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(POLL_LONGEST);
        }
    }

    async fn happened(&self, attempt: Attempt<'_>, sid: &str) -> Probe {
        let mut asked = Asked::default();
        let (Ok(config), Ok(twilio)) = (self.read(attempt.config), self.twilio()) else {
            return Probe::Unclear;
        };
        let Ok(account) = self.account(twilio, &mut asked).await else {
            return Probe::Unclear;
        };
        match self.look(&account, sid, attempt.timeout).await {
            Ok(message) => match message.progress(config.wait_for) {
                Progress::Reached => {
                    Probe::Happened(message.done(&config.to, attempt.action_id)).masked(&asked.redactor())
                }
                Progress::Failed => Probe::DidNotHappen,
                Progress::Under => Probe::Unclear,
            },
            Err(_) => Probe::Unclear,
        }
    }

    async fn account(&self, twilio: &Twilio, asked: &mut Asked) -> Result<Account, Box<Outcome>> {
        let account = asked.fill(&self.secrets, (TWILIO, "account"), &twilio.account).await?;
        let token = asked.fill(&self.secrets, (TWILIO, "token"), &twilio.token).await?;
        let user = match &twilio.api_key {
            Some(key) => asked.fill(&self.secrets, (TWILIO, "apiKey"), key).await?,
            None => account.clone(),
        };
        let encoded = STANDARD.encode(format!("{user}:{token}"));
        asked.also("providers_twilio", &encoded);
        let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).map_err(|_| {
            let message = "`[providers.twilio] token` holds what no header can";
            Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
        })?;
        value.set_sensitive(true);
        let mut messages: Vec<String> = API.iter().map(|part| (*part).to_owned()).collect();
        messages.extend([account, "Messages".to_owned()]);
        Ok(Account {
            messages,
            headers: HeaderMap::from_iter([(AUTHORIZATION, value)]),
        })
    }

    fn twilio(&self) -> Result<&Twilio, Box<Outcome>> {
        self.twilio.as_ref().ok_or_else(|| {
            let message = "`[providers.twilio]` is not configured";
            Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
        })
    }

    fn read(&self, config: &Value) -> Result<Config, Box<Outcome>> {
        config::read(config, Stage::Rendered, self.twilio.as_ref()).map_err(|problems| Box::new(refused(&problems)))
    }
}

impl Account {
    fn segments(&self) -> Vec<&str> {
        self.messages.iter().map(String::as_str).collect()
    }
}

impl Runner for Sms {
    fn types(&self) -> &[&str] {
        &[TYPE]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::check(config, self.twilio.as_ref())
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        !is_within(pointer, &NO_SECRETS)
    }

    fn permissions(&self, _kind: &str, _config: &Value) -> Vec<Permission> {
        let twilio = self.twilio.iter();
        twilio.filter_map(|twilio| network(twilio.url.as_str())).collect()
    }

    fn destination(&self, _kind: &str, _config: &Value) -> Option<String> {
        destination(self.twilio.as_ref()?.url.as_str())
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let mut asked = Asked::default();
            let sent = self.send(attempt, &mut asked).await;
            asked.masked(sent.map_or_else(|failed| *failed, Outcome::Done))
        })
    }

    fn probe<'a>(&'a self, attempt: Attempt<'a>) -> Option<BoxFuture<'a, Probe>> {
        let sid = pending(attempt.checkpoint)?;
        Some(Box::pin(self.happened(attempt, sid)))
    }
}

/// The message that an earlier attempt sent and that is not known to have failed.
fn pending(checkpoint: Option<&Value>) -> Option<&str> {
    checkpoint?.get("sid")?.as_str()
}

/// Whether asking again may help.
fn is_passing(kind: &str) -> bool {
    !kind::NOT_RETRIED_BY_DEFAULT.contains(&kind)
}

fn form(config: &Config) -> Vec<u8> {
    let Config {
        to,
        message,
        sender,
        media,
        wait_for: _,
    } = config;
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("To", to);
    match sender {
        Sender::From(from) => form.append_pair("From", from),
        Sender::Service(service) => form.append_pair("MessagingServiceSid", service),
    };
    form.append_pair("Body", message);
    for url in media {
        form.append_pair("MediaUrl", url);
    }
    form.finish().into_bytes()
}
