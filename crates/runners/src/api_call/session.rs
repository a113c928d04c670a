//! One attempt at a call: its address, its credentials, and what it must not let be seen.

use reqwest::header::HeaderMap;
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Done, Outcome, Probe};
use sprag_core::action::runner::Attempt;
use sprag_core::text::redact::Redactor;
use tokio::time::Instant;
use url::Url;

use super::authentication::Authentication;
use super::config::Config;
use super::endpoint::Endpoint;
use super::services::Ready;
use super::{ApiCall, Stop};
use crate::http::oauth::{Bearer, Grant, Origin};
use crate::http::{Reply, Request};
use crate::webhook;

const EVENT: &str = "api_called";

/// One attempt under way.
pub(super) struct Session<'a> {
    runner: &'a ApiCall,
    attempt: Attempt<'a>,
    config: Config<'a>,
    base: Url,
    /// The service's headers, where the action gives none of that name.
    defaults: HeaderMap,
    authentication: Authentication,
    origin: Origin,
    /// What is masked, by name: the configuration's secrets, the credentials, and the tokens that were used.
    secrets: Vec<(String, String)>,
    deadline: Instant,
}

impl<'a> Session<'a> {
    /// The call that `config` asks for, of a service whose secrets are filled in.
    pub(super) fn new(runner: &'a ApiCall, attempt: Attempt<'a>, config: Config<'a>, service: Ready) -> Self {
        let Ready {
            base,
            headers,
            authentication,
            timeout,
            secrets,
        } = service;
        let (authentication, origin) = match &config.authentication {
            Some(own) => (own.clone(), Origin::Written),
            None => (authentication.unwrap_or(Authentication::None), Origin::Configured),
        };
        let time = timeout.map_or(attempt.timeout, |timeout| timeout.min(attempt.timeout));
        let mut session = Self {
            runner,
            attempt,
            config,
            base,
            defaults: headers,
            authentication,
            origin,
            secrets: secrets.into_iter().collect(),
            deadline: Instant::now() + time,
        };
        if let Some((name, value)) = session.authentication.secret() {
            // Named after its secret where it is one: that name says more.
            if !session.secrets.iter().any(|(_, known)| known == value) {
                session.secrets.push((name.to_owned(), value.to_owned()));
            }
        }
        session
    }

    /// Makes the call.
    pub(super) async fn call(&mut self) -> Result<Done, Stop> {
        let url = self.below(&self.config.endpoint)?;
        let mut headers = self.with_defaults(self.config.headers.clone());
        let body = self.config.body.as_ref();
        webhook::complete(&mut headers, self.attempt.idempotency_key, body)?;
        webhook::trace(&mut headers, &self.attempt)?;
        let request = Request {
            method: self.config.method.clone(),
            url: url.clone(),
            headers,
            body: body.map(|body| body.bytes.clone()),
            timeout: self.attempt.timeout,
        };
        let expected = self.config.expected.clone();
        let reply = self.exchange(request, expected.as_deref()).await?;
        let reply = reply.judge(expected.as_deref())?;
        Ok(webhook::called(
            EVENT,
            (&self.config.method, &url),
            &reply,
            self.attempt.action_id,
        ))
    }

    /// Asks whether an earlier call arrived.
    pub(super) async fn ask(&mut self) -> Probe {
        let Some(lookup) = self.config.lookup.take() else {
            return Probe::Unclear;
        };
        let (Ok(asked), Ok(called)) = (self.below(lookup.at()), self.below(&self.config.endpoint)) else {
            return Probe::Unclear;
        };
        let mut request = lookup.request(asked, self.attempt.timeout);
        request.headers = self.with_defaults(request.headers);
        match self.exchange(request, lookup.expected()).await {
            Ok(reply) => lookup.answer(reply, |reply| {
                webhook::called(EVENT, (&self.config.method, &called), reply, self.attempt.action_id)
            }),
            Err(_) => Probe::Unclear,
        }
    }

    /// Knows everything that must not be seen of this attempt.
    pub(super) fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    fn with_defaults(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, value) in &self.defaults {
            headers.entry(name).or_insert_with(|| value.clone());
        }
        headers
    }

    fn below(&self, endpoint: &Endpoint) -> Result<Url, Stop> {
        endpoint.below(&self.base).map_err(|error| {
            let message = format!("/endpoint: {error}");
            Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
        })
    }

    /// Sends the request with the credentials.
    async fn exchange(&mut self, mut request: Request, expected: Option<&[u16]>) -> Result<Reply, Stop> {
        let Authentication::OAuth2(client) = &self.authentication else {
            self.authentication
                .sign(&mut request)
                .map_err(|error| Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, error.to_string())))?;
            return self.runner.trusted.send_by(request, self.deadline).await;
        };
        let mut bearer = Bearer {
            tokens: &self.runner.tokens,
            grant: Grant::Client(client.clone()),
            origin: self.origin,
            fetcher: match self.origin {
                Origin::Configured => &self.runner.trusted,
                Origin::Written => &self.runner.guarded,
            },
            caller: &self.runner.trusted,
            deadline: self.deadline,
            used: Vec::new(),
        };
        let reply = bearer.send(&request, expected).await;
        let used = bearer.used.into_iter();
        self.secrets.extend(used.map(|token| ("accessToken".to_owned(), token)));
        reply
    }
}
