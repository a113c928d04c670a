//! Requests that act once, however often they are sent: what an `Idempotency-Key` counts for, and the answer it keeps.
//!
//! A key counts for one principal, one kind of request and one target. What was asked is compared by its meaning, not
//! by its bytes: the order of members and the spacing of a body say nothing. The answer is committed with what it
//! answers, so a crash can neither lose it nor let the request act again.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::document::json;
use sprag_core::ids::Slot;
use sprag_store::records::Scope;

use super::{Answer, Code, Refusal, Request, Subject};

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 255;
/// How long an answer is kept after it was given, in milliseconds: a day.
pub const KEPT_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// An `Idempotency-Key`, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    principal: String,
    text: String,
}

/// Why a text is not an `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the idempotency key is not valid: it must have 1 to {KEY_BYTES_MAX} visible ASCII characters")]
pub struct KeyError;

impl Key {
    /// A key of `principal`'s.
    pub fn new(principal: &str, text: &str) -> Result<Self, KeyError> {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > KEY_BYTES_MAX || !is_visible {
            return Err(KeyError);
        }
        Ok(Self {
            principal: principal.to_owned(),
            text: text.to_owned(),
        })
    }
}

/// What a command with a key carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// What the key counts for.
    pub scope: Scope,
    /// Of what is asked.
    pub digest: [u8; 32],
    /// Where the request may be repeated.
    pub repeats: Repeats,
}

/// Where a request may be repeated, which says who keeps its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// At the shard that decides on it: the scope names its target.
    AtTarget,
    /// At any shard: the same call of a webhook counts once, to whichever execution it leads. Every answer counts as long as it
    /// is stored, and only a call that was taken has one.
    Anywhere,
}

/// A call of a webhook whose sender is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookCall<'a> {
    /// The machine whose hook was called.
    pub machine: &'a str,
    /// The name of the hook.
    pub hook: &'a str,
    /// The id that the sender signed, the same for every attempt to deliver the call.
    pub id: &'a str,
}

impl Idempotency {
    /// What the key counts for with this request; none where the request changes nothing, or is the engine's own.
    pub fn of<R: Request>(key: &Key, request: &R) -> Option<Self> {
        let Subject { target, body } = request.subject()?;
        let Key { principal, text } = key;
        let slot = request.route().slot(Some(Slot::of_idempotency_key(text)))?;
        let scope = json::digest(&json::canonical(&json!([principal, R::NAME, target, text])));
        Some(Self {
            scope: Scope::new(slot, scope),
            digest: json::digest(&json::canonical(&body)),
            repeats: Repeats::AtTarget,
        })
    }

    /// What a call of a webhook counts for: its hook and its id, whatever else it says.
    pub fn of_hook(HookCall { machine, hook, id }: &HookCall<'_>) -> Self {
        let scope = json::digest(&json::canonical(&json!(["hook", machine, hook, id])));
        Self {
            scope: Scope::new(Slot::of_idempotency_key(id), scope),
            digest: scope,
            repeats: Repeats::Anywhere,
        }
    }
}

/// The body of a request with one more member, where that says something: so a request from before the member was known
/// stays the same.
pub(crate) fn with(mut body: Value, name: &str, more: &impl Serialize) -> Value {
    let more = json!(more);
    let is_empty = more.is_null() || more.as_array().is_some_and(Vec::is_empty);
    if let Some(members) = body.as_object_mut().filter(|_| !is_empty) {
        members.insert(name.to_owned(), more);
    }
    body
}

/// Whether an answer is stored: whatever was decided is. What was refused without looking at the target's state, or for
/// want of room or time, may be tried again.
pub(crate) fn is_stored<A: Answer>(answer: &Result<A, Refusal>, repeats: Repeats) -> bool {
    match answer {
        Ok(_) => A::IS_STORED,
        // The sender of a webhook tries again under the same id until the call is taken.
        Err(_) if repeats == Repeats::Anywhere => false,
        // That an attempt has ended stays so by itself: nothing need be stored for its caller.
        Err(refusal) if refusal.code == Code::AttemptSuperseded => false,
        Err(refusal) => refusal.code == Code::DecisionFailed || refusal.code.is_conflict(),
    }
}

/// A refusal as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredRefusal {
    code: String,
    detail: String,
    errors: Vec<(String, String)>,
}

/// The tag of a stored refusal. An answer has the tag of its type.
const REFUSED: &str = "refused";

/// The answer as it is stored.
pub(crate) fn encode<A: Answer>(answer: &Result<A, Refusal>) -> Option<Vec<u8>> {
    match answer {
        Ok(answer) => answer.encode(),
        Err(Refusal {
            code,
            detail,
            errors,
            elsewhere: _,
            unknown_machine: _,
        }) => tagged(
            REFUSED,
            &StoredRefusal {
                code: code.text().to_owned(),
                detail: detail.clone(),
                errors: errors.clone(),
            },
        ),
    }
}

/// The answer that was stored. One that cannot be read any more is a refusal: the request has acted already, and must
/// not act again.
pub(crate) fn decode<A: Answer>(bytes: &[u8]) -> Result<A, Refusal> {
    if let Some(answer) = A::decode(bytes) {
        return Ok(answer);
    }
    let unreadable = || {
        let detail = "the request was answered before, but the stored answer cannot be read; read the current state before you use a new key";
        Refusal::new(Code::StoreFailed, detail)
    };
    let StoredRefusal { code, detail, errors } = untagged(REFUSED, bytes).ok_or_else(unreadable)?;
    let known = Code::ALL.iter().copied().find(|known| known.text() == code);
    Err(Refusal {
        errors,
        ..Refusal::new(known.ok_or_else(unreadable)?, detail)
    })
}

/// A value under its tag: `{"execution": …}`.
pub(crate) fn tagged(tag: &str, value: &impl Serialize) -> Option<Vec<u8>> {
    serde_json::to_vec(&BTreeMap::from([(tag, value)])).ok()
}

/// The value under a tag.
pub(crate) fn untagged<T: DeserializeOwned>(tag: &str, bytes: &[u8]) -> Option<T> {
    let mut stored: BTreeMap<String, Value> = serde_json::from_slice(bytes).ok()?;
    serde_json::from_value(stored.remove(tag)?).ok()
}

/// Answers of this type are stored under idempotency keys with this tag, which never changes.
macro_rules! stored_answer {
    ($tag:literal) => {
        const IS_STORED: bool = true;

        fn encode(&self) -> Option<Vec<u8>> {
            crate::requests::idempotency::tagged($tag, self)
        }

        fn decode(bytes: &[u8]) -> Option<Self> {
            crate::requests::idempotency::untagged($tag, bytes)
        }
    };
}

pub(crate) use stored_answer;

/// The refusal of a key that was used for something else.
pub(crate) fn reused() -> Refusal {
    Refusal::new(
        Code::IdempotencyKeyReused,
        "the idempotency key was used for a request with another body; use a new key",
    )
}

#[cfg(test)]
mod tests;
