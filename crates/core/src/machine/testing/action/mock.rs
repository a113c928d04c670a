//! One entry of a mock: a scripted reply, or a scripted outcome.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::subject::Reach;
use crate::action::{ActionError, Failure, Outcome};
use crate::document::source::{Place, Position, shown};
use crate::document::{Fields, Findings, millis};

/// The status of a reply that does not say it.
const STATUS_DEFAULT: u16 = 200;

/// One entry of a mock.
#[derive(Clone, Debug, PartialEq)]
pub struct Mock {
    /// Where it stands.
    pub at: Position,
    /// Only for requests whose URL begins so.
    pub to: Option<String>,
    /// How often it answers before the next one does.
    pub repeat: u32,
    /// How long it takes, in milliseconds.
    pub delay: u64,
    /// What it does.
    pub scripted: Scripted,
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq)]
pub enum Scripted {
    /// Answers a request.
    Reply(Reply),
    /// Ends an attempt, whatever its type, and nothing is sent.
    Ending(Ending),
}

/// What comes back to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers, by name.
    pub headers: BTreeMap<String, String>,
    /// The body: a text as it is, anything else as JSON, null for none.
    pub body: Value,
    /// Where the connection fails.
    pub cut: Option<Cut>,
}

/// Where a connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// Before it stands: nothing has left.
    Connect,
    /// After the request was sent, before a reply.
    Request,
    /// Inside the reply's body.
    Reply,
}

/// How an attempt ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// With this result.
    Result(Value),
    /// With this error, and certainly no effect.
    NotDone(Failure),
    /// With this error, and nobody knows.
    Unknown(Failure),
}

impl Ending {
    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Result(result) => Outcome::done(result.clone()),
            Self::NotDone(failure) => Outcome::NotDone(failure.clone()),
            Self::Unknown(failure) => Outcome::Unknown(failure.clone()),
        }
    }
}

impl Mock {
    /// A reply at once, once, to whatever is asked.
    pub fn reply(status: u16, body: Value) -> Self {
        Self::of(Scripted::Reply(Reply {
            status,
            headers: BTreeMap::new(),
            body,
            cut: None,
        }))
    }

    /// An outcome at once.
    pub fn ending(ending: Ending) -> Self {
        Self::of(Scripted::Ending(ending))
    }

    fn of(scripted: Scripted) -> Self {
        Self {
            at: Position::START,
            to: None,
            repeat: 1,
            delay: 0,
            scripted,
        }
    }

    /// The same, after so many milliseconds.
    #[must_use]
    pub fn after(self, delay: u64) -> Self {
        Self { delay, ..self }
    }

    /// The same, with a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Scripted::Reply(reply) = &mut self.scripted {
            reply.headers.insert(name.to_owned(), value.to_owned());
        }
        self
    }

    /// The same, with the connection failing there.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Self {
        if let Scripted::Reply(reply) = &mut self.scripted {
            reply.cut = Some(cut);
        }
        self
    }

    /// Whether an attempt that gets this would most likely succeed.
    pub(super) fn is_good(&self, timeout: u64) -> bool {
        let good = match &self.scripted {
            Scripted::Reply(reply) => reply.cut.is_none() && (200..300).contains(&reply.status),
            Scripted::Ending(ending) => matches!(ending, Ending::Result(_)),
        };
        good && self.delay <= timeout
    }
}

/// As a mock file writes it.
impl Serialize for Mock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            at: _,
            to,
            repeat,
            delay,
            scripted,
        } = self;
        let mut members = match scripted {
            Scripted::Reply(reply) => reply.members(),
            Scripted::Ending(ending) => ending.members(),
        };
        if let Some(to) = to {
            members.insert("to".to_owned(), json!(to));
        }
        if *repeat > 1 {
            members.insert("repeat".to_owned(), json!(repeat));
        }
        if *delay > 0 {
            members.insert("delay".to_owned(), json!(delay));
        }
        members.serialize(serializer)
    }
}

impl Reply {
    fn members(&self) -> Map<String, Value> {
        let Self {
            status,
            headers,
            body,
            cut,
        } = self;
        let mut members = Map::new();
        if !matches!(cut, Some(Cut::Connect | Cut::Request)) {
            members.insert("status".to_owned(), json!(status));
        }
        if !headers.is_empty() {
            members.insert("headers".to_owned(), json!(headers));
        }
        if !body.is_null() {
            members.insert("body".to_owned(), body.clone());
        }
        if let Some(cut) = cut {
            members.insert("cut".to_owned(), json!(cut));
        }
        members
    }
}

