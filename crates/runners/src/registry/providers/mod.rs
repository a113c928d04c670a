//! `[providers.*]`: whose services send mail, text messages and envelopes, and with which credentials.
//!
//! Addresses there are configured by the operator and bypass the outbound guard. Credentials may name secrets: they
//! are asked for when an attempt needs them, held as long as it lasts, and masked in whatever it says.

mod asked;

use serde::Deserialize;
use url::Url;

pub(crate) use asked::Asked;

use crate::docusign::DocusignOptions;
use crate::email::{SendgridOptions, SmtpOptions};
use crate::http;
use crate::secrets::Text;
use crate::sms::TwilioOptions;

/// What the configuration says; a provider that is not there cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `[providers.twilio]`.
    pub twilio: Option<TwilioOptions>,
    /// `[providers.smtp]`.
    pub smtp: Option<SmtpOptions>,
    /// `[providers.sendgrid]`.
    pub sendgrid: Option<SendgridOptions>,
    /// `[providers.docusign]`.
    pub docusign: Option<DocusignOptions>,
}

/// Why the options of a provider cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`[providers.{provider}] {key}`: {detail}")]
pub struct OptionsError {
    /// The provider.
    pub provider: &'static str,
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub detail: String,
    /// What would fix it.
    pub remedy: String,
}

/// One provider's options under check.
#[derive(Clone, Copy)]
pub(crate) struct Checker(pub(crate) &'static str);

impl Checker {
    pub(crate) fn wrong(self, key: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> OptionsError {
        OptionsError {
            provider: self.0,
            key,
            detail: detail.into(),
            remedy: remedy.into(),
        }
    }

    /// A text that may name secrets and must hold something.
    pub(crate) fn text(self, key: &'static str, text: &str) -> Result<Text, OptionsError> {
        let remedy = format!("write it as in `{key} = \"{{{{secrets.{}_{key}}}}}\"`", self.0);
        if text.is_empty() {
            return Err(self.wrong(key, "it is missing", remedy));
        }
        let parsed = Text::parse(text).map_err(|error| self.wrong(key, error.to_string(), remedy.clone()))?;
        if parsed.with("").chars().any(char::is_control) {
            return Err(self.wrong(key, "it contains a control character", remedy));
        }
        Ok(parsed)
    }

    /// The base of a service's URLs: the path after its host is kept.
    pub(crate) fn base(self, key: &'static str, text: Option<&str>, default: &str) -> Result<Url, OptionsError> {
        let text = text.unwrap_or(default);
        let remedy = format!("write it as in `{key} = \"{default}\"`");
        let url = http::url(text).map_err(|error| self.wrong(key, error.to_string(), remedy.clone()))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(self.wrong(key, "a base URL has no query and no fragment", remedy));
        }
        Ok(url)
    }
}

/// `base` with more path behind it.
pub(crate) fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    // Fails only for URLs that cannot have a path, which `http` URLs can.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_before_a_service_keeps_its_own_path() {
        let base = Checker("x").base("url", Some("http://gateway/twilio/"), "").unwrap();
        assert_eq!(below(&base, &["a b", "c"]).as_str(), "http://gateway/twilio/a%20b/c");
        let base = Checker("x").base("url", None, "https://api.example").unwrap();
        assert_eq!(below(&base, &["v1"]).as_str(), "https://api.example/v1");
        let wrong = Checker("x")
            .base("url", Some("ftp://x"), "https://api.example")
            .unwrap_err();
        assert!(wrong.to_string().starts_with("`[providers.x] url`"), "{wrong}");
    }
}
