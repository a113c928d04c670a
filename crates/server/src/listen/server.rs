//! The listening side: connections in, one task each, and an end that does not wait for ever.
//!
//! Connections ([`crate::listen::seats`]), the time of a TLS handshake, the time a request's head may take, and the time the last answers
//! have are bounded.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use sprag_core::time::Timestamp;
use sprag_engine::Handle;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use crate::access::auth::{Auth, Mode};
use crate::access::gate::Peer;
use crate::access::guard::Hosts;
use crate::access::oidc::Oidc;
use crate::access::refusals;
use crate::app::{App, Settings, closed};
use crate::handlers::workers::{self, Cell, Shared, Workers};
use crate::listen::admission;
use crate::listen::deadline::Deadline;
use crate::listen::seats::{Seat, Seated, Seats};
use crate::listen::tls::{self, HANDSHAKES_MAX, Loaded, Look, Tls};
use crate::listen::{Error, Options};
use crate::metrics::{HttpMetrics, series};
use crate::nodes::NodeClient;
use crate::routes;

/// Connections beyond those that can be busy at once: when all seats are taken, one is always idle.
const SPARE_SEATS: usize = 128;
/// Connections that may be on their way out while others are accepted.
const LEAVING_MAX: usize = 64;
/// Idle connections that are closed when the system has no room for another one.
const CLOSED_WHEN_SHORT: usize = 16;
/// How long the head of a request may take, and how long a connection may idle.
const HEAD_MAX: Duration = Duration::from_mins(1);
/// How long requests under way have to end once the server goes down.
const GRACE: Duration = Duration::from_secs(5);
/// What is kept of an answer, or of a request's head, before it is on its way.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// What the system keeps of answers that a peer has not taken yet.
const SEND_BYTES_MAX: u32 = 256 * 1024;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1_024;
/// How long to wait when the system has no room for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    closing: watch::Sender<bool>,
    metrics: Arc<HttpMetrics>,
    workers: Cell,
    /// What handlers share; a supervisor alone has none.
    app: Option<App>,
    connections_max: usize,
    tls: Option<Arc<Loaded<ServerConfig>>>,
    /// What is read again when its files change.
    files: Vec<Arc<dyn Look>>,
    oidc: Option<(Arc<Oidc>, Handle)>,
}

/// An address that is taken: connections wait there until a server runs on it.
pub struct Reserved {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
}

/// What a server counts for the audit and writes from time to time.
pub struct Counted(Option<App>);

impl Counted {
    /// Writes it now. Whoever ends an engine calls this first: afterwards the engine takes no entries.
    pub async fn write(&self) {
        if let Some(app) = &self.0 {
            refusals::flush(app).await;
        }
    }
}

/// How callers come in, with what it takes read from its files.
pub struct Access {
    tls: Option<Arc<Loaded<ServerConfig>>>,
    oidc: Option<Arc<Oidc>>,
    asks_certificates: bool,
}

impl Access {
    /// As configured, for a server at this address.
    pub fn check(listen: SocketAddr, auth: &Auth, tls: Option<&Tls>) -> Result<Self, Error> {
        auth.check(listen, tls)?;
        let oidc = auth.oidc.as_ref().filter(|_| auth.mode == Mode::Oidc);
        Ok(Self {
            tls: tls.map(Tls::load).transpose()?.map(Arc::new),
            oidc: oidc
                .map(|options| Oidc::new(options.clone()))
                .transpose()?
                .map(Arc::new),
            asks_certificates: tls.is_some_and(|tls| tls.client_ca.is_some()),
        })
    }
}

impl Reserved {
    /// Takes an address. Must be called inside a runtime.
    pub fn take(listen: SocketAddr, auth: &Auth, tls: Option<&Tls>) -> Result<Self, Error> {
        let access = Access::check(listen, auth, tls)?;
        let failed = |source| Error::Listen {
            address: listen,
            source,
        };
        let listener = listener(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            access,
        })
    }

    /// Which; the port is the real one if it was left to the system.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// What the loop wakes up for.
enum Wake {
    /// The server must stop.
    Shutdown,
    /// A connection ended: that of this task.
    Ended(Id),
    /// A connection came, or could not.
    Accepted(io::Result<(TcpStream, SocketAddr)>),
}

