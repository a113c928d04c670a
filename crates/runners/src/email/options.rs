//! `[providers.smtp]` and `[providers.sendgrid]`.

use std::collections::BTreeMap;

use lettre::message::Mailbox;
use serde::Deserialize;
use url::Url;

use super::address;
use crate::registry::providers::{Checker, OptionsError};
use crate::secrets::Text;
use sprag_core::document::source::shown;

pub(super) const SMTP: &str = "smtp";
pub(super) const SENDGRID: &str = "sendgrid";
const URL: &str = "https://api.sendgrid.com";
/// Words for how a connection is protected.
pub(super) const SECURITY: [&str; 3] = ["starttls", "tls", "none"];
/// The largest file of certificates.
const CA_BYTES_MAX: u64 = 1024 * 1024;

/// `[providers.smtp]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpOptions {
    /// The server.
    pub host: String,
    /// Its port; the usual one of `security` if none is given.
    pub port: Option<u16>,
    /// `starttls`, `tls` or `none`.
    pub security: Option<String>,
    /// Who logs in; it may name a secret.
    pub username: Option<String>,
    /// Its password; it may name a secret.
    pub password: Option<String>,
    /// Who sends, unless an action says.
    pub from: Option<String>,
    /// A PEM file of certificates that are trusted besides the machine's own.
    pub ca: Option<String>,
}

/// `[providers.sendgrid]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SendgridOptions {
    /// The API key; it may name a secret.
    pub key: String,
    /// Who sends, unless an action says.
    pub from: Option<String>,
    /// Where the service is; a gateway or a test can take its place.
    pub url: Option<String>,
    /// Names of templates and the vendor's ids for them, as `name=d-0123`.
    pub templates: Vec<String>,
}

/// How a connection to an SMTP server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    /// Upgraded after the greeting; a server that cannot is refused.
    Starttls,
    /// From the first byte.
    Tls,
    /// Not at all.
    None,
}

impl Security {
    /// What one of [`SECURITY`] means.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "tls" => Self::Tls,
            "none" => Self::None,
            _ => Self::Starttls,
        }
    }

    /// The port that servers commonly have for it.
    pub(super) fn port(self) -> u16 {
        match self {
            Self::Starttls => 587,
            Self::Tls => 465,
            Self::None => 25,
        }
    }
}

/// A server of the configuration, checked.
#[derive(Clone, Debug)]
pub(super) struct Smtp {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) login: Option<(Text, Text)>,
    pub(super) from: Option<Mailbox>,
    /// PEM.
    pub(super) ca: Option<Vec<u8>>,
}

/// The vendor, checked.
#[derive(Clone, Debug)]
pub(super) struct Sendgrid {
    pub(super) key: Text,
    pub(super) from: Option<Mailbox>,
    pub(super) url: Url,
    pub(super) templates: BTreeMap<String, String>,
}

impl SmtpOptions {
    pub(super) fn check(&self) -> Result<Smtp, OptionsError> {
        let Self {
            host,
            port,
            security,
            username,
            password,
            from,
            ca,
        } = self;
        let checker = Checker(SMTP);
        if host.is_empty() {
            let remedy = "write it as in `host = \"mail.example.com\"`";
            return Err(checker.wrong("host", "it is missing", remedy));
        }
        let security = match security.as_deref() {
            None => Security::Starttls,
            Some(word) if SECURITY.contains(&word) => Security::of(word),
            Some(other) => {
                let detail = format!("`{}` is not known", shown(other));
                return Err(checker.wrong("security", detail, "write `starttls`, `tls` or `none`"));
            }
        };
        let login = match (username, password) {
            (Some(username), Some(password)) => {
                Some((checker.text("username", username)?, checker.text("password", password)?))
            }
            (None, None) => None,
            (Some(_), None) => return Err(checker.wrong("password", "it is missing", "add it, or remove `username`")),
            (None, Some(_)) => return Err(checker.wrong("username", "it is missing", "add it, or remove `password`")),
        };
        Ok(Smtp {
            host: host.clone(),
            port: port.unwrap_or_else(|| security.port()),
            security,
            login,
            from: sender(checker, from.as_deref())?,
            ca: ca.as_deref().map(|path| certificates(checker, path)).transpose()?,
        })
    }
}

impl SendgridOptions {
    pub(super) fn check(&self) -> Result<Sendgrid, OptionsError> {
        let Self {
            key,
            from,
            url,
            templates,
        } = self;
        let checker = Checker(SENDGRID);
        let mut ids = BTreeMap::new();
        for entry in templates {
            match entry.split_once('=').map(|(name, id)| (name.trim(), id.trim())) {
                Some((name, id)) if !name.is_empty() && !id.is_empty() => {
                    ids.insert(name.to_owned(), id.to_owned());
                }
                _ => {
                    let detail = format!("`{}` is not a name and an id", shown(entry));
                    let remedy = "write it as in `templates = [\"notice=d-0123456789abcdef\"]`";
                    return Err(checker.wrong("templates", detail, remedy));
                }
            }
        }
        Ok(Sendgrid {
            key: checker.text("key", key)?,
            from: sender(checker, from.as_deref())?,
            url: checker.base("url", url.as_deref(), URL)?,
            templates: ids,
        })
    }
}

fn sender(checker: Checker, from: Option<&str>) -> Result<Option<Mailbox>, OptionsError> {
    let parse = |text: &str| {
        address::one(text).map_err(|detail| {
            let detail = format!("`{}`: {detail}", shown(text));
            checker.wrong("from", detail, "write it as in `from = \"Sprag <sprag@example.com>\"`")
        })
    };
    from.map(parse).transpose()
}

fn certificates(checker: Checker, path: &str) -> Result<Vec<u8>, OptionsError> {
    let remedy = "write the path of a PEM file with certificates";
    let wrong = |detail: String| checker.wrong("ca", detail, remedy);
    let length = std::fs::metadata(path)
        .map_err(|error| wrong(format!("`{path}`: {error}")))?
        .len();
    if length > CA_BYTES_MAX {
        return Err(wrong(format!("`{path}` is larger than {CA_BYTES_MAX} bytes")));
    }
    let pem = std::fs::read(path).map_err(|error| wrong(format!("`{path}`: {error}")))?;
    lettre::transport::smtp::client::Certificate::from_pem(&pem)
        .map_err(|error| wrong(format!("`{path}`: {error}")))?;
    Ok(pem)
}
