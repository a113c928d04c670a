//! Who may control an agent.

use std::net::SocketAddr;

use sha2::{Digest as _, Sha256};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tonic::{Request, Status};

/// What an agent asks of controllers.
#[derive(Clone, Default)]
pub struct Security {
    /// TLS, unless the agent speaks plainly.
    pub tls: Option<Tls>,
    /// The token that every call carries.
    pub token: Option<String>,
    /// Whether the agent may listen beyond this host without TLS and authentication.
    pub is_insecure_allowed: bool,
}

/// Certificates, PEM.
#[derive(Clone)]
pub struct Tls {
    /// The agent's certificate chain.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
    /// The authority that signs controllers' certificates. With it, a controller without one is refused.
    pub client_authority: Option<Vec<u8>>,
}

/// Why an agent does not listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is reachable from other hosts, and the agent would run workloads for anyone there; give `--tls-cert`, `--tls-key` \
     and `--client-ca` or `--token-file`, or accept the risk with `--insecure`"
)]
pub struct SecurityError(pub SocketAddr);

impl Security {
    /// Whether an agent may listen there.
    pub fn check(&self, listen: SocketAddr) -> Result<(), SecurityError> {
        let asks_certificate = self.tls.as_ref().is_some_and(|tls| tls.client_authority.is_some());
        let asks_token = self.tls.is_some() && self.token.is_some();
        if listen.ip().is_loopback() || asks_certificate || asks_token || self.is_insecure_allowed {
            return Ok(());
        }
        Err(SecurityError(listen))
    }

    pub(super) fn tls_config(&self) -> Option<ServerTlsConfig> {
        let Tls {
            certificate,
            key,
            client_authority,
        } = self.tls.as_ref()?;
        let config = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        Some(match client_authority {
            Some(authority) => config.client_ca_root(Certificate::from_pem(authority)),
            None => config,
        })
    }

    pub(super) fn tokens(&self) -> TokenCheck {
        TokenCheck(self.token.as_deref().map(digest))
    }
}

/// Refuses calls without the token, before anything else is looked at. It compares digests, so the time of a comparison says
/// nothing about the token.
#[derive(Clone)]
pub(super) struct TokenCheck(Option<[u8; 32]>);

impl Interceptor for TokenCheck {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(expected) = self.0 else {
            return Ok(request);
        };
        let header = request
            .metadata()
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        let given = header.and_then(|header| header.strip_prefix("Bearer ")).map(digest);
        if given == Some(expected) {
            Ok(request)
        } else {
            Err(Status::unauthenticated(
                "this agent needs its token, as `authorization: Bearer TOKEN`",
            ))
        }
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(client_authority: Option<Vec<u8>>) -> Tls {
        Tls {
            certificate: Vec::new(),
            key: Vec::new(),
            client_authority,
        }
    }

    #[test]
    fn h1_an_agent_reachable_from_elsewhere_asks_who_calls() {
        let everywhere: SocketAddr = "0.0.0.0:7402".parse().unwrap();
        let token = Some("t".repeat(32));
        let plain = Security::default();
        let cases = [
            (plain.clone(), false),
            (
                Security {
                    token: token.clone(),
                    ..plain.clone()
                },
                false,
            ),
            (
                Security {
                    tls: Some(tls(None)),
                    ..plain.clone()
                },
                false,
            ),
            (
                Security {
                    tls: Some(tls(None)),
                    token,
                    ..plain.clone()
                },
                true,
            ),
            (
                Security {
                    tls: Some(tls(Some(Vec::new()))),
                    ..plain.clone()
                },
                true,
            ),
            (
                Security {
                    is_insecure_allowed: true,
                    ..plain.clone()
                },
                true,
            ),
        ];
        for (number, (security, allowed)) in cases.into_iter().enumerate() {
            assert_eq!(security.check(everywhere).is_ok(), allowed, "case {number}");
        }
        assert_eq!(plain.check("127.0.0.1:7402".parse().unwrap()), Ok(()));
        assert_eq!(plain.check("[::1]:7402".parse().unwrap()), Ok(()));
    }

    #[test]
    fn h2_a_call_without_the_token_is_refused() {
        let mut check = Security {
            token: Some("secret-token".to_owned()),
            ..Security::default()
        }
        .tokens();
        let mut ask = |header: Option<&str>| {
            let mut request = Request::new(());
            if let Some(header) = header {
                request.metadata_mut().insert("authorization", header.parse().unwrap());
            }
            check.call(request).is_ok()
        };
        assert!(ask(Some("Bearer secret-token")));
        for wrong in [None, Some("Bearer secret-toke"), Some("secret-token"), Some("Bearer ")] {
            assert!(!ask(wrong), "{wrong:?}");
        }
    }
}
