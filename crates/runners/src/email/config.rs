//! The configuration of an `email` action.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use serde_json::{Map, Value};
use sprag_core::action::runner::ConfigProblem;

use super::Providers;
use super::address;
use super::options::{SECURITY, SENDGRID, SMTP, Security};
use crate::registry::config;
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Shape, Stage};

const KEYS: [&str; 13] = [
    "provider",
    "from",
    "to",
    "cc",
    "bcc",
    "replyTo",
    "subject",
    "text",
    "html",
    "template",
    "variables",
    "attachments",
    "server",
];
const SERVER_KEYS: [&str; 5] = ["host", "port", "security", "username", "password"];
const ATTACHMENT_KEYS: [&str; 4] = ["filename", "content", "text", "contentType"];
/// The most receivers of one mail.
const RECIPIENTS_MAX: usize = 100;
/// The most attachments of one mail.
const ATTACHMENTS_MAX: usize = 20;
/// The most bytes of all attachments together, decoded.
const ATTACHMENT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// What to send, and to whom.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) provider: &'static str,
    pub(super) from: Mailbox,
    pub(super) to: Vec<Mailbox>,
    pub(super) cc: Vec<Mailbox>,
    pub(super) bcc: Vec<Mailbox>,
    pub(super) reply_to: Option<Mailbox>,
    pub(super) subject: Option<String>,
    pub(super) content: Content,
    pub(super) attachments: Vec<Attachment>,
    pub(super) server: Option<SmtpServer>,
}

/// The words of the mail.
#[derive(Debug)]
pub(super) enum Content {
    /// As they are.
    Words {
        /// Plain.
        text: Option<String>,
        /// With markup.
        html: Option<String>,
    },
    /// Made by a template.
    Template {
        /// Its name, or the vendor's id.
        name: String,
        /// What it may use.
        variables: Map<String, Value>,
    },
}

/// A file that goes along.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) filename: String,
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
}

/// A server that the definition names: the outbound guard looks at it.
#[derive(Debug)]
pub(super) struct SmtpServer {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) login: Option<(String, String)>,
}

impl Config {
    /// Everybody who gets the mail, each once.
    pub(super) fn recipients(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for mailbox in self.to.iter().chain(&self.cc).chain(&self.bcc) {
            let address = mailbox.email.to_string();
            if !all.contains(&address) {
                all.push(address);
            }
        }
        all
    }
}

/// Everything wrong with the configuration as it is written.
pub(super) fn check(config: &Value, providers: &Providers) -> Vec<ConfigProblem> {
    read(config, Stage::Written, providers).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates leave `Err` with no problems.
pub(super) fn read(config: &Value, stage: Stage, providers: &Providers) -> Result<Config, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        read_object(reader, object, providers)
    })
}

fn read_object(reader: &mut Reader, object: &Spot<'_>, providers: &Providers) -> Option<Config> {
    let provider = reader
        .require(object, "provider", "`smtp`")
        .and_then(|()| reader.word(object, "provider", &[SMTP, SENDGRID]));
    let server = read_server(reader, object);
    if let Some(provider) = provider {
        check_provider(reader, object, provider, providers);
    }
    let to = read_mailboxes(reader, object, "to");
    let cc = read_mailboxes(reader, object, "cc");
    let bcc = read_mailboxes(reader, object, "bcc");
    reader.require(object, "to", "`ann@example.com`");
    if object
        .value_of("to")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        reader.refuse_member(object, "to", "the mail has no recipient", "add an address");
    }
    if [&to, &cc, &bcc].iter().map(|list| list.len()).sum::<usize>() > RECIPIENTS_MAX {
        let detail = format!("there are more than {RECIPIENTS_MAX} receivers");
        reader.refuse_member(object, "to", detail, "send several mails");
    }
    let from = read_from(reader, object, provider, providers);
    let reply_to = read_mailboxes(reader, object, "replyTo").into_iter().next();
    let subject = read_line(reader, object, "subject");
    let content = read_content(reader, object);
    let attachments = read_attachments(reader, object);
    if matches!(content, Some(Content::Words { .. })) && !object.has("subject") {
        reader.require(object, "subject", "`Your parcel has arrived`");
    }
    Some(Config {
        provider: provider?,
        from: from?,
        to: some(to)?,
        cc,
        bcc,
        reply_to,
        subject,
        content: content?,
        attachments,
        server,
    })
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// Whether there is anybody to hand the mail to. If not, that is said, and nothing that would follow from it.
fn is_configured(object: &Spot<'_>, provider: &str, providers: &Providers) -> bool {
    match provider {
        SMTP => providers.smtp.is_some() || object.has("server"),
        _ => providers.sendgrid.is_some(),
    }
}

fn check_provider(reader: &mut Reader, object: &Spot<'_>, provider: &str, providers: &Providers) {
    if !is_configured(object, provider, providers) {
        let detail = format!("`[providers.{provider}]` is not configured");
        let remedy = format!("add `[providers.{provider}]` to `sprag.toml`");
        reader.error(&object.place_of("provider"), config::NOT_CONFIGURED, detail, remedy);
    }
    if provider != SMTP && object.has("server") {
        let detail = format!("`server` is for `smtp`, and the provider is `{provider}`");
        reader.refuse_member(object, "server", detail, "remove it, or write `provider: smtp`");
    }
}

fn read_mailboxes(reader: &mut Reader, object: &Spot<'_>, key: &str) -> Vec<Mailbox> {
    let texts = reader.text_or_texts(object, key);
    let mut mailboxes = Vec::new();
    for text in texts {
        match address::several(text) {
            _ if reader.is_open(text) => {}
            Ok(read) => mailboxes.extend(read),
            Err(detail) => reader.refuse_member(
                object,
                key,
                format!("`{}` is not an address: {detail}", shown(text)),
                "write `ann@example.com` or `Ann Lee <ann@example.com>`",
            ),
        }
    }
    mailboxes
}

