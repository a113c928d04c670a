//! The case file of a dead letter: everything that a person needs to settle it.
//!
//! It is made on request from what is stored: the attempts, the request as it was sent with secrets masked, how many
//! others failed alike, and what would fix it.

use serde_json::{Map, Value, json};
use sprag_core::action::triage::{Fix, Triage, TriageFacts, triage};
use sprag_core::action::{Action, Definition, OnUnknown, Status};
use sprag_core::document::patch::Operation;
use sprag_core::expression::template::{Frozen, TemplateLimits};
use sprag_core::filter::{Condition, Field};
use sprag_core::ids::ActionId;
use sprag_store::traits::Reader;
use sprag_store::{Error, ReadKind};
use sprag_wire::{self as wire, CaseFile, Others, SentRequest};

use super::handle::ReadHandle;
use crate::decide::convert;
use crate::decide::{editable, policy_of, timeout_of};
use crate::lane::damaged;
use crate::requests::Refusal;

/// Letters that are alike are counted up to here.
const ALIKE_MAX: usize = 10_000;

/// What would settle a dead letter.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// A retry as it is can succeed, once what is wrong outside of the action is fixed.
    pub recoverable: bool,
    /// A person must check before it is retried.
    pub manual_review_required: bool,
    /// What would fix it.
    pub suggested_fix: Option<String>,
    /// The same as a JSON Patch for a retry, where a change of the action alone would do.
    pub fix_patch: Vec<Operation>,
}

impl ReadHandle {
    /// What would settle a dead letter: its case file without what takes a search.
    pub async fn diagnosis(&self, id: ActionId) -> Result<Diagnosis, Refusal> {
        self.of_action(ReadKind::Point, id, |handle, reader, row| {
            let action = convert::action_from(row).map_err(|error| damaged(&error))?;
            diagnosis_of(handle, reader, &action)
        })
        .await
    }

    /// The case file of an action. It says what the action's status is: only a dead one waits for a person.
    pub async fn case_file(&self, id: ActionId) -> Result<CaseFile, Refusal> {
        self.of_action(ReadKind::Scan, id, |handle, reader, row| {
            let action = convert::action_from(row.clone()).map_err(|error| damaged(&error))?;
            let view = handle.action_view(reader, row)?;
            let machine = handle.version(reader, &action.origin.machine, action.origin.version)?;
            let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
            let others = others(reader, &action)?;
            Ok(case_file(view, &action, definition, others))
        })
        .await
    }
}

/// What would settle an action that was read already.
pub(crate) fn diagnosis_of(handle: &ReadHandle, reader: &dyn Reader, action: &Action) -> Result<Diagnosis, Error> {
    let machine = handle.version(reader, &action.origin.machine, action.origin.version)?;
    let definition = machine.action(&action.action_id).map(|(_, definition)| definition);
    let sent = sent_config(action, definition);
    let secrets = sent.as_ref().map(secrets_of).unwrap_or_default();
    Ok(diagnose(action, definition, sent.as_ref(), &secrets))
}

fn others(reader: &dyn Reader, action: &Action) -> Result<Others, Error> {
    let print = action.fingerprint().filter(|_| action.status == Status::Dead);
    let Some(print) = print else {
        return Ok(Others { count: 0, more: false });
    };
    let dead = Condition::number(Field::Status, Status::Dead.number());
    let alike = dead.and(Condition::text(Field::Fingerprint, print));
    let counted = reader.count_actions(&alike, ALIKE_MAX)?;
    Ok(Others {
        count: counted.count.saturating_sub(1),
        more: counted.more,
    })
}

fn case_file(view: wire::Action, action: &Action, definition: Option<&Definition>, others: Others) -> CaseFile {
    let sent = sent_config(action, definition);
    let secrets = sent.as_ref().map(secrets_of).unwrap_or_default();
    let Diagnosis {
        recoverable,
        manual_review_required,
        suggested_fix,
        fix_patch,
    } = diagnose(action, definition, sent.as_ref(), &secrets);
    CaseFile {
        failure_reason: action.body.last_error.clone(),
        total_attempts: action.attempts_made(),
        last_attempt_at: action.body.attempts.last().map(|attempt| attempt.start_time),
        request: sent.map(|sent| request(action, definition, &sent, secrets)),
        action: view,
        others,
        recoverable,
        manual_review_required,
        suggested_fix,
        fix_patch,
    }
}

fn diagnose(action: &Action, definition: Option<&Definition>, sent: Option<&Frozen>, secrets: &[String]) -> Diagnosis {
    let policy = policy_of(action, definition);
    let Triage {
        recoverable,
        manual_review_required,
        fix,
    } = triage(
        action,
        TriageFacts {
            timeout: timeout_of(action, definition),
            policy: &policy,
            on_unknown: definition.map_or(OnUnknown::default(), |found| found.on_unknown),
            secrets,
            config: sent.map(|sent| &sent.config),
        },
    );
    let (suggested_fix, fix_patch) = fix.map_or((None, Vec::new()), |Fix { text, patch }| (Some(text), patch));
    Diagnosis {
        recoverable,
        manual_review_required,
        suggested_fix,
        fix_patch,
    }
}

/// The configuration as it is stored; none where it could not be rendered.
fn sent_config(action: &Action, definition: Option<&Definition>) -> Option<Frozen> {
    if let Some(frozen) = &action.body.frozen {
        return Some(frozen.clone());
    }
    let constant = definition.and_then(|definition| definition.config.constant());
    constant.map(|config| Frozen {
        config: config.clone(),
        ..Frozen::default()
    })
}

/// The names of the secrets that a configuration names.
fn secrets_of(sent: &Frozen) -> Vec<String> {
    let paths = sent.late_paths().unwrap_or_default();
    let secrets = paths.iter().filter(|path| path.root() == Some("secrets"));
    let mut names: Vec<String> = secrets
        .filter_map(|path| path.segments().get(1))
        .map(ToString::to_string)
        .collect();
    names.dedup();
    names
}

fn request(action: &Action, definition: Option<&Definition>, sent: &Frozen, secrets: Vec<String>) -> SentRequest {
    let edited = editable(action, definition, Some(sent));
    SentRequest {
        config: masked(action, sent, &secrets),
        secrets,
        destination: action.body.destination.clone(),
        timeout: edited.timeout,
        retry_policy: edited.retry_policy,
    }
}

/// The configuration as the last attempt was given it, each secret as its mask. What cannot be rendered so is shown as
/// it is stored, which never holds a secret.
fn masked(action: &Action, sent: &Frozen, secrets: &[String]) -> Value {
    let masks: Map<String, Value> = secrets
        .iter()
        .map(|name| (name.clone(), Value::String(format!("[secret {name}]"))))
        .collect();
    let last = action.body.attempts.last();
    let late = json!({
        "secrets": masks,
        "attempt": {
            "id": last.map(|attempt| attempt.id),
            "number": last.map_or(0, |attempt| attempt.number),
            "idempotencyKey": action.idempotency_key(),
        },
    });
    sent.bind(&late, TemplateLimits::default())
        .unwrap_or_else(|_| sent.config.clone())
}
