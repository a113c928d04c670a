//! Limits: what definitions say under a key, and an operator's override of it.

use axum::extract::State;
use sprag_core::action::Rate;
use sprag_engine::limits::Numbers;
use sprag_wire as wire;

use crate::access::caller::Who;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::request::body::{Body, Empty, Fields, FromFields};
use crate::request::etag::{IfMatch, tagged};
use crate::request::path::Path;
use crate::request::query::{FromParams, Nothing, Page, Params, Query};

/// The numbers of an override.
pub(crate) struct Set(wire::LimitNumbers);

impl FromFields for Set {
    type Shape = wire::LimitRequest;

    const KNOWN: &'static [&'static str] = &["concurrency", "rate"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        if !fields.has("concurrency") && !fields.has("rate") {
            fields.refuse(
                "",
                "give `concurrency`, `rate` or both; for a value that you omit, the definitions apply",
            );
        }
        Self(Numbers {
            concurrency: fields.whole("concurrency", 0, u32::MAX),
            rate: fields.within("rate").and_then(|RateFields(rate)| rate),
        })
    }
}

/// So many in so much time, if both are given.
pub(crate) struct RateFields(pub(crate) Option<Rate>);

impl FromFields for RateFields {
    type Shape = wire::LimitRequest;

    const KNOWN: &'static [&'static str] = &["count", "per"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        let count = fields.required("count").whole("count", 1, u32::MAX);
        let per_millis = fields.required("per").millis("per", 1);
        let rate = count.zip(per_millis);
        Self(rate.map(|(count, per_millis)| Rate { count, per_millis }))
    }
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
    Ok(ok(&page.part(app.engine.operate().limit_keys().await?)?))
}

/// `GET /v1/limits/{key}`
pub(crate) async fn show(State(app): State<App>, Path(key): Path<String>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.operate().limit_key(&key).await?;
    Ok(tagged(view.revision(), ok(&view)))
}

/// `PUT /v1/limits/{key}`: from the next attempt on.
pub(crate) async fn set(
    State(app): State<App>,
    Path(key): Path<String>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
    Who(asker): Who,
    Body(Set(numbers)): Body<Set>,
) -> Answer {
    let view = app.engine.operate().set_limit(key, numbers, matches, &asker).await?;
    Ok(tagged(view.revision(), ok(&view)))
}

/// `DELETE /v1/limits/{key}`: the definitions count again.
pub(crate) async fn clear(
    State(app): State<App>,
    Path(key): Path<String>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
    Who(asker): Who,
) -> Answer {
    let view = app.engine.operate().clear_limit(key, matches, &asker).await?;
    Ok(tagged(view.revision(), ok(&view)))
}
