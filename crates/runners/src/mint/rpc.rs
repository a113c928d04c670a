//! JSON-RPC over the shared HTTP client: one question, one answer, and nothing taken on trust.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use url::Url;

use crate::http::{Client, Request};

/// The longest a node may think about one question.
const CALL_MAX: Duration = Duration::from_secs(10);
/// The least it is given, also when an attempt's time is nearly over.
const CALL_MIN: Duration = Duration::from_millis(100);
const ID: u64 = 1;
/// What is kept of a node's message.
const MESSAGE_CHARACTERS_MAX: usize = 300;
/// The code of a method that a node does not have.
const METHOD_NOT_FOUND: i64 = -32601;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Error {
    /// The question or the answer did not get through, or was no JSON-RPC.
    Transport(Failure),
    /// The node said no.
    Node(Refusal),
}

/// A node's no.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Error {
    /// An answer that cannot be what the node meant to say.
    pub(super) fn garbage(what: &str, method: &str) -> Self {
        let message = format!("the node's answer to `{method}` is {what}");
        let error = ActionError::new(kind::SERVICE_UNAVAILABLE, message)
            .with_fix("check that the URL is a JSON-RPC endpoint of the chain, and that the node is in order");
        Self::Transport(Failure::new(error))
    }

    /// Whether the node has no such method.
    pub(super) fn is_missing_method(&self) -> bool {
        matches!(self, Self::Node(refusal) if refusal.code == METHOD_NOT_FOUND)
    }

    /// The failure of an attempt that ends here.
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Transport(failure) => failure,
            Self::Node(refusal) => refusal.failure(),
        }
    }
}

/// A node.
pub(super) struct Rpc {
    client: Client,
    url: Url,
}

impl Rpc {
    /// The node at `url`.
    pub(super) fn new(client: Client, url: Url) -> Self {
        Self { client, url }
    }

    /// Asks once.
    pub(super) async fn call(&self, method: &str, params: Value, left: Duration) -> Result<Value, Error> {
        let question = json!({"jsonrpc": "2.0", "id": ID, "method": method, "params": params});
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = Request {
            method: Method::POST,
            url: self.url.clone(),
            headers,
            body: Some(question.to_string().into_bytes()),
            timeout: left.clamp(CALL_MIN, CALL_MAX),
        };
        let reply = self.client.send(request).await.map_err(|outcome| transport(*outcome))?;
        // Some nodes put an HTTP status on their refusals: the body says more.
        if let Some(refusal) = refusal(&reply.data()) {
            return Err(Error::Node(refusal));
        }
        let reply = reply.judge(None).map_err(|outcome| transport(*outcome))?;
        if !reply.is_whole_json() {
            return Err(Error::garbage("not JSON, or too long", method));
        }
        let mut data = reply.data();
        if data.get("id") != Some(&json!(ID)) {
            return Err(Error::garbage("not an answer to the question", method));
        }
        match data.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(Error::garbage("without a result", method)),
        }
    }
}

fn refusal(data: &Value) -> Option<Refusal> {
    let error = data.get("error")?.as_object()?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
    Some(Refusal {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: message.chars().take(MESSAGE_CHARACTERS_MAX).collect(),
        data: error.get("data").cloned(),
    })
}

/// Questions change nothing, so what is known about an effect is for the caller to say.
fn transport(outcome: Outcome) -> Error {
    match outcome {
        Outcome::NotDone(failure) | Outcome::Unknown(failure) => Error::Transport(failure),
        Outcome::Done(_) => Error::garbage("no answer", "a call"),
    }
}
