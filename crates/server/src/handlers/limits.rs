//! Limits: what definitions say under a key, and an operator's override of it.

use axum::extract::State;
use serde_json::Value;
use sprag_core::action::Rate;
use sprag_core::duration::Millis;
use sprag_wire as wire;

use crate::app::App;
use crate::body::{Body, Empty, Fields, FromFields};
use crate::etag::{IfMatch, tagged};
use crate::handlers::WHO;
use crate::path::Path;
use crate::query::{FromParams, Nothing, Page, Params, Query};
use crate::reply::{Answer, ok};

/// The numbers of an override.
pub(crate) struct Set(wire::LimitNumbers);

impl FromFields for Set {
    type Shape = wire::LimitRequest;

    const KNOWN: &'static [&'static str] = &["concurrency", "rate"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        let given = (fields.value("concurrency"), fields.object("rate"));
        if let (None, None) = given {
            fields.refuse(
                "",
                "give `concurrency`, `rate` or both: what is not given stays as the definitions say",
            );
        }
        let concurrency = given.0.and_then(|value| count(fields, "/concurrency", &value, 0));
        let rate = given.1.and_then(|members| {
            if let Some(unknown) = members.keys().find(|name| !matches!(name.as_str(), "count" | "per")) {
                fields.refuse(
                    "/rate",
                    &format!("`{unknown}` is not known here; known are `count`, `per`"),
                );
            }
            let count = count(fields, "/rate/count", members.get("count").unwrap_or(&Value::Null), 1);
            let per_millis = per(fields, members.get("per").unwrap_or(&Value::Null));
            Some(Rate {
                count: count?,
                per_millis: per_millis?,
            })
        });
        Self(wire::LimitNumbers { concurrency, rate })
    }
}

fn count(fields: &mut Fields, pointer: &str, value: &Value, least: u32) -> Option<u32> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|number| *number >= least);
    if number.is_none() {
        fields.refuse(pointer, &format!("`{value}` is not a whole number from {least}"));
    }
    number
}

/// The time of a rate: milliseconds, or a text such as `1m`.
fn per(fields: &mut Fields, value: &Value) -> Option<u64> {
    let millis = match value {
        Value::String(text) => Millis::parse(text).ok().map(Millis::get),
        other => other.as_u64(),
    };
    let millis = millis.filter(|millis| *millis > 0);
    if millis.is_none() {
        fields.refuse(
            "/rate/per",
            &format!("`{value}` is no time: write milliseconds from 1, or a text such as `1m`"),
        );
    }
    millis
}

/// Where the list continues.
pub(crate) struct ListParams(Page);

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("limits"))
    }
}

/// `GET /v1/limits`: every key that is known, with what counts, runs and waits.
pub(crate) async fn list(State(app): State<App>, Query(ListParams(page)): Query<ListParams>) -> Answer {
    Ok(ok(&page.part(app.engine.limit_keys().await?)?))
}

/// `GET /v1/limits/{key}`
pub(crate) async fn show(State(app): State<App>, Path(key): Path<String>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.limit_key(&key).await?;
    Ok(tagged(view.revision(), ok(&view)))
}

/// `PUT /v1/limits/{key}`: from the next attempt on.
pub(crate) async fn set(
    State(app): State<App>,
    Path(key): Path<String>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
    Body(Set(numbers)): Body<Set>,
) -> Answer {
    let view = app.engine.set_limit(key, numbers, WHO.to_owned(), matches).await?;
    Ok(tagged(view.revision(), ok(&view)))
}

/// `DELETE /v1/limits/{key}`: the definitions count again.
pub(crate) async fn clear(
    State(app): State<App>,
    Path(key): Path<String>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
) -> Answer {
    let view = app.engine.clear_limit(key, matches).await?;
    Ok(tagged(view.revision(), ok(&view)))
}
