//! A running server, as commands speak to it.
//!
//! Answers are JSON documents, passed on as they are. A refusal is a problem document and becomes a [`Failure`] with
//! its code; a server that does not answer is named with what would start one.

mod download;
mod events;
mod executions;
mod kinds;
mod once;
mod problem;
mod retry;
pub(crate) mod tls;

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, IF_MATCH, IF_NONE_MATCH, RETRY_AFTER};
use reqwest::{Method, Response, Url};
use serde_json::Value;
use sprag_server::is_readable;

pub(crate) use self::events::{Event, Events, NotOpened};
pub(crate) use self::once::{Once, Why};
use self::retry::{Retry, Tried};
pub(crate) use self::tls::Certificates;
use crate::failure::Failure;
use crate::output;

/// The default address of a server.
const ADDRESS: &str = "http://127.0.0.1:7400";
const SERVER_HELP: &str = "Server [default: SPRAG_SERVER or 127.0.0.1:7400]";
/// What starts one.
const START: &str = "`sprag up`";
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may take beyond what it was asked to wait.
const ANSWER: Duration = Duration::from_secs(30);
/// No answer is larger.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Which server a command speaks to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Remote {
    // Not read from the environment by clap, which would show what the environment says as if it were required.
    #[arg(long, value_name = "URL", display_order = 800, help = SERVER_HELP)]
    server: Option<String>,
    /// The token to show it
    #[arg(long, hide = true)]
    token: Option<String>,
    /// Do not retry if the server is busy
    #[arg(long, display_order = 801)]
    no_retry: bool,
    #[command(flatten)]
    certificates: Certificates,
}

impl Remote {
    /// The server at this address.
    pub(crate) fn at(server: String, token: Option<String>, certificates: Certificates) -> Self {
        Self {
            server: Some(server),
            token,
            no_retry: false,
            certificates,
        }
    }

    /// A server that is asked once: the one that is named, or the usual one.
    pub(crate) fn silent(server: Option<String>) -> Self {
        Self {
            server,
            token: None,
            no_retry: true,
            certificates: Certificates::default(),
        }
    }

    /// Whether the command line names a server.
    pub(crate) fn is_named(&self) -> bool {
        self.server.is_some()
    }

    /// A client of this server.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let server = self.server.clone().or_else(|| variable("SPRAG_SERVER"));
        let base = address(server.as_deref().unwrap_or(ADDRESS))?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(&base, &self.certificates.trust()?)?)
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("sprag/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::new(format!("the HTTP client could not be built: {error}")))?;
        let token = self.token.clone().or_else(|| variable("SPRAG_TOKEN"));
        if token.is_some() && is_readable(base.as_str()) {
            output::note("the token crosses the network in plain text; use https");
        }
        Ok(Client {
            http,
            base,
            token,
            start: START,
            retry: if self.no_retry { Retry::Never } else { Retry::Bounded },
        })
    }
}

/// What the environment says, if it says anything.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The server that a text names: its root, not that of its API.
fn address(text: &str) -> Result<Url, Failure> {
    const SHAPE: &str = "it must begin with http:// or https:// and name a host";
    let wrong = |why: &str| {
        Failure::invalid(format!("`{text}` is not a server address: {why}")).note(format!("write it as in `{ADDRESS}`"))
    };
    let mut base = match Url::parse(text) {
        Ok(base) => base,
        Err(error) if text.contains("://") => return Err(wrong(&error.to_string())),
        Err(_) => return Err(wrong(SHAPE)),
    };
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(wrong(SHAPE));
    }
    let path = base.path().trim_end_matches('/').to_owned();
    if let Some(root) = path.strip_suffix("/v1") {
        base.set_path(root);
    }
    Ok(base)
}

/// A client of one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
    /// What starts such a server.
    start: &'static str,
    retry: Retry,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Request<'c> {
    client: &'c Client,
    method: Method,
    url: Url,
    body: Option<(&'static str, Vec<u8>)>,
    revision: Option<u64>,
    wait: Duration,
    key: Option<String>,
    reason: Option<String>,
    /// Whether only this process knows the key.
    is_own_key: bool,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// What was asked for, or the problem document that says why not.
    pub(crate) document: Value,
}

impl Answer {
    /// What was asked for; a refusal is a failure.
    pub(crate) fn success(self, client: &Client) -> Result<Value, Failure> {
        match self.status {
            200..=299 => Ok(self.document),
            status => Err(problem::refusal(&client.base, status, &self.document)),
        }
    }
}

impl Client {
    /// The same for a server that something else starts.
    pub(crate) fn started_with(self, start: &'static str) -> Self {
        Self { start, ..self }
    }

    /// The same with another token, or with none.
    pub(crate) fn with_token(&self, token: Option<String>) -> Self {
        Self { token, ..self.clone() }
    }

