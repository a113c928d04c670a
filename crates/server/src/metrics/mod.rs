//! What the server counts, and the page on which everything that is counted is shown.
//!
//! Labels are bounded: routes are templates, methods are those there are, types are those with a runner.

mod census;
mod http;
mod page;
mod text;

pub(crate) use self::census::CensusTaker;
pub(crate) use self::http::HttpMetrics;
pub(crate) use self::page::page;
pub(crate) use self::text::MEDIA_TYPE;
