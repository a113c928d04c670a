//! A person's word under an `Idempotency-Key`: sent again, it is answered as the first time and does nothing.
//!
//! Answers are kept with what is remembered of the worker, so they are there after a restart. What was begun and never
//! answered, because the process died in between, is done again: a word to a worker is a level, not a count.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::time::Timestamp;
use sprag_engine::requests::idempotency::KEPT_MILLIS;
use sprag_supervisor::store::Store;

use crate::handlers::reply::ok;
use crate::problem::Problem;
use crate::request::once::{REPLAYED, text};

/// Under which name the answers of a worker are kept.
const KEPT: &str = "answers";
/// The most answers that are kept of one worker: the newest.
const ANSWERS_MAX: usize = 256;

/// What was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answered {
    key: String,
    verb: String,
    at: Timestamp,
    body: Value,
}

/// A request that may have been answered before.
pub(super) struct IdempotentRequest<'a> {
    store: &'a Store,
    worker: Arc<str>,
    verb: &'static str,
    key: Option<String>,
    now: Timestamp,
}

impl<'a> IdempotentRequest<'a> {
    /// What is asked of `worker`, under the request's key if it has one.
    pub(super) fn new(
        store: &'a Store,
        (worker, verb): (&str, &'static str),
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        Ok(Self {
            store,
            worker: Arc::from(worker),
            verb,
            key: text(headers)?,
            now,
        })
    }

    /// The answer that was given before.
    pub(super) fn replay(&self) -> Option<Response> {
        let key = self.key.as_deref()?;
        let found = self
            .kept()
            .into_iter()
            .find(|answered| answered.key == key && answered.verb == self.verb)?;
        let mut response = ok(&found.body);
        let replayed: HeaderName = REPLAYED;
        response
            .headers_mut()
            .insert(replayed, HeaderValue::from_static("true"));
        Some(response)
    }

    /// The answer, kept if there is a key, and on disk before it is given.
    pub(super) async fn answer<T: Serialize + JsonSchema>(&self, body: &T) -> Response {
        let Some(key) = self.key.clone() else {
            return ok(body);
        };
        let mut kept = self.kept();
        kept.push(Answered {
            key,
            verb: self.verb.to_owned(),
            at: self.now,
            body: json!(body),
        });
        let surplus = kept.len().saturating_sub(ANSWERS_MAX);
        kept.drain(..surplus);
        let document = serde_json::to_value(&kept).unwrap_or_default();
        match self.store.put_memory(&self.worker, KEPT, &document, self.now) {
            // A disk that takes nothing is said by the store itself; the word was heard all the same.
            Ok(durable) => {
                let _ = durable.wait().await;
            }
            Err(problem) => tracing::error!(worker = %self.worker, %problem, "idempotent answer not stored"),
        }
        ok(body)
    }

    /// Those of a day.
    fn kept(&self) -> Vec<Answered> {
        let kept = self.store.memory(&self.worker, KEPT);
        let kept: Vec<Answered> = kept
            .and_then(|kept| serde_json::from_value(kept).ok())
            .unwrap_or_default();
        let is_young = |answered: &Answered| self.now.since(answered.at) < KEPT_MILLIS;
        kept.into_iter().filter(is_young).collect()
    }
}
