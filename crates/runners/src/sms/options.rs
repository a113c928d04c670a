//! `[providers.twilio]`.

use serde::Deserialize;
use url::Url;

use super::phone;
use crate::registry::providers::{Checker, OptionsError};
use crate::secrets::Text;
use sprag_core::document::source::shown;

pub(super) const TWILIO: &str = "twilio";
const URL: &str = "https://api.twilio.com";

/// `[providers.twilio]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct TwilioOptions {
    /// The account's SID; it may name a secret.
    pub account: String,
    /// The account's token, or the API key's secret; it may name a secret.
    pub token: String,
    /// The SID of an API key, where the token is that key's secret.
    pub api_key: Option<String>,
    /// Who sends, unless an action says.
    pub from: Option<String>,
    /// The messaging service that sends, unless an action says.
    pub messaging_service: Option<String>,
    /// Where the service is; a gateway or a test can take its place.
    pub url: Option<String>,
}

/// The options, checked.
#[derive(Clone, Debug)]
pub(super) struct Twilio {
    pub(super) account: Text,
    pub(super) token: Text,
    pub(super) api_key: Option<Text>,
    pub(super) sender: Option<Sender>,
    pub(super) url: Url,
}

/// Who sends a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// A number, a short code or a name.
    From(String),
    /// A messaging service, which picks the number.
    Service(String),
}

impl TwilioOptions {
    pub(super) fn check(&self) -> Result<Twilio, OptionsError> {
        let Self {
            account,
            token,
            api_key,
            from,
            messaging_service,
            url,
        } = self;
        let checker = Checker(TWILIO);
        let sender = match (from, messaging_service) {
            (Some(_), Some(_)) => {
                let detail = "`from` and `messagingService` are both given";
                return Err(checker.wrong("messagingService", detail, "keep one of them"));
            }
            (Some(from), None) if !phone::is_sender(from) => {
                let detail = format!("`{}` cannot send", shown(from));
                return Err(checker.wrong("from", detail, format!("write {}", phone::EXPECTED)));
            }
            (None, Some(service)) if !is_service(service) => {
                let detail = format!("`{}` is not a messaging service", shown(service));
                return Err(checker.wrong("messagingService", detail, SERVICE_REMEDY));
            }
            (Some(from), None) => Some(Sender::From(from.clone())),
            (None, Some(service)) => Some(Sender::Service(service.clone())),
            (None, None) => None,
        };
        Ok(Twilio {
            account: checker.text("account", account)?,
            token: checker.text("token", token)?,
            api_key: api_key.as_ref().map(|key| checker.text("apiKey", key)).transpose()?,
            sender,
            url: checker.base("url", url.as_deref(), URL)?,
        })
    }
}

pub(super) const SERVICE_REMEDY: &str = "write the service's SID: `MG` and 32 hexadecimal digits";

/// Whether `text` is the SID of a messaging service.
pub(super) fn is_service(text: &str) -> bool {
    let digits = text.strip_prefix("MG").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
