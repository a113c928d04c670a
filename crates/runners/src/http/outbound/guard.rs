//! Resolving and checking, in one step that cannot be pulled apart.

use std::error::Error as StdError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::{Value, json};
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::action::runner::{BoxFuture, ConfigProblem, Fault};
use url::{Host, Url};

use super::allow::{Allow, Options, OptionsError};
use super::ranges;

/// The most addresses of one name that are looked at; a longer answer is cut.
const ADDRESSES_MAX: usize = 64;

/// Where names become addresses.
pub trait Lookup: Send + Sync {
    /// The addresses of `host`.
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Lookup for System {
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why an address is not connected to.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It leads where definitions may not reach.
    #[error("{}", refusal(host, addresses))]
    Refused {
        /// The host as the definition names it.
        host: String,
        /// The addresses that were refused.
        addresses: Vec<IpAddr>,
    },
    /// The name has no address.
    #[error("`{host}` has no address")]
    Unresolved {
        /// The host as the definition names it.
        host: String,
        /// What the resolver said, if it said anything.
        source: Option<io::Error>,
    },
    /// It is not a host at all.
    #[error("`{host}` is not a host name or an address")]
    Host {
        /// The text.
        host: String,
    },
}

impl GuardError {
    /// The line that would allow it, where one would.
    pub fn line_to_add(&self) -> Option<String> {
        match self {
            Self::Refused { addresses, .. } => Some(line_to_add(addresses)),
            Self::Unresolved { .. } | Self::Host { .. } => None,
        }
    }

    /// The outcome of an attempt that stopped here: nothing left.
    pub fn outcome(&self) -> Outcome {
        let error = match self {
            Self::Refused { host, addresses } => {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                ActionError::new(kind::INVALID_CONFIGURATION, self.to_string())
                    .with_details(json!({"host": host, "addresses": addresses, "add": self.line_to_add()}))
            }
            Self::Unresolved { host, source } => {
                let reason = source.as_ref().map(|source| format!(": {source}")).unwrap_or_default();
                ActionError::new(kind::NETWORK_ERROR, format!("{self}{reason}")).with_details(json!({"host": host}))
            }
            Self::Host { .. } => ActionError::new(kind::INVALID_CONFIGURATION, self.to_string()),
        };
        Outcome::NotDone(Failure::new(error))
    }
}

fn refusal(host: &str, addresses: &[IpAddr]) -> String {
    let what: Vec<String> = addresses
        .iter()
        .map(|address| format!("`{address}` ({})", ranges::special(*address).unwrap_or("not allowed")))
        .collect();
    let what = what.join(", ");
    let line = line_to_add(addresses);
    format!("`{host}` leads to {what}, which a definition may not reach; to allow it, add `{line}`")
}

fn line_to_add(addresses: &[IpAddr]) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for address in addresses {
        let block = format!("\"{}\"", ranges::block_to_allow(*address));
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    format!("[outbound] allow = [{}]", blocks.join(", "))
}

/// Decides where addresses from definitions may lead.
#[derive(Clone)]
pub struct Guard {
    allow: Arc<Allow>,
    lookup: Arc<dyn Lookup>,
}

impl Guard {
    /// A guard that resolves names as the operating system does.
    pub fn new(options: &Options) -> Result<Self, OptionsError> {
        Self::with_lookup(options, Arc::new(System))
    }

    /// Lets everything through: for addresses that are the operator's own word, and for nothing else.
    pub fn unguarded() -> Result<Self, OptionsError> {
        Self::new(&Options {
            allow: vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()],
        })
    }

    /// A guard that resolves names by `lookup`.
    pub fn with_lookup(options: &Options, lookup: Arc<dyn Lookup>) -> Result<Self, OptionsError> {
        Ok(Self {
            allow: Arc::new(Allow::parse(options)?),
            lookup,
        })
    }

    /// Checks what can be known about a URL without resolving it: a literal address. Names are checked as they are
    /// resolved.
    pub fn check_url(&self, url: &Url) -> Result<(), GuardError> {
        match literal(url.host()) {
            Some(address) => self.check(&address.to_string(), &[address]),
            None => Ok(()),
        }
    }

    /// Checks what can be known about a host without resolving it, as [`Guard::check_url`] does.
    pub fn check_host(&self, host: &str) -> Result<(), GuardError> {
        match spelled(host) {
            Some(Host::Ipv4(address)) => self.check(host, &[IpAddr::V4(address)]),
            Some(Host::Ipv6(address)) => self.check(host, &[IpAddr::V6(address)]),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    /// What lint says of an address that a configuration names outright, as a URL or as a host, and that no attempt would
    /// reach. Where its host is a template or a name, it is not known yet.
    pub(crate) fn warning(&self, config: &Value, pointer: &str) -> Option<ConfigProblem> {
        let text = config.pointer(pointer)?.as_str()?;
        let checked = match Url::parse(text) {
            Ok(url) if url.has_host() => self.check_url(&url),
            _ => self.check_host(text),
        };
        let refused = checked.err()?;
        Some(ConfigProblem {
            pointer: pointer.to_owned(),
            remedy: format!(
                "write another address, or have the operator add `{}`",
                refused.line_to_add()?
            ),
            detail: format!("no attempt would get through: {refused}"),
            fault: Fault::Unconfigured,
        })
    }

    /// The checked addresses behind a host, however it is spelled, for a plain TCP connection.
    pub async fn check_tcp(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, GuardError> {
        let parsed = spelled(host).ok_or_else(|| GuardError::Host { host: host.to_owned() })?;
        let addresses = match &parsed {
            Host::Domain(name) => self.resolve(name).await?,
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        };
        if !matches!(parsed, Host::Domain(_)) {
            self.check(host, &addresses)?;
        }
        Ok(addresses
            .into_iter()
            .map(|address| SocketAddr::new(address, port))
            .collect())
    }

    /// The addresses of a name, every one of them checked.
    pub async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, GuardError> {
        let unresolved = |source| GuardError::Unresolved {
            host: name.to_owned(),
            source,
        };
        let mut addresses = self
            .lookup
            .lookup(name)
            .await
            .map_err(|error| unresolved(Some(error)))?;
        addresses.truncate(ADDRESSES_MAX);
        if addresses.is_empty() {
            return Err(unresolved(None));
        }
        if !self.allow.host(name) {
            self.check(name, &addresses)?;
        }
        Ok(addresses)
    }

    fn check(&self, host: &str, addresses: &[IpAddr]) -> Result<(), GuardError> {
        let refused: Vec<IpAddr> = addresses
            .iter()
            .copied()
            .filter(|&address| ranges::special(address).is_some() && !self.allow.address(address))
            .collect();
        if refused.is_empty() {
            return Ok(());
        }
        Err(GuardError::Refused {
            host: host.to_owned(),
            addresses: refused,
        })
    }
}

/// A host however it is spelled: the same reading as in a URL, so `0x7f.1` is seen for what it is.
fn spelled(host: &str) -> Option<Host<String>> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => Some(Host::Ipv6(address)),
        _ => Host::parse(host).ok(),
    }
}

fn literal(host: Option<Host<&str>>) -> Option<IpAddr> {
    match host? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
    }
}

/// The HTTP client's resolver: it gets only addresses that were checked in the same breath.
impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let addresses = Guard::resolve(&guard, name.as_str())
                .await
                .map_err(Box::<dyn StdError + Send + Sync>::from)?;
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
