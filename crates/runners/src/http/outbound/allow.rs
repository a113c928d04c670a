//! What the operator allows beyond the public internet: `[outbound] allow`.

use std::net::IpAddr;

use serde::Deserialize;
use url::Host;

use super::network::{Network, NetworkError};

/// The most entries `[outbound] allow` may have.
const ENTRIES_MAX: usize = 1_000;

/// `[outbound]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Blocks of addresses (`10.0.0.0/8`), single addresses or host names that definitions may reach although they
    /// are not on the public internet.
    pub allow: Vec<String>,
}

/// Why `[outbound] allow` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Neither a block of addresses nor a host name.
    #[error(
        "`{entry}` in `[outbound] allow` is neither a block such as `10.0.0.0/8` nor a host name such as `crm.internal`"
    )]
    Entry {
        /// The entry.
        entry: String,
    },
    /// A block whose address has bits beyond its prefix.
    #[error("`{entry}` in `[outbound] allow` has bits beyond its prefix; write `{meant}`")]
    HostBits {
        /// The entry.
        entry: String,
        /// What was probably meant.
        meant: String,
    },
    /// More entries than one list may have.
    #[error("`[outbound] allow` has more than {ENTRIES_MAX} entries")]
    TooMany,
}

/// The parsed list.
#[derive(Clone, Debug, Default)]
pub(super) struct Allow {
    networks: Vec<Network>,
    hosts: Vec<String>,
}

impl Allow {
    /// Reads the list.
    pub(super) fn parse(options: &Options) -> Result<Self, OptionsError> {
        let Options { allow } = options;
        if allow.len() > ENTRIES_MAX {
            return Err(OptionsError::TooMany);
        }
        let mut parsed = Self::default();
        for entry in allow {
            parsed.add(entry.trim())?;
        }
        Ok(parsed)
    }

    fn add(&mut self, entry: &str) -> Result<(), OptionsError> {
        match Network::parse(entry) {
            Ok(network) => self.networks.push(network),
            Err(NetworkError::HostBits(meant)) => {
                return Err(OptionsError::HostBits {
                    entry: entry.to_owned(),
                    meant: meant.to_string(),
                });
            }
            Err(NetworkError::Form) => match Host::parse(entry) {
                Ok(Host::Domain(name)) if is_name(&name) => self.hosts.push(canonical(&name)),
                _ => {
                    return Err(OptionsError::Entry {
                        entry: entry.to_owned(),
                    });
                }
            },
        }
        Ok(())
    }

    /// Whether the name is allowed whatever it resolves to.
    pub(super) fn host(&self, name: &str) -> bool {
        let name = canonical(name);
        self.hosts.contains(&name)
    }

    /// Whether the address is allowed.
    pub(super) fn address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(address))
    }
}

/// A name of labels of letters, digits, `-` and `_`: no wildcards, which would be taken for a promise not kept.
fn is_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Names that differ in case or in the final dot are one name.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}
