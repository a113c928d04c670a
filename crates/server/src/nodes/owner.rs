//! Requests that go to the node that owns what they are about, before they are tried here: a column of the route table.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use axum::extract::{FromRequestParts as _, MatchedPath, RawPathParams};
use axum::http::Method;
use axum::http::request::Parts;
use sprag_core::ids::{ActionId, ExecutionId, Slot};

use crate::request::query::is_given;
use crate::routes::table;

/// Why a request goes to the owner first, and which slot it is about.
#[derive(Clone, Copy)]
pub(crate) enum OwnerFirst {
    /// Only the owner hears of what is watched.
    Watched(fn(&RouteParams<'_>) -> Option<Slot>),
    /// The owner knows more than what is stored. While it cannot be asked, what is stored is the answer.
    Explained(fn(&RouteParams<'_>) -> Option<Slot>),
}

/// A slot whose owner is asked first.
pub(crate) enum OwnerFor {
    /// It is watched.
    Watched(Slot),
    /// It is explained.
    Explained(Slot),
}

/// The parameters of a request.
pub(crate) struct RouteParams<'r> {
    path: RawPathParams,
    query: Option<&'r str>,
}

impl RouteParams<'_> {
    fn id<T: FromStr>(&self, name: &str) -> Option<T> {
        let (_, text) = self.path.iter().find(|(found, _)| *found == name)?;
        text.parse().ok()
    }

    fn has_query(&self, name: &str) -> bool {
        is_given(self.query, name)
    }
}

/// The slot of the execution that the path names.
pub(crate) fn execution(params: &RouteParams<'_>) -> Option<Slot> {
    params.id("id").map(ExecutionId::slot)
}

/// The slot of the action that the path names.
pub(crate) fn action(params: &RouteParams<'_>) -> Option<Slot> {
    params.id("id").map(ActionId::slot)
}

/// The same as [`execution`] where the request waits for it to close.
pub(crate) fn awaited_execution(params: &RouteParams<'_>) -> Option<Slot> {
    params.has_query("wait").then(|| execution(params)).flatten()
}

/// The paths of the table that have such a column.
static COLUMN: LazyLock<BTreeMap<&str, OwnerFirst>> = LazyLock::new(|| {
    let routes = table().into_iter();
    routes
        .filter_map(|route| Some((route.path, route.owner_first?)))
        .collect()
});

/// The slot whose owner is asked first, if the route has this column.
pub(crate) async fn wanted(parts: &mut Parts) -> Option<OwnerFor> {
    if parts.method != Method::GET {
        return None;
    }
    let path = parts.extensions.get::<MatchedPath>()?;
    let first = *COLUMN.get(path.as_str())?;
    let path = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let query = parts.uri.query();
    let params = RouteParams { path, query };
    match first {
        OwnerFirst::Watched(slot) => slot(&params).map(OwnerFor::Watched),
        OwnerFirst::Explained(slot) => slot(&params).map(OwnerFor::Explained),
    }
}
