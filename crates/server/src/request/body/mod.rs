//! Request bodies: of a known media type, bounded, whole, and with the fields that the route takes and no others.

mod collect;
mod fields;
mod media;
mod schema;

#[cfg(test)]
mod tests;

use axum::body::{Bytes, HttpBody, to_bytes};
use axum::extract::{FromRequest, Request};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use sprag_core::document::json::{self, parse_bounded};
use sprag_core::document::source::{Format, Limits};

pub(crate) use sprag_wire::Nothing as NoFields;

pub(crate) use self::collect::collect;
pub(crate) use self::fields::Fields;
use self::media::Media;
use self::schema::Layout;
use crate::app::App;
use crate::problem::shown::shown;
use crate::problem::{Code, Problem};

/// The bytes of a body that has arrived already: nothing is copied, and nothing can fail.
pub(crate) async fn whole(body: axum::body::Body) -> Bytes {
    to_bytes(body, usize::MAX).await.unwrap_or_default()
}

/// What a route reads from a JSON body.
pub(crate) trait FromFields: Sized {
    /// The type that describes them: its schema names the fields there may be.
    type Shape: JsonSchema + 'static;

    /// What a request without a body means.
    fn empty() -> Empty {
        Layout::of::<Self::Shape>().empty()
    }

    /// Reads them. What is wrong is noted in `fields`, so the value counts only when nothing was.
    fn read(fields: &mut Fields) -> Option<Self>;
}

/// What a request without a body means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    /// The same as `{}`.
    Object,
    /// A mistake.
    Refused,
}

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: FromFields> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        if body.is_end_stream() {
            return match T::empty() {
                Empty::Object => decode(Map::new()).map(Self),
                Empty::Refused => Err(missing()),
            };
        }
        media::of(&parts.headers, &[Media::Json])?;
        let bytes = whole(body).await;
        decode(object(&bytes, &app.body_limits())?).map(Self)
    }
}

/// A JSON body as the very bytes that arrived, for who must check a signature over them. None is null.
pub(crate) struct Raw {
    /// The bytes.
    pub(crate) bytes: Bytes,
}

impl FromRequest<App> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        if body.is_end_stream() {
            return Ok(Self { bytes: Bytes::new() });
        }
        media::of(&parts.headers, &[Media::Json])?;
        let bytes = whole(body).await;
        Ok(Self { bytes })
    }
}

impl Raw {
    /// What the bytes say.
    pub(crate) fn json(&self, app: &App) -> Result<Value, Problem> {
        if self.bytes.is_empty() {
            return Ok(Value::Null);
        }
        parse(&self.bytes, &app.body_limits())
    }
}

/// A machine's definition as it was sent.
pub(crate) struct Definition {
    /// The text.
    pub(crate) text: String,
    /// What it is written in.
    pub(crate) format: Format,
}

impl FromRequest<App> for Definition {
    type Rejection = Problem;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        if body.is_end_stream() {
            return Err(missing());
        }
        let format = match media::of(&parts.headers, &[Media::Json, Media::Yaml])? {
            Media::Json => Format::Json,
            Media::Yaml => Format::Yaml,
        };
        let bytes = whole(body).await;
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            Problem::new(
                Code::BodyUnreadable,
                format!("the definition is not UTF-8 from byte {offset} on; send it in UTF-8"),
            )
        })?;
        Ok(Self { text, format })
    }
}

fn missing() -> Problem {
    Problem::new(Code::BodyUnreadable, "the request has no body; send one")
}

/// The members of a body that must be an object.
fn object(bytes: &[u8], limits: &Limits) -> Result<Map<String, Value>, Problem> {
    match parse(bytes, limits)? {
        Value::Object(members) => Ok(members),
        other => {
            let what = if other.is_array() {
                "a list".to_owned()
            } else {
                format!("`{}`", shown(&other.to_string()))
            };
            Err(Problem::new(
                Code::BodyInvalid,
                format!("the body must be an object, not {what}"),
            ))
        }
    }
}

/// The value of a body.
fn parse(bytes: &[u8], limits: &Limits) -> Result<Value, Problem> {
    parse_bounded(bytes, limits).map_err(|problem| {
        let code = match &problem {
            json::JsonError::TooDeep { .. } => Code::BodyTooDeep,
            json::JsonError::TooLarge { .. } => Code::BodyTooLarge,
            json::JsonError::NotUtf8 { .. } | json::JsonError::Invalid(_) => Code::BodyUnreadable,
        };
        let remedy = match &problem {
            json::JsonError::TooDeep { .. } => "; make it flatter, or send the deep part as text",
            json::JsonError::TooLarge { .. } | json::JsonError::NotUtf8 { .. } | json::JsonError::Invalid(_) => "",
        };
        Problem::new(code, format!("{problem}{remedy}"))
    })
}

fn decode<T: FromFields>(members: Map<String, Value>) -> Result<T, Problem> {
    let mut fields = Fields::new(members, &Layout::of::<T::Shape>().names);
    let read = T::read(&mut fields);
    fields.finish(read)
}
