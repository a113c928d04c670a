//! The gRPC service: thin. It reads a message, asks the actor, and maps the answer.

use std::time::Duration;

use tonic::{Request, Response, Status, Streaming};

use super::mailbox::{AttachError, Command, Mailbox};
use super::prepare;
use super::view::LiveStream;
use crate::lifecycle::RunId;
use crate::plan::Share;
use crate::time::Micros;
use crate::wire::PROTOCOL;
use crate::wire::proto::controller_message::Content;
use crate::wire::proto::workload_agent_server::WorkloadAgent;
use crate::wire::proto::{
    AbortReply, AbortRequest, AgentStatus, AttachRequest, ControllerMessage, PingReply, PingRequest, Prepare,
    StatusRequest,
};

/// How long a controller may take for its first message.
const FIRST_MESSAGE: Duration = Duration::from_secs(10);

/// The service of one agent.
pub(super) struct Service {
    pub(super) mailbox: Mailbox,
    pub(super) clock: Micros,
    pub(super) instance: String,
}

#[tonic::async_trait]
impl WorkloadAgent for Service {
    type RunWorkloadWithLiveStatsStream = LiveStream;
    type AttachStream = LiveStream;

    async fn run_workload_with_live_stats(
        &self,
        request: Request<Streaming<ControllerMessage>>,
    ) -> Result<Response<LiveStream>, Status> {
        let mut messages = request.into_inner();
        let first = tokio::time::timeout(FIRST_MESSAGE, messages.message())
            .await
            .map_err(|_| Status::deadline_exceeded("no `Prepare` arrived within 10 s"))??;
        let Some(Content::Prepare(prepare)) = first.and_then(|message| message.content) else {
            return Err(Status::invalid_argument("the first message is a `Prepare`"));
        };
        let request = Box::new(read(prepare)?);
        let asked = self.mailbox.ask(|reply| Command::Run { request, reply }).await;
        let ticket = asked
            .ok_or_else(gone)?
            .map_err(|busy| Status::failed_precondition(busy.to_string()))?;
        let (run, view) = (ticket.run, ticket.view);
        tokio::spawn(follow(messages, self.mailbox.clone(), run, view));
        Ok(Response::new(ticket.stream()))
    }

    async fn abort_workload(&self, request: Request<AbortRequest>) -> Result<Response<AbortReply>, Status> {
        let run = named(&request.get_ref().run_id)?;
        let asked = self.mailbox.ask(|reply| Command::Abort { run, reply }).await;
        let state = asked
            .ok_or_else(gone)?
            .map_err(|unknown| Status::not_found(unknown.to_string()))?;
        let state = state.to_string();
        Ok(Response::new(AbortReply { state }))
    }

    async fn get_status(&self, request: Request<StatusRequest>) -> Result<Response<AgentStatus>, Status> {
        let acknowledge = named(&request.get_ref().acknowledge)?;
        let asked = self.mailbox.ask(|reply| Command::Status { acknowledge, reply }).await;
        asked.map(Response::new).ok_or_else(gone)
    }

    async fn attach(&self, request: Request<AttachRequest>) -> Result<Response<LiveStream>, Status> {
        let AttachRequest { run_id, token } = request.into_inner();
        let run = named(&run_id)?.ok_or_else(|| Status::invalid_argument("`run_id` is missing"))?;
        let asked = self.mailbox.ask(|reply| Command::Attach { run, token, reply }).await;
        let ticket = asked.ok_or_else(gone)?.map_err(|error| match error {
            AttachError::Unknown(_) => Status::not_found(error.to_string()),
            AttachError::Token(_) => Status::permission_denied(error.to_string()),
        })?;
        Ok(Response::new(ticket.stream()))
    }

    async fn ping(&self, _: Request<PingRequest>) -> Result<Response<PingReply>, Status> {
        Ok(Response::new(PingReply {
            unix_micros: self.clock.unix(),
            instance_id: self.instance.clone(),
        }))
    }
}

/// Waits for the start time. A controller that ends its side before it is lost.
async fn follow(mut messages: Streaming<ControllerMessage>, mailbox: Mailbox, run: RunId, view: u64) {
    while let Ok(Some(ControllerMessage { content })) = messages.message().await {
        if let Some(Content::Start(start)) = content {
            let at = start.at_unix_micros;
            if mailbox.send(Command::Start { run, at }).await.is_none() {
                return;
            }
            // Nothing else comes. The response stream says when the controller is gone.
            return drain(messages).await;
        }
    }
    mailbox.post(Command::ViewDropped { run, view });
}

async fn drain(mut messages: Streaming<ControllerMessage>) {
    while let Ok(Some(_)) = messages.message().await {}
}

fn read(prepare: Prepare) -> Result<prepare::Request, Status> {
    let Prepare {
        protocol,
        plan,
        plan_digest,
        agent_index,
        agent_count,
    } = prepare;
    if protocol != PROTOCOL {
        let text =
            format!("the controller speaks protocol `{protocol}`, this agent `{PROTOCOL}`; use the same version");
        return Err(Status::invalid_argument(text));
    }
    if agent_index >= agent_count {
        let text = format!("there is no agent `{agent_index}` of `{agent_count}`");
        return Err(Status::invalid_argument(text));
    }
    Ok(prepare::Request {
        plan,
        digest: plan_digest,
        share: Share {
            index: agent_index,
            of: agent_count,
        },
    })
}

fn named(run: &str) -> Result<Option<RunId>, Status> {
    if run.is_empty() {
        return Ok(None);
    }
    let parsed = run.parse().map(Some);
    parsed.map_err(|_| Status::invalid_argument(format!("`{run}` is not the id of a run")))
}

fn gone() -> Status {
    Status::unavailable("the agent is shutting down")
}
