//! Figures over time, for charts.

use axum::extract::State;
use sprag_core::document::source::nearest;
use sprag_core::time::Timestamp;
use sprag_core::time::duration::Millis;
use sprag_engine::lane::member::Whereabouts;
use sprag_wire::{self as wire, SeriesMetric};

use crate::access::rule::VIEWER;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::handlers::system;
use crate::metrics::series::{MINUTE_MILLIS, MINUTES_MAX};
use crate::openapi::{Operation, Route, Shape, at, words};
use crate::problem::shown::shown;
use crate::problem::{Code, FieldError, Problem};
use crate::request::query::{FromParams, Params, Query};

/// The window of a request that does not say how long, in milliseconds.
const WINDOW_MILLIS: u64 = 3_600_000;

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/series").get(VIEWER, show).is(Operation::new(
            system::RESOURCE,
            "showSeries",
            "Show a figure of the last day, a minute a point",
        )
        .query("metric", words(SeriesMetric::WORDS), "The figure. Required.")
        .query(
            "window",
            Shape::of::<wire::Duration>(),
            "How far back, up to a day. Default: `1h`.",
        )
        .answers::<wire::Series>(200, "The points. The last minute is not over.")),
    ]
}

pub(crate) struct SeriesParams {
    metric: Option<SeriesMetric>,
    window: u64,
}

impl FromParams for SeriesParams {
    const KNOWN: &'static [&'static str] = &["metric", "window"];

    fn read(params: &mut Params) -> Self {
        let metric = params.parsed("metric", |text| match SeriesMetric::of(text) {
            SeriesMetric::Other(unknown) => Err(no_metric(&unknown)),
            metric => Ok(metric),
        });
        let day = MINUTE_MILLIS * u64::try_from(MINUTES_MAX).unwrap_or(u64::MAX);
        let window = params.duration("window").map_or(WINDOW_MILLIS, Millis::get);
        if window > day {
            params.refuse("window", "is longer than a day; use `24h` or less");
        }
        Self { metric, window }
    }
}

fn no_metric(text: &str) -> String {
    let near = match nearest(text, SeriesMetric::WORDS.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", SeriesMetric::WORDS.join(", ")),
    };
    format!("`{}` is not a metric; {near}", shown(text))
}

/// `GET /v1/series`
pub(crate) async fn show(State(app): State<App>, Query(params): Query<SeriesParams>) -> Answer {
    let SeriesParams { metric, window } = params;
    let metric = metric.ok_or_else(|| {
        let detail = format!(
            "query parameter `metric` is missing; use one of {}",
            SeriesMetric::WORDS.join(", ")
        );
        let error = FieldError {
            pointer: "?metric".to_owned(),
            detail: detail.clone(),
        };
        Problem::new(Code::QueryInvalid, detail).with_errors(vec![error])
    })?;
    let since = app.engine.now().as_millis().saturating_sub_unsigned(window);
    Ok(ok(&wire::Series {
        unit: unit(&metric).to_owned(),
        node: app.engine.whereabouts().map(Whereabouts::me),
        resolution: MINUTE_MILLIS,
        points: app.series.points(&metric, Timestamp::from_millis(since)),
        metric,
    }))
}

fn unit(metric: &SeriesMetric) -> &'static str {
    match metric {
        SeriesMetric::Throughput => "executions per minute",
        SeriesMetric::SuccessShare => "share",
        SeriesMetric::QueueDelay => "seconds",
        SeriesMetric::DeadLetters | SeriesMetric::Other(_) => "dead letters",
    }
}
