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

use super::config::{read_headers, read_method, read_url};
use crate::config::{Object, Reader};
use crate::http::{Reply, Request};

const KEYS: [&str; 5] = ["url", "method", "headers", "expectedStatusCodes", "happened"];
const HAPPENED_KEYS: [&str; 2] = ["pointer", "equals"];
const NOT_FOUND: u16 = 404;

/// How to ask.
pub(super) struct Lookup {
    url: Url,
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

/// Reads `lookup`, if it is there.
pub(super) fn read(reader: &mut Reader, parent: &Object<'_>) -> Option<Lookup> {
    let object = reader.object(parent, "lookup", &KEYS)?;
    let url = read_url(reader, &object);
    let method = read_method(reader, &object, &Method::GET);
    let headers = read_headers(reader, &object);
    let expected = reader.codes(&object, "expectedStatusCodes", 100..=599);
    let happened = read_happened(reader, &object);
    Some(Lookup {
        url: url?,
        method: method?,
        headers: headers?,
        expected,
        happened,
    })
}

fn read_happened(reader: &mut Reader, parent: &Object<'_>) -> Option<Happened> {
    let object = reader.object(parent, "happened", &HAPPENED_KEYS)?;
    let pointer = reader.required_text(&object, "pointer", "`/items/0`")?;
    if !pointer.starts_with('/') && !reader.is_open(pointer) {
        reader.problem(
            object.at("pointer"),
            "the text is not a JSON pointer",
            "begin it with `/`, such as `/items/0`",
        );
    }
    Some(Happened {
        pointer: pointer.to_owned(),
        equals: object.get("equals").cloned(),
    })
}

impl Lookup {
    /// The request to send.
    pub(super) fn request(&self, timeout: Duration) -> Request {
        let Self {
            url,
            method,
            headers,
            expected: _,
            happened: _,
        } = self;
        Request {
            method: method.clone(),
            url: url.clone(),
            headers: headers.clone(),
            body: None,
            timeout,
        }
    }

    /// What the reply means.
    pub(super) fn answer(&self, reply: Reply, done: impl FnOnce(&Reply) -> Done) -> Probe {
        if reply.status() == NOT_FOUND && !self.expected.as_ref().is_some_and(|codes| codes.contains(&NOT_FOUND)) {
            return Probe::DidNotHappen;
        }
        let Ok(reply) = reply.judge(self.expected.as_deref()) else {
            return Probe::Unclear;
        };
        match &self.happened {
            Some(happened) if !reply.is_whole_json() => {
                tracing::warn!(pointer = %happened.pointer, "the reply to a lookup is not JSON, or too long to look into");
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