    /// Asks for what is under `/v1/` and these segments.
    pub(crate) fn get(&self, segments: &[&str]) -> Request<'_> {
        self.request(Method::GET, segments)
    }

    /// Asks for something to be done there.
    pub(crate) fn post(&self, segments: &[&str]) -> Request<'_> {
        self.request(Method::POST, segments)
    }

    /// Asks for something to be as the body says.
    pub(crate) fn put(&self, segments: &[&str]) -> Request<'_> {
        self.request(Method::PUT, segments)
    }

    /// Asks for something to go.
    pub(crate) fn delete(&self, segments: &[&str]) -> Request<'_> {
        self.request(Method::DELETE, segments)
    }

    fn request(&self, method: Method, segments: &[&str]) -> Request<'_> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        Request {
            client: self,
            method,
            url,
            body: None,
            revision: None,
            wait: Duration::ZERO,
            key: None,
            reason: None,
            is_own_key: false,
        }
    }
}

impl Request<'_> {
    /// With a parameter, if it is given.
    #[must_use]
    pub(crate) fn query(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.url.query_pairs_mut().append_pair(name, &value.to_string());
        }
        self
    }

    /// With a JSON body.
    #[must_use]
    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// With a body of that media type.
    #[must_use]
    pub(crate) fn body(mut self, media_type: &'static str, body: String) -> Self {
        self.body = Some((media_type, body.into_bytes()));
        self
    }

    /// Only if what is there is still at this revision; 0 where there must be nothing.
    #[must_use]
    pub(crate) fn matching(mut self, revision: Option<u64>) -> Self {
        self.revision = revision;
        self
    }

    /// Knowing that the server may let us wait so long.
    #[must_use]
    pub(crate) fn waiting(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Under a key that makes it act once, if one is given.
    #[must_use]
    pub(crate) fn once(mut self, once: &Once) -> Self {
        self.key.clone_from(&once.idempotency_key);
        self
    }

    /// For this reason, if one is given.
    #[must_use]
    pub(crate) fn why(mut self, why: &Why) -> Self {
        self.reason.clone_from(&why.reason);
        self
    }

    /// Sends it and reads what it brings; a refusal is a failure.
    pub(crate) async fn send(self) -> Result<Value, Failure> {
        let client = self.client;
        self.answer().await?.success(client)
    }

    /// Sends it and reads the answer, whatever it is.
    pub(crate) async fn answer(self) -> Result<Answer, Failure> {
        self.patiently().await
    }

    /// Sends it once.
    async fn attempt(&self) -> Result<Tried, Failure> {
        let Self {
            client,
            method,
            url,
            body,
            revision,
            wait,
            key,
            reason,
            is_own_key,
        } = self;
        let mut request = client
            .http
            .request(method.clone(), url.clone())
            .header(ACCEPT, "application/json")
            .timeout(*wait + ANSWER);
        request = match revision {
            None => request,
            Some(0) => request.header(IF_NONE_MATCH, "*"),
            Some(revision) => request.header(IF_MATCH, format!("\"{revision}\"")),
        };
        if let Some((media_type, body)) = body {
            request = request.header(CONTENT_TYPE, *media_type).body(body.clone());
        }
        if let Some(key) = key {
            request = request.header(once::HEADER, key);
        }
        if let Some(reason) = reason {
            request = request.header(once::REASON, reason_value(reason)?);
        }
        if let Some(token) = &client.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let response = request
            .send()
            .await
            .map_err(|error| problem::unreachable(client, &error))?;
        let status = response.status().as_u16();
        if response.headers().contains_key(once::REPLAYED) && !is_own_key {
            output::note("answered before under this idempotency key: nothing was done now");
        }
        let after = response.headers().get(RETRY_AFTER);
        let after = after.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        let body = read(response, client).await?;
        match serde_json::from_slice(&body) {
            Ok(document) => Ok(Tried {
                answer: Answer { status, document },
                after: after.map(Duration::from_secs),
            }),
            Err(_) => Err(problem::not_json(&client.base, status, &body)),
        }
    }
}

/// A reason as a header: any text of one line.
fn reason_value(reason: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::from_bytes(reason.as_bytes())
        .map_err(|_| Failure::invalid("the reason has a line break or another control character"))
}

async fn read(mut response: Response, client: &Client) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(chunk)) if body.len() + chunk.len() <= ANSWER_BYTES_MAX => body.extend_from_slice(&chunk),
            Ok(Some(_)) => {
                return Err(Failure::new(format!(
                    "the answer of {} is larger than {ANSWER_BYTES_MAX} bytes",
                    client.base
                )));
            }
            Err(error) => return Err(problem::unreachable(client, &error)),
        }
    }
}
