//! One check of a probe: by HTTP, TCP, a program, or the log.
//!
//! The operator configures the addresses, so they bypass the outbound guard. A check follows no redirect and uses no
//! proxy of the environment.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::process::launch::{find_program, own_variables};
use crate::process::{MARK, log};
use crate::services::{ObserveSource, ProbeKind};

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Messages are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 200;

/// Whom to ask, and from where.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Marks the programs that ask.
    pub(crate) mark: String,
    /// Where relative programs begin.
    pub(crate) folder: PathBuf,
    /// Where programs run.
    pub(crate) cwd: PathBuf,
    /// The service's variables.
    pub(crate) env: Vec<(String, String)>,
    /// Its log.
    pub(crate) log: PathBuf,
    /// Where its own part of the log begins.
    pub(crate) log_offset: u64,
}

/// Asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asker {
    /// Made for the first question by HTTP: without one, no certificates are held in memory.
    http: Arc<OnceCell<reqwest::Client>>,
}

impl Asker {
    async fn http(&self) -> Result<&reqwest::Client, String> {
        let made = || async {
            let made = tokio::task::spawn_blocking(client).await;
            made.map_err(|_| "the certificates of the machine could not be read".to_owned())?
        };
        self.http.get_or_try_init(made).await
    }

    /// Asks once. An answer that takes longer than `time` is a bad one.
    pub(crate) async fn ask(&self, kind: &ProbeKind, subject: &Subject, time: Duration) -> Result<(), String> {
        let answer = async {
            match kind {
                ProbeKind::Http(url) => self.get(url).await.map(drop),
                ProbeKind::Tcp(address) => match TcpStream::connect(address).await {
                    Ok(_) => Ok(()),
                    Err(error) => Err(format!("{address}: {error}")),
                },
                ProbeKind::Exec(command) => run(command, subject).await.map(drop),
                ProbeKind::Log(text) => written(subject, text.clone()).await,
            }
        };
        within(time, answer).await
    }

    /// Asks for the document about a service.
    pub(crate) async fn observe(
        &self,
        source: &ObserveSource,
        subject: &Subject,
        time: Duration,
    ) -> Result<Map<String, Value>, String> {
        let answer = async {
            match source {
                ObserveSource::Http(url) => self.get(url).await,
                ObserveSource::Exec(command) => run(command, subject).await,
            }
        };
        let bytes = within(time, answer).await?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(document)) => Ok(document),
            Ok(_) => Err("the answer is not a JSON object".to_owned()),
            Err(error) => Err(format!("the answer is not JSON: {error}")),
        }
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let mut response = self
            .http()
            .await?
            .get(url)
            .send()
            .await
            .map_err(|error| of_http(&error))?;
        let status = response.status();
        if !(status.is_success() || status.is_redirection()) {
            return Err(format!("{url} answers {status}"));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| of_http(&error))? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(format!("{url} answers with more than {ANSWER_BYTES_MAX} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// A client that trusts what the machine trusts.
fn client() -> Result<reqwest::Client, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let http = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .user_agent(concat!("sprag/", env!("CARGO_PKG_VERSION")))
        .build();
    http.map_err(|error| error.to_string())
}

/// The innermost cause says most: `connection refused`.
fn of_http(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let url = error.url().map(ToString::to_string).unwrap_or_default();
    format!("{url}: {cause}")
}

async fn within<T>(time: Duration, answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::time::timeout(time, answer).await {
        Ok(answer) => answer.map_err(|error| error.chars().take(SHOWN_CHARACTERS_MAX).collect()),
        Err(_) => Err(format!("no answer within {} ms", time.as_millis())),
    }
}

/// What a program printed that ended with 0. Dropped, it and its group are killed.
async fn run(command: &[String], subject: &Subject) -> Result<Vec<u8>, String> {
    let (name, arguments) = command.split_first().ok_or("there is no program")?;
    let program = find_program(name, &subject.env, &subject.folder).map_err(|error| error.to_string())?;
    let mut asking = Command::new(program);
    for name in own_variables() {
        asking.env_remove(name);
    }
    asking
        .args(arguments)
        .envs(subject.env.iter().map(|(name, value)| (name, value)))
        .env(MARK, probe_mark(&subject.mark))
        .current_dir(&subject.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = asking.spawn().map_err(|error| format!("`{name}`: {error}"))?;
    let group = Group(child.id());
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX);
        // A pipe that breaks ends what there is to read.
        let _ = stdout.take(limit).read_to_end(&mut output).await;
    }
    let status = child.wait().await.map_err(|error| format!("`{name}`: {error}"))?;
    drop(group);
    if status.success() {
        Ok(output)
    } else {
        Err(format!("`{name}` ended with {status}"))
    }
}

/// The mark of programs that ask: they are never taken for the service.
pub(crate) fn probe_mark(mark: &str) -> String {
    format!("{mark}#probe")
}

/// The group of a program that asks, killed when its answer is no longer awaited.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Whether the service wrote the text since it was started.
async fn written(subject: &Subject, text: String) -> Result<(), String> {
    let (path, offset) = (subject.log.clone(), subject.log_offset);
    let wanted = text.clone();
    let looked = tokio::task::spawn_blocking(move || holds(&path, offset, &wanted)).await;
    match looked {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(format!("the log does not say `{text}` yet")),
        Ok(Err(error)) => Err(format!("the log cannot be read: {error}")),
        Err(_) => Err("the log could not be searched".to_owned()),
    }
}

fn holds(path: &Path, mut offset: u64, text: &str) -> std::io::Result<bool> {
    let mut rest = String::new();
    loop {
        let read = log::follow(path, offset)?;
        if read.text.is_empty() {
            return Ok(false);
        }
        offset = read.offset;
        rest.push_str(&read.text);
        if rest.contains(text) {
            return Ok(true);
        }
        // What was searched is kept as far as the text may have begun in it.
        let mut keep = rest.len().saturating_sub(text.len());
        while !rest.is_char_boundary(keep) {
            keep -= 1;
        }
        rest.drain(..keep);
    }
}
