//! A mail as it leaves: its words rendered, its headers made.

use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, MultiPart, SinglePart};
use serde_json::{Map, Value};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Outcome;
use sprag_core::document::source::nearest;
use sprag_core::machine::Mail;
use sprag_core::time::Timestamp;

use super::config::{Config, Content};

/// The mail's words, from the machine's template or the action itself.
pub(super) fn words(config: &Config, templates: &Map<String, Value>) -> Result<Mail, Box<Outcome>> {
    let invalid = |message: String| Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message));
    let mut mail = match &config.content {
        Content::Words { text, html } => Mail {
            subject: None,
            text: text.clone(),
            html: html.clone(),
        },
        Content::Template { name, variables } => {
            let Some(template) = templates.get(name) else {
                let near = nearest(name, templates.keys().map(String::as_str));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Err(invalid(format!("the machine has no template `{name}`{near}")));
            };
            Mail::render(template, variables).map_err(|error| invalid(format!("template `{name}`: {error}")))?
        }
    };
    if let Some(subject) = &config.subject {
        mail.subject = Some(subject.clone());
    }
    if mail.subject.is_none() {
        return Err(invalid("the mail has no subject".to_owned()));
    }
    Ok(mail)
}

/// The same for every attempt of an action, so that a receiver can tell a repeat from a second mail.
pub(super) fn message_id(config: &Config, idempotency_key: &str) -> String {
    format!("<{idempotency_key}@{}>", config.from.email.domain())
}

/// The message as SMTP carries it.
pub(super) fn message(config: &Config, mail: Mail, id: String, now: Timestamp) -> Result<Message, Box<Outcome>> {
    let date = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or_default());
    let mut builder = Message::builder()
        .message_id(Some(id))
        .date(date)
        .from(config.from.clone())
        .subject(mail.subject.unwrap_or_default());
    for mailbox in &config.to {
        builder = builder.to(mailbox.clone());
    }
    for mailbox in &config.cc {
        builder = builder.cc(mailbox.clone());
    }
    for mailbox in &config.bcc {
        builder = builder.bcc(mailbox.clone());
    }
    if let Some(mailbox) = &config.reply_to {
        builder = builder.reply_to(mailbox.clone());
    }
    let built = match (mail.text, mail.html) {
        (text, html) if !config.attachments.is_empty() => builder.multipart(mixed(config, text, html)?),
        (Some(text), Some(html)) => builder.multipart(MultiPart::alternative_plain_html(text, html)),
        (None, Some(html)) => builder.singlepart(SinglePart::html(html)),
        (text, None) => builder.singlepart(SinglePart::plain(text.unwrap_or_default())),
    };
    built.map_err(|error| {
        let message = format!("the mail cannot be made: {error}");
        Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
    })
}

fn mixed(config: &Config, text: Option<String>, html: Option<String>) -> Result<MultiPart, Box<Outcome>> {
    let mut mixed = match (text, html) {
        (Some(text), Some(html)) => MultiPart::mixed().multipart(MultiPart::alternative_plain_html(text, html)),
        (None, Some(html)) => MultiPart::mixed().singlepart(SinglePart::html(html)),
        (text, None) => MultiPart::mixed().singlepart(SinglePart::plain(text.unwrap_or_default())),
    };
    for attachment in &config.attachments {
        let content_type = ContentType::parse(&attachment.content_type).map_err(|error| {
            let message = format!("`{}`: {error}", attachment.content_type);
            Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
        })?;
        let part = Attachment::new(attachment.filename.clone()).body(attachment.bytes.clone(), content_type);
        mixed = mixed.singlepart(part);
    }
    Ok(mixed)
}