impl Server {
    /// Listens where `options` say. Requests are answered once [`Server::run`] is called.
    #[expect(clippy::unused_async, reason = "only inside a runtime can a socket listen")]
    pub async fn bind(options: Options, engine: Handle) -> Result<Self, Error> {
        let reserved = Reserved::take(options.listen, &options.auth, options.tls.as_ref())?;
        Self::on(reserved, options, engine)
    }

    /// The same on an address that was taken before, whatever `options` say about it.
    pub fn on(reserved: Reserved, options: Options, engine: Handle) -> Result<Self, Error> {
        let Options {
            listen: _,
            hosts,
            body_bytes,
            store,
            streams,
            auth,
            is_demo,
            tls: _,
            nodes,
            loads,
        } = options;
        let Reserved {
            listener,
            address,
            access: Access {
                tls,
                oidc,
                asks_certificates,
            },
        } = reserved;
        let of_tls = tls.iter().map(|tls| Arc::clone(tls) as Arc<dyn Look>);
        let files = of_tls.chain(nodes.as_ref().map(NodeClient::files)).collect();
        let (closing, is_closing) = watch::channel(false);
        let settings = Settings {
            hosts: Hosts::new(&hosts)?,
            body_bytes,
            store,
            is_loopback: address.ip().is_loopback(),
            streams,
            auth,
            is_demo,
            oidc: oidc.clone(),
            asks_certificates,
            nodes,
            loads,
        };
        let oidc = oidc.map(|oidc| (oidc, engine.clone()));
        let app = App::new(engine, settings, is_closing);
        Ok(Self {
            listener,
            address,
            metrics: Arc::clone(&app.metrics),
            workers: Arc::clone(&app.workers),
            app: Some(app.clone()),
            router: routes::router(app),
            closing,
            connections_max: admission::ALL_MAX + streams + SPARE_SEATS,
            tls,
            files,
            oidc,
        })
    }

    /// The same for a supervisor alone: there is no engine, and the only routes are those of supervision.
    #[expect(clippy::unused_async, reason = "only inside a runtime can a socket listen")]
    pub async fn bind_supervision(listen: SocketAddr, workers: Workers, now: Timestamp) -> Result<Self, Error> {
        let Reserved { listener, address, .. } = Reserved::take(listen, &Auth::default(), None)?;
        let shared = Shared {
            workers: Cell::default(),
            engine: None,
        };
        let server = Self {
            listener,
            address,
            metrics: Arc::new(HttpMetrics::new(now)),
            workers: Arc::clone(&shared.workers),
            app: None,
            router: workers::alone(shared),
            closing: watch::channel(false).0,
            connections_max: admission::ALL_MAX + SPARE_SEATS,
            tls: None,
            files: Vec::new(),
            oidc: None,
        };
        server.supervise(workers);
        Ok(server)
    }

    /// Supervises from now on: the routes of supervision answer for `workers`.
    pub fn supervise(&self, workers: Workers) {
        // There is one supervisor in a process; who comes second changes nothing.
        let _ = self.workers.set(workers);
    }

    /// Where the server listens; the port is the real one if the options left it to the system.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What this server counts for the audit.
    pub fn counted(&self) -> Counted {
        Counted(self.app.clone())
    }

    /// Answers requests until `shutdown` is ready. Requests under way then have a few seconds to end.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self {
            listener,
            router,
            closing,
            metrics,
            connections_max,
            app,
            tls,
            files,
            oidc,
            address: _,
            workers: _,
        } = self;
        let _beside = beside(files, oidc, app);
        let mut shutdown = pin!(shutdown);
        let mut connections = JoinSet::new();
        let mut seats = Seats::default();
        let ended = loop {
            let has_room = connections.len() < connections_max + LEAVING_MAX;
            let wake = tokio::select! {
                biased;
                () = &mut shutdown => Wake::Shutdown,
                Some(ended) = connections.join_next_with_id() => Wake::Ended(task_of(ended)),
                accepted = listener.accept(), if has_room => Wake::Accepted(accepted),
            };
            match wake {
                Wake::Shutdown => break Ok(()),
                Wake::Ended(task) => seats.give_back(task),
                Wake::Accepted(Ok((stream, peer))) => {
                    if connections.len() >= connections_max {
                        close_idle(&seats, 1, &metrics);
                    }
                    if connections.len() >= HANDSHAKES_MAX && seats.handshakes() >= HANDSHAKES_MAX {
                        seats.make_room(Seat::is_in_handshake);
                    }
                    // Answers are small: waiting to fill a packet would only delay them. Without it they come all the same.
                    let _ = stream.set_nodelay(true);
                    let stream = Deadline::new(stream, Arc::clone(&metrics));
                    let seat = seats.seat();
                    let guest = Guest {
                        peer: Peer {
                            address: peer,
                            is_certified: false,
                        },
                        seat: Arc::clone(&seat),
                        router: router.clone(),
                        closing: closing.subscribe(),
                    };
                    let task = match &tls {
                        None => connections.spawn(serve(stream, guest)),
                        Some(tls) => {
                            seat.set_in_handshake(true);
                            connections.spawn(secure(tls.current(), stream, guest))
                        }
                    };
                    seats.take(task.id(), seat);
                }
                Wake::Accepted(Err(error)) => {
                    if let Err(error) = bear(error, &seats, &metrics).await {
                        break Err(error);
                    }
                }
            }
        };
        drop(listener);
        closing.send_replace(true);
        finish(connections).await;
        ended
    }
}

