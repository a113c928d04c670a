//! Where a database is, as its URL says.
//!
//! The URL is the one that every tool of `PostgreSQL` takes, with three words of its own: `sslmode` is `disable` or
//! `require`, and a certificate is always verified; `sslrootcert` names a file of authorities; `unsafe=allow` waives the
//! refusal of servers that may lose what they confirmed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// How long one host may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// When a peer that says nothing is asked whether it is there, and after what silence it counts as gone.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(10);
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Why a text is not the URL of a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not understood: {detail}")]
pub struct AddressError {
    name: String,
    detail: String,
}

impl AddressError {
    fn new(name: &str, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            detail: detail.into(),
        }
    }
}

/// Where a database is. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(super) config: Config,
    /// A file of authorities besides those of the system.
    pub(super) authorities: Option<PathBuf>,
    /// Whether servers are taken that may lose what they confirmed.
    pub(super) allows_unsafe: bool,
}

impl Address {
    /// Whether a text is meant to be one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Whether the connection goes through TLS.
    pub(super) fn is_encrypted(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Require
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !Self::is_meant(text) {
            return Err(AddressError::new("url", "write `postgres://USER@HOST/DATABASE`"));
        }
        let mut ours = Ours::default();
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut theirs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            if !ours.take(pair)? {
                theirs.push(pair);
            }
        }
        let url = if theirs.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", theirs.join("&"))
        };
        // What the library says may repeat a part of the URL, and with it the password: only its causes are shown.
        let config = Config::from_str(&url).map_err(|problem| {
            let cause = std::error::Error::source(&problem).map(ToString::to_string);
            AddressError::new(
                "url",
                cause.unwrap_or_else(|| "it is not a URL of PostgreSQL".to_owned()),
            )
        })?;
        ours.address(config)
    }
}

/// Whether a part holds a NUL, at which the protocol would cut it off.
fn holds_nul(config: &Config) -> bool {
    let parts = [
        config.get_user(),
        config.get_dbname(),
        config.get_application_name(),
        config.get_options(),
    ];
    let is_in_text = parts.into_iter().flatten().any(|part| part.contains('\0'));
    let is_in_host = config.get_hosts().iter().any(|host| match host {
        Host::Tcp(name) => name.contains('\0'),
        #[cfg(unix)]
        Host::Unix(path) => path.as_os_str().as_encoded_bytes().contains(&0),
    });
    is_in_text || is_in_host || config.get_password().is_some_and(|password| password.contains(&0))
}

/// The parameters that are ours.
#[derive(Default)]
struct Ours {
    mode: Option<SslMode>,
    authorities: Option<PathBuf>,
    allows_unsafe: bool,
}

impl Ours {
    /// Takes a parameter, unless it is not ours.
    fn take(&mut self, pair: &str) -> Result<bool, AddressError> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, value) {
            ("sslmode", "disable") => self.mode = Some(SslMode::Disable),
            ("sslmode", "require" | "verify-ca" | "verify-full") => self.mode = Some(SslMode::Require),
            ("sslmode", other) => {
                let detail = format!("`{other}` leaves open whether TLS is used; write `disable` or `require`");
                return Err(AddressError::new(name, detail));
            }
            ("sslrootcert", path) => self.authorities = Some(PathBuf::from(path)),
            ("unsafe", "allow") => self.allows_unsafe = true,
            ("unsafe", _) => return Err(AddressError::new(name, "write `unsafe=allow`, or leave it out")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn address(self, mut config: Config) -> Result<Address, AddressError> {
        let Self {
            mode,
            authorities,
            allows_unsafe,
        } = self;
        if holds_nul(&config) {
            return Err(AddressError::new(
                "url",
                "a part of it holds a NUL character (`%00`); leave it out",
            ));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(AddressError::new(
                "url",
                "it names no host; write `postgres://USER@HOST/DATABASE`",
            ));
        }
        let is_local = config.get_hosts().iter().all(is_local);
        let usual = if is_local { SslMode::Disable } else { SslMode::Require };
        config.ssl_mode(mode.unwrap_or(usual));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_MAX);
        }
        if config.get_application_name().is_none() {
            config.application_name("sprag");
        }
        config.keepalives_idle(KEEPALIVE_AFTER).tcp_user_timeout(SILENCE_MAX);
        if config.get_hosts().len() > 1 {
            // Of several servers, the one that takes writes is meant: after a failover another than before.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Address {
            config,
            authorities,
            allows_unsafe,
        })
    }
}

/// Whether what goes there stays on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", self.config.get_user().unwrap_or_default())?;
        for (position, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
            let ports = self.config.get_ports();
            if let Some(port) = ports.get(position).or(ports.first()) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address: Address = "postgres://sprag:hidden@db1:5433,db2:5434/orders".parse().unwrap();
        assert_eq!(address.to_string(), "postgres://sprag@db1:5433,db2:5434/orders");
        assert!(!format!("{address:?}").contains("hidden"));
        let broken = "postgres://sprag:hidden@db1:no/orders".parse::<Address>().unwrap_err();
        assert!(!broken.to_string().contains("hidden"), "{broken}");
    }

    #[test]
    fn a_nul_in_any_part_is_refused() {
        for url in [
            "postgres://u%00@localhost/d",
            "postgres://u:p%00@localhost/d",
            "postgres://u@localhost/d%00",
            "postgres://u@local%00host/d",
            "postgres://u@%2Frun%00/d",
            "postgres://u@localhost/d?application_name=a%00",
        ] {
            let error = url.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("NUL"), "{url}: {error}");
        }
    }

    #[test]
    fn tls_is_used_unless_the_server_is_on_this_machine_or_it_is_waived() {
        for (url, encrypted) in [
            ("postgres://u@localhost/d", false),
            ("postgres://u@127.0.0.1/d", false),
            ("postgres://u@%2Frun%2Fpostgresql/d", false),
            ("postgres://u@db.example/d", true),
            ("postgres://u@db.example/d?sslmode=disable", false),
            ("postgres://u@localhost/d?sslmode=verify-full", true),
        ] {
            let address: Address = url.parse().unwrap();
            assert_eq!(address.is_encrypted(), encrypted, "{url}");
        }
        let vague = "postgres://u@db.example/d?sslmode=prefer"
            .parse::<Address>()
            .unwrap_err();
        assert!(vague.to_string().contains("`disable` or `require`"), "{vague}");
    }

    #[test]
    fn only_an_explicit_word_waives_the_refusal_of_unsafe_servers() {
        let safe: Address = "postgres://u@localhost/d?application_name=x".parse().unwrap();
        assert!(!safe.allows_unsafe);
        assert_eq!(safe.config.get_application_name(), Some("x"));
        let waived: Address = "postgresql://u@localhost/d?unsafe=allow&application_name=x"
            .parse()
            .unwrap();
        assert!(waived.allows_unsafe);
        assert!("postgres://u@localhost/d?unsafe=yes".parse::<Address>().is_err());
        assert!("postgres:///d".parse::<Address>().is_err(), "a host must be named");
        assert!("mysql://u@localhost/d".parse::<Address>().is_err());
    }
}
