//! How an attempt ended. Three-way, because the world does not always say.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::{ActionError, kind};
use crate::text;
use crate::text::redact::Redactor;

/// What a runner reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The effect happened.
    Done(Done),
    /// It certainly did not.
    NotDone(Failure),
    /// Something may have left; it is unknown whether it arrived.
    Unknown(Failure),
}

/// An effect that happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// What came back, for the machine.
    pub result: Value,
    /// The runner's own event, as in `email_sent`.
    pub event: Option<ResultEvent>,
    /// What it cost, where the runner knows.
    pub cost: Option<f64>,
    /// Whatever else is worth keeping.
    pub metadata: Map<String, Value>,
}

/// The event that a runner makes of its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultEvent {
    /// `email_sent`, `webhook_called`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// What the event carries.
    pub payload: Value,
}

/// An attempt that did not succeed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Why.
    pub error: ActionError,
    /// The earliest time for another attempt that the other side asked for, in milliseconds from now.
    pub retry_after: Option<u64>,
    /// The runner's veto: no retry can ever help. Never set for an HTTP status.
    pub hopeless: bool,
}

impl Failure {
    /// A failure with nothing more to say than its error.
    pub fn new(error: ActionError) -> Self {
        Self {
            error,
            retry_after: None,
            hopeless: false,
        }
    }
}

impl Done {
    fn masked(self, redactor: &Redactor) -> Self {
        let Self {
            mut result,
            mut event,
            cost,
            metadata,
        } = self;
        redactor.value(&mut result);
        if let Some(event) = event.as_mut() {
            redactor.value(&mut event.payload);
        }
        let mut metadata = Value::Object(metadata);
        redactor.value(&mut metadata);
        let metadata = match metadata {
            Value::Object(metadata) => metadata,
            _ => Map::new(),
        };
        Self {
            result,
            event,
            cost,
            metadata,
        }
    }
}

impl Failure {
    fn masked(mut self, redactor: &Redactor) -> Self {
        let error = &mut self.error;
        error.kind = redactor.text(&error.kind).into_owned();
        error.message = redactor.text(&error.message).into_owned();
        error.code = error.code.take().map(|code| redactor.text(&code).into_owned());
        if let Some(details) = error.details.as_mut() {
            redactor.value(details);
        }
        self
    }
}

impl Outcome {
    /// Success with `result` and nothing else.
    pub fn done(result: Value) -> Self {
        Self::Done(Done {
            result,
            ..Done::default()
        })
    }

    /// Certainly no effect.
    pub fn not_done(kind: &str, message: impl Into<String>) -> Self {
        Self::NotDone(Failure::new(ActionError::new(kind, message)))
    }

    /// Perhaps an effect.
    pub fn unknown(kind: &str, message: impl Into<String>) -> Self {
        Self::Unknown(Failure::new(ActionError::new(kind, message)))
    }

    /// The same with every secret that `redactor` knows masked.
    #[must_use]
    pub fn masked(self, redactor: &Redactor) -> Self {
        match self {
            Self::Done(done) => Self::Done(done.masked(redactor)),
            Self::NotDone(failure) => Self::NotDone(failure.masked(redactor)),
            Self::Unknown(failure) => Self::Unknown(failure.masked(redactor)),
        }
    }

    /// The same with an error type that every store can hold. Everything else of an outcome is stored as JSON, which
    /// holds any text.
    #[must_use]
    pub fn storable(mut self) -> Self {
        if let Self::NotDone(failure) | Self::Unknown(failure) = &mut self
            && let Cow::Owned(kind) = text::error_type(&failure.error.kind)
        {
            failure.error.kind = kind;
        }
        self
    }

    /// The replacement for an outcome that the store refused: it says the same about the effect, as far as an error can,
    /// and holds nothing of what the world said. An effect that happened, or may have, is not tried again.
    #[must_use]
    pub fn not_stored(&self) -> Self {
        let message = "the store refused the outcome of the attempt; the server's log has the reason";
        let failure = |hopeless| Failure {
            hopeless,
            ..Failure::new(ActionError::new(kind::OUTCOME_REFUSED, message))
        };
        match self {
            Self::NotDone(_) => Self::NotDone(failure(false)),
            Self::Done(_) | Self::Unknown(_) => Self::Unknown(failure(true)),
        }
    }

    /// Whether it stands in for an outcome that the store refused.
    pub fn is_not_stored(&self) -> bool {
        match self {
            Self::Done(_) => false,
            Self::NotDone(failure) | Self::Unknown(failure) => failure.error.kind == kind::OUTCOME_REFUSED,
        }
    }

    /// The word for it.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Done(_) => Verdict::Done,
            Self::NotDone(_) => Verdict::NotDone,
            Self::Unknown(_) => Verdict::Unknown,
        }
    }
}

/// The word for an outcome, as it is stored and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The effect happened.
    Done,
    /// It certainly did not.
    NotDone,
    /// It is unknown.
    Unknown,
}

/// The answer to "did it happen?".
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "moved once, never kept in numbers")]
pub enum Probe {
    /// It did.
    Happened(Done),
    /// It certainly did not.
    DidNotHappen,
    /// It is still unknown.
    Unclear,
}

impl Probe {
    /// The same with every secret that `redactor` knows masked.
    #[must_use]
    pub fn masked(self, redactor: &Redactor) -> Self {
        match self {
            Self::Happened(done) => Self::Happened(done.masked(redactor)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outcome_has_an_error_type_that_can_be_stored() {
        let odd = Outcome::not_done(&"\0".repeat(20_000), "a\0b").storable();
        let Outcome::NotDone(Failure { error, .. }) = odd else {
            panic!("the verdict changed: {odd:?}");
        };
        assert!(text::check_name(&error.kind).is_ok(), "{:?}", error.kind);
        assert_eq!(error.message, "a\0b", "a message is stored as JSON");
        let plain = Outcome::unknown(kind::TIMEOUT, "late");
        assert_eq!(plain.clone().storable(), plain);
    }

    #[test]
    fn what_stands_in_for_an_outcome_is_never_a_reason_to_act_twice() {
        let done = Outcome::done(json!("x")).not_stored();
        let unknown = Outcome::unknown(kind::TIMEOUT, "x").not_stored();
        for outcome in [&done, &unknown] {
            assert!(
                matches!(outcome, Outcome::Unknown(failure) if failure.hopeless),
                "{outcome:?}"
            );
        }
        let not_done = Outcome::not_done(kind::TIMEOUT, "x").not_stored();
        assert!(
            matches!(&not_done, Outcome::NotDone(failure) if !failure.hopeless),
            "{not_done:?}"
        );
        assert!([done, unknown, not_done].iter().all(Outcome::is_not_stored));
    }
}