/// The task of a connection that ended, in whichever way.
fn task_of(ended: Result<(Id, ()), JoinError>) -> Id {
    match ended {
        Ok((task, ())) => task,
        Err(error) => error.id(),
    }
}

/// Closes the connections that have been idle longest.
fn close_idle(seats: &Seats, most: usize, metrics: &HttpMetrics) {
    let closed = (0..most).take_while(|_| seats.make_room(|_| true)).count();
    metrics.closed_idle.inc_by(u64::try_from(closed).unwrap_or(u64::MAX));
    tracing::debug!(closed, "no seats left, closed idle connections");
}

/// A socket that listens. Connections inherit how much the system keeps for a peer that does not read.
fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BYTES_MAX)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A connection that could not be accepted: nearly always the peer's affair, or a lack that passes.
async fn bear(error: io::Error, seats: &Seats, metrics: &HttpMetrics) -> Result<(), Error> {
    match error.kind() {
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::InvalidInput => Err(Error::Accept(error)),
        _ => {
            tracing::warn!(%error, "connection not accepted");
            close_idle(seats, CLOSED_WHEN_SHORT, metrics);
            sleep(ACCEPT_PAUSE).await;
            Ok(())
        }
    }
}

/// What runs beside connections, until this is dropped.
fn beside(files: Vec<Arc<dyn Look>>, oidc: Option<(Arc<Oidc>, Handle)>, app: Option<App>) -> JoinSet<()> {
    let mut beside = JoinSet::new();
    beside.spawn(tls::watch(files));
    beside.spawn(keep(oidc));
    if let Some(app) = app {
        beside.spawn(series::keep(app.clone()));
        beside.spawn(refusals::keep(app));
    }
    beside
}

/// Keeps what is known of an OpenID provider new, where there is one.
async fn keep(oidc: Option<(Arc<Oidc>, Handle)>) {
    if let Some((oidc, engine)) = oidc {
        oidc.keep(&engine).await;
    }
}

/// Who came, and where it goes.
struct Guest {
    peer: Peer,
    seat: Arc<Seat>,
    router: Router,
    closing: watch::Receiver<bool>,
}

/// Serves one connection that must be encrypted first.
async fn secure(config: Arc<ServerConfig>, stream: Deadline, mut guest: Guest) {
    let accepted = tokio::select! {
        biased;
        accepted = Box::pin(tls::accept(config, stream)) => accepted,
        () = guest.seat.left() => return,
        () = closed(guest.closing.clone()) => return,
    };
    guest.seat.set_in_handshake(false);
    match accepted {
        Ok(stream) => {
            guest.peer.is_certified = stream.get_ref().1.peer_certificates().is_some();
            serve(stream, guest).await;
        }
        Err(error) => tracing::debug!(%error, peer = %guest.peer.address, "TLS handshake failed"),
    }
}

/// Serves one connection until it ends, until it is idle and the server goes down, or until its seat is needed.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, guest: Guest) {
    let Guest {
        peer,
        seat,
        router,
        closing,
    } = guest;
    let service = Seated::new(router, Arc::clone(&seat), peer);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX);
    builder.max_buf_size(BUFFER_BYTES_MAX);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = seat.left() => return,
        () = closed(closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection broken");
    }
}

/// Lets what is under way end, but not for ever.
async fn finish(mut connections: JoinSet<()>) {
    let ended = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        // They end with the set that holds them.
        tracing::warn!(connections = connections.len(), "connections cut at shutdown");
    }
}
