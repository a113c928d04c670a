//! One attempt: who asks, and where.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Done, Outcome};
use sprag_core::action::runner::Attempt;
use url::Url;

use super::Stop;
use super::config::{Config, KEY_FIELD};
use super::vendor::{Envelope, explain};
use crate::http::oauth::Bearer;
use crate::http::{Reply, Request};

const JSON: &str = "application/json";
/// When the vendor counts calls anew, in seconds since 1970.
const RESET: &str = "x-ratelimit-reset";
/// The vendor knows transactions for seven days; the last one is left out, since clocks differ.
const TRANSACTION_MILLIS_MAX: u64 = 6 * 24 * 60 * 60 * 1_000;
/// Statuses of a server that has no list of envelopes to look into, such as a gateway that lets them only be made.
const NO_LIST: [u16; 3] = [404, 405, 501];

/// One attempt under way.
pub(super) struct DocusignSession<'a> {
    pub(super) attempt: Attempt<'a>,
    pub(super) config: Config,
    /// The account's envelopes.
    pub(super) envelopes: Url,
    pub(super) bearer: Bearer<'a>,
}

impl DocusignSession<'_> {
    /// Sends the envelope, unless an earlier attempt turns out to have sent it.
    pub(super) async fn send(&mut self) -> Result<Done, Stop> {
        if self.attempt.number > 1
            && let Some(envelope) = self.find().await.map_err(nothing_sent)?
        {
            return Ok(envelope.done(self.attempt.action_id));
        }
        let body = self.config.envelope(self.attempt.idempotency_key).to_string();
        let reply = self.ask(Method::POST, self.envelopes.clone(), Some(body)).await?;
        let reply = self.judged(reply)?;
        let envelope = Envelope::of(&reply.data()).ok_or_else(|| {
            let message = "the vendor took the envelope and gave it no id";
            Box::new(Outcome::unknown(kind::UNEXPECTED_STATUS, message))
        })?;
        Ok(envelope.done(self.attempt.action_id))
    }

    /// The envelope that carries the action's key, if the vendor has one. None also where the vendor cannot be asked.
    pub(super) async fn find(&mut self) -> Result<Option<Envelope>, Stop> {
        let mut url = self.envelopes.clone();
        let key = self.attempt.idempotency_key;
        let begun = self.attempt.action.at();
        if self.bearer.caller.now().since(begun) < TRANSACTION_MILLIS_MAX {
            url.query_pairs_mut().append_pair("transaction_ids", key);
        } else {
            url.query_pairs_mut()
                .append_pair("from_date", &begun.to_string())
                .append_pair("custom_field", &format!("{KEY_FIELD}={key}"));
        }
        url.query_pairs_mut().append_pair("include", "custom_fields");
        let reply = self.ask(Method::GET, url, None).await?;
        if NO_LIST.contains(&reply.status()) {
            return Ok(None);
        }
        let reply = self.judged(reply)?;
        if !reply.is_whole_json() {
            let message = "the vendor's list of envelopes cannot be read, so it is unknown whether there is one";
            return Err(Box::new(Outcome::unknown(kind::UNEXPECTED_STATUS, message)));
        }
        Ok(Envelope::in_list(&reply.data(), key))
    }

    async fn ask(&mut self, method: Method, url: Url, body: Option<String>) -> Result<Reply, Stop> {
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(JSON))]);
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        let request = Request {
            method,
            url,
            headers,
            body: body.map(String::into_bytes),
            timeout: self.attempt.timeout,
        };
        let reply = self.bearer.send(&request, None).await;
        reply.map_err(|outcome| Box::new(explain(*outcome)))
    }

    /// The reply itself if it means success.
    fn judged(&self, reply: Reply) -> Result<Reply, Stop> {
        let reset = reply.header(RESET).and_then(|text| text.trim().parse::<u64>().ok());
        let now = u64::try_from(self.bearer.caller.now().as_millis()).unwrap_or_default();
        reply.judge(None).map_err(|outcome| {
            let mut outcome = explain(*outcome);
            if let Outcome::NotDone(failure) = &mut outcome
                && failure.error.kind == kind::RATE_LIMIT
                && failure.retry_after.is_none()
            {
                failure.retry_after = reset.map(|seconds| seconds.saturating_mul(1_000).saturating_sub(now));
            }
            Box::new(outcome)
        })
    }
}

/// A question that failed sent nothing, whatever became of it.
fn nothing_sent(stop: Stop) -> Stop {
    match *stop {
        Outcome::Unknown(failure) => Box::new(Outcome::NotDone(failure)),
        other => Box::new(other),
    }
}
