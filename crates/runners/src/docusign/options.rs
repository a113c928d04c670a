//! `[providers.docusign]`.

use serde::Deserialize;
use url::Url;

use crate::http::oauth::SigningKey;
use crate::registry::providers::{Checker, OptionsError};
use crate::secrets::Text;

pub(super) const DOCUSIGN: &str = "docusign";
const URL: &str = "https://www.docusign.net";
const AUTH_URL: &str = "https://account.docusign.com";

/// `[providers.docusign]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct DocusignOptions {
    /// The id of the account that sends; it may name a secret.
    pub account: String,
    /// The integration key; it may name a secret.
    pub integration_key: String,
    /// The id of the user it acts for; it may name a secret.
    pub user: String,
    /// The RSA private key in PEM; it should name a secret.
    pub private_key: String,
    /// Where the account is; a gateway or a test can take its place.
    pub url: Option<String>,
    /// Where tokens come from.
    pub auth_url: Option<String>,
}

/// The options, checked.
#[derive(Clone, Debug)]
pub(super) struct Docusign {
    pub(super) account: Text,
    pub(super) integration_key: Text,
    pub(super) user: Text,
    pub(super) private_key: Text,
    pub(super) url: Url,
    pub(super) auth_url: Url,
}

impl DocusignOptions {
    pub(super) fn check(&self) -> Result<Docusign, OptionsError> {
        let Self {
            account,
            integration_key,
            user,
            private_key,
            url,
            auth_url,
        } = self;
        let checker = Checker(DOCUSIGN);
        let private_key = checker.text("privateKey", private_key)?;
        if let Some(key) = private_key.plain() {
            let remedy = "keep it as a secret: `privateKey = \"{{secrets.docusign_key}}\"`";
            SigningKey::parse(key).map_err(|error| checker.wrong("privateKey", error.to_string(), remedy))?;
        }
        Ok(Docusign {
            account: checker.text("account", account)?,
            integration_key: checker.text("integrationKey", integration_key)?,
            user: checker.text("user", user)?,
            private_key,
            url: checker.base("url", url.as_deref(), URL)?,
            auth_url: checker.base("authUrl", auth_url.as_deref(), AUTH_URL)?,
        })
    }
}

impl Docusign {
    /// The server that an assertion is for: its host, with the port where it is not the usual one.
    pub(super) fn audience(&self) -> String {
        let host = self.auth_url.host_str().unwrap_or_default();
        match self.auth_url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}
