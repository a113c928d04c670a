//! The configuration of an `sms` action.

use serde_json::Value;
use sprag_core::action::runner::ConfigProblem;

use super::options::{SERVICE_REMEDY, Sender, TWILIO, Twilio, is_service};
use super::phone;
use crate::http;
use crate::registry::config;
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Stage};

const KEYS: [&str; 7] = [
    "provider",
    "to",
    "message",
    "from",
    "messagingService",
    "mediaUrl",
    "waitFor",
];
const PROVIDERS: [&str; 1] = [TWILIO];
/// The most characters that the provider takes.
const MESSAGE_CHARACTERS_MAX: usize = 1_600;
/// The most pictures that the provider takes.
const MEDIA_MAX: usize = 10;

/// What to send, and to whom.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) to: String,
    pub(super) message: String,
    pub(super) sender: Sender,
    pub(super) media: Vec<String>,
    pub(super) wait_for: Option<Milestone>,
}

/// How far a message must get before the action is done; without one, the provider's word that it took it is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Milestone {
    /// The carrier has it.
    Sent,
    /// The telephone has it.
    Delivered,
}

/// Everything wrong with the configuration as it is written.
pub(super) fn check(config: &Value, twilio: Option<&Twilio>) -> Vec<ConfigProblem> {
    read(config, Stage::Written, twilio).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates leave `Err` with no problems.
pub(super) fn read(config: &Value, stage: Stage, twilio: Option<&Twilio>) -> Result<Config, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        read_object(reader, object, twilio)
    })
}

fn read_object(reader: &mut Reader, object: &Spot<'_>, twilio: Option<&Twilio>) -> Option<Config> {
    let provider = reader
        .require(object, "provider", "`twilio`")
        .and_then(|()| reader.word(object, "provider", &PROVIDERS));
    if provider.is_some() && twilio.is_none() {
        let remedy = "add `[providers.twilio]` with `account` and `token` to `sprag.toml`";
        reader.error(
            &object.place_of("provider"),
            config::NOT_CONFIGURED,
            "`[providers.twilio]` is not configured",
            remedy,
        );
    }
    let to = read_number(reader, object);
    let message = read_message(reader, object);
    let sender = read_sender(reader, object, twilio);
    let media = read_media(reader, object);
    let wait_for = reader
        .word(object, "waitFor", &["sent", "delivered"])
        .map(|word| match word {
            "sent" => Milestone::Sent,
            _ => Milestone::Delivered,
        });
    Some(Config {
        to: to?,
        message: message?,
        sender: sender?,
        media,
        wait_for,
    })
}

fn read_number(reader: &mut Reader, object: &Spot<'_>) -> Option<String> {
    let text = reader.required_text(object, "to", "`+15558675310`")?;
    if reader.is_open(text) {
        return None;
    }
    if !phone::is_number(text) {
        let detail = format!("`{}` is not a telephone number in E.164", shown(text));
        reader.refuse_member(object, "to", detail, format!("write {}", phone::EXPECTED));
        return None;
    }
    Some(text.to_owned())
}

fn read_message(reader: &mut Reader, object: &Spot<'_>) -> Option<String> {
    let text = reader.required_text(object, "message", "`Your parcel has arrived.`")?;
    let length = text.chars().count();
    if length > MESSAGE_CHARACTERS_MAX && !reader.is_open(text) {
        let detail = format!("the message has {length} characters, and the provider takes {MESSAGE_CHARACTERS_MAX}");
        reader.refuse_member(object, "message", detail, "shorten it, or send several");
        return None;
    }
    Some(text.to_owned())
}

fn read_sender(reader: &mut Reader, object: &Spot<'_>, twilio: Option<&Twilio>) -> Option<Sender> {
    if object.has("from") && object.has("messagingService") {
        let detail = "`from` and `messagingService` are both given";
        reader.refuse_member(object, "messagingService", detail, "keep one of them");
        return None;
    }
    if let Some(from) = reader.text(object, "from") {
        if !reader.is_open(from) && !phone::is_sender(from) {
            let detail = format!("`{}` cannot send", shown(from));
            reader.refuse_member(object, "from", detail, format!("write {}", phone::EXPECTED));
        }
        return Some(Sender::From(from.to_owned()));
    }
    if let Some(service) = reader.text(object, "messagingService") {
        if !reader.is_open(service) && !is_service(service) {
            let detail = format!("`{}` is not a messaging service", shown(service));
            reader.refuse_member(object, "messagingService", detail, SERVICE_REMEDY);
        }
        return Some(Sender::Service(service.to_owned()));
    }
    let twilio = twilio?;
    if twilio.sender.is_none() {
        let remedy = "add `from`, here or in `[providers.twilio]`";
        reader.refuse_member(object, "from", "the sender is missing", remedy);
    }
    twilio.sender.clone()
}

fn read_media(reader: &mut Reader, object: &Spot<'_>) -> Vec<String> {
    let texts = reader.text_or_texts(object, "mediaUrl");
    if texts.len() > MEDIA_MAX {
        let detail = format!("there are more than {MEDIA_MAX} URLs");
        reader.refuse_member(object, "mediaUrl", detail, "remove some");
    }
    for text in &texts {
        if let (false, Err(error)) = (reader.is_open(text), http::url(text)) {
            let remedy = "write an absolute URL that the provider can fetch";
            reader.refuse_member(object, "mediaUrl", format!("`{}`: {error}", shown(text)), remedy);
        }
    }
    texts.into_iter().map(str::to_owned).collect()
}
