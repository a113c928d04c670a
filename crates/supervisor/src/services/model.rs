//! The content of a valid services file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use sprag_core::expression::logic::Logic;
use sprag_core::supervision::RestartBudget;
use sprag_core::words;

/// A whole file.
#[derive(Clone, Debug)]
pub struct ServicesFile {
    /// Where relative paths begin.
    pub folder: PathBuf,
    /// The services at the top, as written.
    pub services: Vec<Service>,
    /// The rules over them.
    pub rules: Vec<ServiceRule>,
}

/// One service, with those it owns.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its name among its siblings.
    pub name: String,
    /// The program and its arguments. Empty: it has no process of its own and is what its children are.
    pub command: Vec<String>,
    /// Variables besides those of the supervisor.
    pub env: Vec<(String, String)>,
    /// Where it runs; absolute.
    pub cwd: PathBuf,
    /// As whom it runs, as written: `name`, `name:group`, or numbers.
    pub user: Option<String>,
    /// Whether it is started at all.
    pub enabled: bool,
    /// Until it is good, the service is starting.
    pub startup: Option<Probe>,
    /// Whether it can serve.
    pub ready: Option<Probe>,
    /// Whether it still lives; one that does not is started anew.
    pub live: Option<Probe>,
    /// How it is ended.
    pub stop: Stop,
    /// Whether it is started again when it ends by itself.
    pub restart: Restart,
    /// How often it is restarted before that is given up, where it is written.
    pub budget: Option<RestartBudget>,
    /// Siblings that come first.
    pub depends_on: Vec<(String, Condition)>,
    /// Where it tells about itself.
    pub observe: Option<Observe>,
    /// What the system lets it use.
    pub limits: Limits,
    /// What is kept of its output.
    pub log: LogPolicy,
    /// The services it owns.
    pub children: Vec<Service>,
    /// The rules over those.
    pub rules: Vec<ServiceRule>,
    /// The service as it was written, without what is inside it: a change of it is a change of the service.
    pub written: Value,
}

words! {
    /// When a service that ended by itself is started again.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Restart as word {
        /// However it ended.
        Always => "always",
        /// When it ended with another code than 0, by a signal, or in an unknown way.
        #[default]
        OnFailure => "on-failure",
        /// Not at all.
        Never => "never",
    }
}

words! {
    /// What a sibling waits for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Condition as word {
        /// Its process runs.
        Started => "started",
        /// It is running: past its probes.
        Ready => "ready",
        /// It ended with code 0.
        Completed => "completed",
    }
}

/// How a service is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What its processes are sent.
    pub signal: Signal,
    /// How long they have before they are killed.
    pub grace: Duration,
}

/// A question that is asked again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How it is asked.
    pub kind: ProbeKind,
    /// Before the first time.
    pub delay: Duration,
    /// From one time to the next.
    pub period: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Good answers in a row that make it good.
    pub successes: u32,
    /// Bad answers in a row that make it bad.
    pub failures: u32,
}

/// How a probe asks.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeKind {
    /// Good when the address answers with 2xx or 3xx.
    Http(String),
    /// Good when a connection is accepted.
    Tcp(String),
    /// Good when the program ends with 0.
    Exec(Vec<String>),
    /// Good once the service wrote a line with this text in it.
    Log(String),
}

/// Where a service tells about itself.
#[derive(Clone, Debug)]
pub struct Observe {
    /// Where the document comes from.
    pub source: ObserveSource,
    /// From one time to the next.
    pub period: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Whether what was told is healthy; where it is not, the service is degraded.
    pub healthy: Option<Logic>,
}

/// Where a document about a service comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ObserveSource {
    /// The JSON object that the address answers with.
    Http(String),
    /// The JSON object that the program prints.
    Exec(Vec<String>),
}

/// What the system lets a process use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Open files.
    pub open_files: Option<u64>,
    /// Processes of its user.
    pub processes: Option<u64>,
    /// Bytes of address space.
    pub address_space: Option<u64>,
    /// Bytes of a file it writes.
    pub file_size: Option<u64>,
    /// Bytes of a core file.
    pub core_size: Option<u64>,
}

/// What is kept of a service's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPolicy {
    /// A file that is larger is rotated.
    pub max_size: u64,
    /// How many older files are kept.
    pub keep: u32,
}

/// What must never hold between siblings for long.
#[derive(Clone, Debug)]
pub struct ServiceRule {
    /// Its name among the rules over the same services.
    pub name: String,
    /// Holds when something is wrong.
    pub when: Logic,
    /// The rule as written.
    pub written: Value,
    /// How long it must hold without a pause.
    pub grace: Duration,
    /// Which service is started anew.
    pub restart: String,
    /// Which services are held back meanwhile; the restarted one and its dependents unless written.
    pub affects: Option<Vec<String>>,
    /// How often the service is restarted before the rule gives up; as the service says unless written.
    pub budget: Option<RestartBudget>,
    /// What is wrong, in words: a template over what the rule sees.
    pub message: Option<String>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            signal: Signal::TERM,
            grace: Duration::from_secs(10),
        }
    }
}

impl Default for LogPolicy {
    fn default() -> Self {
        Self {
            max_size: 10 * 1024 * 1024,
            keep: 5,
        }
    }
}

impl Service {
    /// How often it is restarted before that is given up.
    pub fn budget(&self) -> RestartBudget {
        self.budget.unwrap_or_default()
    }

    /// Whether it has a process of its own.
    pub fn has_process(&self) -> bool {
        !self.command.is_empty()
    }
}

impl ServicesFile {
    /// Every service with its path (`parent/child`), parents before their children.
    pub fn walk(&self) -> Vec<(String, &Service)> {
        let mut found = Vec::new();
        walk(&self.services, "", &mut found);
        found
    }
}

fn walk<'f>(services: &'f [Service], above: &str, found: &mut Vec<(String, &'f Service)>) {
    for service in services {
        let path = if above.is_empty() {
            service.name.clone()
        } else {
            format!("{above}/{}", service.name)
        };
        found.push((path.clone(), service));
        walk(&service.children, &path, found);
    }
}

impl ProbeKind {
    /// As a reader sees it.
    pub fn describe(&self) -> String {
        match self {
            Self::Http(url) => format!("http {url}"),
            Self::Tcp(address) => format!("tcp {address}"),
            Self::Exec(command) => format!("exec {}", command.join(" ")),
            Self::Log(text) => format!("log `{text}`"),
        }
    }
}

/// A path as written, from `folder`.
pub(super) fn settled(folder: &Path, written: &str) -> PathBuf {
    let joined = folder.join(written);
    // `./` in the middle would only be noise in messages.
    joined.components().filter(|part| part.as_os_str() != ".").collect()
}
