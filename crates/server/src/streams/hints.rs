//! Hints at everything that changes: what kind of thing, and which. Without resume: a client that reconnects reads
//! everything.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::hub::{Hint, Interest, Listener, Pending};
use super::{HEARTBEAT, sse};
use crate::app::App;
use crate::problem::Problem;

/// A stream of hints.
pub(crate) struct Hinting {
    app: App,
    listener: Listener,
    is_open: bool,
}

impl Hinting {
    /// From now on.
    pub(crate) fn open(app: App) -> Result<Self, Problem> {
        let listener = app.streams.listen(&app.engine, Interest::Everything)?;
        Ok(Self {
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
                let piece = sse::piece(&self.app, shown(self.listener.take())).await?;
                Some((Ok(piece), self))
            }
            () = sleep(HEARTBEAT) => Some((Ok(sse::HEARTBEAT.into()), self)),
        }
    }
}

fn shown(pending: Pending) -> String {
    let Pending { hints, lagged } = pending;
    let mut text = String::new();
    if lagged {
        sse::event(&mut text, "lagged", None, &json!({}));
    }
    for hint in hints {
        sse::event(&mut text, "hint", None, &wire(&hint));
    }
    text
}

fn wire(hint: &Hint) -> Value {
    match hint {
        Hint::Machine(id) => json!({"kind": "machine", "id": &**id}),
        Hint::Execution(id, _) => json!({"kind": "execution", "id": id}),
        Hint::Action(id, execution) => json!({"kind": "action", "id": id, "executionId": execution}),
    }
}
