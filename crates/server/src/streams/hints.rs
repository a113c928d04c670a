//! Hints at everything that changes: what kind of thing, and which. Without resume: a client that reconnects reads
//! everything.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream::unfold;
use serde_json::json;
use tokio::time::sleep;

use super::filter::Filter;
use super::hub::{Interest, Listener, Pending};
use super::{HEARTBEAT, relay, sse};
use crate::app::App;
use crate::problem::Problem;

/// A stream of hints.
pub(crate) struct Hinting {
    app: App,
    listener: Listener,
    filter: Filter,
    is_open: bool,
}

impl Hinting {
    /// What a filter means, on every node, from now on.
    pub(crate) fn open(app: App, filter: Filter) -> Result<Self, Problem> {
        let hinting = Self::of(app, Interest::Everything, filter)?;
        relay::ensure(&hinting.app);
        Ok(hinting)
    }

    /// All there is on this node, for another node, from now on.
    pub(crate) fn here(app: App) -> Result<Self, Problem> {
        Self::of(app, Interest::Here, Filter::default())
    }

    fn of(app: App, interest: Interest, filter: Filter) -> Result<Self, Problem> {
        let listener = app.streams.listen(&app.engine, interest, filter.clone())?;
        Ok(Self {
            filter,
            app,
            listener,
            is_open: false,
        })
    }

    /// The answer that carries it.
    pub(crate) fn response(self) -> Response {
        sse::response(unfold(self, Self::next))
    }

    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.is_open {
            self.is_open = true;
            return Some((Ok(sse::OPENING.into()), self));
        }
        tokio::select! {
            biased;
            () = self.app.closed() => None,
            () = self.listener.filled() => {
                let piece = sse::piece(&self.app, shown(self.listener.take(), &self.filter)).await?;
                Some((Ok(piece), self))
            }
            () = sleep(HEARTBEAT) => Some((Ok(sse::HEARTBEAT.into()), self)),
        }
    }
}

fn shown(pending: Pending, filter: &Filter) -> String {
    let Pending { hints, lagged } = pending;
    let mut text = String::new();
    if lagged {
        sse::event(&mut text, "lagged", None, &json!({}));
    }
    for hinted in hints.iter().flat_map(|hint| filter.shown(hint)) {
        sse::event(&mut text, "hint", None, &hinted);
    }
    text
}
