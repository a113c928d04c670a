//! Following one execution: its history without a gap or a repeat, its actions as they are now, and its end.
//!
//! The listener is there before the history is read, so what is written meanwhile is heard. A hint only wakes: every
//! round reads the history after the last entry that was sent, and a quiet stream looks at each heartbeat as well. The
//! store may know of the end before the hints of the last commit have arrived; the stream waits for them a moment, so
//! that its last words are not about actions that are long over.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream::unfold;
use serde_json::json;
use sprag_core::ids::{ActionId, ExecutionId};
use sprag_engine::Followed;
use sprag_engine::requests::{self, Refusal};
use sprag_store::PageLimit;
use sprag_store::records::ExecutionStatus;
use sprag_wire as wire;
use tokio::time::sleep;

use super::filter::Filter;
use super::hub::{Hint, Interest, Listener, Pending};
use super::{HEARTBEAT, sse};
use crate::app::App;
use crate::problem::{Code, Problem};

/// Stored entries of a history that are in memory at once for one reader, and their bytes.
const PAGE: PageLimit = PageLimit {
    rows: 16,
    bytes: PIECE_BYTES,
};
/// Once a piece of the stream has so many bytes, it goes out before more is read.
const PIECE_BYTES: usize = 64 * 1_024;

/// How long the last hints may take once the end is known.
const LAST_HINTS: Duration = Duration::from_secs(1);

/// A stream that follows an execution.
pub(crate) struct Following {
    app: App,
    id: ExecutionId,
    /// The sequence of the last entry that was sent.
    after: u64,
    listener: Listener,
    /// Whether the open actions were looked up.
    is_begun: bool,
    /// The status that was last sent.
    shown: Option<ExecutionStatus>,
    /// Actions that changed and were not sent yet.
    changed: BTreeSet<ActionId>,
    /// Whether all hints there will be have been heard.
    is_over: bool,
    phase: Phase,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first words.
    Open,
    /// What the history holds beyond what was sent.
    History,
    /// Something to happen.
    Wait,
    /// Nothing.
    End,
}

impl Following {
    /// Follows an execution after an entry of its history; an execution or an entry that is not there is refused.
    pub(crate) async fn open(app: App, id: ExecutionId, after: u64) -> Result<Self, Problem> {
        let listener = app
            .streams
            .listen(&app.engine, Interest::Execution(id), Filter::default())?;
        let Followed { sequence, status, .. } = app
            .engine
            .read()
            .follow(id, after, PageLimit { rows: 0, bytes: 0 })
            .await?;
        if after > sequence {
            let detail = format!(
                "the history of `{id}` ends at {sequence}, so there is no event {after}; send the `id` of the last \
                 event that you received"
            );
            return Err(Problem::new(Code::LastEventIdInvalid, detail));
        }
        Ok(Self {
            app,
            id,
            after,
            listener,
            is_begun: false,
            shown: None,
            changed: BTreeSet::new(),
            is_over: !status.is_open(),
            phase: Phase::Open,
        })
    }

    /// The answer that carries it.
    pub(crate) fn response(self) -> Response {
        sse::response(unfold(self, Self::next))
    }

    /// The next words of the stream. Nothing is prepared before it is asked for.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            if self.app.is_closing() {
                return None;
            }
            let text = match self.phase {
                Phase::Open => {
                    self.phase = Phase::History;
                    sse::OPENING.to_owned()
                }
                Phase::History => match self.look().await {
                    Ok(text) => text,
                    Err(refusal) => {
                        // The follower reconnects, and learns then if it lasts.
                        tracing::warn!(execution = %self.id, error = refusal.detail, "stream ended: store not readable");
                        return None;
                    }
                },
                Phase::Wait => self.wait().await,
                Phase::End => return None,
            };
            if !text.is_empty() {
                let piece = sse::piece(&self.app, text).await?;
                return Some((Ok(piece), self));
            }
        }
    }

    /// Waits for a hint, or for a heartbeat; the history is looked at after both.
    async fn wait(&mut self) -> String {
        self.phase = Phase::History;
        let is_ending = self.shown.is_some_and(|status| !status.is_open());
        tokio::select! {
            biased;
            () = self.app.closed() => String::new(),
            () = self.listener.filled() => String::new(),
            () = sleep(LAST_HINTS), if is_ending => {
                self.is_over = true;
                String::new()
            }
            () = sleep(HEARTBEAT) => sse::HEARTBEAT.to_owned(),
        }
    }

    /// The next page of history; once there is no more, what is new about actions and status.
    async fn look(&mut self) -> Result<String, Refusal> {
        let Followed {
            status,
            sequence,
            entries,
        } = self.app.engine.read().follow(self.id, self.after, PAGE).await?;
        let mut text = String::new();
        for entry in entries {
            self.after = entry.sequence;
            sse::event(&mut text, "history", Some(entry.sequence), &entry);
        }
        if self.after < sequence {
            return Ok(text);
        }
        self.heed(&mut text, status).await?;
        if !self.actions(&mut text).await? {
            // The rest follows once this is on its way.
            return Ok(text);
        }
        self.phase = Phase::Wait;
        if !status.is_open() {
            if self.is_over {
                self.phase = Phase::End;
                sse::event(&mut text, "closed", None, &self.execution().await?);
            }
        } else if self.shown != Some(status) {
            sse::event(&mut text, "execution", None, &self.execution().await?);
        }
        self.shown = Some(status);
        Ok(text)
    }

    /// The execution as it is now.
    async fn execution(&self) -> Result<wire::Execution, Refusal> {
        self.app.engine.read().execution(self.id).await
    }

    /// Takes the hints that wait: which actions are to be sent. In the beginning, and when hints were missed, those are all that
    /// are open.
    async fn heed(&mut self, text: &mut String, status: ExecutionStatus) -> Result<(), Refusal> {
        let Pending { hints, lagged } = self.listener.take();
        if lagged {
            sse::event(text, "lagged", None, &json!({}));
            // The last hint may be among those that were missed.
            self.is_over |= !status.is_open();
        }
        if lagged || !self.is_begun {
            self.is_begun = true;
            self.changed.extend(self.app.engine.read().open_actions(self.id).await?);
        }
        for hint in hints {
            match hint {
                Hint::Action(action, ..) => {
                    self.changed.insert(action);
                }
                Hint::Execution(_, is_closed) => self.is_over |= is_closed,
                Hint::Machine(_) | Hint::Record(..) => {}
            }
        }
        Ok(())
    }

    /// Adds the actions that changed, as they are now, until the piece is full; says whether all of them were added.
    async fn actions(&mut self, text: &mut String) -> Result<bool, Refusal> {
        while text.len() < PIECE_BYTES {
            match self.changed.pop_first() {
                Some(action) => self.action(text, action).await?,
                None => return Ok(true),
            }
        }
        Ok(self.changed.is_empty())
    }

    async fn action(&self, text: &mut String, id: ActionId) -> Result<(), Refusal> {
        match self.app.engine.read().action(id).await {
            Ok(view) => sse::event(text, "action", None, &view),
            // What is gone by now needs no showing.
            Err(Refusal {
                code: requests::Code::ActionUnknown,
                ..
            }) => {}
            Err(refusal) => return Err(refusal),
        }
        Ok(())
    }
}
