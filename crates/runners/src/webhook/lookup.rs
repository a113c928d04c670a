//! The request that asks a receiver whether an earlier one arrived.
//!
//! Without more words a listed status (any 2xx by default) means it did and 404 that it did not. `happened` looks
//! into the reply instead: a search that found nothing also answers 200.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;
use sprag_core::action::outcome::{Done, Probe};
use url::Url;

use super::config::{read_headers, read_method};
use crate::http::{Reply, Request};
use crate::registry::config;
use sprag_core::document::Reader;
use sprag_core::document::source::Spot;

const KEYS: [&str; 4] = ["method", "headers", "expectedStatusCodes", "happened"];
const HAPPENED_KEYS: [&str; 2] = ["pointer", "equals"];
const NOT_FOUND: u16 = 404;

/// How to ask, and where: a URL, or an endpoint of a service.
pub(crate) struct Lookup<At> {
    at: At,
    method: Method,
    headers: HeaderMap,
    expected: Option<Vec<u16>>,
    happened: Option<Happened>,
}

/// What a reply holds if it happened.
struct Happened {
    pointer: String,
    equals: Option<Value>,
}

/// Reads `lookup`, if it is there. Where to ask stands under `key`, and `read_at` reads it.
pub(crate) fn read<At>(
    reader: &mut Reader,
    parent: &Spot<'_>,
    key: &str,
    read_at: impl FnOnce(&mut Reader, &Spot<'_>) -> Option<At>,
) -> Option<Lookup<At>> {
    let keys: Vec<&str> = std::iter::once(key).chain(KEYS).collect();
    let object = reader.map(parent, "lookup", &keys)?;
    let at = read_at(reader, &object);
    let method = read_method(reader, &object, &Method::GET);
    let headers = read_headers(reader, &object);
    let expected = config::codes(reader, &object, "expectedStatusCodes", 100..=599);
    let happened = read_happened(reader, &object);
    Some(Lookup {
        at: at?,
        method: method?,
        headers: headers?,
        expected,
        happened,
    })
}

fn read_happened(reader: &mut Reader, parent: &Spot<'_>) -> Option<Happened> {
    let object = reader.map(parent, "happened", &HAPPENED_KEYS)?;
    let pointer = reader.required_text(&object, "pointer", "`/items/0`")?;
    if !pointer.starts_with('/') && !reader.is_open(pointer) {
        reader.refuse_member(
            &object,
            "pointer",
            "the text is not a JSON pointer",
            "begin it with `/`, such as `/items/0`",
        );
    }
    Some(Happened {
        pointer: pointer.to_owned(),
        equals: object.value_of("equals").cloned(),
    })
}

impl<At> Lookup<At> {
    /// Where to ask.
    pub(crate) fn at(&self) -> &At {
        &self.at
    }

    /// The statuses that mean it happened, where the definition lists them.
    pub(crate) fn expected(&self) -> Option<&[u16]> {
        self.expected.as_deref()
    }

    /// The request to send to `url`, which is what [`Lookup::at`] comes to.
    pub(crate) fn request(&self, url: Url, timeout: Duration) -> Request {
        let Self {
            at: _,
            method,
            headers,
            expected: _,
            happened: _,
        } = self;
        Request {
            method: method.clone(),
            url,
            headers: headers.clone(),
            body: None,
            timeout,
        }
    }

    /// What the reply means.
    pub(crate) fn answer(&self, reply: Reply, done: impl FnOnce(&Reply) -> Done) -> Probe {
        if reply.status() == NOT_FOUND && !self.expected.as_ref().is_some_and(|codes| codes.contains(&NOT_FOUND)) {
            return Probe::DidNotHappen;
        }
        let Ok(reply) = reply.judge(self.expected.as_deref()) else {
            return Probe::Unclear;
        };
        match &self.happened {
            Some(happened) if !reply.is_whole_json() => {
                tracing::warn!(pointer = %happened.pointer, "lookup reply is not JSON or is too long");
                Probe::Unclear
            }
            Some(happened) if !happened.is_in(&reply.data()) => Probe::DidNotHappen,
            _ => Probe::Happened(done(&reply)),
        }
    }
}

impl Happened {
    fn is_in(&self, data: &Value) -> bool {
        match (data.pointer(&self.pointer), &self.equals) {
            (Some(found), Some(expected)) => found == expected,
            (Some(found), None) => !found.is_null(),
            (None, _) => false,
        }
    }
}
