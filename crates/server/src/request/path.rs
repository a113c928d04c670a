//! What a path names. An id that cannot be one names nothing, and the client gets a 404.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, JobId, SwitchId, TokenId, WorkflowId};
use sprag_engine::requests::{self, Refusal};

use crate::app::App;
use crate::problem::{Code, Problem};

/// The parameters of a path, as text.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        if parts.uri.path().contains("%00") {
            let detail = "the path must not hold a NUL character (`%00`); remove it";
            return Err(Problem::new(Code::PathInvalid, detail));
        }
        decoded(parts, app).await.map(Self)
    }
}

/// The parameters of a path, whatever they hold.
async fn decoded<T: DeserializeOwned + Send>(parts: &mut Parts, app: &App) -> Result<T, Problem> {
    match axum::extract::Path::<T>::from_request_parts(parts, app).await {
        Ok(axum::extract::Path(parameters)) => Ok(parameters),
        Err(rejection) => Err(Problem::new(Code::PathInvalid, rejection.body_text())),
    }
}

/// The id in a path.
pub(crate) struct Id<T>(pub(crate) T);

/// Ids that paths name things by.
pub(crate) trait Named: FromStr<Err: Display> {
    /// What is said of an id that names nothing.
    const UNKNOWN: requests::Code;
}

macro_rules! named {
    ($($id:ident else $unknown:ident,)+) => {
        $(impl Named for $id {
            const UNKNOWN: requests::Code = requests::Code::$unknown;
        })+
    };
}

named! {
    ExecutionId else ExecutionUnknown,
    ActionId else ActionUnknown,
    AttemptId else AttemptUnknown,
    SwitchId else SwitchUnknown,
    WorkflowId else WorkflowUnknown,
    TokenId else TokenUnknown,
    JobId else JobUnknown,
}

impl<T: Named> FromRequestParts<App> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let text: String = decoded(parts, app).await?;
        let id = text
            .parse()
            .map_err(|error: T::Err| Refusal::new(T::UNKNOWN, error.to_string()))?;
        Ok(Self(id))
    }
}
