//! One connection to a target, in HTTP/1.1 or HTTP/2.
//!
//! Its user's task drives it, so a request crosses no other task or thread.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use sprag_runners::http::outbound::Guard;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::plan::Protocol;
use crate::text::causes;

/// How long a connection to one address may take to open.
const OPEN: Duration = Duration::from_secs(10);

/// Where connections go.
pub(super) struct Target {
    pub(super) guard: Guard,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
    pub(super) protocol: Protocol,
}

/// A byte stream, with TLS or without.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Body = Full<Bytes>;
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// An open connection.
pub(super) struct Connection {
    sender: Sender,
    /// Moves bytes. None once the connection is over.
    driver: Option<Driver>,
}

enum Sender {
    One(http1::SendRequest<Body>),
    Two(http2::SendRequest<Body>),
}

impl Connection {
    /// Opens a connection to a checked address of the target.
    pub(super) async fn open(target: &Target) -> Result<Self, String> {
        let checked = target.guard.check_tcp(&target.host, target.port).await;
        let addresses = checked.map_err(|error| error.to_string())?;
        let connecting = TcpStream::connect(addresses.as_slice());
        let connected = tokio::time::timeout(OPEN, connecting).await;
        let stream = connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| format!("no connection: {error}"))?;
        stream
            .set_nodelay(true)
            .map_err(|error| format!("no connection: {error}"))?;
        let Some((connector, name)) = &target.tls else {
            return Self::over(Box::new(stream), target.protocol == Protocol::Http2).await;
        };
        let handshake = tokio::time::timeout(OPEN, connector.connect(name.clone(), stream)).await;
        let stream = handshake
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| format!("no TLS connection: {error}"))?;
        let chosen = stream.get_ref().1.alpn_protocol();
        let is_http2 = chosen == Some(b"h2") || target.protocol == Protocol::Http2;
        Self::over(Box::new(stream), is_http2).await
    }

    async fn over(stream: Box<dyn Stream>, is_http2: bool) -> Result<Self, String> {
        let stream = TokioIo::new(stream);
        let failed = |error: hyper::Error| format!("no connection: {}", causes(&error));
        if is_http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            let (sender, driver) = builder
                .timer(TokioTimer::new())
                .handshake(stream)
                .await
                .map_err(failed)?;
            return Ok(Self {
                sender: Sender::Two(sender),
                driver: Some(Box::pin(driver)),
            });
        }
        // A small request is copied into one buffer sooner than gathered from several.
        let (sender, driver) = http1::Builder::new()
            .writev(false)
            .handshake(stream)
            .await
            .map_err(failed)?;
        Ok(Self {
            sender: Sender::One(sender),
            driver: Some(Box::pin(driver)),
        })
    }

    /// Whether requests go out as HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Two(_))
    }

    /// Whether it takes another request. Reads what the server may have sent since the last one: that it closes.
    pub(super) async fn is_usable(&mut self) -> bool {
        let Self { sender, driver } = self;
        poll_fn(|context| {
            drive(driver, context);
            Poll::Ready(())
        })
        .await;
        driver.is_some()
            && match sender {
                Sender::One(sender) => !sender.is_closed(),
                Sender::Two(sender) => !sender.is_closed(),
            }
    }

    /// Sends a request and reads its whole response.
    pub(super) async fn send(&mut self, request: Request<Body>) -> Result<StatusCode, String> {
        let Self { sender, driver } = self;
        let mut exchange = pin!(exchange(sender, request));
        poll_fn(|context| {
            // The exchange hands the request over, the driver sends it; the driver reads a response, the exchange takes it.
            for _ in 0..TURNS {
                if let Poll::Ready(end) = exchange.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                drive(driver, context);
            }
            exchange.as_mut().poll(context)
        })
        .await
    }
}

/// How often a waiting exchange and its driver take turns before the task waits.
const TURNS: usize = 2;

fn drive(driver: &mut Option<Driver>, context: &mut Context<'_>) {
    let is_over = driver
        .as_mut()
        .is_some_and(|driver| driver.as_mut().poll(context).is_ready());
    if is_over {
        *driver = None;
    }
}

async fn exchange(sender: &mut Sender, request: Request<Body>) -> Result<StatusCode, String> {
    let failed = |error: hyper::Error| causes(&error);
    let response = match sender {
        Sender::One(sender) => {
            sender.ready().await.map_err(failed)?;
            sender.send_request(request).await.map_err(failed)?
        }
        Sender::Two(sender) => {
            sender.ready().await.map_err(failed)?;
            sender.send_request(request).await.map_err(failed)?
        }
    };
    let status = response.status();
    let mut body = response.into_body();
    // A connection whose response was not read cannot be used again.
    while let Some(frame) = body.frame().await {
        frame.map_err(failed)?;
    }
    Ok(status)
}
