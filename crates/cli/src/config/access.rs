//! How callers and other nodes come in: certificates, authentication, and what of it does not go together.

use std::path::PathBuf;

use sprag_core::access::Role;
use sprag_server::{
    Auth, Clients, MetricsFor, Mode, OidcOptions, Pair, PlainText, TOKEN_RATE, Tls, Trust, is_readable,
};

use super::layers::Layers;

const TLS: &str = "listen.tls";
const NODES: &str = "nodes";
const OIDC: &str = "auth.oidc";

/// The settings.
pub(super) struct Access {
    pub(super) auth: Auth,
    pub(super) tls: Option<Tls>,
    pub(super) nodes: Trust,
}

/// What is wrong with a key.
pub(super) struct Fault {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) detail: String,
    pub(super) remedy: String,
}

/// The settings of these layers, and what is wrong with them.
pub(super) fn read(layers: &Layers) -> (Access, Vec<Fault>) {
    let mut read = Read {
        layers,
        faults: Vec::new(),
    };
    let access = Access {
        auth: read.auth(),
        tls: read.tls(),
        nodes: Trust {
            ca: read.file(NODES, "ca"),
            identity: read.pair(NODES),
        },
    };
    (access, read.faults)
}

struct Read<'l> {
    layers: &'l Layers,
    faults: Vec<Fault>,
}

impl Read<'_> {
    fn fault(&mut self, (section, name): (&'static str, &'static str), detail: String, remedy: &str) {
        self.faults.push(Fault {
            section,
            name,
            detail,
            remedy: remedy.to_owned(),
        });
    }

    fn text(&self, section: &'static str, name: &'static str) -> Option<String> {
        self.layers.text(section, name).map(str::to_owned)
    }

    fn file(&self, section: &'static str, name: &'static str) -> Option<PathBuf> {
        self.layers.text(section, name).map(PathBuf::from)
    }

    /// A certificate with its key: both or none.
    fn pair(&mut self, section: &'static str) -> Option<Pair> {
        let (given, missing) = match (self.file(section, "certificate"), self.file(section, "key")) {
            (Some(certificate), Some(key)) => return Some(Pair { certificate, key }),
            (None, None) => return None,
            (Some(_), None) => ("certificate", "key"),
            (None, Some(_)) => ("key", "certificate"),
        };
        let detail = format!("`[{section}]` has a `{given}` and no `{missing}`");
        self.fault((section, given), detail, &format!("add `{missing} = \"FILE\"`"));
        None
    }

    fn tls(&mut self) -> Option<Tls> {
        let (identity, client_ca) = (self.pair(TLS), self.file(TLS, "clientCa"));
        let clients = self.layers.text(TLS, "clients");
        if client_ca.is_none() && clients.is_some() {
            let detail = "`clients` says how certificates of clients count, and no authority for them is named";
            self.fault(
                (TLS, "clients"),
                detail.to_owned(),
                "add `clientCa = \"FILE\"`, or leave `clients` out",
            );
        }
        if client_ca.is_some() && identity.is_none() {
            let detail = "clients can show certificates only to a server that has one";
            self.fault((TLS, "clientCa"), detail.to_owned(), "add `certificate` and `key`");
        }
        Some(Tls {
            identity: identity?,
            client_ca,
            clients: match clients {
                Some("optional") => Clients::Optional,
                _ => Clients::Required,
            },
        })
    }

    fn auth(&mut self) -> Auth {
        let is = |name, word: &str| self.layers.text("auth", name) == Some(word);
        let mode = if is("mode", "token") {
            Mode::Token
        } else if is("mode", "oidc") {
            Mode::Oidc
        } else {
            Mode::Off
        };
        let metrics = if is("metrics", "everybody") {
            MetricsFor::Everybody
        } else {
            MetricsFor::Viewers
        };
        let plain_text = if is("plainText", "accept") {
            PlainText::Accepted
        } else {
            PlainText::Refused
        };
        Auth {
            mode,
            metrics,
            plain_text,
            token_rate: self.layers.whole("auth", "requestsPerSecond").unwrap_or(TOKEN_RATE),
            oidc: if mode == Mode::Oidc { self.oidc() } else { None },
        }
    }

    fn oidc(&mut self) -> Option<OidcOptions> {
        let roles = self.roles();
        let (issuer, audience) = (self.text(OIDC, "issuer"), self.text(OIDC, "audience"));
        for (name, value) in [("issuer", &issuer), ("audience", &audience)] {
            if value.as_deref().is_none_or(str::is_empty) {
                let detail = format!("the mode `oidc` needs `{name}` in `[{OIDC}]`");
                self.fault(("auth", "mode"), detail, "see docs/access.md");
            }
        }
        if let Some(issuer) = issuer.as_deref().filter(|issuer| is_readable(issuer)) {
            let detail = format!("others could change the keys of `{issuer}` on their way");
            self.fault((OIDC, "issuer"), detail, "write it with https, as its tokens name it");
        }
        Some(OidcOptions {
            issuer: issuer?,
            audience: audience?,
            role_claim: self.text(OIDC, "roleClaim").unwrap_or_else(|| "roles".to_owned()),
            principal_claim: self.text(OIDC, "principalClaim").unwrap_or_else(|| "sub".to_owned()),
            roles,
            ca: self.file(OIDC, "ca"),
        })
    }

    fn roles(&mut self) -> Vec<(String, Role)> {
        let mut roles = Vec::new();
        for entry in self.layers.texts(OIDC, "roles").unwrap_or_default() {
            let (value, word) = entry.rsplit_once('=').unwrap_or((entry.as_str(), ""));
            match word.trim().parse() {
                Ok(role) if !value.trim().is_empty() => roles.push((value.trim().to_owned(), role)),
                _ => {
                    let known = Role::ALL.map(Role::word).join(", ");
                    let remedy = format!("write `VALUE=ROLE`, where ROLE is one of {known}");
                    self.fault((OIDC, "roles"), format!("`{entry}` gives no role to a value"), &remedy);
                }
            }
        }
        roles
    }
}
