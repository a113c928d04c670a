//! Before the start: every agent is reached, its clock is measured, and it says READY. No agent performs anything until all do.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::unfold;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tonic::{Code, Status, Streaming};

use super::connect::Client;
use super::follow::said;
use super::options::Options;
use crate::stats::{Offset, PROBES_MIN, Probe};
use crate::time::Micros;
use crate::wire::PROTOCOL;
use crate::wire::proto::controller_message::Content;
use crate::wire::proto::{
    AbortRequest, ControllerMessage, LiveStats, PingRequest, Prepare, Start, Status as Reported, StatusRequest,
};

/// How long an agent may take to answer an abort.
const ABORT: Duration = Duration::from_secs(2);

/// Why an agent is not READY.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// It refuses the plan.
    #[error("agent `{0}` refuses the plan: {1}")]
    Refused(String, String),
    /// It performs another run.
    #[error("agent `{0}` is not ready: {1}")]
    Busy(String, String),
    /// It does not accept this controller.
    #[error("agent `{0}` is not ready: {1}")]
    Unauthenticated(String, String),
    /// It cannot be reached, or was not READY in time.
    #[error("agent `{0}` is not ready: {1}")]
    Agent(String, String),
}

impl NotReady {
    /// What an agent answered in place of READY.
    fn answered(address: &str, status: &Status) -> Self {
        let (address, message) = (address.to_owned(), said(status));
        match status.code() {
            Code::FailedPrecondition => Self::Busy(address, message),
            Code::Unauthenticated | Code::PermissionDenied => Self::Unauthenticated(address, message),
            _ => Self::Agent(address, message),
        }
    }
}

/// A READY agent.
pub(super) struct Session {
    pub(super) index: usize,
    pub(super) address: String,
    pub(super) name: String,
    pub(super) instance: String,
    pub(super) run_id: String,
    pub(super) token: String,
    pub(super) digest: String,
    pub(super) offset: Offset,
    pub(super) client: Client,
    pub(super) stream: Streaming<LiveStats>,
    /// The controller's side of the stream stays open as long as the run.
    pub(super) outbound: mpsc::Sender<ControllerMessage>,
}

/// Makes every agent READY before `deadline`. If one is not, the others are aborted.
pub(super) async fn prepare(
    options: &Options,
    plan: &str,
    digest: &str,
    clock: &Micros,
    deadline: Instant,
) -> Result<Vec<Session>, NotReady> {
    let each = options.agents.iter().enumerate().map(|(index, address)| async move {
        let ready = ready(options, (index, address), (plan, digest), clock);
        let late = || NotReady::Agent(address.clone(), "it was not READY in time".to_owned());
        timeout_at(deadline, ready).await.unwrap_or_else(|_| Err(late()))
    });
    let (ready, failed): (Vec<_>, Vec<_>) = join_all(each).await.into_iter().partition(Result::is_ok);
    let sessions: Vec<Session> = ready.into_iter().filter_map(Result::ok).collect();
    match failed.into_iter().find_map(Result::err) {
        None => Ok(sessions),
        Some(error) => {
            abort_all(&sessions).await;
            Err(error)
        }
    }
}

async fn ready(
    options: &Options,
    (index, address): (usize, &str),
    (plan, digest): (&str, &str),
    clock: &Micros,
) -> Result<Session, NotReady> {
    let failed = |message: String| NotReady::Agent(address.to_owned(), message);
    let mut client = options.connect.open(address).await.map_err(failed)?;
    let status = client
        .get_status(StatusRequest::default())
        .await
        .map_err(|status| NotReady::answered(address, &status))?;
    let status = status.into_inner();
    if status.protocol != PROTOCOL {
        return Err(failed(format!(
            "it speaks protocol `{}`, this controller `{PROTOCOL}`",
            status.protocol
        )));
    }
    let offset = measure(&mut client, clock).await.map_err(failed)?;
    let (outbound, messages) = mpsc::channel(2);
    let prepare = Content::Prepare(Prepare {
        protocol: PROTOCOL,
        plan: plan.to_owned(),
        plan_digest: digest.to_owned(),
        agent_index: u32::try_from(index).unwrap_or(u32::MAX),
        agent_count: u32::try_from(options.agents.len()).unwrap_or(u32::MAX),
    });
    let first = ControllerMessage { content: Some(prepare) };
    // There is room: the channel is new.
    let _ = outbound.send(first).await;
    let messages = unfold(messages, |mut messages| async move {
        Some((messages.recv().await?, messages))
    });
    let answer = client.run_workload_with_live_stats(messages).await;
    let mut stream = answer
        .map_err(|status| NotReady::answered(address, &status))?
        .into_inner();
    let message = match stream.message().await {
        Ok(Some(message)) => message,
        Ok(None) => return Err(failed("its stream ended at once".to_owned())),
        Err(status) => return Err(NotReady::answered(address, &status)),
    };
    if message.status() != Reported::Ready {
        return Err(NotReady::Refused(address.to_owned(), message.error_message));
    }
    Ok(Session {
        index,
        address: address.to_owned(),
        name: status.name,
        instance: message.instance_id,
        run_id: message.run_id,
        token: message.attach_token,
        digest: digest.to_owned(),
        offset,
        client,
        stream,
        outbound,
    })
}

async fn measure(client: &mut Client, clock: &Micros) -> Result<Offset, String> {
    let mut probes = Vec::with_capacity(PROBES_MIN + 2);
    for _ in 0..PROBES_MIN + 2 {
        let sent = clock.unix();
        let reply = client.ping(PingRequest {}).await.map_err(|status| said(&status))?;
        let received = clock.unix();
        let agent = reply.into_inner().unix_micros;
        probes.push(Probe { sent, agent, received });
    }
    Offset::estimate(&probes).ok_or_else(|| "its clock cannot be measured".to_owned())
}

impl Session {
    /// Sends the start time, in microseconds of the controller's clock.
    pub(super) async fn start(&self, at: u64, compensates: bool) {
        let at_unix_micros = if compensates { self.offset.to_agent(at) } else { at };
        let start = Content::Start(Start { at_unix_micros });
        // A stream that is gone shows at its other half.
        let _ = self.outbound.send(ControllerMessage { content: Some(start) }).await;
    }
}

/// Aborts a run of an agent.
pub(super) async fn abort(mut client: Client, run_id: String) {
    let aborting = client.abort_workload(AbortRequest { run_id });
    // An agent that does not answer is lost, and its own rules end the run.
    let _ = tokio::time::timeout(ABORT, aborting).await;
}

/// Aborts the runs of all agents at once.
pub(super) async fn abort_all(sessions: &[Session]) {
    join_all(
        sessions
            .iter()
            .map(|session| abort(session.client.clone(), session.run_id.clone())),
    )
    .await;
}
