//! What the provider answers, and what it means.

use serde_json::{Map, Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Done, Failure, Outcome, ResultEvent};

use super::config::Milestone;
use crate::http::Reply;

/// A message at the provider.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) sid: String,
    pub(super) status: String,
    error_code: Option<i64>,
    why: Option<String>,
    data: Value,
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not far enough yet.
    Under,
    /// As far as it was to get.
    Reached,
    /// It ended before.
    Failed,
}

impl Message {
    /// The message that a reply is about. None where it is about none.
    pub(super) fn of(reply: &Reply) -> Option<Self> {
        let data = reply.data();
        let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            sid: text("sid")?,
            status: text("status").unwrap_or_else(|| "accepted".to_owned()),
            error_code: data.get("error_code").and_then(Value::as_i64),
            why: text("error_message"),
            data,
        })
    }

    /// How far it has come, on the way to `milestone`.
    pub(super) fn progress(&self, milestone: Option<Milestone>) -> Progress {
        match (self.status.as_str(), milestone) {
            ("failed" | "undelivered" | "canceled", _) => Progress::Failed,
            ("delivered" | "read" | "partially_delivered" | "received", _)
            | ("sent", Some(Milestone::Sent))
            | (_, None) => Progress::Reached,
            _ => Progress::Under,
        }
    }

    /// The attempt's result.
    pub(super) fn done(&self, to: &str, action_id: &str) -> Done {
        let result = json!({
            "sid": self.sid,
            "to": to,
            "from": self.data["from"],
            "status": self.status,
            "segments": self.data["num_segments"],
        });
        let payload = json!({"sid": self.sid, "to": to, "actionId": action_id});
        // Prices are negative there: what the account loses.
        let price = self.data["price"].as_str().and_then(|price| price.parse::<f64>().ok());
        Done {
            result,
            event: Some(ResultEvent {
                kind: "sms_sent".to_owned(),
                payload,
            }),
            cost: price.map(f64::abs),
            metadata: Map::new(),
        }
    }

    /// The outcome of an attempt whose message ended on its way.
    pub(super) fn failed(&self) -> Outcome {
        let code = self.error_code;
        let why = self.why.as_deref().unwrap_or("the provider gives no reason");
        let kind = code.and_then(of_code).unwrap_or(kind::TEMPORARY_FAILURE);
        let mut error = ActionError::new(kind, format!("message `{}` is `{}`: {why}", self.sid, self.status))
            .with_details(json!({"sid": self.sid, "status": self.status, "provider": "twilio"}));
        if let Some(code) = code {
            error = error.with_code(code.to_string()).with_fix(page(code));
        }
        Outcome::NotDone(Failure::new(error))
    }
}

/// The error type of one of the provider's codes; none where the status of its reply says enough.
fn of_code(code: i64) -> Option<&'static str> {
    Some(match code {
        20003 | 20008 => kind::AUTHENTICATION_FAILED,
        20429 | 14107 | 21611 | 30001 | 30022 | 63018 => kind::RATE_LIMIT,
        20404 | 30005 | 30006 => kind::NOT_FOUND,
        20500 | 20503 => kind::SERVICE_UNAVAILABLE,
        // Regions that are not enabled, numbers that are not verified, accounts that are suspended, filters.
        21408 | 21608 | 30002 | 30004 | 30007 => kind::AUTHORIZATION_FAILED,
        // The receiver asked to be left alone.
        21610 => kind::CONFLICT,
        // Senders and services that are not the account's.
        21212 | 21603 | 21606 | 21612 | 21659 | 21660 | 21701 | 21703 => kind::INVALID_CONFIGURATION,
        21211 | 21602 | 21604 | 21614 | 21617 => kind::MALFORMED_REQUEST,
        30003 | 30008 | 30009 | 30010 => kind::TEMPORARY_FAILURE,
        _ => return None,
    })
}

fn page(code: i64) -> String {
    format!("see https://www.twilio.com/docs/api/errors/{code}")
}

/// Puts the provider's own words into the outcome of a request that it refused.
pub(super) fn explain(outcome: Outcome) -> Outcome {
    let explained = |mut failure: Failure| {
        let error = &mut failure.error;
        let data = error.details.as_ref().and_then(|details| details.get("data")).cloned();
        let code = data.as_ref().and_then(|data| data.get("code")).and_then(Value::as_i64);
        let Some(code) = code else {
            return failure;
        };
        if let Some(kind) = of_code(code) {
            kind.clone_into(&mut error.kind);
        }
        if let Some(message) = data
            .as_ref()
            .and_then(|data| data.get("message"))
            .and_then(Value::as_str)
        {
            error.message = format!("twilio: {message} (code {code})");
        }
        error.code = Some(code.to_string());
        let fix = if error.kind == kind::AUTHENTICATION_FAILED {
            "check `account` and `token` of `[providers.twilio]`".to_owned()
        } else {
            page(code)
        };
        failure.error = failure.error.with_fix(fix);
        failure
    };
    match outcome {
        Outcome::Done(done) => Outcome::Done(done),
        Outcome::NotDone(failure) => Outcome::NotDone(explained(failure)),
        Outcome::Unknown(failure) => Outcome::Unknown(explained(failure)),
    }
}
