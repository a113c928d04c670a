//! Following one load test: each change of its status, and its figures each second.
//!
//! There is nothing to resume: figures are cumulative, so the newest event has all that was missed. Statuses are read from the
//! store after a hint; figures come from the runner, in this process.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::stream::unfold;
use sprag_agent::durable::LiveFigures;
use sprag_core::ids::ActionId;
use sprag_wire as wire;
use tokio::sync::watch;
use tokio::time::sleep;

use super::filter::Filter;
use super::hub::{Interest, Listener};
use super::{HEARTBEAT, sse};
use crate::app::App;
use crate::handlers::loads;
use crate::problem::Problem;

/// A stream that follows a load test.
pub(crate) struct FollowingLoad {
    app: App,
    id: ActionId,
    listener: Listener,
    /// Changes when a load of this process begins.
    begun: watch::Receiver<u64>,
    /// The figures, while this process runs the load.
    figures: Option<LiveFigures>,
    /// The load as it was last sent, without figures.
    sent: Option<wire::Load>,
    phase: LoadPhase,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadPhase {
    Open,
    Look,
    Wait,
    End,
}

/// What a follower waited for.
enum LoadWake {
    Closing,
    Status,
    Figures,
    NoFigures,
    Heartbeat,
}

impl FollowingLoad {
    /// Follows a load; one that is not there is refused.
    pub(crate) async fn open(app: App, id: ActionId) -> Result<Self, Problem> {
        let execution = loads::read(&app, id).await?.execution_id;
        let listener = app
            .streams
            .listen(&app.engine, Interest::Execution(execution), Filter::default())?;
        Ok(Self {
            begun: app.loads.begun(),
            figures: app.loads.live(id),
            app,
            id,
            listener,
            sent: None,
            phase: LoadPhase::Open,
        })
    }

    /// The answer that carries it.
    pub(crate) fn response(self) -> Response {
        sse::response(unfold(self, Self::next))
    }

    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            let text = match self.phase {
                LoadPhase::Open => {
                    self.phase = LoadPhase::Look;
                    sse::OPENING.to_owned()
                }
                LoadPhase::Look => self.look().await?,
                LoadPhase::Wait => self.wait().await?,
                LoadPhase::End => return None,
            };
            if !text.is_empty() {
                let piece = sse::piece(&self.app, text).await?;
                return Some((Ok(piece), self));
            }
        }
    }

    /// The load, if it is news. None ends the stream: the follower reconnects, and learns then whether the cause lasts.
    async fn look(&mut self) -> Option<String> {
        self.listener.take();
        let load = match loads::read(&self.app, self.id).await {
            Ok(load) => load,
            Err(refusal) => {
                tracing::warn!(action = %self.id, error = refusal.detail, "stream ended: store not readable");
                return None;
            }
        };
        let mut text = String::new();
        if is_over(&load.status) {
            self.phase = LoadPhase::End;
            sse::event(&mut text, "ended", None, &load);
            return Some(text);
        }
        self.phase = LoadPhase::Wait;
        let bare = wire::Load { live: None, ..load };
        if self.sent.as_ref() != Some(&bare) {
            sse::event(&mut text, "load", None, &bare);
            self.sent = Some(bare);
        }
        Some(text)
    }

    async fn wait(&mut self) -> Option<String> {
        let wake = tokio::select! {
            biased;
            () = self.app.closed() => LoadWake::Closing,
            () = self.listener.filled() => LoadWake::Status,
            news = changed(&mut self.figures) => if news { LoadWake::Figures } else { LoadWake::NoFigures },
            begun = self.begun.changed(), if self.figures.is_none() => match begun {
                Ok(()) => LoadWake::NoFigures,
                Err(_) => LoadWake::Closing,
            },
            () = sleep(HEARTBEAT) => LoadWake::Heartbeat,
        };
        let mut text = String::new();
        match wake {
            LoadWake::Closing => return None,
            LoadWake::Status => self.phase = LoadPhase::Look,
            LoadWake::Figures => {
                let figures = self
                    .figures
                    .as_mut()
                    .and_then(|figures| figures.borrow_and_update().clone());
                if let Some(figures) = figures {
                    sse::event(&mut text, "figures", None, &figures);
                }
            }
            // The load begins, begins again, or has ended: then its status changes.
            LoadWake::NoFigures => self.figures = self.app.loads.live(self.id),
            LoadWake::Heartbeat => {
                self.phase = LoadPhase::Look;
                sse::HEARTBEAT.clone_into(&mut text);
            }
        }
        Some(text)
    }
}

/// Waits for new figures. False if there will be none.
async fn changed(figures: &mut Option<LiveFigures>) -> bool {
    match figures {
        Some(figures) => figures.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}

/// Whether nothing more happens unless a person acts.
fn is_over(status: &wire::ActionStatus) -> bool {
    use wire::ActionStatus::{Archived, Cancelled, Dead, Skipped, Succeeded};
    matches!(status, Succeeded | Dead | Cancelled | Skipped | Archived)
}