fn read_from(reader: &mut Reader, object: &Spot<'_>, provider: Option<&str>, providers: &Providers) -> Option<Mailbox> {
    if object.has("from") {
        return read_mailboxes(reader, object, "from").into_iter().next();
    }
    let provider = provider?;
    let default = match provider {
        SMTP => providers.smtp.as_ref().and_then(|smtp| smtp.from.clone()),
        _ => providers.sendgrid.as_ref().and_then(|sendgrid| sendgrid.from.clone()),
    };
    if default.is_none() && is_configured(object, provider, providers) {
        let remedy = format!("add `from`, here or in `[providers.{provider}]`");
        reader.refuse_member(object, "from", "the sender is missing", remedy);
    }
    default
}

/// A text that becomes part of a header.
fn read_line(reader: &mut Reader, object: &Spot<'_>, key: &str) -> Option<String> {
    let text = reader.text(object, key)?;
    if text.contains(['\r', '\n']) && !reader.is_open(text) {
        let detail = format!("`{key}` holds a line break");
        reader.refuse_member(object, key, detail, "put it on one line");
        return None;
    }
    Some(text.to_owned())
}

fn read_content(reader: &mut Reader, object: &Spot<'_>) -> Option<Content> {
    let template = reader.text(object, "template");
    let variables = reader.object(object, "variables");
    let (text, html) = (reader.text(object, "text"), reader.text(object, "html"));
    match template {
        Some(_) if object.has("text") || object.has("html") => {
            let detail = "`template` and words of the action's own are both given";
            reader.refuse_member(object, "template", detail, "keep `template`, or `text` and `html`");
            None
        }
        Some(name) => Some(Content::Template {
            name: name.to_owned(),
            variables: variables.cloned().unwrap_or_default(),
        }),
        None if !object.has("template") && !object.has("text") && !object.has("html") => {
            let remedy = "add `template`, `text` or `html`";
            reader.refuse_member(object, "text", "the mail has no text", remedy);
            None
        }
        None => Some(Content::Words {
            text: text.map(str::to_owned),
            html: html.map(str::to_owned),
        }),
    }
}

fn read_attachments(reader: &mut Reader, object: &Spot<'_>) -> Vec<Attachment> {
    let list = reader.read(object, "attachments", &Shape::List(&Shape::Any));
    let count = list.map_or(0, |list| list.items().count());
    if count > ATTACHMENTS_MAX {
        let detail = format!("there are {count} attachments, and at most {ATTACHMENTS_MAX} can be sent");
        reader.refuse_member(object, "attachments", detail, "send several mails, or links");
        return Vec::new();
    }
    let items = reader.maps(object, "attachments", &ATTACHMENT_KEYS);
    let attachments: Vec<_> = items.iter().filter_map(|item| read_attachment(reader, item)).collect();
    let bytes: usize = attachments.iter().map(|attachment| attachment.bytes.len()).sum();
    if bytes > ATTACHMENT_BYTES_MAX {
        let detail = format!("the attachments have {bytes} bytes, and at most {ATTACHMENT_BYTES_MAX} can be sent");
        reader.refuse_member(object, "attachments", detail, "send links instead");
    }
    attachments
}

fn read_attachment(reader: &mut Reader, item: &Spot<'_>) -> Option<Attachment> {
    reader.require(item, "filename", "`invoice.pdf`")?;
    let filename = read_line(reader, item, "filename")?;
    let content_type = reader.text(item, "contentType").unwrap_or("application/octet-stream");
    if !reader.is_open(content_type) && ContentType::parse(content_type).is_err() {
        let detail = format!("`{}` is not a media type", shown(content_type));
        reader.refuse_member(item, "contentType", detail, "write it as in `application/pdf`");
    }
    let bytes = match (reader.text(item, "content"), reader.text(item, "text")) {
        (Some(content), None) if reader.is_open(content) => return None,
        (Some(content), None) => match STANDARD.decode(content) {
            Ok(bytes) => bytes,
            Err(error) => {
                let detail = format!("`content` is not base64: {error}");
                reader.refuse_member(item, "content", detail, "encode it, or write `text` for text");
                return None;
            }
        },
        (None, Some(text)) => text.as_bytes().to_vec(),
        _ => {
            let detail = "an attachment has either `content` or `text`";
            reader.refuse_member(item, "content", detail, "add base64 as `content`, or `text`");
            return None;
        }
    };
    Some(Attachment {
        filename,
        content_type: content_type.to_owned(),
        bytes,
    })
}

fn read_server(reader: &mut Reader, object: &Spot<'_>) -> Option<SmtpServer> {
    let server = reader.map(object, "server", &SERVER_KEYS)?;
    let host = reader.required_text(&server, "host", "`mail.example.com`");
    let security = reader
        .word(&server, "security", &SECURITY)
        .map_or(Security::Starttls, Security::of);
    let port = reader.whole(&server, "port", 0, u64::from(u16::MAX));
    let login = match (reader.text(&server, "username"), reader.text(&server, "password")) {
        (Some(username), Some(password)) => Some((username.to_owned(), password.to_owned())),
        (None, None) => None,
        _ => {
            let detail = "`username` and `password` go together";
            reader.refuse_member(&server, "password", detail, "give both, or none");
            None
        }
    };
    Some(SmtpServer {
        host: host?.to_owned(),
        port: port
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or_else(|| security.port()),
        security,
        login,
    })
}
