//! What every handler has at hand.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use sprag_agent::durable::Loads;
use sprag_core::document::source::Limits;
use sprag_core::ids::ExecutionId;
use sprag_engine::requests::Refusal;
use sprag_engine::{Closing, Handle};
use sprag_wire::Execution;
use tokio::sync::{Semaphore, watch};

use crate::access::auth::Auth;
use crate::access::gate::Gate;
use crate::access::guard::Hosts;
use crate::access::oidc::Oidc;
use crate::access::refusals::Refusals;
use crate::handlers::workers::Cell;
use crate::listen::admission::Admission;
use crate::listen::arrivals::Arrivals;
use crate::listen::flight::Flight;
use crate::metrics::series::Ring;
use crate::metrics::{CensusTaker, HttpMetrics};
use crate::nodes::NodeClient;
use crate::nodes::forward::Forwarder;
use crate::problem::{Code, Problem};
use crate::streams::Streams;

/// Pieces of long work at once. Store reads share the threads, and always find one.
const APART_MAX: usize = 4;

/// The state that handlers share. Every layer around every route clones it for every request, so it is one pointer.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// What it points to.
pub(crate) struct Shared {
    pub(crate) engine: Handle,
    pub(crate) settings: Settings,
    /// Becomes true when the server goes down.
    closing: watch::Receiver<bool>,
    apart: Arc<Semaphore>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) metrics: Arc<HttpMetrics>,
    pub(crate) census: CensusTaker,
    /// Whom this server supervises.
    pub(crate) workers: Cell,
    pub(crate) forwarder: Forwarder,
    /// The load tests that this process runs, and the agents that registered.
    pub(crate) loads: Loads,
    /// Figures of the last day.
    pub(crate) series: Ring,
    /// Who is let in.
    pub(crate) gate: Gate,
    /// Who was not, in this minute.
    pub(crate) refusals: Refusals,
    /// Requests at once, by class.
    pub(crate) admission: Admission,
    /// Bodies of requests in memory.
    pub(crate) arrivals: Arrivals,
    /// Bytes of answers in memory.
    pub(crate) flight: Flight,
}

/// What was set when the server began.
pub(crate) struct Settings {
    pub(crate) hosts: Hosts,
    pub(crate) body_bytes: usize,
    pub(crate) store: String,
    /// Whether only this machine can reach the server.
    pub(crate) is_loopback: bool,
    pub(crate) streams: usize,
    pub(crate) auth: Auth,
    /// Whether it runs the demo, in which every caller may try everything.
    pub(crate) is_demo: bool,
    /// Tokens of an OpenID provider, where they count.
    pub(crate) oidc: Option<Arc<Oidc>>,
    /// Whether there is an authority for the certificates of clients.
    pub(crate) asks_certificates: bool,
    pub(crate) nodes: Option<NodeClient>,
    pub(crate) loads: Loads,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl App {
    /// What handlers of one server share.
    pub(crate) fn new(engine: Handle, settings: Settings, closing: watch::Receiver<bool>) -> Self {
        Self(Arc::new(Shared {
            streams: Arc::new(Streams::new(settings.streams)),
            metrics: Arc::new(HttpMetrics::new(engine.now())),
            census: CensusTaker::default(),
            workers: Cell::default(),
            forwarder: Forwarder::new(settings.nodes.clone()),
            loads: settings.loads.clone(),
            series: Ring::default(),
            gate: Gate::new(settings.auth.clone(), settings.oidc.clone()),
            refusals: Refusals::default(),
            admission: Admission::default(),
            arrivals: Arrivals::default(),
            flight: Flight::default(),
            engine,
            settings,
            closing,
            apart: Arc::new(Semaphore::new(APART_MAX)),
        }))
    }

    /// Whether the server goes down.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until the server goes down.
    pub(crate) async fn closed(&self) {
        closed(self.closing.clone()).await;
    }

    /// The bounds of a request body.
    pub(crate) fn body_limits(&self) -> Limits {
        Limits {
            depth: self.engine.limits().json_depth,
            ..Limits::body(self.settings.body_bytes)
        }
    }

    /// An execution, once it is closed if there is something to wait for. A server that goes down waits no longer.
    pub(crate) async fn execution(&self, id: ExecutionId, wait: Option<Duration>) -> Result<Execution, Refusal> {
        let Some(wait) = wait else {
            return self.engine.read().execution(id).await;
        };
        tokio::select! {
            biased;
            view = self.engine.wait_closed(id, wait) => view,
            () = closed(self.closing.clone()) => self.engine.read().execution(id).await,
        }
    }

    /// An execution that was started just now, once it is closed.
    pub(crate) async fn closing(
        &self,
        id: ExecutionId,
        closing: Closing,
        wait: Duration,
    ) -> Result<Execution, Refusal> {
        tokio::select! {
            biased;
            view = self.engine.wait_closing(id, closing, wait) => view,
            () = closed(self.closing.clone()) => self.engine.read().execution(id).await,
        }
    }

    /// Does work that may take its time where it blocks no other task.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = Arc::clone(&self.apart).acquire_owned().await;
        // The permit stays with the work: a client that goes away does not end it.
        let task = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        task.await.map_err(|_| {
            Problem::new(
                Code::InternalError,
                "the server failed on this request; read its log for the cause",
            )
        })
    }
}

/// Waits until the server goes down.
pub(crate) async fn closed(mut closing: watch::Receiver<bool>) {
    // A sender that is gone means the same: no signal will come any more.
    let _ = closing.wait_for(|&is_closing| is_closing).await;
}
