//! Requests that are refused before anything is decided, for the audit.
//!
//! A caller who lacks a role or a scope leaves an entry at once; the same again in the same minute is counted. Requests without
//! a valid token are only counted, by address and minute. The numbers of both are bounded: what is beyond them is counted
//! together, so nobody can fill the audit or the memory by asking often.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use sprag_core::access::Caller;
use sprag_core::integrity::audit::Verb;
use sprag_engine::Asker;
use sprag_engine::requests::{self, Record};

use super::gate::{ANONYMOUS, Peer, network};
use crate::app::App;
use crate::problem::Code;

/// How long the same refusals are counted together.
const MINUTE: Duration = Duration::from_mins(1);
/// Callers and their requests that a minute tells apart.
const DENIED_MAX: usize = 100;
/// Addresses that a minute tells apart.
const ADDRESSES_MAX: usize = 100;
/// What a request without a valid token is about.
const TOKEN: &str = "token";
/// What those have that are beyond the bounds.
const OTHERS: &str = "others";

/// Who was refused what, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Refused {
    principal: String,
    target: String,
    address: Option<String>,
    code: &'static str,
}

/// What was refused in this minute.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    denied: Mutex<Tally>,
    unknown: Mutex<Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    counts: BTreeMap<Refused, u64>,
    others: u64,
}

impl Tally {
    /// Counts one. Says whether it is the first of its kind that is told apart.
    fn add(&mut self, refused: &Refused, most: usize) -> bool {
        if let Some(count) = self.counts.get_mut(refused) {
            *count += 1;
            return false;
        }
        if self.counts.len() >= most {
            self.others += 1;
            return false;
        }
        self.counts.insert(refused.clone(), 1);
        true
    }
}

/// What the audit says about a request, taken before the request is given away.
pub(crate) struct Seen {
    caller: Option<Arc<Caller>>,
    method: Method,
    path: Option<MatchedPath>,
    address: Option<String>,
}

impl Seen {
    /// What there is to say about a request.
    pub(crate) fn of(request: &Request) -> Self {
        let extensions = request.extensions();
        let caller = extensions.get::<Arc<Caller>>().cloned();
        let unknown = caller.is_none().then(|| extensions.get::<Peer>()).flatten();
        Self {
            address: unknown.map(|peer| network(peer.address.ip()).to_string()),
            caller,
            method: request.method().clone(),
            path: extensions.get::<MatchedPath>().cloned(),
        }
    }

    /// The request was refused with this code.
    pub(crate) async fn refused(self, app: &App, code: &'static str) {
        let Self {
            caller,
            method,
            path,
            address,
        } = self;
        let Some(caller) = caller else {
            let counted = [Code::TokenMissing, Code::TokenInvalid, Code::RateLimited];
            if counted.iter().any(|counted| counted.text() == code) {
                let refused = Refused {
                    principal: ANONYMOUS.to_owned(),
                    target: TOKEN.to_owned(),
                    address,
                    code,
                };
                lock(&app.refusals.unknown).add(&refused, ADDRESSES_MAX);
            }
            return;
        };
        if code != requests::Code::ScopeMissing.text() && code != requests::Code::RoleMissing.text() {
            return;
        }
        let path = path.as_ref().map_or("", MatchedPath::as_str);
        let refused = Refused {
            principal: caller.principal.to_string(),
            target: format!("{method} {path}"),
            address: caller.address.clone(),
            code,
        };
        let is_first = lock(&app.refusals.denied).add(&refused, DENIED_MAX);
        if is_first {
            write(app, refused, None).await;
        }
    }
}

/// Writes what was counted at the end of each minute.
pub(crate) async fn keep(app: App) {
    loop {
        tokio::time::sleep(MINUTE).await;
        flush(&app).await;
    }
}

/// Writes what was counted since the last time. The engine must still take entries.
pub(crate) async fn flush(app: &App) {
    let denied = std::mem::take(&mut *lock(&app.refusals.denied));
    let unknown = std::mem::take(&mut *lock(&app.refusals.unknown));
    // The first of each that was denied has its entry.
    let again = denied.counts.into_iter().map(|(refused, count)| (refused, count - 1));
    let others = |count, code| {
        let refused = Refused {
            principal: ANONYMOUS.to_owned(),
            target: OTHERS.to_owned(),
            address: None,
            code,
        };
        (refused, count)
    };
    let others = [
        others(denied.others, requests::Code::RoleMissing.text()),
        others(unknown.others, Code::TokenInvalid.text()),
    ];
    for (refused, count) in again.chain(unknown.counts).chain(others) {
        match count {
            0 => {}
            1 => write(app, refused, Some("1 request in a minute".to_owned())).await,
            count => write(app, refused, Some(format!("{count} requests in a minute"))).await,
        }
    }
}

/// Adds an entry to the audit. A store that takes none is no reason to answer otherwise.
async fn write(app: &App, refused: Refused, counted: Option<String>) {
    let Refused {
        principal,
        target,
        address,
        code,
    } = refused;
    let caller = Caller {
        principal: principal.into(),
        address,
        ..Caller::local()
    };
    let record = Record {
        verb: Verb::RefusedRequest,
        target,
        refused: Some(code.into()),
        before: None,
        after: counted,
    };
    let asker = Asker {
        caller: Arc::new(caller),
        key: None,
    };
    if let Err(refusal) = app.engine.operate().record(record, &asker).await {
        tracing::warn!(code = refusal.code.text(), "refused request not in the audit");
    }
}

fn lock(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_addresses_are_counted_together_and_each_is_first_once() {
        let mut tally = Tally::default();
        let refused = |number: usize| Refused {
            principal: ANONYMOUS.to_owned(),
            target: TOKEN.to_owned(),
            address: Some(number.to_string()),
            code: Code::TokenInvalid.text(),
        };
        let firsts = (0..1_000)
            .filter(|&number| tally.add(&refused(number % 500), 100))
            .count();
        assert_eq!((firsts, tally.counts.len(), tally.others), (100, 100, 800));
        assert!(tally.counts.values().all(|count| *count == 2));
    }
}
