//! Requests that act once, however often they are sent: what an `Idempotency-Key` counts for, and the answer it keeps.
//!
//! A key counts for one principal, one kind of request and one target. What was asked is compared by its meaning, not
//! by its bytes: the order of members and the spacing of a body say nothing. The answer is committed with what it
//! answers, so a crash can neither lose it nor let the request act again.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::ids::Slot;
use sprag_core::json;
use sprag_store::records::Scope;

use crate::command::{
    Answer, Applied, Apply, Code, Migrate, Refusal, Reply, Request, RetryDead, SendMessage, Sent, Start, Target,
};
use crate::control::{self, SwitchOn, SwitchView};
use crate::jobs::{JobView, RetryAll};
use crate::leasing::Finished;
use crate::letters::Dealt;
use crate::view::{ActionView, ExecutionView};

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
#[error("an idempotency key has from 1 to {KEY_BYTES_MAX} visible ASCII characters")]
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

/// What a request is to an idempotency key.
struct Subject {
    /// What kind of request.
    route: &'static str,
    /// Which shard decides.
    slot: Slot,
    /// Of whom it is asked.
    target: Value,
    /// The rest of what is asked.
    body: Value,
}

impl Idempotency {
    /// What the key counts for with this request; none where the request changes nothing, or is the engine's own.
    pub fn of(key: &Key, request: &Request) -> Option<Self> {
        let Subject {
            route,
            slot,
            target,
            body,
        } = subject(key, request)?;
        let Key { principal, text } = key;
        let scope = json::digest(&json::canonical(&json!([principal, route, target, text])));
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

fn subject(key: &Key, request: &Request) -> Option<Subject> {
    let of = |route, slot, target, body| Subject {
        route,
        slot,
        target,
        body,
    };
    let bare = |route, slot, target: String| of(route, slot, Value::String(target), Value::Null);
    Some(match request {
        // Definitions, switches and jobs live in the control shard, which the first slot belongs to.
        Request::Apply(Apply { machine, matches }) => of(
            "apply",
            Slot::default(),
            Value::Null,
            json!({"digest": machine.digest, "matches": matches}),
        ),
        Request::Start(start) => start_subject(key, start),
        Request::Send(send) => send_subject(send),
        Request::Pause(id) => bare("pause", id.slot(), id.to_string()),
        Request::Resume(id) => bare("resume", id.slot(), id.to_string()),
        Request::Cancel(id) => bare("cancel", id.slot(), id.to_string()),
        Request::Migrate(Migrate {
            execution,
            version,
            states,
        }) => of(
            "migrate",
            execution.slot(),
            json!(execution),
            json!({"version": version, "states": states}),
        ),
        Request::RetryNow(id) => bare("retry-now", id.slot(), id.to_string()),
        Request::CancelAction(id) => bare("cancel-action", id.slot(), id.to_string()),
        Request::RetryDead(RetryDead {
            action,
            config,
            version,
            patch,
        }) => of(
            "retry-dead",
            action.slot(),
            json!(action),
            with(json!({"config": config, "version": version}), "patch", patch),
        ),
        Request::Archive(id) => bare("archive", id.slot(), id.to_string()),
        Request::RetryAll(retry) => of("retry-all", Slot::default(), Value::Null, retry_all_body(retry)),
        Request::PauseJob(id) => bare("pause-job", Slot::default(), id.to_string()),
        Request::ResumeJob(id) => bare("resume-job", Slot::default(), id.to_string()),
        Request::CancelJob(id) => bare("cancel-job", Slot::default(), id.to_string()),
        Request::Control(request) => return control_subject(request),
        // An attempt ends once by itself, and a job deals with a letter once: see `leasing` and `letters`.
        Request::Lease(_)
        | Request::Heartbeat(..)
        | Request::Finish(..)
        | Request::LeasedConfig(_)
        | Request::Explain(_)
        | Request::State(_)
        | Request::RetryLetter(_)
        | Request::Queue
        | Request::Internal(_) => return None,
    })
}

/// What a bulk retry asks. How many letters there were when it was asked is no part of it.
fn retry_all_body(retry: &RetryAll) -> Value {
    let RetryAll {
        filter,
        config,
        version,
        patch,
        reason,
        rate,
        canary,
        expected: _,
    } = retry;
    let body = json!({"filter": filter, "config": config, "version": version, "reason": reason});
    with(with(with(body, "patch", patch), "rate", rate), "canary", canary)
}

/// What is asked with one thing more, where that says something: so what was asked before it was known is the same.
fn with(mut body: Value, name: &str, more: &impl Serialize) -> Value {
    let more = json!(more);
    let is_empty = more.is_null() || more.as_array().is_some_and(Vec::is_empty);
    if let Some(members) = body.as_object_mut().filter(|_| !is_empty) {
        members.insert(name.to_owned(), more);
    }
    body
}

/// What operators ask. Setting a limit is no POST: it is the same however often it is done.
fn control_subject(request: &control::Request) -> Option<Subject> {
    let (route, target, body) = match request {
        control::Request::SwitchOn(SwitchOn {
            scope,
            mode,
            reason,
            by,
            lasts,
        }) => {
            let body = json!({"scope": scope, "mode": mode, "reason": reason, "by": by, "lasts": lasts});
            ("switch-on", Value::Null, body)
        }
        control::Request::SwitchOff { id, matches } => ("switch-off", json!(id), json!({"matches": matches})),
        control::Request::Switches
        | control::Request::Limits
        | control::Request::SetLimit { .. }
        | control::Request::AcceptClock { .. }
        | control::Request::ClearLimit { .. } => return None,
    };
    Some(Subject {
        route,
        slot: Slot::default(),
        target,
        body,
    })
}

fn start_subject(key: &Key, start: &Start) -> Subject {
    let Start {
        machine,
        version,
        key: business,
        variables,
        tags,
    } = start;
    let slot = match business {
        Some(business) => Slot::of_key(machine, business),
        None => Slot::of_idempotency_key(&key.text),
    };
    Subject {
        route: "start",
        slot,
        target: json!([machine, business]),
        body: json!({"version": version, "variables": variables, "tags": tags}),
    }
}

fn send_subject(send: &SendMessage) -> Subject {
    let SendMessage { to, kind, payload, id } = send;
    let (slot, target) = match to {
        Target::Id(id) => (id.slot(), json!(id)),
        Target::Key { machine, key } => (Slot::of_key(machine, key), json!([machine, key])),
    };
    Subject {
        route: "send",
        slot,
        target,
        body: json!({"type": kind, "payload": payload, "id": id}),
    }
}

/// An answer in the form it is stored in.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kept {
    Applied(Applied),
    Execution(Box<ExecutionView>),
    Sent(Sent),
    Action(Box<ActionView>),
    Job(Box<JobView>),
    Switch(Box<SwitchView>),
    Finished(Finished),
    Letter(Dealt),
    Refused {
        code: String,
        detail: String,
        errors: Vec<(String, String)>,
    },
}

/// Whether an answer is kept: whatever was decided is. What was refused without looking at the target's state, or for
/// want of room or time, may be tried again.
pub(crate) fn is_kept(reply: &Reply, repeats: Repeats) -> bool {
    match reply {
        Ok(answer) => kept_answer(answer).is_some(),
        // The sender of a webhook tries again under the same id until the call is taken.
        Err(_) if repeats == Repeats::Anywhere => false,
        // That an attempt is nobody's stays so by itself: nothing need be kept of whoever asks.
        Err(refusal) if refusal.code == Code::AttemptSuperseded => false,
        Err(refusal) => refusal.code == Code::DecisionFailed || refusal.code.is_conflict(),
    }
}

/// The answer as it is stored.
pub(crate) fn stored(reply: &Reply) -> Option<Vec<u8>> {
    let kept = match reply {
        Ok(answer) => kept_answer(answer)?,
        Err(Refusal {
            code,
            detail,
            errors,
            elsewhere: _,
        }) => Kept::Refused {
            code: code.text().to_owned(),
            detail: detail.clone(),
            errors: errors.clone(),
        },
    };
    serde_json::to_vec(&kept).ok()
}

fn kept_answer(answer: &Answer) -> Option<Kept> {
    Some(match answer {
        Answer::Applied(applied) => Kept::Applied(applied.clone()),
        Answer::Execution(view) => Kept::Execution(view.clone()),
        Answer::Sent(sent) => Kept::Sent(sent.clone()),
        Answer::Action(view) => Kept::Action(view.clone()),
        Answer::Job(view) => Kept::Job(view.clone()),
        Answer::Control(answer) => match answer.as_ref() {
            control::Answer::Switch(view) => Kept::Switch(Box::new(view.clone())),
            control::Answer::Switches(_)
            | control::Answer::Limits(_)
            | control::Answer::Limit(_)
            | control::Answer::Clock => return None,
        },
        Answer::Finished(finished) => Kept::Finished(finished.clone()),
        Answer::Letter(dealt) => Kept::Letter(dealt.clone()),
        Answer::Checkpointed
        | Answer::Queue(_)
        | Answer::Allowed(_)
        | Answer::Replayed(_)
        | Answer::Polling(_)
        | Answer::Leased(_)
        | Answer::Beat(_)
        | Answer::LeasedConfig(_) => return None,
    })
}

/// The answer that was stored. One that cannot be read any more is a refusal: the request has acted already, and must
/// not act again.
pub(crate) fn restored(bytes: &[u8]) -> Reply {
    let unreadable = || {
        let detail = "the request was answered before, but the answer that is kept cannot be read";
        Refusal::new(Code::StoreFailed, detail)
    };
    match serde_json::from_slice(bytes).map_err(|_| unreadable())? {
        Kept::Applied(applied) => Ok(Answer::Applied(applied)),
        Kept::Execution(view) => Ok(Answer::Execution(view)),
        Kept::Sent(sent) => Ok(Answer::Sent(sent)),
        Kept::Action(view) => Ok(Answer::Action(view)),
        Kept::Job(view) => Ok(Answer::Job(view)),
        Kept::Finished(finished) => Ok(Answer::Finished(finished)),
        Kept::Letter(dealt) => Ok(Answer::Letter(dealt)),
        Kept::Switch(view) => Ok(Answer::Control(Box::new(control::Answer::Switch(*view)))),
        Kept::Refused { code, detail, errors } => {
            let known = Code::ALL.iter().copied().find(|known| known.text() == code);
            let code = known.ok_or_else(unreadable)?;
            Err(Refusal {
                errors,
                ..Refusal::new(code, detail)
            })
        }
    }
}

/// The refusal of a key that was used for something else.
pub(crate) fn reused() -> Refusal {
    Refusal::new(
        Code::IdempotencyKeyReused,
        "the idempotency key was used for a request with another body; use a new key",
    )
}

#[cfg(test)]
mod tests;
