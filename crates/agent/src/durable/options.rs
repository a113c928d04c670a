//! `[agents]`: how the server reaches agents, and where it keeps results.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sprag_runners::secrets::{Secrets, Text};

use crate::controller::{ClientTls, Connect};

/// `[agents]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The authority of agents' certificates, PEM. With it, the server speaks TLS with agents.
    pub ca: Option<PathBuf>,
    /// The certificate that the server shows agents, PEM.
    pub certificate: Option<PathBuf>,
    /// The key of that certificate, PEM.
    pub key: Option<PathBuf>,
    /// The secret that holds the agents' token: `{{secrets.NAME}}`.
    pub token: Option<String>,
    /// The folder for time series and reports.
    pub results: Option<PathBuf>,
}

/// What is wrong with them.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// A key that needs another one.
    #[error("`{given}` needs `{missing}`")]
    Missing {
        /// The key.
        given: &'static str,
        /// What it needs.
        missing: &'static str,
    },
    /// A token in clear text.
    #[error("`token` names no secret")]
    Token,
    /// A file that cannot be read.
    #[error("`{key}`: `{}` cannot be read: {source}", path.display())]
    File {
        /// The key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OptionsError {
    /// The key where the fault is.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Missing { given, .. } => given,
            Self::Token => "token",
            Self::File { key, .. } => key,
        }
    }

    /// What to do.
    pub fn remedy(&self) -> String {
        match self {
            Self::Missing { missing, .. } => format!("add `{missing} = \"FILE\"`"),
            Self::Token => "write `{{secrets.NAME}}`, and set the secret".to_owned(),
            Self::File { .. } => "name a PEM file that the server can read".to_owned(),
        }
    }
}

impl Options {
    /// The first thing that is wrong, if anything is, without a look at the files.
    pub fn check(&self) -> Result<(), OptionsError> {
        for (given, value, missing, needed) in [
            ("certificate", &self.certificate, "key", &self.key),
            ("key", &self.key, "certificate", &self.certificate),
            ("certificate", &self.certificate, "ca", &self.ca),
        ] {
            if value.is_some() && needed.is_none() {
                return Err(OptionsError::Missing { given, missing });
            }
        }
        self.secret().map(drop)
    }

    /// Whether its files can be read now.
    pub fn readable(&self) -> Result<(), OptionsError> {
        self.tls().map(drop)
    }

    /// The name of the secret that holds the token.
    fn secret(&self) -> Result<Option<String>, OptionsError> {
        let Some(written) = &self.token else { return Ok(None) };
        let text = Text::parse(written).map_err(|_| OptionsError::Token)?;
        let name = text.sole_secret().ok_or(OptionsError::Token)?;
        Ok(Some(name.to_owned()))
    }

    fn tls(&self) -> Result<Option<ClientTls>, OptionsError> {
        let Some(authority) = &self.ca else { return Ok(None) };
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((read("certificate", certificate)?, read("key", key)?)),
            _ => None,
        };
        Ok(Some(ClientTls {
            authority: read("ca", authority)?,
            identity,
        }))
    }

    /// How an attempt reaches these agents. Files and the secret are read for each attempt, so a change needs no restart.
    pub(super) async fn connect(
        &self,
        secrets: &Secrets,
        checked: BTreeMap<String, Vec<SocketAddr>>,
    ) -> Result<Connect, String> {
        let tls = self
            .tls()
            .map_err(|error| format!("`[agents]`: {error}; {}", error.remedy()))?;
        let token = match self.secret().map_err(|error| error.to_string())? {
            Some(name) => Some(secrets.get(&name).await.map_err(|error| error.to_string())?),
            None => None,
        };
        let outside = checked
            .iter()
            .find(|(_, found)| found.iter().any(|at| !at.ip().is_loopback()));
        if let (Some(_), None, Some((address, _))) = (&token, &tls, outside) {
            return Err(format!(
                "the token of `[agents]` would travel to agent `{address}` in clear text; add `ca = \"FILE\"` to `[agents]`, \
                 so that the server speaks TLS with agents"
            ));
        }
        Ok(Connect {
            tls,
            token,
            checked,
            ..Connect::default()
        })
    }
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, OptionsError> {
    std::fs::read(path).map_err(|source| OptionsError::File {
        key,
        path: path.to_owned(),
        source,
    })
}
