//! An agent in this process, a raw client of its protocol, and workloads for tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sprag_agent::agent::{Agent, Options};
use sprag_agent::lifecycle::Bounds;
use sprag_agent::plan::{Phase, Plan, Share};
use sprag_agent::wire::proto::controller_message::Content;
use sprag_agent::wire::proto::workload_agent_client::WorkloadAgentClient;
use sprag_agent::wire::proto::{
    AbortRequest, AgentStatus, ControllerMessage, LiveStats, Prepare, Start, Status as Reported, StatusRequest,
};
use sprag_agent::workload::{Stateless, User, Workload, Workloads};
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

/// A guard against hanging.
pub(crate) const GUARD: Duration = Duration::from_secs(30);

/// A clock that is off by so much.
pub(crate) struct Shifted {
    clock: System,
    millis: i64,
}

impl Shifted {
    pub(crate) fn by(millis: i64) -> Arc<dyn Clock> {
        let clock = System::start(Timestamp::default());
        Arc::new(Self { clock, millis })
    }
}

impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now().as_millis() + self.millis)
    }

    fn micros(&self) -> u64 {
        self.clock.micros()
    }
}

/// Workloads by the name of the plan. Counts what was performed.
#[derive(Default)]
pub(crate) struct Odd {
    pub(crate) performed: Arc<AtomicU64>,
}

struct Operation {
    name: String,
    performed: Arc<AtomicU64>,
}

impl Workloads for Odd {
    fn build<'a>(&'a self, plan: &'a Plan, _: &'a Phase, _: Share) -> BoxFuture<'a, Result<Arc<dyn Workload>, String>> {
        Box::pin(async move {
            match plan.name.as_str() {
                "slow-check" => tokio::time::sleep(Duration::from_millis(80)).await,
                "long-check" => tokio::time::sleep(Duration::from_secs(10)).await,
                "blocking-check" => {
                    let scan = tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_secs(3)));
                    scan.await.unwrap();
                }
                "refused" => return Err("`exec.command.0`: `rm` is not allowed here".to_owned()),
                _ => {}
            }
            Ok(Arc::new(Operation {
                name: plan.name.clone(),
                performed: Arc::clone(&self.performed),
            }) as Arc<dyn Workload>)
        })
    }
}

impl Stateless for Operation {
    fn perform_one(&self) -> BoxFuture<'_, Result<(), String>> {
        self.performed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match self.name.as_str() {
                "panics" => panic!("as planned"),
                "fails" => Err("as planned".to_owned()),
                "stuck" => {
                    std::thread::sleep(Duration::from_secs(2));
                    Ok(())
                }
                "stuck-long" => {
                    std::thread::sleep(Duration::from_secs(22));
                    Ok(())
                }
                _ => {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    Ok(())
                }
            }
        })
    }
}

impl Workload for Operation {
    fn user(self: Arc<Self>) -> Box<dyn User> {
        Box::new(self)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match self.name.as_str() {
                "cleanup" => tokio::time::sleep(Duration::from_millis(600)).await,
                "long-cleanup" => tokio::time::sleep(Duration::from_secs(2)).await,
                "deaf" => std::future::pending().await,
                _ => {}
            }
        })
    }
}

/// An agent of this process.
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) performed: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
}

/// Options with short times: kill after 300 ms, leak after 900 ms, reports every 100 ms.
pub(crate) fn quick(name: &str, clock: Arc<dyn Clock>) -> (Options, Arc<AtomicU64>) {
    let odd = Odd::default();
    let performed = Arc::clone(&odd.performed);
    let options = Options {
        bounds: Bounds {
            kill: Duration::from_millis(300),
            leak: Duration::from_millis(900),
            ..Bounds::default()
        },
        report_every: Duration::from_millis(100),
        ..Options::new(name, clock, Arc::new(odd))
    };
    (options, performed)
}

/// Whether the tests with the times of the design run: behind `SPRAG_PROVE`, as part `agents` of tests/prove.sh.
pub(crate) fn is_proof() -> bool {
    std::env::var_os("SPRAG_PROVE").is_some()
}

/// An agent with the times of the design.
pub(crate) async fn unhurried() -> Rig {
    let odd = Odd::default();
    let performed = Arc::clone(&odd.performed);
    Rig::with(Options::new("a1", Shifted::by(0), Arc::new(odd)), performed).await
}

impl Rig {
    pub(crate) async fn start() -> Self {
        let (options, performed) = quick("a1", Shifted::by(0));
        Self::with(options, performed).await
    }

