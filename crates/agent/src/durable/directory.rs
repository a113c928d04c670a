//! The agents that registered with a server. A registration expires unless the agent renews it, so an agent that is gone
//! disappears by itself. It is in memory only: after a restart of the server, agents register again within seconds.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a registration counts.
pub(super) const EXPIRES: Duration = Duration::from_secs(15);
/// The most registered agents.
pub(super) const REGISTERED_MAX: usize = 1_000;

/// The directory has no room for another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{REGISTERED_MAX} agents are registered already; stop some of them, or use another server")]
pub struct DirectoryFull;

/// The agents that registered, by address.
#[derive(Default)]
pub struct Directory {
    agents: Mutex<BTreeMap<String, Registration>>,
}

/// One registration.
struct Registration {
    name: String,
    expires_at: Instant,
}

/// Why a text does not lead to one agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotFound {
    /// It is no address, and no agent registered under it.
    #[error("`{0}` is neither `host:port` nor the name of a registered agent")]
    Unknown(String),
    /// Several agents registered under the name.
    #[error("several registered agents are named `{0}`")]
    Ambiguous(String),
}

/// Where an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// `host:port`.
    pub(super) address: String,
    /// Whether the agent registered there.
    pub(super) is_registered: bool,
}

impl Directory {
    /// Keeps an agent for [`EXPIRES`].
    pub fn register(&self, name: &str, address: &str) -> Result<(), DirectoryFull> {
        let now = Instant::now();
        let mut agents = self.current(now);
        if agents.len() >= REGISTERED_MAX && !agents.contains_key(address) {
            return Err(DirectoryFull);
        }
        let entry = Registration {
            name: name.to_owned(),
            expires_at: now + EXPIRES,
        };
        agents.insert(address.to_owned(), entry);
        Ok(())
    }

    /// Each registered agent by name, address, and how long its registration still counts.
    pub fn list(&self) -> Vec<(String, String, Duration)> {
        let now = Instant::now();
        let agents = self.current(now);
        let row = |(address, entry): (&String, &Registration)| {
            let left = entry.expires_at.saturating_duration_since(now);
            (entry.name.clone(), address.clone(), left)
        };
        let mut rows: Vec<_> = agents.iter().map(row).collect();
        rows.sort();
        rows
    }

    /// Where the agent is that a text names.
    pub(super) fn find(&self, text: &str) -> Result<Found, NotFound> {
        let agents = self.current(Instant::now());
        let found = |address: &str, is_registered| Found {
            address: address.to_owned(),
            is_registered,
        };
        if agents.contains_key(text) {
            return Ok(found(text, true));
        }
        let mut named = agents.iter().filter(|(_, entry)| entry.name == text);
        match (named.next(), named.next()) {
            (Some((address, _)), None) => Ok(found(address, true)),
            (Some(_), Some(_)) => Err(NotFound::Ambiguous(text.to_owned())),
            (None, _) if is_address(text) => Ok(found(text, false)),
            (None, _) => Err(NotFound::Unknown(text.to_owned())),
        }
    }

    /// The agents whose registration still counts.
    fn current(&self, now: Instant) -> MutexGuard<'_, BTreeMap<String, Registration>> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.retain(|_, entry| entry.expires_at > now);
        agents
    }
}

/// Whether a text is `host:port`.
pub fn is_address(text: &str) -> bool {
    parts(text).is_some()
}

/// Host and port of an address.
pub(super) fn parts(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let is_whole = !host.is_empty() && (!host.contains(':') || (host.starts_with('[') && host.ends_with(']')));
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let is_plain = host.bytes().all(|byte| byte.is_ascii_graphic()) && !host.contains(['/', '@', '?', '#']);
    (is_whole && is_plain).then_some((host, port))
}
