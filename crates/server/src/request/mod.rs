//! What a request brings, each part read and checked: path, query, headers and body.

pub(crate) mod body;
pub(crate) mod cursor;
pub(crate) mod etag;
pub(crate) mod once;
pub(crate) mod path;
pub(crate) mod query;
