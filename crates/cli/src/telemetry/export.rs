//! Carrying spans to a collector: in batches, with a few tries each, and never for longer than there is room.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use sprag_engine::traces::{Counts, QUEUE_MAX, Traced, Traces};
use sprag_server::Trust;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;

use super::proto::{self, AttributeValue, Span};
use super::spans::span;
use crate::client::tls;
use crate::failure::Failure;

/// Spans in one request.
const BATCH_MAX: usize = 512;
/// How long spans are gathered before they are sent, at most.
const GATHER: Duration = Duration::from_secs(1);
/// How long a collector has for one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The waits between tries of one request, after which its spans are given up.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
];
const PATH: &str = "/v1/traces";
const PROTOBUF: &str = "application/x-protobuf";

/// Where a collector takes traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(reqwest::Url);

/// Why a text is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the address of a collector")]
pub(crate) struct EndpointError(String);

impl Endpoint {
    /// Reads the base of a collector's addresses, or the whole address of its traces.
    pub(crate) fn parse(text: &str) -> Result<Self, EndpointError> {
        let wrong = || EndpointError(text.to_owned());
        let mut url = reqwest::Url::parse(text).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || url.query().is_some() {
            return Err(wrong());
        }
        if !url.path().ends_with(PATH) {
            let path = format!("{}{PATH}", url.path().trim_end_matches('/'));
            url.set_path(&path);
        }
        Ok(Self(url))
    }
}

/// Starts a task that exports what the engine tells; it ends when the engine is gone and everything was sent or given up.
pub(crate) fn start(endpoint: Endpoint, service: &str) -> Result<(Traces, JoinHandle<()>), Failure> {
    let (traces, receiver) = Traces::queue(QUEUE_MAX);
    let exporter = Exporter {
        client: client(&endpoint)?,
        endpoint,
        resource: vec![
            ("service.name", AttributeValue::Text(service.to_owned())),
            (
                "service.version",
                AttributeValue::Text(env!("CARGO_PKG_VERSION").to_owned()),
            ),
        ],
        counts: Arc::clone(traces.counts()),
    };
    Ok((traces, tokio::spawn(exporter.run(receiver))))
}

fn client(endpoint: &Endpoint) -> Result<reqwest::Client, Failure> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config(&endpoint.0, &Trust::default())?)
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .user_agent(concat!("sprag/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Failure::new(format!("the HTTP client could not be built: {error}")))
}

struct Exporter {
    client: reqwest::Client,
    endpoint: Endpoint,
    resource: Vec<(&'static str, AttributeValue)>,
    counts: Arc<Counts>,
}

impl Exporter {
    async fn run(self, mut receiver: Receiver<Traced>) {
        let mut gathered = Vec::with_capacity(BATCH_MAX);
        while receiver.recv_many(&mut gathered, BATCH_MAX).await > 0 {
            gather(&mut receiver, &mut gathered).await;
            let spans: Vec<Span> = gathered.drain(..).map(span).collect();
            self.export(&spans).await;
        }
    }

    async fn export(&self, spans: &[Span]) {
        let body = proto::request(&self.resource, spans);
        let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        for wait in AGAIN.iter().map(Some).chain([None]) {
            let reason = match self.send(body.clone()).await {
                SendResult::Taken => {
                    self.counts.exported.inc_by(count);
                    return;
                }
                SendResult::Refused(reason) => {
                    self.give_up(count, &reason);
                    return;
                }
                SendResult::NotNow(reason) => reason,
            };
            match wait {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => self.give_up(count, &reason),
            }
        }
    }

    fn give_up(&self, count: u64, reason: &str) {
        self.counts.failed.inc_by(count);
        tracing::warn!(
            spans = count,
            reason,
            "traces dropped: collector refused them or is unreachable"
        );
    }

    async fn send(&self, body: Vec<u8>) -> SendResult {
        let request = self
            .client
            .post(self.endpoint.0.clone())
            .header(CONTENT_TYPE, PROTOBUF)
            .body(body);
        match request.send().await {
            Ok(response) if response.status().is_success() => SendResult::Taken,
            Ok(response) => {
                let status = response.status();
                let reason = format!("status {}", status.as_u16());
                // These are the ones that the protocol calls retryable.
                match status {
                    StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT => SendResult::NotNow(reason),
                    _ => SendResult::Refused(reason),
                }
            }
            Err(error) => SendResult::NotNow(error.without_url().to_string()),
        }
    }
}

/// What a collector did with a request.
enum SendResult {
    /// It has the spans.
    Taken,
    /// It will never take them.
    Refused(String),
    /// It may take them later.
    NotNow(String),
}

/// Takes whatever else comes within a moment, up to a whole batch.
async fn gather(receiver: &mut Receiver<Traced>, gathered: &mut Vec<Traced>) {
    let deadline = tokio::time::Instant::now() + GATHER;
    while gathered.len() < BATCH_MAX {
        let room = BATCH_MAX - gathered.len();
        match tokio::time::timeout_at(deadline, receiver.recv_many(gathered, room)).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}