impl Ending {
    fn members(&self) -> Map<String, Value> {
        let (failure, outcome) = match self {
            Self::Result(result) => return Map::from_iter([("result".to_owned(), result.clone())]),
            Self::NotDone(failure) => (failure, "notDone"),
            Self::Unknown(failure) => (failure, "unknown"),
        };
        let mut error = Map::from_iter([
            ("type".to_owned(), json!(failure.error.kind)),
            ("message".to_owned(), json!(failure.error.message)),
        ]);
        if let Some(millis) = failure.retry_after {
            error.insert("retryAfter".to_owned(), json!(millis));
        }
        Map::from_iter([
            ("error".to_owned(), Value::Object(error)),
            ("outcome".to_owned(), json!(outcome)),
        ])
    }
}

/// The keys that only a reply has.
const OF_REPLIES: [&str; 5] = ["status", "headers", "body", "cut", "to"];

/// Reads one entry, whose shape was checked. Reports what does not go together.
pub fn read(fields: &Fields<'_>, findings: &mut Findings) -> Mock {
    let kind = ["result", "error"].into_iter().find(|name| fields.get(name).is_some());
    refuse_mixed(kind, fields, findings);
    let scripted = match kind {
        Some("result") => Scripted::Ending(Ending::Result(fields.value("result").unwrap_or_default())),
        Some(_) => Scripted::Ending(failed(fields)),
        None => Scripted::Reply(reply(fields)),
    };
    Mock {
        at: fields.at.place().at,
        to: fields.string("to"),
        repeat: fields.whole("repeat").unwrap_or(1),
        delay: fields.millis("delay").unwrap_or(0),
        scripted,
    }
}

/// Refuses replies for an action that makes no HTTP call.
pub fn check<'m>(mocks: impl IntoIterator<Item = &'m Mock>, kind: &str, reach: Reach, findings: &mut Findings) {
    let mocks = mocks.into_iter().filter(|_| reach != Reach::Http);
    for mock in mocks.filter(|mock| matches!(mock.scripted, Scripted::Reply(_))) {
        let place = Place {
            at: mock.at,
            pointer: String::new(),
        };
        let detail = format!("`{}` makes no HTTP call here, so no reply can be scripted", shown(kind));
        let remedy = "script its outcome: `{result: …}`, or `{error: {type: …}, outcome: notDone}`";
        findings.error(&place, "bad-mock", detail, remedy);
    }
}

fn refuse_mixed(kind: Option<&str>, fields: &Fields<'_>, findings: &mut Findings) {
    let refuse = |name: &'static str, with: &str, findings: &mut Findings| {
        if let Some(spot) = fields.get(name) {
            let detail = format!("`{name}` does not go with {with}");
            findings.error(&spot.place(), "bad-mock", detail, "remove one of them");
        }
    };
    if let Some(kind) = kind {
        let with = format!("`{kind}`, which ends the attempt without a request");
        for name in OF_REPLIES {
            refuse(name, &with, findings);
        }
        if kind == "result" {
            refuse("error", "`result`", findings);
            refuse("outcome", "`result`: an attempt with a result is done", findings);
        }
        return;
    }
    refuse("outcome", "a reply: its status and `cut` say what is known", findings);
    if let Some(cut @ ("connect" | "request")) = fields.text("cut") {
        let with = format!("`cut: {cut}`: nothing comes back");
        for name in ["status", "headers", "body"] {
            refuse(name, &with, findings);
        }
    }
}

fn reply(fields: &Fields<'_>) -> Reply {
    let headers = fields.pairs("headers").unwrap_or_default().into_iter();
    let cuts = [
        ("connect", Cut::Connect),
        ("request", Cut::Request),
        ("reply", Cut::Reply),
    ];
    Reply {
        status: fields.whole("status").unwrap_or(STATUS_DEFAULT),
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect(),
        body: fields.value("body").unwrap_or_default(),
        cut: fields.word("cut", &cuts),
    }
}

fn failed(fields: &Fields<'_>) -> Ending {
    let failure = failure(&fields.value("error").unwrap_or_default());
    match fields.text("outcome") {
        Some("unknown") => Ending::Unknown(failure),
        _ => Ending::NotDone(failure),
    }
}

/// The failure that an `error` of a file describes.
pub(super) fn failure(error: &Value) -> Failure {
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let kind = text("type").unwrap_or_default();
    let message = text("message").unwrap_or("failed as scripted");
    let mut failure = Failure::new(ActionError {
        code: text("code").map(str::to_owned),
        details: error.get("details").cloned(),
        ..ActionError::new(kind, message)
    });
    failure.retry_after = error.get("retryAfter").and_then(millis);
    failure
}
