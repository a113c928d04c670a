//! What a reply says about the effect.
//!
//! The status is judged first: a reply that says "not done" says so whatever becomes of its body.

use serde_json::Value;
use sprag_core::action::error::{ActionError, kind, of_http_status};
use sprag_core::action::outcome::{Failure, Outcome};

use super::body::BodyEnd;
use super::reply::Reply;

/// What an error shows of a reply's body at most.
const SHOWN_CHARACTERS_MAX: usize = 2_000;

impl Reply {
    /// The reply itself if it means success: `expected` is the whole truth when it is given, otherwise any 2xx is.
    pub fn judge(self, expected: Option<&[u16]>) -> Result<Self, Box<Outcome>> {
        if !self.is_expected(expected) {
            return Err(Box::new(self.failed()));
        }
        let unknown = |kind, message: String| Err(Box::new(Outcome::Unknown(Failure::new(self.error(kind, message)))));
        match &self.body.end {
            BodyEnd::Whole | BodyEnd::Endless => Ok(self),
            BodyEnd::Cut(how) => unknown(kind::NETWORK_ERROR, format!("the reply broke off: {how}")),
            BodyEnd::Late => unknown(kind::TIMEOUT, "the reply did not end in time".to_owned()),
        }
    }

    fn is_expected(&self, expected: Option<&[u16]>) -> bool {
        match expected {
            Some(codes) => codes.contains(&self.status),
            None => (200..300).contains(&self.status),
        }
    }

    fn failed(&self) -> Outcome {
        let error = self.error(
            of_http_status(self.status),
            format!("the reply has status {}", self.status),
        );
        let failure = Failure {
            error,
            retry_after: self.retry_after,
            hopeless: false,
        };
        match self.status {
            300..=499 | 503 => Outcome::NotDone(failure),
            _ => Outcome::Unknown(failure),
        }
    }

    fn error(&self, kind: &str, message: String) -> ActionError {
        let mut details = self.result();
        details["data"] = shown(self.data());
        ActionError::new(kind, message)
            .with_code(self.status.to_string())
            .with_details(details)
    }
}

/// The data itself while it is short, otherwise the beginning of its text.
fn shown(data: Value) -> Value {
    let text = match &data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().nth(SHOWN_CHARACTERS_MAX).is_none() {
        return data;
    }
    Value::String(text.chars().take(SHOWN_CHARACTERS_MAX).chain(['…']).collect())
}
