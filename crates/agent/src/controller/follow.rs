//! Follows one agent: its messages, its end, and the way back to it after a cut connection.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::{Code, Status, Streaming};

use super::collect::{AgentState, Seen};
use super::connect::Connect;
use super::preflight::Session;
use crate::lifecycle::ControllerLoss;
use crate::text::causes;
use crate::wire::counts_of;
use crate::wire::proto::{AttachRequest, LiveStats, Status as Reported};

/// From one try to attach to the next.
const ATTACH_EVERY: Duration = Duration::from_millis(250);

/// What the tasks saw, by agent.
pub(super) type Sightings = mpsc::Sender<(usize, Seen)>;

/// Why a stream is over.
enum End {
    /// The run is over on the agent.
    Terminal,
    /// The stream broke.
    Cut(String),
}

/// Reports everything until the agent's part of the run is over.
pub(super) async fn follow(mut session: Session, connect: Connect, on_loss: ControllerLoss, sightings: Sightings) {
    loop {
        let end = read(&mut session, &sightings).await;
        let End::Cut(message) = end else { return };
        let Some(stream) = attached(&session, &connect, on_loss).await else {
            let state = AgentState::Lost;
            // Without a collector the run is over.
            let _ = sightings.send((session.index, Seen::Over { state, message })).await;
            return;
        };
        session.stream = stream;
    }
}

async fn read(session: &mut Session, sightings: &Sightings) -> End {
    loop {
        let (seen, end) = match session.stream.message().await {
            Ok(Some(message)) => numbers(session, &message),
            Ok(None) => return End::Cut("its stream ended early".to_owned()),
            Err(status) if is_answer(&status) => {
                let message = status.message().to_owned();
                let state = if status.code() == Code::Aborted {
                    AgentState::Aborted
                } else {
                    AgentState::Failed
                };
                (Seen::Over { state, message }, Some(End::Terminal))
            }
            Err(status) => return End::Cut(said(&status)),
        };
        // The collector is gone: the run is over.
        if sightings.send((session.index, seen)).await.is_err() {
            return End::Terminal;
        }
        if let Some(end) = end {
            return end;
        }
    }
}

/// Whether the agent itself says so, and not the connection to it.
fn is_answer(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Aborted | Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange | Code::ResourceExhausted
    )
}

fn numbers(session: &Session, message: &LiveStats) -> (Seen, Option<End>) {
    let failed = |message: String| {
        let state = AgentState::Failed;
        (Seen::Over { state, message }, Some(End::Terminal))
    };
    if message.instance_id != session.instance || message.run_id != session.run_id {
        return failed("the agent was restarted during the run".to_owned());
    }
    if message.plan_digest != session.digest {
        return failed(format!("it performs another plan, `{}`", message.plan_digest));
    }
    let counts = match counts_of(message) {
        Ok(counts) => Box::new(counts),
        Err(error) => return failed(error.to_string()),
    };
    let (state, end) = match message.status() {
        Reported::Ready | Reported::Unspecified => (AgentState::Ready, None),
        Reported::Running => (AgentState::Running, None),
        Reported::Aborting => (AgentState::Aborting, None),
        Reported::Completed => (AgentState::Completed, Some(End::Terminal)),
        Reported::Error => (AgentState::Failed, Some(End::Terminal)),
    };
    let seen = Seen::Numbers {
        state,
        sequence: message.sequence,
        counts,
        message: message.error_message.clone(),
    };
    (seen, end)
}

/// The stream of the run, taken up again. None if the plan gives no time for it, or the agent has no such run any more.
async fn attached(session: &Session, connect: &Connect, on_loss: ControllerLoss) -> Option<Streaming<LiveStats>> {
    let ControllerLoss::Grace(grace) = on_loss else {
        return None;
    };
    let until = Instant::now() + grace;
    while Instant::now() < until {
        let request = AttachRequest {
            run_id: session.run_id.clone(),
            token: session.token.clone(),
        };
        if let Ok(mut client) = connect.open(&session.address).await {
            match client.attach(request).await {
                Ok(stream) => return Some(stream.into_inner()),
                Err(status) if matches!(status.code(), Code::NotFound | Code::PermissionDenied) => return None,
                Err(_) => {}
            }
        }
        tokio::time::sleep(ATTACH_EVERY).await;
    }
    None
}

/// What a status says, in one line.
pub(super) fn said(status: &Status) -> String {
    let mut text = status.message().to_owned();
    if text.is_empty() {
        status.code().description().clone_into(&mut text);
    }
    if let Some(source) = std::error::Error::source(status) {
        text = format!("{text}: {}", causes(source));
    }
    text
}