    pub(crate) async fn with(options: Options, performed: Arc<AtomicU64>) -> Self {
        let agent = Agent::bind(options, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let address = agent.address();
        let served = tokio::spawn(async move {
            agent.run(async { drop(stopped.await) }).await.unwrap();
        });
        Self {
            address,
            performed,
            stop: Some(stop),
            served,
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        tokio::time::timeout(GUARD, &mut self.served).await.unwrap().unwrap();
    }

    pub(crate) async fn client(&self) -> Client {
        Client(WorkloadAgentClient::new(self.endpoint().connect().await.unwrap()))
    }

    /// A client that buffers so many bytes of a stream.
    pub(crate) async fn narrow_client(&self, bytes: u32) -> Client {
        let endpoint = self.endpoint().initial_stream_window_size(bytes);
        Client(WorkloadAgentClient::new(endpoint.connect().await.unwrap()))
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.address)).unwrap()
    }

    /// Waits until an operation has begun.
    pub(crate) async fn until_performing(&self) {
        let began = Instant::now();
        while self.count() == 0 {
            assert!(began.elapsed() < GUARD, "no operation began");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.performed.load(Ordering::SeqCst)
    }
}

/// A raw client.
#[derive(Clone)]
pub(crate) struct Client(pub WorkloadAgentClient<Channel>);

/// A run as its controller sees it.
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) stream: Streaming<LiveStats>,
    outbound: mpsc::Sender<ControllerMessage>,
}

/// A plan for these workloads.
pub(crate) fn plan(name: &str, more: &str) -> String {
    format!("name: {name}\nworkload: exec\nexec: {{ command: [x] }}\n{more}\n")
}

pub(crate) fn prepare(plan: &str) -> Prepare {
    let digest = Sha256::digest(plan.as_bytes());
    Prepare {
        protocol: 1,
        plan: plan.to_owned(),
        plan_digest: hexadecimal(&digest),
        agent_index: 0,
        agent_count: 1,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

impl Client {
    /// Asks for a run, whatever comes of it.
    pub(crate) async fn ask(
        &mut self,
        plan: &str,
    ) -> Result<(Streaming<LiveStats>, mpsc::Sender<ControllerMessage>), Status> {
        let (outbound, messages) = mpsc::channel(4);
        let content = Some(Content::Prepare(prepare(plan)));
        outbound.send(ControllerMessage { content }).await.unwrap();
        let messages = futures_util::stream::unfold(messages, |mut messages| async move {
            Some((messages.recv().await?, messages))
        });
        let stream = self.0.run_workload_with_live_stats(messages).await?.into_inner();
        Ok((stream, outbound))
    }

    /// A run that is READY.
    pub(crate) async fn ready(&mut self, plan: &str) -> Run {
        let (mut stream, outbound) = self.ask(plan).await.unwrap();
        let first = stream.message().await.unwrap().unwrap();
        assert_eq!(first.status(), Reported::Ready, "{}", first.error_message);
        Run {
            id: first.run_id,
            token: first.attach_token,
            stream,
            outbound,
        }
    }

    /// A run that was told to start at once.
    pub(crate) async fn running(&mut self, plan: &str) -> Run {
        let run = self.ready(plan).await;
        run.start(0).await;
        self.until("RUNNING").await;
        run
    }

    pub(crate) async fn abort(&mut self, run_id: &str) -> Result<String, Status> {
        let run_id = run_id.to_owned();
        Ok(self.0.abort_workload(AbortRequest { run_id }).await?.into_inner().state)
    }

    pub(crate) async fn status(&mut self) -> AgentStatus {
        self.0.get_status(StatusRequest::default()).await.unwrap().into_inner()
    }

    /// Where the agent went, in order.
    pub(crate) async fn history(&mut self) -> Vec<String> {
        self.status().await.history.into_iter().map(|made| made.to).collect()
    }

    /// Waits until the agent is in a state, and says how long that took.
    pub(crate) async fn until(&mut self, state: &str) -> Duration {
        let began = Instant::now();
        loop {
            let status = self.status().await;
            if status.state == state {
                return began.elapsed();
            }
            assert!(began.elapsed() < GUARD, "not {state}: {status:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Run {
    pub(crate) async fn start(&self, at_unix_micros: u64) {
        let content = Some(Content::Start(Start { at_unix_micros }));
        self.outbound.send(ControllerMessage { content }).await.unwrap();
    }

    /// Every message until the end, and how it ended.
    pub(crate) async fn rest(&mut self) -> (Vec<LiveStats>, Option<Status>) {
        tokio::time::timeout(GUARD, rest(&mut self.stream)).await.unwrap()
    }
}

pub(crate) async fn rest(stream: &mut Streaming<LiveStats>) -> (Vec<LiveStats>, Option<Status>) {
    let mut messages = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, None),
            Err(status) => return (messages, Some(status)),
        }
    }
}

pub(crate) fn code(status: Option<&Status>) -> Option<Code> {
    status.map(Status::code)
}

pub(crate) fn ops(message: &LiveStats) -> u64 {
    let tally = |tally: &Option<sprag_agent::wire::proto::Tally>| tally.as_ref().map_or(0, |tally| tally.ops);
    tally(&message.steady) + tally(&message.ramp)
}
