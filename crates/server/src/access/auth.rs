//! How callers are authenticated, as configured.

use std::net::SocketAddr;

use super::oidc;
use crate::listen::{Error, Tls};

/// Requests a second that one token may send, unless the configuration says otherwise.
pub const TOKEN_RATE: u32 = 20_000;

/// Whether callers show who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everybody who reaches the server is the principal `local`, who may do everything. On loopback only.
    #[default]
    Off,
    /// Callers show a token of this server.
    Token,
    /// Callers show a token of this server, or one that an OpenID provider issued.
    Oidc,
}

/// Who may read the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsFor {
    /// Callers with the role `viewer`.
    #[default]
    Viewers,
    /// Everybody.
    Everybody,
}

/// Whether tokens may cross a network that others can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainText {
    /// The server listens on loopback only: something before it encrypts.
    #[default]
    Refused,
    /// The operator trusts the network.
    Accepted,
}

/// How callers are authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    /// Whether they show who they are.
    pub mode: Mode,
    /// Who may read the metrics.
    pub metrics: MetricsFor,
    /// Whether tokens may cross a network in plain text.
    pub plain_text: PlainText,
    /// Requests a second that one token may send.
    pub token_rate: u32,
    /// The OpenID provider, in that mode.
    pub oidc: Option<oidc::Options>,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            metrics: MetricsFor::default(),
            plain_text: PlainText::default(),
            token_rate: TOKEN_RATE,
            oidc: None,
        }
    }
}

impl Auth {
    /// Refuses an address where others could use the server, or read its tokens.
    pub fn check(&self, address: SocketAddr, tls: Option<&Tls>) -> Result<(), Error> {
        let is_secret = tls.is_some() || self.plain_text == PlainText::Accepted;
        match self.mode {
            _ if address.ip().is_loopback() => Ok(()),
            Mode::Off => Err(Error::NotLoopback { address }),
            Mode::Token | Mode::Oidc if is_secret => Ok(()),
            Mode::Token | Mode::Oidc => Err(Error::PlainText { address }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::listen::{Clients, Pair};

    #[test]
    fn off_loopback_a_server_needs_authentication_and_a_network_that_is_trusted() {
        let auth = |mode, plain_text| Auth {
            mode,
            plain_text,
            ..Auth::default()
        };
        for (listen, is_loopback) in [
            ("127.0.0.1:7400", true),
            ("127.9.9.9:1", true),
            ("[::1]:7400", true),
            ("0.0.0.0:7400", false),
            ("[::]:7400", false),
            ("10.0.0.1:7400", false),
            ("[::ffff:127.0.0.1]:7400", false),
        ] {
            let listen: SocketAddr = listen.parse().unwrap();
            let listens = |auth: Auth| auth.check(listen, None).is_ok();
            assert_eq!(listens(auth(Mode::Off, PlainText::Refused)), is_loopback, "{listen}");
            assert_eq!(listens(auth(Mode::Off, PlainText::Accepted)), is_loopback, "{listen}");
            assert_eq!(listens(auth(Mode::Token, PlainText::Refused)), is_loopback, "{listen}");
            assert!(listens(auth(Mode::Token, PlainText::Accepted)), "{listen}");
            let file = |name: &str| PathBuf::from(name);
            let tls = Tls {
                identity: Pair {
                    certificate: file("a.pem"),
                    key: file("a.key"),
                },
                client_ca: None,
                clients: Clients::Required,
            };
            for (mode, expected) in [(Mode::Off, is_loopback), (Mode::Token, true), (Mode::Oidc, true)] {
                let checked = auth(mode, PlainText::Refused).check(listen, Some(&tls));
                assert_eq!(checked.is_ok(), expected, "{mode:?} {listen}");
            }
        }
    }
}
