//! Runners with typed payloads: a struct comes in as the action's `config`, a struct goes out as its result.
//!
//! Whatever implements [`TypedRunner`] is a [`Runner`]: reading the configuration, refusing one that does not fit, and
//! writing the result are done here once.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//! use sprag_core::action::error::kind;
//! use sprag_core::action::typed::{Error, TypedRunner};
//! use sprag_core::action::{Attempt, Runner};
//!
//! #[derive(Deserialize)]
//! struct Parcel { grams: u32 }
//!
//! #[derive(Serialize)]
//! struct Quote { cents: u32 }
//!
//! struct Courier;
//!
//! impl TypedRunner for Courier {
//!     const KIND: &'static str = "quote";
//!     type Input = Parcel;
//!     type Output = Quote;
//!
//!     async fn perform(&self, parcel: Parcel, _attempt: Attempt<'_>) -> Result<Quote, Error> {
//!         if parcel.grams > 31_500 {
//!             return Err(Error::not_done(kind::CONFLICT, "no carrier delivers that"));
//!         }
//!         Ok(Quote { cents: 390 + parcel.grams / 10 })
//!     }
//! }
//!
//! assert_eq!(Courier.types(), ["quote"]);
//! assert!(Courier.validate("quote", &json!({"grams": 800})).is_empty());
//! assert_eq!(Courier.validate("quote", &json!({"grams": "heavy"})).len(), 1);
//! ```

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value};

use super::error::{ActionError, kind};
use super::outcome::{Done, Failure, Outcome};
use super::runner::{Attempt, BoxFuture, ConfigProblem, Fault, Runner};

/// Code that performs attempts of one action type, with a payload of its own type. Each of them is a [`Runner`].
pub trait TypedRunner: Send + Sync {
    /// The action type, as machines write it.
    const KIND: &'static str;
    /// What the action's `config` holds, once every template is rendered.
    type Input: DeserializeOwned + Send;
    /// What comes back, for the machine: `event.result`.
    type Output: Serialize;

    /// Performs the attempt. It may be dropped at any await point (deadline, shutdown); what it started in the world is
    /// then unknown.
    fn perform(
        &self,
        input: Self::Input,
        attempt: Attempt<'_>,
    ) -> impl Future<Output = Result<Self::Output, Error>> + Send;
}

/// An attempt that did not succeed.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The effect certainly did not happen.
    NotDone(Failure),
    /// Something may have left; it is unknown whether it arrived.
    Unknown(Failure),
}

impl Error {
    /// Certainly no effect. `kind` is one of [`super::error::kind`], or a word of your own.
    pub fn not_done(kind: &str, message: impl Into<String>) -> Self {
        Self::NotDone(Failure::new(ActionError::new(kind, message)))
    }

    /// Perhaps an effect.
    pub fn unknown(kind: &str, message: impl Into<String>) -> Self {
        Self::Unknown(Failure::new(ActionError::new(kind, message)))
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        match error {
            Error::NotDone(failure) => Self::NotDone(failure),
            Error::Unknown(failure) => Self::Unknown(failure),
        }
    }
}

impl<R: TypedRunner> Runner for R {
    fn types(&self) -> &[&str] {
        Kinds::<R>::ALL
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        // What a template becomes is known at the attempt only.
        if has_template(config) {
            return Vec::new();
        }
        read::<R>(config).err().as_ref().map(problem).into_iter().collect()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let input = match read::<R>(attempt.config) {
                Ok(input) => input,
                Err(error) => return hopeless(format!("config: {error}")),
            };
            match self.perform(input, attempt).await.map(serde_json::to_value) {
                Ok(Ok(result)) => Outcome::done(result),
                // The effect is there, and to repeat it would not make its result any more readable.
                Ok(Err(error)) => Outcome::Done(Done {
                    metadata: Map::from_iter([("unreadableResult".to_owned(), error.to_string().into())]),
                    ..Done::default()
                }),
                Err(error) => error.into(),
            }
        })
    }
}

/// The one type of a typed runner, as a list.
struct Kinds<R>(PhantomData<R>);

impl<R: TypedRunner> Kinds<R> {
    const ALL: &'static [&'static str] = &[R::KIND];
}

fn read<R: TypedRunner>(config: &Value) -> Result<R::Input, serde_json::Error> {
    R::Input::deserialize(config)
}

fn problem(error: &serde_json::Error) -> ConfigProblem {
    ConfigProblem {
        pointer: String::new(),
        detail: error.to_string(),
        remedy: "write the input that the runner of this type reads".to_owned(),
        fault: Fault::Definition,
    }
}

fn hopeless(message: String) -> Outcome {
    Outcome::NotDone(Failure {
        hopeless: true,
        ..Failure::new(ActionError::new(kind::INVALID_CONFIGURATION, message))
    })
}

/// Whether any text in it is still to be rendered.
fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(fields) => fields.values().any(has_template),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
