//! What was sent and what came back, as it is shown: secrets masked, bodies read.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use sprag_core::action::{ActionError, Outcome};
use sprag_core::text::redact::Redactor;
use sprag_runners::http::{Exchange, Observer, Request};

/// What is shown of a body at most.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Exchanges that are kept; a test with more is not read by anybody.
const KEPT_MAX: usize = 10_000;
/// Takes the place of a value that a runner calls sensitive and no secret was found in.
const SENSITIVE: &str = "[sensitive]";
/// Members of a reply that hold credentials.
const CREDENTIALS: [&str; 4] = ["access_token", "refresh_token", "id_token", "client_secret"];

/// One exchange, as it was.
struct Kept {
    attempt: u32,
    request: Value,
    /// Headers whose values are not to be seen.
    sensitive: Vec<String>,
    reply: Option<Value>,
    error: Option<ActionError>,
    millis: u64,
}

/// Keeps every exchange of a test.
#[derive(Default)]
pub(super) struct Recorder(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    attempt: u32,
    kept: Vec<Kept>,
}

/// One exchange, as it is shown.
pub(super) struct Interaction {
    pub(super) attempt: u32,
    pub(super) request: Value,
    pub(super) reply: Option<Value>,
    pub(super) error: Option<Value>,
    pub(super) millis: u64,
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What follows belongs to this attempt.
    pub(super) fn begins(&self, attempt: u32) {
        self.lock().attempt = attempt;
    }

    /// Everything so far, with these secrets masked.
    pub(super) fn shown(&self, redactor: &Redactor) -> Vec<Interaction> {
        self.lock().kept.iter().map(|kept| kept.shown(redactor)).collect()
    }
}

impl Observer for Recorder {
    fn exchanged(&self, exchange: Exchange<'_>) {
        let mut recorded = self.lock();
        let attempt = recorded.attempt;
        if recorded.kept.len() == KEPT_MAX {
            return;
        }
        let error = match exchange.came {
            Err(Outcome::NotDone(failure) | Outcome::Unknown(failure)) => Some(failure.error.clone()),
            _ => None,
        };
        recorded.kept.push(Kept {
            attempt,
            request: view(exchange.request),
            sensitive: sensitive(exchange.request),
            reply: exchange.came.ok().map(|reply| credentials_masked(reply.result())),
            error,
            millis: u64::try_from(exchange.took.as_millis()).unwrap_or(u64::MAX),
        });
    }
}

impl Kept {
    fn shown(&self, redactor: &Redactor) -> Interaction {
        let mut request = self.request.clone();
        redactor.value(&mut request);
        for name in &self.sensitive {
            let before = self.request.pointer("/headers").and_then(|headers| headers.get(name));
            if let Some(shown) = request
                .pointer_mut("/headers")
                .and_then(|headers| headers.get_mut(name))
                && before == Some(&*shown)
            {
                *shown = json!(SENSITIVE);
            }
        }
        let masked = |mut value: Value| {
            redactor.value(&mut value);
            value
        };
        Interaction {
            attempt: self.attempt,
            request,
            reply: self.reply.clone().map(masked),
            error: self.error.as_ref().map(|error| masked(json!(error))),
            millis: self.millis,
        }
    }
}

/// `{method, url, headers, body}`.
fn view(request: &Request) -> Value {
    let mut headers = Map::new();
    for name in request.headers.keys() {
        let values = request.headers.get_all(name).iter();
        let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        headers.insert(name.as_str().to_owned(), json!(values.join(", ")));
    }
    json!({
        "method": request.method.as_str(),
        "url": request.url.as_str(),
        "headers": headers,
        "body": request.body.as_deref().map(body),
    })
}

fn body(bytes: &[u8]) -> Value {
    if bytes.len() <= BODY_BYTES_MAX
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return value;
    }
    let kept = bytes.get(..BODY_BYTES_MAX).unwrap_or(bytes);
    Value::String(String::from_utf8_lossy(kept).into_owned())
}

fn sensitive(request: &Request) -> Vec<String> {
    let headers = request.headers.iter().filter(|(_, value)| value.is_sensitive());
    headers.map(|(name, _)| name.as_str().to_owned()).collect()
}

fn credentials_masked(mut reply: Value) -> Value {
    if let Some(Value::Object(data)) = reply.get_mut("data") {
        for name in CREDENTIALS {
            if let Some(value) = data.get_mut(name) {
                *value = json!(SENSITIVE);
            }
        }
    }
    reply
}
