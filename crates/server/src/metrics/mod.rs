//! What the server counts, and the answer to a scrape: every family of engine, server and supervisor.
//!
//! Labels are bounded: routes are templates, methods are the known ones, types are those with a runner.

mod census;
mod http;
mod page;
pub(crate) mod series;

pub(crate) use self::census::CensusTaker;
pub(crate) use self::http::HttpMetrics;
pub(crate) use self::page::{MEDIA_TYPE, page, supervision_page};
